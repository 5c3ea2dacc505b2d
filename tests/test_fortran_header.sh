#!/usr/bin/env bash
# test_fortran_header.sh SOURCE - the constants of duoblas.f90 equal those of duoblas.h, except for
# the graphs', and its C functions are declared there with as many arguments. No Fortran compiler is
# needed.
set -euo pipefail

include=$1/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

step() { echo "ok: $*"; }

# Every constant by C's compiler.
{
    echo '#include <duoblas.h>'
    grep -oE '\bDUO_[A-Z0-9_]+ = -?[0-9]+' "$include/duoblas.f90" |
        sed 's/\(.*\) = \(.*\)/_Static_assert(\1 == \2, "\1");/'
} >"$work/constants.c"
"${CC:-cc}" -std=c11 -fsyntax-only -I"$include" "$work/constants.c"
step "$(grep -c assert "$work/constants.c") constants have C's values"

echo '#include <duoblas.h>' >"$work/header.c"
"${CC:-cc}" -std=c11 -E -P -I"$include" "$work/header.c" | tr '\n' ' ' >"$work/header"
grep -oE '\bDUO_[A-Z0-9_]+' "$work/header" | grep -v '^DUO_WORK_' | sort -u >"$work/wanted"
grep -oE '_assert\(DUO_[A-Z0-9_]+' "$work/constants.c" | sed 's/.*(//' | grep -v CANDIDATES |
    sort -u >"$work/there"
diff "$work/wanted" "$work/there" || { echo "FAILED: not the header's constants"; exit 1; }
step "no constant is missing"

# "duo_copy 4", of C and of Fortran.
count() { # of the commas of each argument list
    awk '{ name = $1; $1 = ""; list = $0; gsub(/[ ();]/, "", list)
        print name, list == "" || list == "void" ? 0 : gsub(/,/, ",", list) + 1 }' | sort
}
grep -oE '\bduo_[a-z_]+\([^;]*\);' "$work/header" |
    sed -E 's/void \(\*[a-z]+\)\([^)]*\)/callback/g; s/\(/ (/' | count >"$work/c"
tr '\n' ' ' <"$include/duoblas.f90" | sed 's/& */ /g' |
    grep -oE 'function [a-z_]+\([^)]*\) *bind\(c, name="[a-z_]+"' |
    sed -E 's/function [a-z_]+(\([^)]*\)).*"(.*)"/\2 \1/' | count >"$work/fortran"
if comm -13 "$work/c" "$work/fortran" | grep .; then
    echo "FAILED: not as in the header"
    exit 1
fi
[[ $(wc -l <"$work/fortran") -gt 30 ]]
step "$(wc -l <"$work/fortran") functions have C's number of arguments"
