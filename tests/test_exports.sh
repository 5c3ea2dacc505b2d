#!/usr/bin/env bash
# test_exports.sh FOLDER SOURCE - the shared library in FOLDER exports exactly what
# src/duoblas.map lists, which is what the header declares, and can be loaded anywhere: nothing of
# CUDA is needed, the code has no text relocations, and the library stays loaded.
set -euo pipefail

library=$1/libduoblas.so
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

check() { # TEXT COMMAND...: one line, and remember a failure
    local text=$1
    shift
    if "$@"; then echo "ok: $text"; else echo "FAILED: $text"; failed=1; fi
}
# shellcheck disable=SC2317 # called through check
lacks() { ! grep -qE "$1" "$2"; }

export LC_ALL=C
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    sort -u >"$work/exports"
sed -n 's/^ *\(duo_[a-z_]*\);$/\1/p' "$source/src/duoblas.map" | sort -u >"$work/map"
tr '\n' ' ' <"$source/include/duoblas.h" | grep -oE 'DUO_API +[^(]*\(' |
    grep -oE 'duo_[a-z_]+\($' | tr -d '(' | sort -u >"$work/header"
readelf -d "$library" >"$work/dynamic"

check "exports are those of duoblas.map" diff "$work/map" "$work/exports"
check "duoblas.map lists what the header declares" diff "$work/header" "$work/map"
check "SONAME is libduoblas.so.0.1" grep -q 'SONAME.*\[libduoblas\.so\.0\.1\]' "$work/dynamic"
check "no CUDA library and no BLAS is needed" lacks 'NEEDED.*(cuda|cublas|nvidia|blas\.)' \
    "$work/dynamic"
check "no text relocations" lacks 'TEXTREL' "$work/dynamic"
check "never unloaded" grep -q 'NODELETE' "$work/dynamic"
check "no search path for libraries" lacks 'R(UN)?PATH.*\[/' "$work/dynamic"
exit "$failed"
