# tool_checks.sh - functions for the scripts that test the duoblas tool. A script sets `tool`, and
# `place`, a folder of its own, sources this, and ends with `tool_summary`.
checks=0
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*" >&2
    sed 's/^/    /' "$place/out" "$place/err" >&2
}

# expect STATUS ARGUMENT...: runs the tool; its output is in out and err
expect() {
    want=$1
    shift
    "$tool" "$@" >"$place/out" 2>"$place/err" </dev/null
    got=$?
    checks=$((checks + 1))
    [ "$got" -eq "$want" ] || fail "duoblas $*: exit status $got, not $want"
}

# says FILE PATTERN
says() {
    checks=$((checks + 1))
    grep -Eq -- "$2" "$place/$1" || fail "std$1 does not have: $2"
}

# wait_until COMMAND...: polls until it succeeds, for at most a minute: nobody knows how fast a
# machine is
wait_until() {
    local tries=0
    checks=$((checks + 1))
    until "$@" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -le 600 ] || { fail "in vain waited for: $*" && return 1; }
        sleep 0.1
    done
}

# start ARGUMENT...: runs the tool in the background, where Ctrl-C would be ignored, as $started;
# `interrupt SIGNAL` ends it
start() {
    program=${started_as:-$tool}
    env --default-signal=INT "$program" "$@" >"$place/out" 2>"$place/err" </dev/null &
    started=$!
}
interrupt() {
    kill -s "$1" "$started"
    wait "$started" 2>/dev/null
    got=$?
}

# Does the tool that was started answer to Ctrl-C by now? Not the shell that is to become it: that
# would remove `place` as it ends.
catches_interrupt() {
    [ "/proc/$started/exe" -ef "$program" ] &&
        grep -q '^SigCgt:.*[2367abef]$' "/proc/$started/status"
}

# Is there a GPU that the tool can use?
has_gpu() { "$tool" info | sed -n '/^GPU$/,/^$/p' | grep -q '^  [0-9]'; }

tool_summary() {
    echo "$checks checks, $failures failures"
    [ "$failures" -eq 0 ]
}
