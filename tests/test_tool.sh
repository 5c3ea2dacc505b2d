#!/bin/sh
# test_tool.sh - the duoblas tool from outside: exit statuses, files, interruption. With and without
# a GPU.
#
#   test_tool.sh PATH/TO/duoblas
set -u

tool=${1:?usage: test_tool.sh PATH/TO/duoblas}
source=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d) || exit 1
trap 'rm -rf "$place"' EXIT
XDG_CONFIG_HOME=$place/config
export XDG_CONFIG_HOME
unset DUOBLAS_PROFILE DUOBLAS_PATH DUOBLAS_VERBOSE DUOBLAS_WORKSPACE
. "$source/tests/support/tool_checks.sh"

# info
expect 0 info
for heading in CPU "The CPU's BLAS" GPU Profile; do says out "^$heading"; done
says out 'in use +(built-in|/)'
if ! has_gpu; then
    says out '^  GPU part +of an .* \(not this machine\)$'
    says out '^  to GPU +[0-9.]+ GB/s  of an .* \(not this machine\)$'
fi

# explain: every algorithm, one winner
expect 0 explain sgemm 4096 4096 4096 --resident a,b --transpose nt
for algorithm in sgemm_gpu_naive sgemm_gpu_tiled sgemm_gpu_ffma sgemm_gpu_skinny sgemm_gpu_rank_k \
    sgemm_cpu_openblas sgemm_cpu_ffma; do
    says out "$algorithm"
done
says out '<-'
DUOBLAS_MATH=float64 expect 0 explain sgemm 4096 4096 4096 --resident a,b
for line in sgemm_gpu_f64 sgemm_cpu_float64 '<-'; do says out "$line"; done
DUOBLAS_MATH=tf32 expect 0 explain sgemm 4096 4096 4096 --resident a,b
for line in sgemm_gpu_fp16x1 sgemm_gpu_tiled '<-'; do says out "$line"; done
expect 0 explain sdot 1000000 --resident x --pinned y
says out 'sdot_cpu_lanes'
expect 0 explain sgemm 4096 4096 4096 --resident a,a --kept b --prepared a,b
says out '^  b .* kept, current on the GPU \(prepared\)$'
expect 0 explain ssum 100 --path cpu
says out 'cpu_lanes.*<-'

# ... and the plan of a product on the GPU with operands in host memory: every element goes up once
# and comes home once, in any division; with little memory A or B goes up again.
expect 0 explain sgemm 40000 40000 8192 --path gpu --pinned a,b --memory 70G --devices 2
for line in '^Plan of sgemm_gpu_.* on 2 GPUs: ' \
    '^Its slots take .* of 70 GiB each' '^  A, sent .* 1.2 GiB' \
    '^  A, shared' '^  B, sent .* 1.2 GiB' '^  C, fetched .* 6.0 GiB' '^  1 .* m?s *$' \
    '^  predicted .* m?s +by these steps$' '^  bound .* % of that'; do
    says out "$line"
done
expect 0 explain sgemm 1000 1000 1000 --path gpu
says out '^  predicted .* by these steps$'
says out "^  The table's .* differs: it comes from a formula"
expect 0 explain sgemm 200000 200000 200000 --path cpu --threads 1
says out '^sgemm_cpu_[a-z]+: [0-9]+ s on'
checks=$((checks + 1))
! grep -q 'e+[0-9]' "$place/out" || fail "seconds have an exponent"
expect 0 explain sgemm 40000 40000 8192 --path gpu --memory 2G
says out '^  C, fetched .* 6.0 GiB'
says out '^Its slots take [0-9.]+ [GM]iB of 2\.0 GiB\.$'
says out '^  host .* 6.0 GiB'
expect 0 explain sgemm 4096 4096 4096 --path gpu --csv
says out '^device,lane,step,begin_ms,end_ms$'
says out '^0,up,A 0,'
says out '^0,multiply,C 0 0,'
says out '^0,down,C 0 0,'
expect 1 explain sgemm 4096 4096 4096 --path cpu --csv
says err 'has no plan'
expect 1 explain sgemm 4096 4096 4096 --path gpu --memory 1 --csv
expect 0 explain sgemm 4096 4096 4096 --resident all --path gpu
checks=$((checks + 1))
! grep -q '^Plan' "$place/out" || fail "a product of resident operands has no plan"

