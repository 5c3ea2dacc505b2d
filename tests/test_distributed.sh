#!/usr/bin/env bash
# test_distributed.sh BUILD SOURCE - examples/psgemm.c on 4 ranks with the drop-in, on the CPU and
# on the simulated device: right, and every rank's calls served there. Needs mpicc, mpirun and
# ScaLAPACK for Open MPI; skipped (77) without.
set -euo pipefail

build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}

command -v mpicc >/dev/null && command -v mpirun >/dev/null ||
    { echo "there is no MPI"; exit 77; }
mpicc -O2 "$source/examples/psgemm.c" -o "$work/psgemm" -lscalapack-openmpi -lm \
    2>"$work/compiler" ||
    { cat "$work/compiler"; echo "there is no ScaLAPACK for Open MPI"; exit 77; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run() { # PATH LIBRARY COLUMN: column of the summary where calls must be, 3 CPU or 4 GPU
    local path=$1 library=$2 column=$3 ranks
    rm -f "$work/summary"
    DUOBLAS_PATH=$path DUOBLAS_SUMMARY=$work/summary OMP_NUM_THREADS=1 LD_PRELOAD= \
        timeout 300 mpirun --oversubscribe -np 4 -x DUOBLAS_PATH -x DUOBLAS_SUMMARY \
        -x OMP_NUM_THREADS -x LD_PRELOAD="$library" "$work/psgemm" 600 64 >"$work/out" 2>&1 ||
        fail "$path: psgemm ended with $?"
    cat "$work/out"
    grep -q ': right$' "$work/out" || fail "$path: no right result"
    ranks=$(awk -v column="$column" '$1 == "sgemm" && $column > 0' "$work/summary" | wc -l)
    [[ $ranks -eq 4 ]] || fail "$path: $ranks of 4 ranks made calls there"
}

run cpu "$build/libduoblas-blas.so" 3
run gpu "$build/tests/libduoblas-blas-sim.so" 4

[[ $failures -eq 0 ]]
