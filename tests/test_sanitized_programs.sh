#!/usr/bin/env bash
# test_sanitized_programs.sh BUILD SOURCE - an installed build, itself without a sanitizer, in
# programs compiled with one, by gcc and clang: they run, and nothing is reported, leaks included.
set -euo pipefail

build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset "${!DUOBLAS_@}" "${!OMP_@}" LD_PRELOAD LD_LIBRARY_PATH OPENBLAS_NUM_THREADS
export XDG_CONFIG_HOME=$work LC_ALL=C ASAN_OPTIONS=detect_leaks=1
checks=0 failures=0

"${CMAKE:-cmake}" --install "$build" --prefix "$work/prefix" >"$work/out"
libraries=$(dirname "$(find "$work/prefix" -name libduoblas.so)")

# expect COMMAND...: it ends well, and prints nothing
expect() {
    local got=0
    timeout -s KILL 120 "$@" >"$work/out" 2>&1 </dev/null || got=$?
    checks=$((checks + 1))
    [[ $got -eq 0 && ! -s $work/out ]] && return
    failures=$((failures + 1))
    echo "FAILED: ${*//$work\//}: exit status $got"
    head -40 "$work/out" | sed 's/^/    /'
}

for compiler in gcc clang; do
    for sanitizer in address thread undefined leak; do
        program=$work/$compiler-$sanitizer
        options=(-g -O1 "-fsanitize=$sanitizer" -pthread -Wl,-rpath,"$libraries" -L"$libraries")
        if ! "$compiler" "${options[@]}" -I"$work/prefix/include" -o "$program" \
            "$source/tests/limits/sanitized.c" -lduoblas 2>"$work/out"; then
            echo "SKIPPED: $compiler -fsanitize=$sanitizer"
            continue
        fi
        expect "$program"
        "$compiler" "${options[@]}" -DDROP_IN -o "$program-blas" \
            "$source/tests/limits/guest.c" -lduoblas-blas
        for task in unopened 'product 100' 'callers 200'; do
            # shellcheck disable=SC2086 # a task and its size
            expect "$program-blas" $task
        done
    done
done

echo "$checks checks, $failures failures"
[[ $failures -eq 0 ]]