# bits: the hash that is documented; another seed gives another one
expect 0 bench bits --side cpu --threads 2
says out '^These are the bits of DuoBLAS 1\.x\.$'
hash=$(sed -n 's/^  all of these *//p' "$place/out")
checks=$((checks + 1))
grep -q "  all of these  *$hash" "$source/docs/guide/reproducibility.md" ||
    fail "$hash is not documented"
expect 0 bench bits --side cpu --seed 2
checks=$((checks + 1))
! grep -q "$hash" "$place/out" || fail "the seed does not count"

# narrow: the output fits 80 columns, except for the names of files.
narrow() {
    checks=$((checks + 1))
    grep -Ev "$place" "$place/out" | awk 'length > 79 { bad = 1 } END { exit bad }' ||
        fail "a line is wider than 79 columns"
}

# crossover, small: CSV and profile are there and right, and the profile serves at once.
expect 0 crossover --quick --ignore-noise --operations ssum --max-seconds 1 \
    --csv "$place/figures.csv" --profile "$place/profile.ini"
says out '^ssum(; the GPU: as predicted for .*)?$'
says out 'ssum of plain arrays is'
says out '^The GPU (is|would be) faster from n =$'
says out "^CSV: $place/figures.csv$"
checks=$((checks + 2))
head -4 "$place/out" | grep -q 'ssum' || fail "the verdict does not come first"
[ ! -s "$place/err" ] || fail "progress went to a file"
narrow
[ -s "$place/profile.svg" ] || fail "there is no plot beside the profile"
[ ! -e "$place/profile.csv" ] || fail "a CSV stands beside the profile, though it was sent away"
cp "$place/figures.csv" "$place/csv"
checks=$((checks + 2))
head -1 "$place/csv" | grep -q '^# tool: duoblas' || fail "the CSV has no head"
awk -F, '/^#/ { next }
    !head { head = NF; columns = $0; next }
    { rows++; if (NF != head || !($9 > 0) || $10 > $9 * 1.0001 ||
                  ($13 != "measured" && $13 != "predicted")) bad = 1 }
    END { exit !(rows > 20 && head == 13 && !bad &&
                 columns ~ /^operation,m,n,k,residence,side,algorithm,/) }' \
    "$place/csv" || fail "the CSV is not as documented"
DUOBLAS_PROFILE=$place/profile.ini
export DUOBLAS_PROFILE
expect 0 info
says out "in use +$place/profile.ini"
unset DUOBLAS_PROFILE

# Figures of a noisy machine are marked wherever they decide.
sed 's/^noise_millionths = .*/noise_millionths = 5440000/' "$place/profile.ini" >"$place/noisy.ini"
export DUOBLAS_PROFILE="$place/noisy.ini"
expect 0 info
says out 'because .*named by DUOBLAS_PROFILE, NOISY: '
says out '^ +NOISY: figures may be off by 544 %$'
says out 'WARNING: .* NOISY machine'
expect 0 info --json
says out '"noisy":[[:space:]]*true'
says out '"noise":[[:space:]]*5\.44'
expect 0 explain ssum 1000
says out '^Profile: .*NOISY: '
unset DUOBLAS_PROFILE
expect 0 info --json
says out '"noisy":[[:space:]]*false'

# It is written beside the place where programs look, unless that place is asked for. Which of the
# two came depends on the other work of this machine.
mkdir "$place/beside"
"$tool" crossover --quick --operations ssum --max-seconds 1 --profile "$place/beside/my.ini" \
    >"$place/out" 2>"$place/err" </dev/null
got=$?
checks=$((checks + 1))
if [ -e "$place/beside/my.ini" ]; then
    [ "$got" -eq 0 ] && ! grep -q '^NOISY' "$place/out" || fail "quiet: exit status $got"
else
    [ "$got" -eq 0 ] && [ -s "$place/beside/my.noisy" ] && [ -s "$place/beside/my.noisy.csv" ] &&
        head -1 "$place/out" | grep -q '^NOISY: ' || fail "noisy: exit status $got"
fi
rm -r "$place/beside"

