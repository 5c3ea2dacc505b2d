#!/usr/bin/env bash
# test_faults.sh SOURCE - every fault of tests/faults can be planted; one that no longer fits the
# sources, or fits twice, is refused by its name, while one that is spaced otherwise is not.
set -euo pipefail

command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$1/scripts/mutation" --check | grep -E '^[1-9][0-9]* faults can be planted$'

mkdir "$work/scripts" "$work/src" "$work/tests" "$work/tests/faults"
cp "$1/scripts/mutation" "$work/scripts"
touch "$work/tests/test_blas.c"
cat >"$work/tests/faults/some.faults" <<'END'
fault given: the first is returned
tests blas-cpu
file  src/add.c
- return a + b;
+ return a;
END
refused() { # WHY TIMES: the check ends with an error that names fault and file
    if "$work/scripts/mutation" --check 2>"$work/errors"; then
        echo "FAILED: planted, though $1"
        exit 1
    fi
    grep -F "mutation: given: this stands $2 times in src/add.c" "$work/errors"
    echo "ok: refused where $1"
}
echo 'int add(int a, int b) { return a - b; }' >"$work/src/add.c"
refused "the line is another" 0
echo 'int add(int a, int bb) { return a + bb; }' >"$work/src/add.c"
refused "a name is longer" 0
echo 'int add(int a, int b) { if (a) return a + b; return a + b; }' >"$work/src/add.c"
refused "the line stands twice" 2
printf 'int add(int a, int b) {\n  return a\n      +b;\n}\n' >"$work/src/add.c"
"$work/scripts/mutation" --check
echo "ok: spaces and line breaks do not matter"
