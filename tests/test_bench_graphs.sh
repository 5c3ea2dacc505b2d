#!/bin/sh
# test_bench_graphs.sh TOOL SIM - `duoblas bench graphs` from outside, by the tool and by one that
# stands on the simulated device: its parts and tables. Times are not judged.
set -u

tool=${1:?usage: test_bench_graphs.sh TOOL SIM}
sim=${2:?usage: test_bench_graphs.sh TOOL SIM}
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
unset DUOBLAS_PROFILE DUOBLAS_PATH DUOBLAS_VERBOSE DUOBLAS_MATH DUOBLAS_DEVICE
checks=0
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*" >&2
    sed 's/^/    /' "$place/out" "$place/err" >&2
}

# expect STATUS PROGRAM ARGUMENT...: its output is in out and err
expect() {
    want=$1
    shift
    "$@" >"$place/out" 2>"$place/err" </dev/null
    got=$?
    checks=$((checks + 1))
    [ "$got" -eq "$want" ] || fail "$*: exit status $got, not $want"
}

# No line below the head is too wide. The head may tell of a faster BLAS, with its file.
narrow() {
    checks=$((checks + 1))
    if grep -v '^[A-Z]\|^      other BLAS' "$place/out" | grep -q '.\{81\}'; then
        fail "a line is too wide"
    fi
}

# says FILE PATTERN
says() {
    checks=$((checks + 1))
    grep -Eq -- "$2" "$place/$1" || fail "std$1 does not have: $2"
}

# Mistakes.
for what in 'graphs --only stall' 'graphs --only chain,' 'graphs --only=' 'graphs -n 64' \
    'graphs --plot lanes.gp' 'graphs --memory pinned' 'graphs --devices 1' 'graphs --rounds 0' \
    'sgemm --only chain' 'ssum --rounds 3' 'shapes --max-seconds 3'; do
    # shellcheck disable=SC2086 # words
    expect 2 "$tool" bench $what
    says err '^Usage: duoblas'
done

# Only the CPU's side.
expect 0 "$tool" bench graphs --quick --side cpu
narrow
for what in '^  cpu   20 ops n = 64 +calls ' '^  cpu   5 sgemm 128\^3 +graph ' \
    '^  cpu   5 sdot 100000 +its parts ' '^  cpu   5 functions +graph ' \
    '^  cpu   100 nodes +side by side '; do
    says out "$what"
done
checks=$((checks + 1))
if grep -q '^  gpu ' "$place/out"; then fail "--side cpu shows the GPU"; fi

# All of it, on the simulated device.
expect 0 "$sim" bench graphs --quick --rounds 2
narrow
says out '^GPU   Simulated GPU'
for what in overlap chain fork-join launch; do says out "^$what: "; done
for what in 'eight contexts' 'eight in threads' 'graph: 8 chains'; do
    says out "^  gpu   sgemm 64\\^3 +$what "
done
says out '^  no raw CUDA graph: '

# CSV: every row has a time, and compared ones have a ratio.
expect 0 "$sim" bench graphs --quick --rounds 1 --csv
checks=$((checks + 1))
awk -F, '/^#/ { next }
    !head { head = NF; columns = $0; next }
    { rows[$1 "," $2]++; if ($9 > 0) ratios[$1]++
      if (NF != head || !($6 > 0) || !($7 > 0) || !($7 <= $6 * 1.0001)) bad = 1 }
    END { exit !(head == 10 && !bad &&
                 columns == "part,side,what,way,rounds,seconds_median,seconds_min,seconds_max," \
                            "ratio,running" &&
                 rows["overlap,gpu"] == 4 && rows["chain,gpu"] == 6 && rows["chain,cpu"] == 6 &&
                 rows["fork-join,gpu"] == 6 && rows["fork-join,cpu"] == 10 &&
                 rows["launch,gpu"] == 7 && rows["launch,cpu"] == 7 &&
                 ratios["overlap"] == 3 && ratios["chain"] == 6 && ratios["fork-join"] == 8) }' \
    "$place/out" || fail "the CSV of bench graphs is not as documented"

# One part.
expect 0 "$sim" bench graphs --quick --rounds 1 --only overlap
checks=$((checks + 1))
if grep -q '^chain' "$place/out"; then fail "--only overlap does more"; fi

echo "$checks checks, $failures failures"
[ "$failures" -eq 0 ]