# Without --profile it goes to the user's own place, and --no-profile does not touch that.
expect 0 crossover --quick --operations ssum --max-seconds 1 --no-profile
checks=$((checks + 1))
[ ! -e "$XDG_CONFIG_HOME/duoblas" ] || fail "--no-profile wrote a profile"
expect 0 crossover --quick --ignore-noise --operations ssum --max-seconds 1
expect 0 info
own=$(echo "$XDG_CONFIG_HOME"/duoblas/profiles/*.ini)
says out "in use +$own"
says out 'ssum +quick run of 20[0-9-]+, commit'
says out 'sgemm +borrowed'
says out 'because .*; sgemm, sasum, sdot on the CPU from built-in generic, as not measured'

# Algorithms that were not measured are not in the file; ones measured before stay there.
algorithms_of() { grep -oE '^\[algorithm [a-z]+_cpu' "$own" | sort -u | tr -d '\n'; }
checks=$((checks + 2))
[ "$(algorithms_of)" = '[algorithm ssum_cpu' ] || fail "a profile of ssum has $(algorithms_of)"
expect 0 crossover --quick --ignore-noise --operations sdot --max-seconds 1
[ "$(algorithms_of)" = '[algorithm sdot_cpu[algorithm ssum_cpu' ] ||
    fail "a profile of ssum and sdot has $(algorithms_of)"

# Operations that were not measured this time keep their dates and figures.
checks=$((checks + 2))
sed '/^\[measured ssum\]/,/^$/s/^date = .*/date = 2026-01-02/' "$own" >"$own.new"
mv "$own.new" "$own"
expect 0 crossover --quick --ignore-noise --operations sdot --max-seconds 1
sed -n '/^\[measured ssum\]/,/^$/p' "$own" | grep -q '^date = 2026-01-02$' ||
    fail 'ssum is dated as if it had been measured again'
grep -q '^ssum,' "${own%.ini}.figures.csv" || fail 'the figures of ssum are gone'

# A quick run replaces no full one unless it is told to; an update keeps the other figures.
sed '/^\[measured ssum\]/,/^$/s/^effort = .*/effort = full/' "$own" >"$own.new"
mv "$own.new" "$own"
expect 1 crossover --quick --ignore-noise --operations ssum --max-seconds 1
says err 'is of a full run'
says err '--force'
says err '--profile FILE'
expect 0 crossover --quick --ignore-noise --operations sdot --max-seconds 1
expect 0 crossover --quick --ignore-noise --operations ssum --max-seconds 1 --update
says out '[0-9]+ figures kept'
expect 0 crossover --quick --ignore-noise --operations ssum --max-seconds 1 --force
says out '^Noise: (quiet|NOISY): '

# It does not hide one of an earlier version either.
sed '/^noise/d; s/^effort = .*/effort = full/; s/^format = .*/format = 4/' "$own" \
    >"$XDG_CONFIG_HOME/duoblas/profile.ini"
rm -r "$XDG_CONFIG_HOME/duoblas/profiles"
expect 1 crossover --quick --ignore-noise --operations ssum --max-seconds 1
says err 'duoblas/profile.ini is of a full run'
expect 0 crossover --quick --ignore-noise --operations ssum --max-seconds 1 \
    --profile "$place/profile.ini"
rm -r "$XDG_CONFIG_HOME"

# A BLAS of the CPU that could be better is told of in every head.
for command in 'crossover --quick --operations ssum --max-seconds 1 --no-profile' \
    'bench ssum --quick -n 100' info; do
    DUOBLAS_CPU_BLAS=/nonexistent/libblas.so expect 0 $command
    says out 'WARNING: DUOBLAS_CPU_BLAS is ignored|^  none: '
done
DUOBLAS_CPU_BLAS=/nonexistent/libblas.so expect 0 explain sgemm 100 100 100
says out '^  sgemm_cpu_openblas +cpu +- cannot do this call$'
says out 'WARNING: DUOBLAS_CPU_BLAS is ignored'

# Other libraries are told, and whether one is faster: a BLIS that does nothing is.
checks=$((checks + 1))
"$tool" bench sgemm -n 16 --quick --side cpu >"$place/out" 2>"$place/err"
grep -Eq 'other BLAS: |^BLAS  none' "$place/out" || fail "bench does not tell of other libraries"
if command -v cc >/dev/null && ! grep -q '^BLAS  none' "$place/out"; then
    mkdir "$place/blis"
    echo 'const char *bli_info_get_version_str(void) { return "9.8.7"; }
void sgemm_(void) {}' >"$place/blis.c"
    cc -shared -fPIC -o "$place/blis/libblis.so.4" "$place/blis.c"
    LD_LIBRARY_PATH=$place/blis expect 0 bench sgemm -n 16 --quick --side cpu
    says out "other BLAS: .*BLIS 9.8.7 is [0-9.]+ times as fast \\(DUOBLAS_CPU_BLAS=$place/blis/"
    rm -r "$place/blis" "$place/blis.c"
fi

# crossover --verify judges the profile in use: figures, sums and every candidate in the CSV; the
# draws do not depend on the machine, and no profile is written. It ends after 12 problems; the
# limit is for a busy machine.
expect 0 crossover --verify=12 --quick --ignore-noise --seed 5 --operations sgemm,ssum \
    --report "$place/verified.html" \
    --max-seconds 600 --csv "$place/verified.csv"
for line in 'were not measured before \(seed 5\)' '^  algorithm, threads ' \
    '^  best .* 1\.000$' '^Real / predicted' '^12 problems in '; do
    says out "$line"
done
checks=$((checks + 2))
[ ! -e "$XDG_CONFIG_HOME/duoblas" ] || fail "--verify wrote a profile"
checks=$((checks + 1))
grep -q '^</html>$' "$place/verified.html" && grep -q '<h2>Regret</h2>' "$place/verified.html" ||
    fail "the report of --verify is no whole page"
awk -F, '/^#/ { next }
    !head { head = NF; columns = $0; next }
    { rows++; chosen += $(NF - 1); best += $NF; numbers[$1] = 1
        if (NF != head || !($17 > 0) || !($22 > 0) || !($23 >= $22)) bad = 1
        if ($3 != "sgemm" && $3 != "ssum") bad = 1 }
    END { for (n in numbers) problems++
        exit !(rows >= 12 && problems == 12 && best == 12 && chosen <= 12 && !bad &&
            columns ~ /^number,class,operation,math,m,n,k,.*,chosen,best$/) }' \
    "$place/verified.csv" || fail "the CSV of --verify is not as documented"
rm "$place/verified.csv"
expect 1 crossover --verify --csv "$place/no/such/folder/verified.csv"
says err 'cannot write'

# Files that cannot be written are refused before anything is measured.
for option in --csv --plot --json= --report --markdown; do
    case $option in *=) ;; *) option="$option " ;; esac
    # shellcheck disable=SC2086 # the option and its value
    expect 1 crossover --no-profile ${option}$place/no/such/folder/figures.svg
    says err 'cannot write'
