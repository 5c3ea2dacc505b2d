#!/usr/bin/env bash
# test_security.sh BUILD SOURCE - what SECURITY.md says: set-user-ID programs, the current folder,
# files of others, hardened binaries, and what reports tell. As root, for it needs several users.
set -euo pipefail

build=$1
source=$2
[[ $(id -u) -eq 0 ]] || { echo "skipped: needs root, to be several users" && exit 77; }
command -v setpriv >/dev/null || { echo "skipped: there is no setpriv" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
unset "${!DUOBLAS_@}" "${!XDG_@}" "${!OMP_@}" OPENBLAS_NUM_THREADS LD_PRELOAD LD_LIBRARY_PATH
export LC_ALL=C
failed=0

check() { # TEXT COMMAND...: one line, and remember a failure
    local text=$1
    shift
    if "$@"; then echo "ok: $text"; else echo "FAILED: $text"; failed=1; fi
}
# shellcheck disable=SC2317 # called through check
lacks() { ! grep -qE -- "$1" "${@:2}"; }
has() { grep -qE -- "$1" "${@:2}"; }
# shellcheck disable=SC2317
same() { [[ $1 == "$2" ]]; }
# shellcheck disable=SC2317
differ() { [[ $1 != "$2" ]]; }

# ---- Programs, libraries and profiles ----

readonly owner=64123 caller=64124 # users without a name
mkdir "$work/lib" "$work/empty" "$work/home"
cp "$build"/libduoblas.so.1 "$build"/libduoblas-blas.so.1 "$work/lib"
compile() { "${CC:-cc}" -O1 -Wall -Wextra -Werror -I"$source/include" "$@"; }
compile -o "$work/guest" "$source/tests/security/guest.c" -Wl,-rpath,"$work/lib" \
    "$work/lib/libduoblas-blas.so.1" "$work/lib/libduoblas.so.1"
compile -shared -fPIC -o "$work/planted.so" "$source/tests/security/plant.c"
cp "$work/guest" "$work/setuid"
chown "$owner" "$work/setuid"
chmod 4755 "$work/setuid"

# A profile of this machine by which everything takes ten times as long as by the built-in one.
of_info() { # FIELD
    "$build/duoblas" info --json | sed -n "s/^.*\"$1\":[[:space:]]*\"\(.*\)\",*\$/\1/p" | head -n 1
}
cpu=$(of_info model) id=$(of_info id)
version=$("$build/duoblas" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1)
sed -e "s/^version = .*/version = $version/" -e "s/^cpu = .*/cpu = $cpu/" \
    -e "s/^cpu_id = .*/cpu_id = $id/" "$source/bench/profiles/generic.ini" |
    awk '/^\[/ { curve = /^\[algorithm/ } curve && /=/ && length($3) < 15 { $3 = $3 "0" } 1' \
        >"$work/slow.ini"

# run USER FOLDER PROGRAM [NAME=VALUE...]: runs it there as that user; the output is in out and err.
run() {
    local user=$1 folder=$2 program=$3
    shift 3
    (cd "$folder" && env "$@" setpriv "--reuid=$user" --clear-groups "$program") \
        >"$work/out" 2>"$work/err" </dev/null
}
predicted() { sed -n 's/^.*predicted=\([^ ]*\) .*$/\1/p' "$work/out"; }

run "$caller" "$work/empty" "$work/guest" HOME=/nonexistent
usual=$(predicted)
check "a guest runs, and not in secure mode" has 'secure=0' "$work/out"

# ---- Set-user-ID programs: no variable and no file of the caller counts ----

mkdir -p "$work/home/.config/duoblas" "$work/config/duoblas"
cp "$work/slow.ini" "$work/home/.config/duoblas/profile.ini"
name=$(printf '%s-%s' "$cpu" "$id" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9]\{1,\}/-/g')
cp "$work/slow.ini" "$work/config/duoblas/profile.ini"
mkdir "$work/config/duoblas/profiles" # the system's profiles are there alone
cp "$work/slow.ini" "$work/config/duoblas/profiles/${name}_none.ini"
chown -R "$caller" "$work/home"
chmod -R a+rX "$work/home" "$work/config"
install -d -m 777 "$work/open"

# counts PROGRAM NAME=VALUE: does the setting make a difference?
# shellcheck disable=SC2317
counts() {
    local program=$1 setting=$2 of=$work/open/summary
    rm -f "$of"
    run "$caller" "$work/empty" "$program" HOME=/nonexistent "$setting"
    [[ $(predicted) != "$usual" ]] || has 'PLANTED|^duoblas' "$work/err" || [[ -e $of ]]
}
# shellcheck disable=SC2317
ignores() { ! counts "$@"; }

run "$caller" "$work/empty" "$work/setuid" HOME=/nonexistent
if has 'secure=1' "$work/out"; then
    # slow.ini belongs to root: everybody trusts it.
    for setting in DUOBLAS_VERBOSE=2 DUOBLAS_CPU_BLAS="$work/planted.so" \
        DUOBLAS_PROFILE="$work/slow.ini" DUOBLAS_SUMMARY="$work/open/summary" HOME="$work/home" \
        XDG_CONFIG_HOME="$work/config" XDG_CONFIG_DIRS="$work/config"; do
        check "an ordinary program takes ${setting%%=*}" counts "$work/guest" "$setting"
        check "a set-user-ID program ignores it" ignores "$work/setuid" "$setting"
    done
else
    echo "SKIPPED: set-user-ID programs: $work is on a file system without them"
fi
# Every variable is read by secure_getenv, so the others are ignored in the same way.
# (The CUDA runtime in it reads its own, CUDA_..., by getenv.)
check "the library never calls getenv" lacks ' U getenv(@|$)' <(nm "$build/libduoblas.a") \
    <(nm -D "$work/lib/libduoblas-blas.so.1")

# ---- The current folder is not searched ----

mkdir -p "$work/traps/duoblas/profiles" "$work/traps/profiles" "$work/traps/.config/duoblas"
for name in libopenblas.so.0 libopenblasp.so.0 libscipy_openblas.so libblas.so.3 libcuda.so.1 \
    libgomp.so.1 libomp.so.5 libduoblas.so.1 libinih.so.1 libm.so.6; do
    cp "$work/planted.so" "$work/traps/$name"
done
for name in duoblas.ini profile.ini duoblas/profile.ini .config/duoblas/profile.ini; do
    cp "$work/slow.ini" "$work/traps/$name"
done
chmod -R a+rX "$work/traps"
for settings in "HOME= XDG_CONFIG_HOME= XDG_CONFIG_DIRS=" "HOME=. XDG_CONFIG_DIRS=:.::" \
    "XDG_CONFIG_HOME=. HOME=. XDG_CONFIG_DIRS=.:duoblas:" "XDG_CONFIG_HOME=traps HOME=traps"; do
    # shellcheck disable=SC2086 # several settings
    run "$caller" "$work/traps" "$work/guest" $settings
    check "no file of the current folder counts with $settings" same "$(predicted)" "$usual"
    check "and no library there" lacks PLANTED "$work/err"
done
run "$caller" "$work/traps" "$work/guest" XDG_CONFIG_HOME="$work/traps"
check "the traps would work" differ "$(predicted)" "$usual"
blas=DUOBLAS_CPU_BLAS=libopenblas.so.0
run "$caller" "$work/traps" "$work/guest" HOME=/nonexistent "$blas"
check "a library is not looked for there by its name" lacks PLANTED "$work/err"
mkdir "$work/only"
cp "$work/planted.so" "$work/only/libopenblas.so.0"
run "$caller" "$work/only" "$work/guest" HOME=/nonexistent "$blas" LD_LIBRARY_PATH=.
check "though it would be found" has PLANTED "$work/err"

# ---- Files that are read ----

# refused FILE TEXT: the profile is refused, for this reason
# shellcheck disable=SC2317
refused() {
    DUOBLAS_PROFILE=$1 timeout 60 "$build/duoblas" info >"$work/out" 2>&1 && has "$2" "$work/out"
}
cp "$work/slow.ini" "$work/file.ini"
check "a good profile is taken" refused "$work/file.ini" "in use .*file.ini"
chmod 664 "$work/file.ini"
check "not one that its group may write to" refused "$work/file.ini" "others may write to it"
chmod 644 "$work/file.ini"
chown "$caller" "$work/file.ini"
check "not another user's" refused "$work/file.ini" "owned by somebody else"
ln -s slow.ini "$work/link.ini"
check "not by a symbolic link" refused "$work/link.ini" "symbolic links"
mkfifo "$work/fifo.ini"
check "not a FIFO" refused "$work/fifo.ini" "not a regular file"
truncate -s 2M "$work/large.ini"
check "not a large one" refused "$work/large.ini" "too large"

# ---- Files that are written ----

# Beside files, a folder of all users. Not sticky: else the kernel itself keeps from following.
shared=$work/shared
install -d -m 777 "$shared"
summary_to() { # FILE USER
    run "$2" "$work/empty" "$work/guest" HOME=/nonexistent DUOBLAS_SUMMARY="$1"
}
umask 000
summary_to "$shared/new" 0
check "a summary is written" has sgemm "$shared/new"
check "for the user alone to write, whatever the umask" same "$(stat -c %a "$shared/new")" 644
echo precious >"$work/precious"
setpriv --reuid=$caller --clear-groups ln -s "$work/precious" "$shared/link"
summary_to "$shared/link" 0
check "not through another user's link" same "$(cat "$work/precious")" precious
ln -s "$work/own" "$shared/own"
summary_to "$shared/own" 0
check "through the user's own link" has sgemm "$work/own"
setpriv --reuid=$caller --clear-groups touch "$shared/theirs"
summary_to "$shared/theirs" 0
check "not to another user's file" same "$(stat -c %s "$shared/theirs")" 0
check "nor by duoblas run" same "$("$build/duoblas" run --summary "$shared/theirs" true 2>&1 |
    grep -c 'no summary can be written')" 1

