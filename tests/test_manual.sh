#!/usr/bin/env bash
# test_manual.sh TOOL SOURCE - the manual pages: duoblas.3 names every public function and
# variable, the tool's have a page for each command with all of its options, and all are clean.
set -euo pipefail

tool=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

check() { # TEXT COMMAND...: one line, and remember a failure
    local text=$1
    shift
    if "$@"; then echo "ok: $text"; else echo "FAILED: $text"; failed=1; fi
}
# Without the marks of troff.
plain() { sed 's/\\-/-/g; s/\\f[BIRP]//g; s/\\f(CW//g; s/\\[,/]//g' "$1"; }

page=$source/man/duoblas.3
sed -n 's/^ *\(duo_[a-z0-9_]*\);$/\1/p' "$source/src/duoblas.map" | sort >"$work/functions"
sed -n 's/^\.B \(duo_[a-z0-9_]*\)$/\1/p' "$page" | sort -u >"$work/named"
check "duoblas.3 names every public function" diff "$work/functions" "$work/named"
sed -nE 's/^ \*   (DUOBLAS_[A-Z_]+) .*/\1/p' "$source/include/duoblas.h" | sort >"$work/variables"
sed -n 's/^\.B \(DUOBLAS_[A-Z_]*\)$/\1/p' "$page" | sort -u >"$work/named"
check "duoblas.3 names every variable" diff "$work/variables" "$work/named"

if command -v python3 >/dev/null; then
    check "the tool's pages are what its --help tells" \
        python3 "$source/man/make-pages" --check "$tool"
else
    echo "skipped: there is no python3 to make the tool's pages again"
fi
pages=("$page" "$source/man/duoblas.1")
check "duoblas.1 does not refer to itself" test -z "$(grep '^\.BR duoblas (1)' "${pages[1]}")"
"$tool" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$work/commands"
while read -r command; do
    made=$source/man/duoblas-$command.1
    pages+=("$made")
    check "duoblas.1 refers to duoblas-$command" \
        grep -q "^\.BR duoblas\\\\-$command (1)" "$source/man/duoblas.1"
    check "duoblas-$command.1 is installed" \
        grep -q " man/duoblas-$command\.1$" "$source/cmake/Pages.cmake"
    plain "$made" | grep -oE -- '--[a-z][a-z-]*' | sort -u >"$work/there"
    {
        "$tool" "$command" --help
        [[ $command != bench ]] || while read -r benchmark; do
            "$tool" bench "$benchmark" --help </dev/null
        done < <("$tool" bench --help | sed -n '/^Benchmarks:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    } | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p' | sort -u >"$work/options"
    check "duoblas-$command.1 has every option" \
        test -s "$work/options" -a -z "$(comm -23 "$work/options" "$work/there")"
    check "duoblas-$command.1 has its name" grep -q "^duoblas-$command - " <(plain "$made")
    check "duoblas-$command.1 has its sections" \
        test "$(grep -cE '^\.SH (NAME|SYNOPSIS|DESCRIPTION|EXIT STATUS|SEE ALSO)$' "$made")" -eq 5
done <"$work/commands"

format() { # PAGE: by groff, and by man as Debian's lintian calls it
    if command -v groff >/dev/null; then groff -man -ww -Tutf8 "$1"; fi
    if command -v man >/dev/null; then
        LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -E UTF-8 -l -Tutf8 -Z "$1"
    fi
}
for page in "${pages[@]}"; do
    format "$page" 2>&1 >/dev/null | sed "/can.t be adjusted/d" >"$work/warnings"
    cat "$work/warnings"
    check "${page##*/} is clean" test ! -s "$work/warnings"
done
exit "$failed"