done

# The plot, the page and JSON; on stdout there is only JSON.
short='crossover --quick --ignore-noise --operations ssum --max-seconds 1'
mkdir "$place/files"
expect 0 $short --profile "$place/files/mine.ini" --plot "$place/figures.svg" \
    --report "$place/page.html" --json="$place/all.json" --markdown "$place/all.md" --calls 7,70
for line in 'Profile: .*/mine.ini' 'CSV: .*/mine.csv' 'Plot: .*/figures.svg' 'JSON: .*/all.json' \
    'Report: .*/page.html' 'Markdown: .*/all.md' ' +7 times +70 times$'; do
    says out "^$line"
done
checks=$((checks + 4))
grep -q '^| operation, shape | 7 times | 70 times |$' "$place/all.md" ||
    fail "the Markdown does not have the calls"
grep -q '^</svg>$' "$place/figures.svg" || fail "the plot is no whole SVG"
grep -q '^</html>$' "$place/page.html" || fail "the report is no whole page"
[ ! -e "$place/files/mine.svg" ] || fail "a plot stands beside the profile, though it was sent away"
expect 0 $short --no-profile --json
cp "$place/out" "$place/alone.json"
expect 0 $short --no-profile --compare "$place/all.json"
says out '^Compared with .*/all.json$'
expect 0 crossover --compare "$place/all.json" "$place/alone.json"
says out '^CPU: (no difference but noise|the runs differ by more than the noise)\. |in common'
narrow
expect 1 crossover --compare "$place/figures.svg" "$place/alone.json"
says err 'is not of'
expect 1 crossover --compare "$place/no/such.json"
says err 'cannot be read'
if command -v python3 >/dev/null; then
    checks=$((checks + 1))
    python3 - "$place/all.json" "$place/alone.json" "$place/figures.svg" <<'END' ||
