#!/usr/bin/env bash
# test_limits.sh BUILD SOURCE - first calls of programs that have little: calls that open no BLAS,
# limits of memory, threads and stack, another malloc. Each has the right results, in bounded time.
set -euo pipefail

build=$1
source=$2
libraries=/usr/lib/$("${CC:-cc}" -print-multiarch)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset "${!DUOBLAS_@}" "${!OMP_@}" LD_PRELOAD LD_LIBRARY_PATH OPENBLAS_NUM_THREADS
export XDG_CONFIG_HOME=$work LC_ALL=C DUOBLAS_PATH=cpu
checks=0 failures=0

# in_limits LIMITS COMMAND...: a shell sets the limits. The output goes
# through a pipe, which no limit of files ends.
in_limits() {
    local limits=$1 got=0
    shift
    checks=$((checks + 1))
    (eval "$limits" && exec timeout -s KILL 60 "$@") 2>&1 </dev/null | cat >"$work/out" || got=$?
    [[ $got -eq 0 ]] && return
    failures=$((failures + 1))
    echo "FAILED: $limits: ${*//$work\//}: exit status $got"
    sed 's/^/    /' "$work/out"
    [[ $failures -lt 3 ]] || { echo "enough" && exit 1; } # each may have taken its minute
}

compile() { # NAME OPTION...
    local name=$1
    shift
    "${CC:-cc}" -O1 -Wall -Wextra -Werror -I"$source/include" -o "$work/$name" \
        "$source/tests/limits/guest.c" "$@" -L"$build" -Wl,-rpath,"$build" -pthread
}

compile native -lduoblas
compile blas -DDROP_IN -lduoblas-blas
"${CC:-cc}" -O1 -Wall -Wextra -Werror -fno-builtin -shared -fPIC -o "$work/other_malloc.so" \
    "$source/tests/limits/other_malloc.c"

openblas=()
for of in openblas-openmp openblas-pthread; do
    inner=$libraries/$of/libopenblas.so.0
    [[ -e $inner ]] || { echo "SKIPPED: no $inner" && continue; }
    openblas+=("DUOBLAS_CPU_BLAS=$inner")
done

for program in "$work/native" "$work/blas"; do
    in_limits : "$program" unopened
    # Of the first thread's stack the kernel leaves out up to 8 KiB, at random: 16 KiB remain.
    in_limits 'ulimit -s 24' "$program" unopened 1
    for size in 2 9 100 300; do in_limits 'ulimit -s 24' "$program" product "$size"; done
    for stack in 16384 32768; do
        for task in 'sums 4' 'sums 3000000' 'product 4' 'product 9' 'product 300'; do
            # shellcheck disable=SC2086 # a task and its size
            in_limits : "$program" $task "$stack"
        done
    done
    for of in "${openblas[@]}"; do
        run=(env "$of" "$program")
        in_limits : "${run[@]}" product 200 16384
        in_limits "export LD_PRELOAD=$work/other_malloc.so" "${run[@]}" product 100
        for size in 16 300; do # libgomp ends a process that gets no memory
            in_limits "export LD_PRELOAD=$work/other_malloc.so" "${run[@]}" starved "$size"
        done
        for kilobytes in 45000 100000 200000 300000 400000 500000 700000 2000000; do
            in_limits "ulimit -v $kilobytes" "${run[@]}" product 300
        done
        for kilobytes in 100000 500000; do
            in_limits "ulimit -d $kilobytes" "${run[@]}" product 300
        done
        in_limits 'ulimit -v 2000000' "${run[@]}" callers 200
        in_limits 'ulimit -v 600000' "${run[@]}" callers 200
        in_limits 'ulimit -v 600000' "${run[@]}" callers 12
    done
done

# Root may have any number of threads. Threads of a user count together, so this user has no others.
[[ $(id -u) -eq 0 ]] && nobody=(setpriv "--reuid=$((100000 + $$))" --clear-groups) || nobody=()
chmod 755 "$work"
if "${nobody[@]}" "$work/native" sums 4 2>/dev/null; then
    for program in "$work/native" "$work/blas"; do
        for of in "${openblas[@]}"; do
            in_limits : prlimit --nproc=1:1 "${nobody[@]}" env "$of" "$program" product 300
        done
    done
else
    echo "SKIPPED: another user cannot run what is in $work"
fi

echo "$checks checks, $failures failures"
[[ $failures -eq 0 ]]
