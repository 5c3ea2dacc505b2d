#!/usr/bin/env bash
# test_openmp.sh BUILD SOURCE - two OpenMP runtimes in one process: programs of clang with LLVM's
# libomp, and of gcc with libomp preloaded, on the library and the drop-in as they are shipped; the
# drop-in brings GNU's. Results are right in parent and child, limits hold, and nobody makes threads
# in a parallel region. Exit status 77 without clang and libomp.
set -euo pipefail

build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset "${!DUOBLAS_@}" "${!OMP_@}" LD_PRELOAD LD_LIBRARY_PATH OPENBLAS_NUM_THREADS
export XDG_CONFIG_HOME=$work LC_ALL=C DUOBLAS_PATH=cpu
checks=0 failures=0

# expect STATUS NAME=VALUE... PROGRAM TASK
expect() {
    local want=$1 got=0
    shift
    timeout 120 env "$@" >"$work/out" 2>&1 </dev/null || got=$?
    checks=$((checks + 1))
    [[ $got -eq $want ]] && return
    failures=$((failures + 1))
    echo "FAILED: $*: exit status $got, not $want"
    sed 's/^/    /' "$work/out"
}

# compile COMPILER NAME OPTION...
compile() {
    local compiler=$1 name=$2
    shift 2
    "$compiler" -O1 -Wall -Wextra -Werror -fopenmp -I"$source/include" -o "$work/$name" \
        "$source/tests/dropin/two_openmps.c" "$@" -L"$build" -Wl,-rpath,"$build"
}

if ! command -v clang >/dev/null || ! compile clang native -DNATIVE -lduoblas 2>"$work/err"; then
    echo "SKIPPED: no clang with libomp"
    exit 77
fi
compile clang blas -lduoblas-blas
programs=("$work/native" "$work/blas")
libomp=$(ldd "$work/native" | awk '$1 ~ /^libomp/ { print $3 }')
if command -v gcc >/dev/null; then
    compile gcc gcc_native -DNATIVE -lduoblas
    compile gcc gcc_blas -lduoblas-blas
    programs+=("LD_PRELOAD=$libomp $work/gcc_native" "LD_PRELOAD=$libomp $work/gcc_blas")
fi

# A second runtime would bind the first thread before LLVM's counts its processors.
expect 0 OMP_PROC_BIND=close "$work/native" "processors=$(nproc)"

for program in "${programs[@]}"; do
    echo "== ${program/$work\//}"
    # shellcheck disable=SC2206 # a variable and a program
    run=($program)
    expect 0 "${run[@]}" runtimes
    checks=$((checks + 1))
    runtimes='libomp libgomp '
    if [[ $program == "$work/native" ]]; then runtimes='libomp '; fi # the library brings none
    if [[ $(tr '\n' ' ' <"$work/out") != "$runtimes" ]]; then
        failures=$((failures + 1))
        echo "FAILED: not $runtimes: $(tr '\n' ' ' <"$work/out")"
    fi
    for setting in OMP_NUM_THREADS=4 OMP_PROC_BIND=true; do
        expect 0 "$setting" "${run[@]}" alone
        expect 0 "$setting" "${run[@]}" region
    done
done

echo "$checks checks, $failures failures"
[[ $failures -eq 0 ]]
