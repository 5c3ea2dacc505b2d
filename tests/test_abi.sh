#!/usr/bin/env bash
# test_abi.sh SOURCE - the binary interfaces of libduoblas and libduoblas-blas equal those in
# tests/abi, except for new functions and values (stability.md). The test sees a function that
# goes, a value of an enumeration that changes and a field that moves. Skipped without libabigail's
# tools.
set -euo pipefail

source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

for tool in abidiff abidw; do
    command -v $tool >/dev/null || {
        echo "skipped: there is no $tool (Debian's abigail-tools)"
        exit 77
    }
done

# compare FOLDER: the committed interfaces with those in FOLDER.
compare() {
    local library status=0
    for library in libduoblas libduoblas-blas; do
        abidiff --no-architecture --no-added-syms \
            "$source/tests/abi/$library.xml" "$1/$library.xml" || status=1
    done
    return $status
}

"$source/scripts/abi-dump" "$work/now"
if compare "$work/now"; then
    echo "ok: the interfaces are those of tests/abi"
else
    echo "FAILED: the interfaces are not those of tests/abi. stability.md says what may"
    echo "change, and scripts/abi-dump writes them anew."
    failed=1
fi

# plant TEXT FILE COMMAND SEEN: with the change of sed's COMMAND in FILE, abidiff says SEEN.
plant() {
    local tree=$work/tree
    rm -rf "$tree"
    mkdir -p "$tree/scripts"
    cp -R "$source/include" "$source/src" "$tree"
    cp "$source/scripts/abi-dump" "$tree/scripts"
    sed -i -z "$3" "$tree/$2"
    if cmp -s "$source/$2" "$tree/$2"; then
        echo "FAILED: $1: nothing changes in $2"
        failed=1
    elif "$tree/scripts/abi-dump" "$work/planted" && ! compare "$work/planted" >"$work/said" &&
        grep -q "$4" "$work/said"; then
        echo "ok: $1 is seen: $(grep -m1 "$4" "$work/said")"
    else
        echo "FAILED: $1 is not seen"
        cat "$work/said"
        failed=1
    fi
}

plant "a function that goes" src/duoblas.map 's/duo_trim;//' 'function duo_status duo_trim('
plant "a name that goes from the drop-in" src/blas/blas.map 's/sdot_64_;//' 'sdot_64_'
plant "a status of another value" include/duoblas.h 's/(DUO_ERR_LD, -3,/(DUO_ERR_LD, -30,/' \
    "'duo_status::DUO_ERR_LD' from value '-3' to '-30'"
plant "fields that change places" include/duoblas.h \
    's/\(    double predicted_seconds;\n\)\(    double seconds;[^;]*\n\)/\2\1/' \
    "'double predicted_seconds' offset changed"
plant "an argument of another type" src/blas/blas_lp64.c 's/int32_t/int64_t/' \
    'parameter 1 of type .*int32_t.*'
exit $failed
