#!/bin/sh
# test_studies.sh TOOL [SIM] - what is built into `duoblas bench` on request (bench/studies), from
# outside, by the tool and by one that stands on the simulated device. Times are not judged.
set -u

tool=${1:?usage: test_studies.sh TOOL [SIM]}
sim=${2:-}
source=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
XDG_CONFIG_HOME=$place/config
export XDG_CONFIG_HOME
for name in $(env | sed -n 's/^\(DUOBLAS_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
. "$source/tests/support/tool_checks.sh"

# Each has a help of its own; that of all does not list it.
expect 0 bench --help
checks=$((checks + 1))
names='introduction|mixed|adapt|large|timeline|stall|lanes|new-memory|remembered|checks'
! grep -Eq "^  ($names) " "$place/out" ||
    fail 'bench --help lists studies'
for study in introduction mixed adapt large timeline stall lanes new-memory remembered checks; do
    expect 0 bench $study --help
    says out "^Usage: duoblas bench $study"
done

# Mistakes: a usage line on stderr, status 2, nothing on stdout.
mistake() {
    expect 2 "$@"
    says err '^Usage: duoblas'
    checks=$((checks + 1))
    [ ! -s "$place/out" ] || fail "duoblas $*: a mistake, and yet it writes to stdout"
}
mistake bench introduction --plot bench.svg
mistake bench mixed -n 16,32
mistake bench mixed -s 16x16x16 -s 8x8x8
mistake bench mixed --busy -1
mistake bench mixed --plot bench.svg
mistake bench mixed --profile h100
mistake bench adapt --profile h300
mistake bench adapt -n 16
mistake bench large -n 16 --timeline steps.csv
mistake bench large -n 16 --devices 1
mistake bench large
mistake bench large -n 16,32
mistake bench timeline --plot bench.svg
mistake bench timeline steps.csv
mistake bench timeline steps.csv more.csv --plot bench.svg
mistake bench adapt --profile h300
mistake bench timeline steps.csv -n 16,32
mistake bench lanes
mistake bench stall --rounds 4
mistake bench new-memory -s 8x8x8
mistake bench adapt --profile h300
says err 'it may be h100\|h200\|generic$'

# Mixed: each operation in four ways, without and with a neighbour; another BLAS in the turns.
expect 0 bench mixed -n 1000 -s 20x16x12 --quick --busy 1
says out '^No neighbours'
says out '^ +1 busy neighbour '
says out '^  sgemm +20 x 16 x 12 +alone '
expect 0 bench mixed -n 1000 -s 20x16x12 --quick --busy 1 --csv
checks=$((checks + 1))
awk -F, '/^#/ { next }
    !head { head = NF; next }
    { lines++; if (NF != head || !($7 > 0) || !($8 > 0) || !($9 >= $8) || !($10 >= $9)) bad = 1 }
    END { exit !(lines == 24 && head == 14 && !bad) }' "$place/out" ||
    fail "the CSV of bench mixed is not as documented"
expect 1 bench mixed --quick --beside "$place/no/such/library.so"
says err 'cannot open'
"$tool" info >"$place/out"
blas=$(sed -n 's/^  library  *//p' "$place/out")
if [ -n "$blas" ]; then
    expect 0 bench mixed -n 1000 -s 20x16x12 --quick --beside "$blas"
    says out '^  their sgemm +20 x 16 x 12 +alone '
fi

# Products into new memory.
expect 0 bench new-memory -n 64,300 --memory pinned --rounds 2
says out '^  pinned +300 .* [0-9.]+ +[0-9.]+$'
expect 0 bench new-memory -n 64 --rounds 1 --csv
says out '^pageable,64,[0-9.e+-]+,[0-9.e+-]+,[0-9.e+-]+,[0-9.e+-]+,[0-9.e+-]+$'

# Checks of results.
expect 0 bench checks -n 40,64 --memory pageable --rounds 2
says out '^  plain +64 .* -?[0-9.]+ +-?[0-9.]+$'
says out '^[1-9][0-9]* results were checked, 0 were wrong$'

# The same A again.
expect 0 bench remembered -s 300x20x400 --rounds 2
says out '^ +300 +20 +400 .* [0-9.]+ +[0-9.]+$'
expect 0 bench remembered --random 2 --rounds 1 --seed 3
says out '^2 shapes: geometric mean [0-9.]+, worst of three repeats [0-9.]+$'

# Large products: every call is checked.
expect 0 bench large -s 300x20x500 --transpose tt --memory pinned --rounds 3
says out '^     3 +[0-9.]+ .?s .* [cg]pu   sgemm_'
expect 0 bench large -n 96 --csv
says out '^pageable,96,96,96,nn,2,[0-9.e+-]+,[0-9.e+-]+,[cg]pu,sgemm_'
expect 1 bench large -n 2^32
says err ' takes [0-9.]+ TiB: this machine has less memory$'

# A timeline: what is no step is told by its line, and every lane and device has its row.
{
    echo device,lane,step,begin_ms,end_ms
    echo '# a comment'
    echo '0,up,panel of A,0,1.5'
    echo '1,multiply,tile 0 0,1.5,2'
    echo '1,down,tile 0 0,2,2.25'
} >"$place/steps.csv"
expect 0 bench timeline "$place/steps.csv" --plot "$place/steps.gp"
for line in "'GPU 1 down' 2\)" "set label 'panel of A' at 0.75,8 " '^0.75 8 0 1.5 7.6 8.4$'; do
    checks=$((checks + 1))
    grep -Eq "$line" "$place/steps.gp" || fail "the timeline does not have: $line"
done
if command -v gnuplot >/dev/null; then
    expect 0 bench timeline "$place/steps.csv" --plot "$place/steps.svg"
    checks=$((checks + 1))
    grep -q '</svg>' "$place/steps.svg" || fail "the timeline is no whole SVG"
fi
{ cat "$place/steps.csv" && echo '0,host,C 0 0,2,3'; } >"$place/with_host.csv"
expect 0 bench timeline "$place/with_host.csv" --plot "$place/steps.gp"
for line in "'GPU 1 host' 2\)" '^2.5 7 2 3 6.6 7.4$'; do
    checks=$((checks + 1))
    grep -Eq "$line" "$place/steps.gp" || fail "the timeline with a host does not have: $line"
done
for step in '0,sideways,x,0,1' '0,up,x,2,1' '0,up,x,0' '0,up,x,0,1,2' '-1,up,x,0,1' \
    '0,up,x,0,nan'; do
    { cat "$place/steps.csv" && echo "$step"; } >"$place/bad.csv"
    expect 1 bench timeline "$place/bad.csv" --plot "$place/bad.gp"
    says err 'line 6: not device,lane,step,begin_ms,end_ms$'
done
expect 1 bench timeline "$place/no/such/steps.csv" --plot "$place/bad.gp"
says err 'cannot read'
checks=$((checks + 1))
[ ! -e "$place/bad.gp" ] || fail "a timeline that is wrong was drawn"

# ... and one of a product that had no steps on a GPU is refused.
DUOBLAS_PATH=cpu expect 1 bench timeline "$place/none.csv" -n 64 --memory pinned
says err 'no timeline: duo_sgemm did not work in steps on a GPU'
checks=$((checks + 1))
[ ! -e "$place/none.csv" ] || fail "a timeline without steps was written"

# What explain predicts is drawn, too.
expect 0 explain sgemm 4096 4096 4096 --path gpu --csv
cp "$place/out" "$place/predicted.csv"
expect 0 bench timeline "$place/predicted.csv" --plot "$place/predicted.gp"

# Processes of stall, and the picture of lanes: a box for each product.
if [ -n "$sim" ]; then
    tool=$sim expect 0 bench stall --quick --rounds 2
    says out '^GPU   Simulated GPU'
    says out '^  ssum 100000 +float64 .* (yes|no|partly) .* (yes|no|partly) *$'
    says out '^  worst of 2 processes '
    tool=$sim expect 0 bench stall --quick --rounds 1 --csv
    checks=$((checks + 1))
    awk -F, '/^#/ { next }
        !head { head = NF; next }
        { rows++
          if (NF != head || !($6 > 0) || !($8 >= $6) || $10 !~ /^(yes|no|partly)$/) bad = 1 }
        END { exit !(head == 10 && !bad && rows == 24) }' "$place/out" ||
        fail "the CSV of bench stall is not as documented"
    DUOBLAS_DEVICE_MEMORY=1K tool=$sim expect 1 bench stall --quick
    says err '^duoblas: '
    tool=$sim expect 0 bench lanes --quick --plot "$place/lanes.gp"
    checks=$((checks + 2))
    [ "$(grep -c '^[0-9.e+-]* [1-9] ' "$place/lanes.gp")" -eq 96 ] ||
        fail "the picture lacks products"
    grep -q "'context 8' 2, 'one context' 1)" "$place/lanes.gp" || fail "the picture lacks a row"
    tool=$sim expect 0 bench timeline "$place/recorded.csv" -n 700 --plot "$place/recorded.gp"
fi

# Ctrl-C, or worse: its neighbours end with it.
lonely() { [ "$(readlink /proc/[0-9]*/exe | grep -c "^$place/lonely")" -eq "$1" ]; }
for signal in INT KILL; do
    cp "$tool" "$place/lonely"
    started_as=$place/lonely start bench mixed --busy 2
    wait_until lonely 3
    wait_until catches_interrupt
    interrupt $signal
    checks=$((checks + 1))
    case $signal$got in
    INT130 | KILL137) ;;
    *) fail "bench mixed, $signal: exit status $got" ;;
    esac
    wait_until lonely 0
done

tool_summary
