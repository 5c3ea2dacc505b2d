#!/bin/sh
# test_tool_usage.sh - the answers of the duoblas tool: mistakes and their statuses, values, help,
# versions. With and without a GPU; nothing is measured for long.
#
#   test_tool_usage.sh PATH/TO/duoblas [THE SAME ON THE SIMULATED DEVICE]
set -u

tool=${1:?usage: test_tool_usage.sh PATH/TO/duoblas}
source=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
XDG_CONFIG_HOME=$place/config
export XDG_CONFIG_HOME
for name in $(env | sed -n 's/^\(DUOBLAS_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
. "$source/tests/support/tool_checks.sh"

# Mistakes: a usage line on stderr, status 2, nothing on stdout.
mistake() {
    expect 2 "$@"
    says err '^Usage: duoblas'
    checks=$((checks + 1))
    [ ! -s "$place/out" ] || fail "duoblas $*: a mistake, and yet it writes to stdout"
}
mistake
mistake frobnicate
mistake --frobnicate
mistake info --frobnicate
mistake info extra
mistake crossover --frobnicate
mistake crossover extra
mistake crossover --compare
mistake crossover --compare a.json b.json c.json
mistake crossover --compare a.json --json
mistake crossover --calls 0
mistake crossover --calls 1,2,3,4,5
mistake crossover --calls 1,
mistake crossover --markdown
mistake crossover --operations sger
mistake crossover --operations ssum,
mistake crossover --max-seconds none
mistake crossover --csv
mistake crossover --report
mistake crossover --gpu-profile
mistake crossover --json out.json
mistake crossover --verify=none
mistake crossover --verify=0
mistake crossover --verify --profile mine.ini
mistake crossover --verify --json
mistake crossover --update --verify
mistake crossover --plot figures.jpeg
mistake crossover --plot .svg
mistake explain
mistake explain sger 10
mistake explain sgemm 10 10
mistake explain sgemm 10 10 10 10
mistake explain sgemm 10 10 -3
mistake explain sgemm 10 10 ten
mistake explain ssum 10 --resident a
mistake explain ssum 10 --transpose nt
mistake explain ssum 10 --resident x --prepared x
mistake explain sgemm 10 10 10 --resident all --prepared c
mistake explain sgemm 10 10 10 --prepared a
mistake explain sgemm 10 10 10 --kept a --pinned b,a
mistake explain sgemm 10 10 10 --kept all --resident c
mistake explain sgemm 10 10 10 --resident a --resident b --pinned a
mistake explain ssum 10 --kept x --pinned x
mistake explain ssum 10 --resident result --kept result
mistake explain ssum 10 --resident x,
mistake explain ssum 10 --resident ''
mistake explain sgemm 10 10 10 --path left
mistake explain sgemm 10 10 10 --devices 0
mistake explain sgemm 10 10 10 --devices 9
mistake explain sgemm 10 10 10 --memory 10T
mistake explain sgemm 10 10 10 --memory G
mistake explain ssum 10 --csv
mistake bench
mistake bench sger
mistake bench ssum -s 10x10x10
mistake bench ssum -n 10,
mistake bench ssum -n 10..20
mistake bench ssum -n 2^10..2^8
mistake bench ssum -n 2^10..
mistake bench ssum -n ..2^10
mistake bench ssum -n 2^41
mistake bench ssum -n 2^-1
mistake bench ssum -n 2^0..2^40,2^0..2^40
mistake bench ssum --offset 64
mistake bench ssum --offset -1
mistake bench ssum --side left
mistake bench sgemm -s 10x10
mistake bench ssum --transpose nt
mistake bench sgemm --transpose nn,tt
mistake bench sgemm --math exact
mistake bench --overhead
mistake bench overhead --quick
mistake bench bits --csv
mistake bench --quick ssum
mistake bench accuracy -s 10x10x10
mistake bench accuracy ssum
mistake bench accuracy sgemm sgemm
mistake bench accuracy --transpose nt
mistake bench peers --library a.so,B
mistake bench peers ssum --library a.so
mistake bench peers sdot
mistake bench shapes --plot bench.svg
mistake bench shapes --transpose nx
mistake bench shapes --random 0
mistake bench shapes --random 5 -s 10x10x10
mistake bench shapes --random 5 --transpose nn
mistake bench sgemm --random 5
mistake bench batched -n 64
mistake bench batched -s 8x8x8
mistake bench batched --transpose nt
mistake bench batched --random 0
mistake bench batched --random 5 -n 64
mistake bench batched --random 5 -s 8x8x8
mistake bench batched --random 5 --transpose nn
mistake bench batched --random 5 --algorithms
mistake bench batched --random 5 --seed -1
mistake bench sgemm --algorithms
mistake bench host -s 10x10x10
mistake bench host --memory resident
mistake bench host --devices 0
mistake bench host --rounds 65
mistake bench host --max-seconds soon
mistake bench host --plot bench.svg
mistake bench graphs --plot bench.svg
mistake bench sgemm --memory pinned
mistake bench ssum --plot bench.jpeg
mistake bench ssum --plot "it's.svg"

# ... which name the good ones.
mistake crossover --operations sger
says err 'bad value for --operations: sger; it may be sgemm\|sasum\|ssum\|sdot\[,...\]$'
mistake crossover --plot figures.jpeg
says err 'bad value for --plot: figures.jpeg; it may be FILE.svg$'
mistake bench ssum --side left
says err 'bad value for --side: left; it may be cpu\|gpu$'
mistake bench ssum --plot bench.jpeg
says err 'bad value for --plot: bench.jpeg; it may be FILE.svg\|FILE.png\|FILE.gp$'
mistake bench graphs --only chains
says err 'bad value for --only: chains; it may be overlap\|chain\|fork-join\|launch'
mistake bench host --devices 0
says err 'bad value for --devices: 0; it may be 1 to [0-9]+$'
mistake bench sger
says err 'no such benchmark: sger; it may be sgemm, sasum, ssum, sdot, .*, bits$'
mistake bench sgemm --random 5
says err '--random is for shapes, batched, not for sgemm$'
mistake bench shapes --random 5 -n 64
says err '--random draws its own shapes'
mistake explain sger 10
says err 'no such operation: sger; it may be sgemm, sasum, ssum, sdot$'
mistake explain sgemm 10 10 10 --path left
says err 'bad value for --path: left; it may be auto\|cpu\|gpu$'
mistake explain ssum 10 --resident y
says err 'ssum, operand y: there are x, result$'
mistake explain sgemm 10 10 10 --kept a --pinned a
says err 'sgemm, operand a: it cannot be in two places$'

# Sizes are whole numbers, in any spelling.
expect 0 explain sgemm 2^10 1e3 2.5e3
says out '^sgemm 1024 x 1000 x 2500, '
expect 0 explain ssum 1e12
expect 0 explain ssum 2^40
for size in 2^41 1.5 1e-1 0e5 1e13 1e99 0x10 2^ 2^1.5 1e3x e3 1.5e0 -1e3 1.0000000000000001 nan; do
    expect 2 explain ssum -- "$size"
    says err "not a size: $(echo "$size" | sed 's/[.^]/\\&/g'); "
done
expect 0 bench ssum -n 1e2,2^7 --quick --side cpu
says out '^ssum 100$'
says out '^ssum 128$'
expect 0 bench sgemm -s 2^4x1e1x12 --quick --side cpu
says out '^sgemm 16 x 10 x 12 nn$'
mistake bench ssum -n 1e1..1e3
mistake bench ssum -n 1.5

# Output that cannot be printed is a failure.
if [ -c /dev/full ]; then
    for command in --help --version info 'info --json' 'crossover --help' 'explain ssum 100' \
        'bench ssum -n 64 --quick --side cpu --csv' 'run --help'; do
        # shellcheck disable=SC2086 # words
        "$tool" $command >/dev/full 2>"$place/err" </dev/null
        got=$?
        checks=$((checks + 1))
        [ "$got" -eq 1 ] || fail "duoblas $command >/dev/full: exit status $got, not 1"
        says err '^duoblas: cannot write to standard output: '
    done
fi

# Without a GPU nothing can be measured on one, and explain tells which algorithm runs here and
# which would run on a machine with one.
if ! has_gpu; then
    for what in 'ssum -n 64' 'shapes -s 8x8x8'; do
        # shellcheck disable=SC2086 # words
        expect 1 bench $what --quick --side gpu
        says err '^duoblas: there is no GPU for --side gpu: '
        checks=$((checks + 1))
        [ ! -s "$place/out" ] || fail "bench $what --side gpu: a table without a GPU"
    done
    expect 0 explain sgemm 4096 4096 4096 --resident all
    says out '^  sgemm_gpu_.* \(<-\)$'
    says out '^  sgemm_cpu_.* <-$'
    says out '^  <- runs here, \(<-\) on a machine with an NVIDIA '
    checks=$((checks + 1))
    ! grep -q '^  sgemm_gpu_.* <-$' "$place/out" ||
        fail 'explain says of an algorithm of the GPU that it runs here'
    expect 0 explain sgemm 16 16 16
    says out '^  sgemm_cpu_.* <-$'
    checks=$((checks + 1))
    ! grep -q '(<-)' "$place/out" || fail 'explain has two arrows where the CPU wins anyway'
fi

# A profile that cannot be written is told before anything is measured, with the reason.
unwritable() { # FOLDER REASON: of the user's profiles
    XDG_CONFIG_HOME=$1 expect 1 crossover --quick --operations ssum --max-seconds 3
    says err "^duoblas: cannot write (the profile )?$1/.*\.ini: $2\$"
    checks=$((checks + 1))
    [ ! -s "$place/out" ] || fail "$1: measured before it was told"
}
echo >"$place/file"
unwritable "$place/file" 'Not a directory'
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$place/locked"
    chmod 500 "$place/locked"
    unwritable "$place/locked" 'Permission denied'
    mkdir -p "$place/there/duoblas/profiles"
    chmod 500 "$place/there/duoblas/profiles"
    unwritable "$place/there" 'Permission denied'
fi
expect 1 crossover --quick --operations ssum --max-seconds 3 --profile "$place/file/profile.ini"
says err "^duoblas: cannot write the profile $place/file/profile.ini: Not a directory$"

# Every command tells all variables that are not understood before it does its work.
DUOBLAS_PATH=left DUOBLAS_PTAH=cpu DUOBLAS_WORKSPACE=lots expect 0 explain ssum 100
says err '^duoblas explain: DUOBLAS_PATH=left is not understood and ignored$'
says err '^duoblas explain: DUOBLAS_WORKSPACE=lots is not understood and ignored$'
says err '^duoblas explain: DUOBLAS_PTAH is no variable of DuoBLAS$'
checks=$((checks + 1))
DUOBLAS_RUN=1 DUOBLAS_TOOL=duoblas DUOBLAS_LIBRARY=none expect 0 explain ssum 100
[ ! -s "$place/err" ] || fail "these are variables of others of ours"
DUOBLAS_WORKSPACE=512M expect 0 explain ssum 100
checks=$((checks + 1))
[ ! -s "$place/err" ] || fail "512M is a number of bytes"

# info as JSON: the same facts as its text has.
if command -v python3 >/dev/null; then
    DUOBLAS_PATH=left OMP_NUM_THREADS=1 expect 0 info
    cp "$place/out" "$place/info"
    DUOBLAS_PATH=left OMP_NUM_THREADS=1 expect 0 info --json
    says err 'DUOBLAS_PATH=left is not understood'
    checks=$((checks + 1))
    python3 - "$place/out" "$place/info" <<'END' || fail "info --json is not as documented"
import json
import sys

with open(sys.argv[1], encoding='utf-8') as file:
    facts = json.load(file)
with open(sys.argv[2], encoding='utf-8') as file:
    text = file.read()
assert facts['format'] == 1 and facts['tool'] == 'duoblas info'
assert 'DuoBLAS %s (commit %s, ' % (facts['version'], facts['commit']) in text
assert '  threads        %d' % facts['cpu']['threads'] in text
for fact in (facts['cpu']['model'], facts['cpu']['vectors'], facts['profile']['in_use'],
             facts['profile']['because'], facts['profile']['gpu'], facts['cpu_blas']['library']):
    assert fact is None or fact in text, fact
assert bool(facts['gpus']) == (facts['no_gpu_because'] is None)
assert set(facts['profile']['measured']) == {'sgemm', 'sasum', 'ssum', 'sdot'}
assert facts['environment']['DUOBLAS_PATH'] == 'left'
assert facts['environment']['OMP_NUM_THREADS'] == '1'
assert facts['complaints'] == ['DUOBLAS_PATH=left is not understood and ignored']
END
fi

# Help and version.
expect 0 --help
says out '^Usage: duoblas COMMAND'
expect 0 --version
says out '^duoblas [0-9]+\.[0-9]+\.[0-9]+'
version=$(cat "$place/out")
# ... on one screen, which lists every benchmark, whose own help has its own options.
expect 0 bench --help
checks=$((checks + 1))
awk 'length > 79 { bad = 1 } END { exit bad || NR > 40 }' "$place/out" ||
    fail 'bench --help is no screen of 40 lines'
benchmarks=$(sed -n '/^Benchmarks:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$place/out" | sort -u)
for benchmark in $benchmarks 'accuracy sgemm'; do
    # shellcheck disable=SC2086 # words
    expect 0 bench $benchmark --help
    says out "^Usage: duoblas bench $benchmark"
done
expect 0 bench ssum --help
checks=$((checks + 1))
! grep -Eq -- '--(random|transpose|only|rounds)' "$place/out" ||
    fail 'the help of bench ssum has options of others'
# shellcheck disable=SC2086 # words
for command in info crossover explain bench 'bench host' run; do
    expect 0 $command --help
    says out "^Usage: duoblas $command"
    expect 0 $command --usage
    for option in --version -V; do
        expect 0 $command $option
        checks=$((checks + 1))
        [ "$(cat "$place/out")" = "duoblas $command ${version#duoblas }" ] ||
            fail "duoblas $command $option is not that of duoblas --version"
    done
done

# An MPI rank beyond the devices: its number counts modulo these.
on_sim=${2-}
if [ -n "$on_sim" ]; then
    checks=$((checks + 1))
    OMPI_COMM_WORLD_LOCAL_RANK=3 "$on_sim" info | grep -q '^  0: .* (in use by default)$' ||
        fail "rank 3 of one device has no device by default"
fi

tool_summary
