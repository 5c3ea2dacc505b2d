#!/usr/bin/env bash
# test_tool_interface.sh TOOL TOOL_ON_SIM SOURCE [--add] - no name that stays in all of 1.x
# (stability.md) is gone: commands and options of the tool, variables, keys of its JSON, columns of
# its CSV, names of duoblas.hpp and duoblas.f90. They are stored in tests/abi. A new one has to be
# added there; --add does that. Names that are taken away, or come, are found.
set -euo pipefail

tool=$1
on_sim=$2
source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
export LC_ALL=C XDG_CONFIG_HOME=$work/config XDG_CONFIG_DIRS=$work/config
for name in $(env | sed -n 's/^\(DUOBLAS_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
lists='tool.txt duoblas.hpp.txt duoblas.f90.txt'

command -v python3 >/dev/null || {
    echo "skipped: there is no python3"
    exit 77
}

now=$work/now
mkdir -p "$now/help"
cp "$source"/include/duoblas.{hpp,f90} "$source/docs/reference/environment.md" "$now"

# What the tool answers: without a GPU, and with a simulated one, as some keys are only there.
listed() { sed -n "/^$1:/,/^\$/s/^  \([a-z]*\( sgemm\)\?\)  .*/\1/p"; } # of a help text
"$tool" --help | listed Commands >"$work/commands"
"$tool" bench --help | listed Benchmarks | sed 's/^/bench /' >>"$work/commands"
while read -r command; do
    # shellcheck disable=SC2086 # words
    "$tool" $command --help </dev/null >"$now/help/$command"
done <"$work/commands"
measure() { # NAME TOOL: a run on a machine so busy that it had no time for noise is done again
    local seconds
    for seconds in 1 5 25; do
        CUDA_VISIBLE_DEVICES='' "$2" crossover --quick --ignore-noise --operations ssum \
            --max-seconds $seconds --no-profile --csv "$now/crossover.csv" \
            --json="$now/crossover-$1.json" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
        grep -q '"noise":[[:space:]]*null' "$now/crossover-$1.json" || break
    done
    CUDA_VISIBLE_DEVICES='' "$2" info --json >"$now/info-$1.json"
}
measure none "$tool"
measure sim "$on_sim"

# compare FOLDER: what is gone or new there
compare() {
    local list
    python3 "$source/tests/interface_names.py" "$1"
    for list in $lists; do
        sort "$source/tests/abi/$list" | comm -23 - "$1/$list" | sed "s|^|gone from $list: |"
        sort "$source/tests/abi/$list" | comm -13 - "$1/$list" | sed "s|^|new in $list: |"
    done
}

if [[ ${4-} == --add ]]; then
    for list in $lists; do touch "$source/tests/abi/$list"; done
    compare "$now" >"$work/said"
    for list in $lists; do
        sed -n "s/^new in $list: //p" "$work/said" |
            sort -V - "$source/tests/abi/$list" >"$work/all"
        cp "$work/all" "$source/tests/abi/$list"
    done
    exit
fi

compare "$now" >"$work/said"
cat "$work/said"
if grep -q '^gone' "$work/said"; then
    echo "FAILED: these names are gone, and stability.md says that they stay in all of 1.x"
    failed=1
fi
if grep -q '^new' "$work/said"; then
    echo "FAILED: these names are new. Once they are as they shall stay, add their lines to" \
        "tests/abi: bash tests/test_tool_interface.sh TOOL TOOL_ON_SIM SOURCE --add"
    failed=1
fi
for list in $lists; do echo "ok: $(wc -l <"$source/tests/abi/$list") names in $list"; done

# plant FILE COMMAND SEEN: with the change of sed's COMMAND in FILE the comparison says SEEN.
plant() {
    rm -rf "$work/planted"
    cp -R "$now" "$work/planted"
    sed -i "$2" "$work/planted/$1"
    if cmp -s "$now/$1" "$work/planted/$1"; then
        echo "FAILED: '$2' changes nothing in $1"
        failed=1
    elif compare "$work/planted" >"$work/said" && grep -qxF "$3" "$work/said"; then
        echo "ok: seen: $3"
    else
        echo "FAILED: not seen: $3"
        failed=1
    fi
}
rm "$now"/*.txt
plant help/crossover '/--calls/d' 'gone from tool.txt: option crossover --calls='
plant help/run 's/-n, --no-summary/    --no-summary/' 'gone from tool.txt: option run -n'
plant help/explain 's/auto|cpu|gpu/auto|cpu/' 'gone from tool.txt: option explain --path=gpu'
plant 'help/bench bits' 's/--seed=N/--seed  /' 'gone from tool.txt: option bench bits --seed='
plant help/info 's/--json/--xml /' 'new in tool.txt: option info --xml'
# shellcheck disable=SC2016 # marks of Markdown
plant environment.md '/^| `DUOBLAS_WIPE`/d' 'gone from tool.txt: variable DUOBLAS_WIPE'
# shellcheck disable=SC2016
plant environment.md 's/`tf32`, //' 'gone from tool.txt: variable DUOBLAS_MATH=tf32'
plant info-sim.json 's/"pcie_width"/"pcie_lanes"/' 'gone from tool.txt: json info gpus[].pcie_width'
plant crossover-none.json 's/"why"/"because"/' \
    'gone from tool.txt: json crossover machine.gpu.why'
plant crossover.csv 's/^operation,m,n,/operation,n,m,/' 'gone from tool.txt: csv crossover 2 m'
plant duoblas.hpp 's/void trim()/void shrink()/' 'gone from duoblas.hpp.txt: duo::context::trim'
plant duoblas.hpp 's/ gemm_grouped(/ gemm_groups(/' 'gone from duoblas.hpp.txt: duo::gemm_grouped'
plant duoblas.hpp 's/^inline int device_count/inline int one() { return 1; }\n&/' \
    'new in duoblas.hpp.txt: duo::one'
plant duoblas.f90 's/public :: duo_malloc, /public :: /' \
    'gone from duoblas.f90.txt: duo_malloc'
plant duoblas.f90 's/subroutine duo_trim(ctx, status)/subroutine duo_trim(ctx, code)/' \
    'gone from duoblas.f90.txt: duo_trim(status=)'
plant duoblas.f90 's/profile_seconds/profiled_seconds/' \
    'gone from duoblas.f90.txt: duo_decision%profile_seconds'

# The names of duoblas.hpp are those that a compiler sees.
if command -v "${CXX:-c++}" >/dev/null; then
    {
        echo '#include <duoblas.hpp>'
        grep -v '^namespace\|operator' "$source/tests/abi/duoblas.hpp.txt" |
            sed -E '# members, by a class derived from theirs, and all others
                s/^(duo::([a-z]+_view|[a-z]+_array))::/\1<float>::/
                s/^duo::vector_view<float>/duo::vector_view/
                s/^(duo::work::.*|duo::[a-z_]+)$/namespace seen { using \1; }/
                s/^(duo::.*)::([a-z_]+)$/struct : \1 { using \1::\2; } *seen;/' |
            awk '{ gsub(/seen/, "seen_" NR); print }'
    } >"$work/names.cpp"
    "${CXX:-c++}" -std=c++17 -fsyntax-only -I"$source/include" "$work/names.cpp"
    echo "ok: a compiler sees $(grep -c seen_ "$work/names.cpp") names of duoblas.hpp"
fi
exit $failed