import json
import sys
import xml.dom.minidom
for path in sys.argv[1:3]:
    with open(path, encoding='utf-8') as file:
        figures = json.load(file)
    assert figures['options']['operations'] == ['ssum'] and figures['verdict'], path
    noise = figures['noise']  # null: the machine is so busy that there was no time for a figure
    assert noise is None or (noise['text'] and noise['error'] >= 0), path
    assert all(f['seconds_median'] > 0 for c in figures['cases'] for f in c['figures']), path
xml.dom.minidom.parse(sys.argv[3])
END
        fail "JSON or SVG is not as documented"
fi
rm -r "$place/files" "$place/figures.svg"

# --no-files writes only the profile.
mkdir "$place/files"
expect 0 $short --no-files --profile "$place/files/mine.ini"
checks=$((checks + 1))
[ "$(ls "$place/files" | tr '\n' ' ')" = 'mine.figures.csv mine.ini ' ] ||
    fail "--no-files wrote $(ls "$place/files" | tr '\n' ' ')"

# The whole output fits 80 columns, too, and names the algorithms.
expect 0 $short --no-profile --full
says out '^ +16 CPU +ssum_cpu_lanes '
narrow

# A GPU that is not here, by its profile; one without a GPU part does not serve.
expect 1 $short --no-profile --gpu-profile "$place/no/such.ini"
says err 'cannot use the profile'
sed 's/^gpu *=.*/gpu = NVIDIA Made Up/' "$source/bench/profiles/h200.ini" \
    >"$place/files/made.ini"
sed 's/^effort = .*/&\nnoise_millionths = 500000/' "$place/files/made.ini" \
    >"$place/files/noisy.ini"
expect 1 crossover --quick --operations ssum --no-profile --gpu-profile "$place/files/noisy.ini"
says err 'cannot use the profile .*NOISY'
expect 0 $short --no-profile --gpu-profile "$place/files/noisy.ini"
expect 0 $short --no-profile --gpu-profile "$place/files/made.ini"
says out 'on the NVIDIA Made Up of made.ini'
expect 0 crossover --quick --ignore-noise --operations sgemm --max-seconds 1 --no-profile \
    --gpu-profile "$place/files/made.ini"
says out '^Predicted: on the NVIDIA Made Up of made.ini,'
if ! has_gpu; then # a GPU would make it a part
    expect 1 $short --no-profile --gpu-profile "$place/files/mine.ini"
    says err 'it has no GPU part'
fi
rm -r "$place/files"

# On a terminal of 50 columns the progress fits one line and is gone in the end, after Ctrl-C too.
# on_terminal COMMAND [interrupted]: its output on a terminal in lines, split where the cursor began
# anew
on_terminal() {
    rm -f "$place/process"
    env --default-signal=INT script -qec \
        "stty cols 50; echo \$\$ >$place/process; exec $1 >$place/out" "$place/typescript" \
        </dev/null >"$place/err" &
    if [ -n "${2-}" ]; then
        wait_until grep -q ' left  ' "$place/err"
        kill -INT "$(cat "$place/process")"
    fi
    wait $!
    tr '\r' '\n' <"$place/err" | sed 's/\x1b\[K//g' >"$place/lines"
    checks=$((checks + 2))
    awk '/ left  / { lines++; if (length > 49) bad = 1 } END { exit bad || !lines }' \
        "$place/lines" || fail "$1: no progress, or wider than the terminal"
    grep -v '^$' "$place/lines" | tail -1 | grep -q ' left  ' &&
        ! tail -c 4 "$place/err" | grep -q '\[K$' &&
        fail "$1: the progress line is still there"
}
if script -qec true "$place/typescript" </dev/null >/dev/null 2>&1; then
    on_terminal "$tool $short --no-profile"
    on_terminal "$tool crossover --operations ssum --no-profile" interrupted
else
    echo "skipped: progress on a terminal, for there is none to be had"
fi

# Ctrl-C in the middle: status 130 and no rest of a file, but the figures so far, with which an
# update goes on. Without a profile nothing is left.
rm -f "$place/figures.csv" "$place"/profile.*
start crossover --operations ssum --csv "$place/figures.csv" --profile "$place/profile.ini"
wait_until test -e "$place/profile.figures.csv"
interrupt INT
checks=$((checks + 3))
[ "$got" -eq 130 ] || fail "interrupted: exit status $got, not 130"
left=$(find "$place" -name 'figures*' -o -name 'profile*' -o -name '*.tmp')
[ "$left" = "$place/profile.figures.csv" ] || fail "interrupted, and left: $left"
says err 'interrupted; what was measured so far is kept: add --update'
expect 1 crossover --quick --ignore-noise --operations ssum --max-seconds 1 \
    --profile "$place/profile.ini"
