#!/usr/bin/env bash
# test_variables.sh SOURCE - docs/reference/environment.md has every environment variable that the
# sources read, and no DUOBLAS_ variable that nothing reads. A fault in the table is found.
set -euo pipefail

source=$1
table=$source/docs/reference/environment.md
header=$source/include/duoblas.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"

# The names that stand in the sources as whole strings, but for lists of names that are only shown.
find src bench python/duoblas \( -name '*.[ch]' -o -name '*.cu*' -o -name '*.py' \) \
    ! -path bench/tool/info.c ! -path bench/tool/main.c >"$work/files"
grep -rlE '^#!.*(bash|sh|python3?)$' scripts bench >"$work/scripts"
{
    xargs grep -hoE "[\"']DUOBLAS_[A-Z_]+[\"']" <"$work/files"
    xargs grep -hoE "environ(\.get\(|\[)[\"']DUOBLAS_[A-Z_]+" <"$work/scripts"
    xargs grep -hoE '\$\{?DUOBLAS_[A-Z_]+' <"$work/scripts"
} | grep -oE 'DUOBLAS_[A-Z_]+' | grep -v '^DUOBLAS_TEST' | sort -u >"$work/ours"
{
    cat "$work/ours"
    xargs grep -hoE "(getenv\(|environ\.get\(|environ\[)[\"'][A-Z_0-9]+" <"$work/files"
    grep -ohE '"[A-Z0-9]+_[A-Z_0-9]+"' src/host/environment.c bench/tool/info.c
    sed -nE 's/^ \*   (DUOBLAS_[A-Z_]+) .*/\1/p' "$header"
} | grep -oE '[A-Z0-9_]+$|[A-Z0-9_]+"$' | tr -d '"' | grep -v '^DUOBLAS_TEST' |
    sort -u >"$work/read"

# faults TABLE: the names that are missing in it, and ours that nothing reads.
faults() {
    # shellcheck disable=SC2016 # marks of Markdown
    sed -nE 's/^\| (`[A-Z_0-9]+`[^|]*) \|.*/\1/p' "$1" | grep -oE '[A-Z_0-9]+' | sort >"$work/told"
    uniq -d "$work/told" | sed 's/$/ is there twice/'
    sort -u "$work/told" | comm -23 "$work/read" - | sed 's/$/ is missing/'
    { grep '^DUOBLAS_' "$work/told" || true; } | comm -13 "$work/ours" - |
        sed 's/$/: nothing reads it/'
}

for name in DUOBLAS_PATH DUOBLAS_SUMMARY DUOBLAS_TOOL DUOBLAS_KIT OMP_NUM_THREADS SLURM_LOCALID \
    CUDA_VISIBLE_DEVICES; do
    grep -qx "$name" "$work/read" || { echo "FAILED: $name is read, and was not found"; exit 1; }
done
faults "$table" >"$work/faults"
if [[ -s $work/faults ]]; then
    echo "FAILED: ${table#"$source"/}:"
    cat "$work/faults"
    exit 1
fi
echo "ok: the table has all of the $(wc -l <"$work/read") variables that are read"

for name in DUOBLAS_OPEN DUOBLAS_RUN OMP_WAIT_POLICY; do
    grep -v "^| \`$name\`" "$table" >"$work/less"
    faults "$work/less" | grep -qx "$name is missing" ||
        { echo "FAILED: a table without $name passes"; exit 1; }
done
{ cat "$table"; echo "| \`DUOBLAS_NONE\` | | | | |"; } >"$work/more"
faults "$work/more" | grep -qx 'DUOBLAS_NONE: nothing reads it' ||
    { echo "FAILED: a variable that nothing reads passes"; exit 1; }
echo "ok: faults are found"
