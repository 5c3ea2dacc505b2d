#!/usr/bin/env bash
# test_exports.sh FOLDER SOURCE - the shared library in FOLDER exports exactly the names in
# src/duoblas.map, which are the header's, and the drop-in beside it exactly those in
# src/blas/blas.map. Both can be loaded anywhere: nothing of CUDA and no BLAS is needed, the code
# has no text relocations, and they stay loaded.
set -euo pipefail

folder=$1
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
# shellcheck disable=SC2317
every() { ! grep -qvE "$1" "$2"; } # line

export LC_ALL=C
exports() {
    nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
}
listed() { sed -n 's/^ *\([a-z0-9_]*\);$/\1/p' "$1" | sort -u; } # in a version script

check_library() { # NAME MAP
    local name=$1 library=$folder/$1.so
    exports "$library" >"$work/exports"
    listed "$source/src/$2" >"$work/map"
    readelf -d "$library" >"$work/dynamic"
    nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' >"$work/versions"
    check "exports of $name are those of $2" diff "$work/map" "$work/exports"
    check "SONAME is $name.so.1" grep -q "SONAME.*\[$name\.so\.1\]" "$work/dynamic"
    check "no CUDA library and no BLAS is needed" lacks \
        'NEEDED.*(cuda|cublas|nvidia|\[lib(open)?blas)' "$work/dynamic"
    check "no text relocations" lacks 'TEXTREL' "$work/dynamic"
    check "no thread-local storage that Python has no room for" lacks 'STATIC_TLS' "$work/dynamic"
    check "never unloaded" grep -q 'NODELETE' "$work/dynamic"
    check "the current folder is not searched" lacks 'R(UN)?PATH.*(\[:|::|:\])' "$work/dynamic"
}

check_library libduoblas duoblas.map
check "each has a version" every '@@DUOBLAS_1\.[0-9]+$' "$work/versions"
check "no search path for libraries" lacks 'R(UN)?PATH.*\[/' "$work/dynamic"
tr '\n' ' ' <"$source/include/duoblas.h" | grep -oE 'DUO_API +[^(]*\(' |
    grep -oE 'duo_[a-z_]+\($' | tr -d '(' | sort -u >"$work/header"
check "duoblas.map lists what the header declares" diff "$work/header" "$work/map"

check_library libduoblas-blas blas/blas.map
check "no name of BLAS has a version" lacks "@" "$work/versions"
check "no search path from the root" lacks 'R(UN)?PATH.*\[/' "$work/dynamic"
{
    for name in sgemm sdot sasum ssum; do
        printf '%s\n' {,scipy_}{${name}_,${name}_64_,cblas_$name,cblas_${name}64_}
    done
    printf '%s\n' {,scipy_}cblas_sgemm_batch{,_strided}{,64_}
    grep -oE 'duo_blas_[a-z]+\(' "$source/src/blas/install.h" | tr -d '('
} | sort -u >"$work/names"
check "blas.map lists four operations under eight names, batches, and install.h" \
    diff "$work/names" "$work/map"
system=$folder/libblas/libblas.so.3
if [[ -e $system ]]; then
    readelf -d "$system" >"$work/dynamic"
    check "nor for libblas.so.3" lacks 'R(UN)?PATH.*(\[/|\[:|::|:\])' "$work/dynamic"
fi
exit "$failed"
