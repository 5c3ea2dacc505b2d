#!/usr/bin/env bash
# test_sweep.sh BUILD SOURCE [--long] - everything fails once (sweep/sweep.h): allocations, maps,
# threads, files, libraries and the backend's calls, through every function of the library and of
# the drop-in. Some points at random; with --long all.
set -euo pipefail

build=$1
source=$2
shift 2
unset "${!DUOBLAS_@}" "${!OMP_@}" LD_PRELOAD LD_LIBRARY_PATH
export LC_ALL=C
failures=0

# A function that no scenario calls is a failure.
all_called() { # PROGRAM MAP
    local missing
    missing=$(comm -13 <(nm -D --undefined-only "$1" | awk '{print $2}' | sed 's/@.*//' | sort -u) \
        <(sed -n '/global:/,/local:/s/^ *\([a-z_0-9]*\);$/\1/p' "$2" | sort))
    [[ -z $missing ]] && return
    failures=$((failures + 1))
    printf 'FAILED: no scenario of %s calls:\n%s\n' "${1##*/}" "$missing"
}
all_called "$build/tests/sweep_native" "$source/src/duoblas.map"

all_called "$build/tests/sweep_blas" "$source/src/blas/blas.map"

for program in native native_sim blas blas_sim; do
    echo "== $program"
    "$build/tests/sweep_$program" "$@" || failures=$((failures + 1))
done
[[ $failures -eq 0 ]]
