#!/bin/sh
# test_bench_peers.sh TOOL SIM BLAS BLAS_64 - `duoblas bench peers` from outside, by the tool and by
# one that stands on the simulated device. The libraries of support/wheels_blas.c stand for those
# that a user has built. Times are not judged.
set -u

tool=${1:?usage: test_bench_peers.sh TOOL SIM BLAS BLAS_64}
sim=$2
blas=$3
blas_64=$4
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
unset DUOBLAS_PROFILE DUOBLAS_PATH DUOBLAS_VERBOSE DUOBLAS_MATH DUOBLAS_DEVICE DUOBLAS_CPU_BLAS
. "$(dirname "$0")/support/tool_checks.sh"

# A named library is one more row. Its variables hold for its own calls only.
named() { # MODE ERRORS: errors of the rows of a mode match the expression
    says out "^sgemm,33,20,64,cpu,\"?$1\"?,[^,]+,[^,]+,[^,]+,$2,$2,$2\$"
}
expect 0 bench peers -s 33x20x64 --quick --side cpu --csv --library "$blas,WHEELS_BLAS_MODE=twice" \
    --library "$blas" --library "$blas,WHEELS_BLAS_MODE=twice,OTHER=1" --library "$blas_64" \
    --library "$blas,WHEELS_BLAS_MODE=nothing"
good='[0-9]?[0-9.]+(e-[0-9]+)?' wrong='[0-9.]+e\+0[67]'
named 'DuoBLAS accurate' "$good"
named 'DuoBLAS ieee' "$good"
named 'DuoBLAS float64' "$good"
named 'wheels_blas WHEELS_BLAS_MODE=twice' "$wrong"
named 'wheels_blas' "$good"
named 'wheels_blas WHEELS_BLAS_MODE=twice,OTH[^,]*' "$wrong"
named 'wheels_blas_64' "$good"
named 'wheels_blas WHEELS_BLAS_MODE=nothing' '(inf)?' # NaN stays where nothing was written
says out '^# Found  |^#  +/.*wheels_blas'
says out '^# Not found: libgemmul8.so, '
says out '^# errors on: 1 uniform -1\.\.1, 2 spread 2\^20, 3 spread 2\^60$'
expect 0 bench peers -n 16 --quick --side cpu
says out '^  cpu   DuoBLAS accurate +[0-9.]+ .s +1\.00 '

# One that cannot be used is told before anything is measured.
expect 1 bench peers -n 16 --quick --library "$place/none.so"
says err '^duoblas: .*/none\.so cannot be used: '
expect 1 bench peers -n 16 --quick --library "$(dirname "$sim")/libduoblas-sim.so"
says err ' cannot be used: it '
expect 2 bench peers --library "$blas,MODE"
expect 2 bench peers --library ''

# With a GPU there are rows of all four maths, also for sums beside the CPU.
tool=$sim expect 0 bench peers -n 48 --quick
for math in accurate ieee tf32 float64; do
    says out "^  gpu   DuoBLAS $math +[0-9.]+ .?s +[0-9.]+ +[0-9.e+]+ +[0-9.e+]+ +[0-9.e+]+\$"
done
tool=$sim expect 0 bench peers ssum -n 1000,4096 --quick
checks=$((checks + 1))
[ "$(grep -Ec '^  [cg]pu   DuoBLAS +[0-9.]+ .?s +1\.00( +[0-9.e-]+){3}$' "$place/out")" -eq 4 ] ||
    fail "bench peers ssum has not two rows of ours for each length"
expect 0 bench peers ssum -n 64 --quick --csv
says out '^ssum,1,64,0,cpu,DuoBLAS,'

tool_summary
