#!/usr/bin/env bash
# test_scripts.sh SOURCE TOOL - the two commands of README without their long work:
# `scripts/crossover --help` lists the tool's options and does nothing else, and the last line of
# `scripts/test` names the failures; the packages that scripts/install-dependencies would install;
# presets.
set -euo pipefail

source=$1
tool=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/bench/crossover" "$tree/bench/results" "$tree/stubs"
cp -r "$source/scripts" "$tree"
cp "$source/bench/crossover/command.c" "$tree/bench/crossover"

# In the tree nothing may be installed, configured or built.
for program in "$tree/scripts/install-dependencies" "$tree"/stubs/{apt-get,cmake,ctest}; do
    printf '#!/bin/sh\ntouch "%s"\nexit 1\n' "$work/done" >"$program"
    chmod +x "$program"
done
PATH=$tree/stubs:$PATH

echo "== scripts/crossover --help"
for option in --help -h; do
    "$tree/scripts/crossover" --quick "$option" >"$work/help"
    grep -oE '^  --[^ ]+' "$work/help" | tr -d ' ' | sort >"$work/listed"
    "$tool" crossover --help | sed -nE 's/^ +(-., )?(--[^ ]+).*/\2/p' |
        grep -vE '^--(help|usage|version)$' | sort >"$work/options"
    diff "$work/options" "$work/listed"
done
grep -q '^        Fewer sizes and rounds' "$work/help"
if [[ -e $work/done || -e $tree/build ]]; then echo "FAILED: --help is not all it did"; exit 1; fi

echo "== scripts/install-dependencies"
mkdir "$work/apt" # where nothing is installed, and apt is there
printf '#!/bin/sh\nexit 0\n' >"$work/apt/apt-get"
cp "$work/apt/apt-get" "$work/apt/sudo"
printf '#!/bin/sh\necho 1000\n' >"$work/apt/id"
chmod +x "$work/apt"/*
for program in bash env mktemp rm cat grep; do
    ln -s "$(command -v $program)" "$work/apt/$program"
done
installs() { # WORD... -- OPTION...: that it would install these, each once
    local words=() word count
    while [[ $1 != -- ]]; do words+=("$1") && shift; done
    shift
    PATH=$work/apt "$source/scripts/install-dependencies" "$@" >"$work/installs" 2>&1
    for word in "${words[@]}"; do
        count=$(tr ' ' '\n' <"$work/installs" | grep -cx -- "$word" || true)
        [[ $count -eq 1 ]] || { echo "FAILED: $* installs $word $count times"; exit 1; }
    done
}
installs build-essential cmake --
installs libcunit1-dev python3 -- --tests
installs file dpkg-dev lintian -- --packages
installs no-such-package another-one -- --also no-such-package another-one no-such-package

echo "== scripts/report-hardware"
if ! nvidia-smi -L >/dev/null 2>&1; then
    status=0
    "$source/scripts/report-hardware" "$work/report.md" 2>"$work/why" || status=$?
    grep -q 'there is no NVIDIA GPU here' "$work/why"
    if [[ $status -ne 77 || -e $work/report.md ]]; then
        echo "FAILED: a report without a GPU"
        exit 1
    fi
fi

# A part that scripts/crossover has left out stays out only on request.
if ! grep -q '"BUILD_TESTING": "ON"' "$source/CMakePresets.json"; then
    echo "FAILED: a preset takes the tests from an old cache"
    exit 1
fi

# ctest as it is when two of four tests fail, and one is skipped.
printf '#!/bin/sh\n' >"$tree/scripts/install-dependencies"
cp "$tree/scripts/install-dependencies" "$tree/stubs/cmake"
cp "$tree/scripts/install-dependencies" "$tree/stubs/clang-format" # of no version: skipped
cat >"$tree/stubs/ctest" <<'END'
#!/bin/sh
while [ "$1" != --output-junit ]; do shift; done
mkdir -p "$(dirname "$2")"
cat >"$2" <<'XML'
<testsuite name="(empty)"
	tests="4"
	failures="2"
	disabled="0"
	skipped="1"
	>
	<testcase name="sgemm-cpu" classname="sgemm-cpu" time="1" status="run">
	<testcase name="sdot" classname="sdot" time="1" status="fail">
	<testcase name="gpu" classname="gpu" time="1" status="notrun">
	<testcase name="tool" classname="tool" time="1" status="fail">
</testsuite>
XML
exit 8
END
last_line() { # EXPECTED STAGE...
    local expected=$1 line
    shift
    if line=$("$tree/scripts/test" "$@" 2>&1); then
        [[ $expected == *' 0 failed'* ]] || { echo "FAILED: exit status 0"; exit 1; }
    elif [[ $expected == *' 0 failed'* ]]; then
        echo "FAILED: exit status not 0"
        exit 1
    fi
    line=${line##*$'\n'}
    [[ $line =~ ^$expected$ ]] || { echo "FAILED: the last line is: $line"; exit 1; }
}
echo "== scripts/test"
last_line '1 passed, 2 failed, 1 skipped\. FAILED: release/sdot release/tool' release
printf '%0101d\n' 0 >"$tree/wide.md"
last_line '[0-9]+ passed, 3 failed, .*\. FAILED: format/columns release/sdot release/tool' \
    format release
rm "$tree/wide.md"
printf 'It is to\nbe had.\n' >"$tree/odd.md"
last_line '[0-9]+ passed, 3 failed, .*\. FAILED: format/style release/sdot release/tool' \
    format release
rm "$tree/odd.md"
printf '#!/bin/sh\nexit 1\n' >"$tree/stubs/cmake"
last_line '0 passed, 1 failed, 0 skipped\. FAILED: release/build' release
cp "$tree/scripts/install-dependencies" "$tree/stubs/cmake"
sed -i '/sdot/d; /name="tool"/d; s/failures="2"/failures="0"/' "$tree/stubs/ctest"
last_line '3 passed, 0 failed, 1 skipped' release
echo "== all right"