profile=$shared/profile.ini
setpriv --reuid=$caller --clear-groups ln -s "$work/precious" "$profile"
timeout 300 "$build/duoblas" crossover --quick --max-seconds=3 --operations=ssum --ignore-noise \
    --profile="$profile" --report="$shared/page.html" --csv="$shared/figures.csv" \
    >"$work/out" 2>&1 || { cat "$work/out"; failed=1; }
check "the tool follows no link" same "$(cat "$work/precious")" precious
check "but replaces it" test ! -L "$profile" -a -s "$profile"
for file in "$profile" "$shared/page.html" "$shared/figures.csv"; do
    check "for the user alone to write: ${file##*/}" same "$(stat -c %a "$file")" 644
done
check "it leaves no other file" same "$(find "$shared" -name '*.tmp' | wc -l)" 0
umask 022

# ---- Hardened binaries ----

prefix=$work/installed
"${CMAKE:-cmake}" --install "$build" --prefix "$prefix" >"$work/install.log"
rm -f "$build"/install_manifest*.txt
mapfile -t binaries < <(find "$prefix" -type f -exec sh -c \
    'head -c 4 "$1" | grep -q "^.ELF" && echo "$1"' _ {} \;)
check "binaries are installed" test "${#binaries[@]}" -ge 3
for binary in "${binaries[@]}"; do
    name=${binary##*/}
    readelf -hdlW "$binary" >"$work/elf"
    check "$name: addresses are read-only once it is loaded" has 'GNU_RELRO' "$work/elf"
    check "$name: all of them" has 'BIND_NOW|FLAGS.*NOW' "$work/elf"
    check "$name: it may lie anywhere" has 'Type: +DYN' "$work/elf"
    check "$name: its stack is not code" has 'GNU_STACK.* RW +0x' "$work/elf"
    check "$name: its code is not written" lacks 'TEXTREL|LOAD .* RWE' "$work/elf"
    check "$name: it searches beside itself alone" lacks \
        "R(UN)?PATH.*\[(.*:)?([^\$]|\$[^O])" "$work/elf"
    [[ $name == libblas.so.3* ]] && continue
    nm -D "$binary" >"$work/symbols"
    check "$name: it has canaries" has ' U __stack_chk_fail' "$work/symbols"
done
if grep -qE '^CMAKE_BUILD_TYPE.*=Rel' "$build/CMakeCache.txt"; then
    nm -D "$work/lib/libduoblas.so.1" >"$work/symbols"
    check "sizes are checked in the C library's functions" \
        has ' U __(snprintf|vsnprintf|memcpy)_chk' "$work/symbols"
fi

# ---- What reports tell ----

secrets=(HOME="$work/SECRET-home" USER=SECRET-user LOGNAME=SECRET-user PASSWORD=SECRET-word)
run 0 "$work/empty" "$work/guest" "${secrets[@]}" DUOBLAS_VERBOSE=2 DUOBLAS_CHECK=1 \
    DUOBLAS_SUMMARY="$work/summary"
tool() { (cd "$work/empty" && env "${secrets[@]}" "$build/duoblas" "$@"); }
tool info >"$work/info"
tool info --json >"$work/json"
tool explain sgemm 300 300 300 >"$work/explain"
for report in out err summary info json explain; do
    check "$report says something" test -s "$work/$report"
    check "but no name, home or variable of the user" lacks SECRET "$work/$report"
    check "and no data" lacks '12345\.5|4\.5723|1\.3717' "$work/$report"
done
exit "$failed"
