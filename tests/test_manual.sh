#!/usr/bin/env bash
# test_manual.sh TOOL BUILD SOURCE - the manual pages: duoblas.3 names every public function and
# variable, the tool's have a page for each command with all of its options, and all are clean.
set -euo pipefail

tool=$1
build=$2
source=$3
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

pages=("$page")
"$tool" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$work/commands"
while read -r command; do
    check "the pages refer to duoblas-$command" \
        grep -q "^\.BR duoblas\\\\-$command (1)" "$source/man/tool.h2m"
    made=$build/man1/duoblas-$command.1
    [[ -d $build/man1 ]] || continue # there was no help2man
    pages+=("$made")
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
        test "$(grep -cE '^\.SH "?(NAME|SYNOPSIS|DESCRIPTION|EXIT STATUS|SEE ALSO)' "$made")" -eq 5
done <"$work/commands"
[[ ! -d $build/man1 ]] || pages+=("$build/man1/duoblas.1")

if command -v groff >/dev/null; then
    for page in "${pages[@]}"; do
        groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null | sed '/can.t be adjusted/d' >"$work/warnings"
        cat "$work/warnings"
        check "${page##*/} is clean" test ! -s "$work/warnings"
    done
fi
exit "$failed"
