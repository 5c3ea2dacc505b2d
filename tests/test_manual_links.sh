#!/usr/bin/env bash
# test_manual_links.sh SOURCE - the HTML manual: it is made without a warning, no link in it
# is dead, it loads nothing from elsewhere, and every public function has an entry. A link that is
# broken on purpose is found.
set -euo pipefail

source=$1
manual=$source/docs/manual
header=$source/include/duoblas.h
# shellcheck source=/dev/null
. "$source/tests/support/python_with.sh"
python=$(python_with "sphinx, myst_parser, furo")
if [[ -z $python ]]; then
    echo "skipped: there is no Python with sphinx, myst_parser and furo"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1

"$python" "$manual/make.py" "$source" "$work" || exit # 77 where a tool is missing
"$python" "$manual/links.py" "$work/html" "$header"
echo "ok: no link is dead"

start=$work/html/index.html
cp "$start" "$work/start"
for fault in '<a href="none.html">' '<a href="CHANGELOG.html#none">' '<a href="#none">' \
    '<script src="https://example.org/a.js"></script>'; do
    { cat "$work/start"; echo "$fault"; } >"$start"
    if "$python" "$manual/links.py" "$work/html" "$header" >/dev/null; then
        echo "FAILED: not found: $fault"
        exit 1
    fi
done
cp "$work/start" "$start"
echo 'DUO_API duo_status duo_none(void);' | cat "$header" - >"$work/header.h"
if "$python" "$manual/links.py" "$work/html" "$work/header.h" >/dev/null; then
    echo "FAILED: a function without an entry was not found"
    exit 1
fi
echo "ok: faults are found"
