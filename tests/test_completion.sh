#!/usr/bin/env bash
# test_completion.sh TOOL SOURCE - bash and zsh complete every command and option of the tool, and
# the values that its help lists. Zsh, where it is there, tells through stand-ins for its own
# commands.
set -euo pipefail

tool=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# shellcheck source=/dev/null
source "$source/completions/duoblas"

# Bash's offers for the last of these words, sorted.
# shellcheck disable=SC2317 # called by name
bash_offers() {
    COMP_WORDS=(duoblas "$@") COMP_CWORD=$#
    _duoblas "$tool"
    printf '%s\n' "${COMPREPLY[@]}" | sed '/^$/d' | sort
}

# Zsh's offers. Zsh itself leaves out words with another beginning.
cat >"$work/stand-ins" <<'END'
compadd() { shift; print -rl -- $* }
compset() { }
_files() { }
_command_names() { }
complete_it() { source $completion }
completion=$1
shift
words=("$@")
CURRENT=$#words
complete_it || true
END
# shellcheck disable=SC2317 # called by name
zsh_offers() { # words; --option=value is one
    zsh -f "$work/stand-ins" "$source/completions/_duoblas" "$tool" "$@" | sed '/^$/d' | sort
}

offers() { # EXPECTED SHELL WORD...: the expected words, blanks between them, in any order
    local expected=$1 shell=$2 got
    shift 2
    expected=$(tr ' ' '\n' <<<"$expected" | sed '/^$/d' | sort)
    got=$("${shell}_offers" "$@")
    if [[ $got == "$expected" ]]; then
        echo "ok: $shell: $*"
    else
        echo "FAILED: $shell: $*: ${got//$'\n'/ }"
        failed=1
    fi
}

operations='sgemm sasum ssum sdot'
commands=$("$tool" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
shells=bash
if command -v zsh >/dev/null; then shells='bash zsh'; fi
for shell in $shells; do
    offers "$commands --help --version" "$shell" ''
    for command in $commands; do
        options=$("$tool" "$command" --help | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p')
        offers "$options" "$shell" "$command" --
    done
    benchmarks=$({ "$tool" bench sger 2>&1 || true; } | sed -n 's/.* it may be //p' | tr -d ,)
    offers "$benchmarks" "$shell" bench ''
    for benchmark in $benchmarks; do
        options=$("$tool" bench "$benchmark" --help | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p')
        offers "$options" "$shell" bench "$benchmark" --
    done
    offers "$operations" "$shell" explain ''
    offers 'auto cpu gpu' "$shell" explain ssum 10 --path ''
    offers "$operations" "$shell" crossover --operations ''
    offers 'a b' "$shell" bench sgemm --prepared ''
    offers '' "$shell" crossover --plot ''
    offers '' "$shell" bench sgemm --plot ''
    offers '' "$shell" nothing --
done

# Only words that have begun: bash leaves that to the completion. It sees --path=g as three words.
offers 'crossover' bash cr
offers '--gpu-profile' bash crossover --gpu
offers 'shapes' bash bench sh
offers 'gpu' bash explain --path = g
offers 'auto cpu gpu' bash explain --path =
offers 'sgemm,sasum' bash crossover --operations sgemm,sa
if [[ $shells == *zsh ]]; then offers 'auto cpu gpu' zsh explain --path=; fi
exit "$failed"
