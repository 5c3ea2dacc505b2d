#!/bin/sh
# test_bench_batched.sh TOOL SIM BLAS BLAS_64 BLAS_LISTS BLAS_CRASHES - `duoblas bench batched` from
# outside, by the tool and by one that stands on the simulated device: squares and random batches,
# their table and CSV, and the CPU's peers, which the libraries of support/wheels_blas.c stand for.
# Times are not judged.
set -u

tool=${1:?usage: test_bench_batched.sh TOOL SIM BLAS BLAS_64 BLAS_LISTS BLAS_CRASHES}
sim=$2
blas=$3
blas_64=$4
blas_lists=$5
blas_crashes=$6
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
unset DUOBLAS_PROFILE DUOBLAS_PATH DUOBLAS_VERBOSE DUOBLAS_MATH DUOBLAS_DEVICE DUOBLAS_CPU_BLAS
. "$(dirname "$0")/support/tool_checks.sh"

# The squares, on both sides.
tool=$sim expect 0 bench batched --quick
for what in 'gpu   8 x 8 x 8 nn x 13107 +strided' 'gpu   8 x 8 x 8 nn x 13107 +by lists' \
    'gpu   256 x 256 x 256 nn x 51 +calls' 'cpu   64 x 64 x 64 nn x 51 +strided' \
    'cpu   64 x 64 x 64 nn x 51 +calls'; do
    says out "^  $what +[0-9.]+ .?s +[0-9.]+ +(-|[0-9.]+) +(-|[0-9.]+) +[0-9.e-]+$"
done
for way in 'grouped' 'grouped, lists there' 'batch by batch'; do
    says out "^  10 of 5 shapes +$way +[0-9.]+ .?s +[0-9.]+ +- +[0-9.e-]+$"
done
checks=$((checks + 2))
[ "$(grep -c '^  [cg]pu .* strided ' "$place/out")" -eq 42 ] || fail "there are not 21 batches"
! grep -q '^  gpu   8 x 8 x 8 .* calls' "$place/out" || fail "tiny products are called one by one"

# In host memory, beside the link: only on the GPU.
tool=$sim expect 0 bench batched --quick --memory pinned
says out '^pinned memory; link [0-9.]+ GB/s up, '
for what in '8 x 8 x 8 nn x 13107 +strided' '512 x 512 x 512 nn x 12 +by lists' \
    '512 x 512 x 512 nn x 12 +calls'; do
    says out "^  gpu   $what +[0-9.]+ .?s +[0-9.]+ +[0-9.]+ .?s +[0-9.]+ +- +[0-9.e-]+$"
done
checks=$((checks + 1))
! grep -q '^  cpu ' "$place/out" || fail "batches in host memory go to the CPU"
tool=$sim expect 0 bench batched --random 2 --quick --memory pageable
says out '^plain memory; link [0-9.]+ GB/s up, '
tool=$tool expect 0 bench batched --random 1 --quick --memory pageable

# rows SIDE: the batches of a side in the CSV, without the measurements.
rows() {
    sed -n "s/^$1,\(.*\),strided,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,/\1,/p" "$place/out"
}

# Random ones: the same for a seed, on every side, and others for another seed.
eight() { expect 0 bench batched --random 8 --quick --csv "$@"; }
eight --seed 5 --side cpu
rows cpu >"$place/first"
checks=$((checks + 1))
awk -F, '/^#/ { next }
    !head { head = 20; columns = $0; next }
    { at = $8 ~ /^"/ # a name may have a comma
      if (NF - at != head || !($(10 + at) > 0) || !($(14 + at) >= 0) || !($(14 + at) <= $4 + 3) ||
          $5 !~ /^[nt][nt]$/ || $6 !~ /^(0|0.5|1)$/ || !($7 >= 2)) bad = 1
      for (i = 2; i <= 4; i++) if ($i < 1 || $i > 600) bad = 1
      for (i = 15; i <= 20; i++) if ($(i + at) !~ /^[0-6]$/) bad = 1
      if ($8 == "strided") batches++ }
    END { exit !(batches == 8 && !bad &&
                 columns == "side,m,n,k,transposes,beta,count,way,rounds,seconds_median," \
                            "seconds_min,of_roof,x_peer,error_u,gap_a,gap_b,gap_c,product_gap_a," \
                            "product_gap_b,product_gap_c") }' \
    "$place/out" || fail "the CSV of random batches is not as documented"
tool=$sim eight --seed 5 --side gpu
rows gpu >"$place/second"
eight --seed 6 --side cpu
rows cpu >"$place/third"
checks=$((checks + 3))
[ "$(wc -l <"$place/first")" -eq 8 ] || fail "there are not eight batches"
diff "$place/first" "$place/second" >/dev/null || fail "a seed gives other batches elsewhere"
[ "$(sort "$place/first" "$place/third" | uniq -d | wc -l)" -eq 0 ] ||
    fail "another seed gives the same batches"

# Their table, and the peers: PyPI's names, a batch by strides, or only by lists.
for library in "$blas" "$blas_lists"; do
    DUOBLAS_CPU_BLAS=$library expect 0 bench batched --random 3 --seed 2 --quick --side cpu
    says out '^3 random batches, seed 2; '
    row='^  cpu   [0-9]+ x [0-9]+ x [0-9]+ [nt][nt] .* (strided|OpenBLAS, (calls|batch)) '
    checks=$((checks + 1))
    [ "$(grep -Ec "$row" "$place/out")" -eq 9 ] || fail "three ways of three batches are not there"
    for way in calls batch; do
        says out "^OpenBLAS, $way +geometric mean of .*, least .*; [0-3] of 3 below 0.95\$"
    done
    says out '^cpu: 3 batches in [0-9]+ s$'
done

# ... with integers of 32 bits, and a batch that does not crash: others are no peers.
DUOBLAS_CPU_BLAS=$blas_64 expect 0 bench batched --random 1 --seed 2 --quick --side cpu
checks=$((checks + 1))
! grep -q 'OpenBLAS, ' "$place/out" || fail "a library with integers of 64 bits is a peer"
DUOBLAS_CPU_BLAS=$blas_crashes expect 0 bench batched --random 1 --seed 2 --quick --side cpu
says err "^duoblas: OpenBLAS's batches are left out: "
says out ' OpenBLAS, calls '
checks=$((checks + 1))
! grep -q 'OpenBLAS, batch' "$place/out" || fail "a batch that crashes is a peer"

tool_summary
