#!/usr/bin/env bash
# test_sweep.sh BUILD SOURCE [--long] [-seed N] - everything fails once (sweep/sweep.h):
# allocations, maps, threads, files, libraries and the backend's calls, through every function of
# the library and of the drop-in, and through Python. Some points at random; with --long all. Then
# one allocation in five fails (sweep/deaths).
set -euo pipefail

build=$(realpath "$1")
source=$2
shift 2
unset "${!DUOBLAS_@}" "${!OMP_@}" LD_PRELOAD LD_LIBRARY_PATH
export LC_ALL=C XDG_CONFIG_HOME=/nonexistent OPENBLAS_NUM_THREADS=1
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

sweep() { # TEXT COMMAND...
    echo "== $1"
    shift
    "$@" || failures=$((failures + 1))
}
for program in native native_sim blas; do
    sweep "$program" "$build/tests/sweep_$program" "$@"
done

# The CUDA runtime has a page of each thread's data. Where the library is opened at run time, the
# loader ends the process if a thread's first call finds no memory for that.
page=$(readelf -lW "$build/libduoblas.so" | awk '$1 == "TLS" && length($6) > 6 && $6 >= "0x001000"')
if [[ -n $page ]]; then
    echo "SKIPPED: programs that open the library, as CUDA's runtime is in it"
    [[ $failures -eq 0 ]]
    exit
fi

# shellcheck source=/dev/null
. "$source/tests/support/python_with.sh"
python=$(python_with numpy)
in_python() { # LIBRARY PATH
    sweep "Python, ${1##*/}" env LD_PRELOAD="$build/tests/libfailing.so" DUOBLAS_LIBRARY="$1" \
        DUOBLAS_PATH="$2" PYTHONPATH="$source/python" OMP_NUM_THREADS=3 \
        "$python" "$source/tests/sweep/sweep.py" "${@:3}"
}
if [[ -n $python ]]; then
    in_python "$build/libduoblas.so" cpu "$@"
    in_python "$build/tests/libduoblas-sim.so" gpu "$@"
else
    echo "SKIPPED: no Python with NumPy"
fi

sweep deaths env OPENBLAS=/none BLIS=/none "$source/tests/sweep/deaths" "$build" "$source" 10
[[ $failures -eq 0 ]]