says err 'is of a full run'
expect 0 crossover --quick --ignore-noise --update --operations ssum --max-seconds 1 \
    --profile "$place/profile.ini"
says out '[0-9]+ figures kept'
[ -s "$place/profile.ini" ] || fail 'an update wrote no profile'
rm -f "$place"/profile.*
start crossover --no-profile
wait_until catches_interrupt
interrupt INT
says err 'interrupted; no file was written'

# bench
expect 0 bench sgemm -n 64 -s 32x16x8 --quick --transpose tn
says out '^(Machine quiet|NOISY): '
says out '^sgemm 32 x 16 x 8 tn$'
says out 'sgemm_cpu_ffma'
# Against float64 a product of 64 steps errs by some 10^-7; all are products of the same operands.
expect 0 bench sgemm -s 64x48x64 --quick --csv --side cpu --math ieee --transpose nt
checks=$((checks + 1))
awk -F, '/^#/ { next }
    !head { head = NF; next }
    { lines++; if (NF != head || $15 != "nt" || !($16 > 1e-8 && $16 < 1e-6)) bad = 1 }
    END { exit !(lines >= 1 && !bad) }' "$place/out" ||
    fail "the errors of bench sgemm are not small"
expect 0 bench sdot -n 2^4..2^6,1000 --quick --csv --offset 3 --side cpu
says out '^sdot,1,1000,0,cpu,sdot_cpu_lanes,'
says out '^sdot,1,1000,0,cpu,openmp simd,1,'
# One bare read for each size, at 100 %; all else has a share of it; our own sums keep their bound.
checks=$((checks + 1))
awk -F, '/^#/ { next }
    !head { head = NF; columns = $0; next }
    { if (!lines[$3]++) sizes++; if (NF != head || !($8 > 0) || !($11 > 0) || !($14 > 0)) bad = 1 }
    $6 ~ /^read/ { reads[$3]++; if ($14 != 100 || $13 != "") bad = 1 }
    $6 == "sdot_cpu_lanes" || $6 ~ /^openmp simd/ { errors++
          if ($13 == "" || !($13 <= 9)) bad = 1 }
    END { for (n = 16; n <= 64; n *= 2) if (reads[n] != 1 || lines[n] < 3) bad = 1
          if (reads[1000] != 1 || sizes != 4 || errors < 12) bad = 1
          exit !(head == 17 && !bad &&
                 columns ~ /^operation,.*,error_u,percent_of_read,.*,percent_of_peak$/) }' \
    "$place/out" || fail "the CSV of bench is not as documented"
expect 0 bench sdot -n 64 --quick --csv --side cpu --threads 2 --reads
checks=$((checks + 1))
[ "$(grep -c ',cpu,read ' "$place/out")" -eq 4 ] || fail "--reads does not show every read"
expect 0 bench ssum -n 64 --quick --wait
says out 'ssum_cpu_lanes'
if has_gpu; then # without a GPU: test_tool_usage.sh
    expect 0 bench ssum -n 64 --quick --side gpu
    checks=$((checks + 1))
    if grep -q ' cpu ' "$place/out"; then fail "--side gpu shows the CPU"; fi
fi

# bench: sizes that no memory can hold are told, also if their bytes are beyond 64 bits.
for what in 'sgemm -n 2^32' 'sgemm -s 1x1099511627776x1099511627776' 'sdot -n 2^40' \
    'shapes -n 2^32' 'accuracy -n 2^40' 'accuracy sgemm -n 2^32' 'host -n 64,2^32'; do
    # shellcheck disable=SC2086 # words
    expect 1 bench $what
    says err ' takes [0-9.]+ TiB: this machine has less memory$'
done
expect 0 explain sgemm 1099511627776 1099511627776 1099511627776

# bench draws: files that cannot be written are refused before anything is measured.
expect 1 bench ssum -n 64 --plot "$place/no/such/folder/bench.gp"
says err 'cannot write'
expect 0 bench ssum -n 16,32 --quick --side cpu --plot "$place/bench.gp"
for line in "^set output '.*/bench.svg'" "title 'ssum_cpu_lanes'" "title 'read'"; do
    checks=$((checks + 1))
    grep -Eq "$line" "$place/bench.gp" || fail "the script does not have: $line"
