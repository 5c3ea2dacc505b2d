#!/usr/bin/env bash
# test_versions.sh SOURCE - every file that names DuoBLAS's version names that of CMakeLists.txt.
# Pages, packages and the wheel derive theirs.
set -euo pipefail

cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

numbers=$(sed -nE 's/^ +VERSION ([0-9.]+)$/\1/p' CMakeLists.txt)
suffix=$(sed -nE 's/^set\(duo_version "\$\{PROJECT_VERSION\}(.*)"\).*/\1/p' CMakeLists.txt)
version=$numbers$suffix
of_python=${version/-rc./rc} # as PyPI and conda write it
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-rc\.[0-9]+)?$ ]] ||
    { echo "FAILED: CMakeLists.txt has no version that this test knows: $version"; exit 1; }

has() { # FILE LINE: it has this line
    if grep -qxF -- "$2" "$1"; then
        echo "ok: $1: $2"
    else
        echo "FAILED: $1 has no line: $2"
        failed=1
    fi
}
IFS=. read -r major minor patch <<<"$numbers"
has include/duoblas.h "#define DUO_VERSION_MAJOR $major"
has include/duoblas.h "#define DUO_VERSION_MINOR $minor"
has include/duoblas.h "#define DUO_VERSION_PATCH $patch"
has include/duoblas.h "#define DUO_VERSION_STRING \"$version\""
has CITATION.cff "version: $version"
has packaging/conda/recipe.yaml "  version: \"$of_python\""
has docs/guide/python.md "    pip install duoblas-$of_python-cp39-abi3-manylinux_2_35_x86_64.whl"
[[ $(grep -m1 '^## ' CHANGELOG.md) == "## $version" ]] ||
    { echo "FAILED: the first version in CHANGELOG.md is not $version"; failed=1; }

# Release candidates of these numbers that stand anywhere else. The changelog and what was measured
# name older ones.
grep -rnoIE "${numbers//./\\.}-?rc\.?[0-9]+" . --exclude-dir={.git,build,results} \
    --exclude=CHANGELOG.md | grep -vE ":($version|$of_python)$" >"$work/others" || true
if [[ -s $work/others ]]; then
    cat "$work/others"
    echo "FAILED: another version than $version"
    failed=1
fi
exit "$failed"