done
if command -v gnuplot >/dev/null; then
    expect 0 bench ssum -n 16,32 --quick --plot "$place/bench.svg"
    checks=$((checks + 1))
    grep -q '</svg>' "$place/bench.svg" || fail "the plot of bench is no whole SVG"
else
    expect 1 bench ssum -n 64 --plot "$place/bench.svg"
    says err 'gnuplot is missing'
fi
expect 0 bench accuracy -n 16,3000 --quick --csv
says out '^ssum,uniform,16,100,cpu_lanes,0\.[0-9]+,0\.'
says out '^sdot,condition 1e8,3000,100,cpu_lanes,0\.[0-9]+,0\.'


# Products: our algorithms keep the bound on all data, and get the exact ones exactly.
expect 0 bench accuracy sgemm -n 40 -s 33x20x64 --csv --transpose tn
says out '^subnormal A,33,20,64,tn,sgemm_cpu_ffma,'
says out '^integers,40,40,40,tn,sgemm_cpu_ffma,0,0,0,0,0$'
checks=$((checks + 1))
awk -F, '/^#/ { next }
    !head { head = NF; next }
    $6 ~ /^sgemm/ { lines++; if (NF != head || !($9 <= 1) || $11 != 0) bad = 1 }
    END { exit !(lines >= 30 && !bad) }' "$place/out" ||
    fail "an algorithm of sgemm is beyond its bound"
expect 0 bench accuracy sgemm -n 16 --math ieee --side cpu
says out '^integers'

# Shapes: every layout, an algorithm for each, a mean at the end.
expect 0 bench shapes -s 12x10x8 --quick --side cpu
checks=$((checks + 1))
[ "$(grep -Ec '^  12 x 10 x 8 +(nn|nt|tn|tt) +sgemm_cpu_' "$place/out")" -eq 4 ] ||
    fail "bench shapes does not show four layouts"
says out '^all +geometric mean of .* of 4 below 0.95$'
expect 0 bench shapes -s 12x10x8 --quick --side cpu --transpose tn
says out '^Peer  .*, with [0-9]+ threads?$'
says out '^all +geometric mean of .* of 1 below 0.95$'
expect 0 bench shapes -n 16 --quick --csv --math ieee --algorithms
says out '^16,16,16,tt,sgemm_'

expect 0 bench shapes --random 3 --seed 3 --quick --side cpu
says out '^3 random products, seed 3;'
says out '^all +geometric mean of .* of 3 below 0.95$'
checks=$((checks + 1))
[ "$(grep -Ec ' x .* (nn|nt|tn|tt) .*sgemm_cpu_' "$place/out")" -ge 6 ] ||
    fail "bench shapes --random does not show three cases and the worst"
expect 0 bench shapes --random 2 --seed 3 --quick --side cpu --csv
says out '^[0-9]+,[0-9]+,[0-9]+,(nn|nt|tn|tt),sgemm_cpu_.*,[0-6],[0-6],[0-6],(0|0\.5|1)$'

# Host arrays: both kinds of memory, with the rates of the machine, and right. A bound is below the
# time; without a GPU there is none.
expect 0 bench host -n 64,200 --quick
says out '^memcpy, [0-9]+ threads?: [0-9.]+ GB/s from plain into pinned memory, [0-9.]+ back$'
for where in pinned plain; do says out "^$where, 200 x 200 x 200$"; done
says out '^  duo_sgemm ran sgemm_'
expect 0 bench host -n 64,200 --quick --csv --memory pageable --rounds 2
checks=$((checks + 1))
awk -F, '/^#/ { next }
    !head { head = NF; columns = $0; next }
    { if (NF != head || $1 != "pageable" || !($6 > 0) || !($7 <= $6 * 1.0001)) bad = 1 }
    $3 == "duo_sgemm" { ours++; if ($5 > 2 || $9 != 1 || !($12 >= 0 && $12 < 200)) bad = 1 }
    END { exit !(ours == 2 && head == 15 && !bad &&
                 columns ~ /^memory,n,implementation,.*,predicted_seconds$/) }' \
    "$place/out" || fail "the CSV of bench host is not as documented"

tool_summary
