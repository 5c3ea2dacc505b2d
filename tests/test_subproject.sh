#!/usr/bin/env bash
# test_subproject.sh SOURCE - DuoBLAS inside another project, as add_subdirectory and FetchContent
# put it there: configured and built without a warning, the other's flags and settings untouched,
# each target usable from outside, nothing of DuoBLAS built or installed but its libraries, and the
# tool where it is asked for.
set -euo pipefail

source=$1
cmake=${CMAKE:-cmake}
cc=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*"; exit 1; }

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C)
include(FetchContent)
FetchContent_Declare(duoblas SOURCE_DIR "$source")
FetchContent_MakeAvailable(duoblas)
foreach(target IN ITEMS duoblas duoblas_static)
    add_executable(uses_\${target} "$source/tests/consumer/consumer.c")
    target_link_libraries(uses_\${target} PRIVATE duoblas::\${target})
endforeach()
add_executable(uses_blas "$source/tests/consumer/blas.c")
target_link_libraries(uses_blas PRIVATE duoblas::blas)
install(TARGETS uses_duoblas)
EOF

echo "== add_subdirectory"
"$cmake" -S "$work/project" -B "$work/build" -DDUOBLAS_CUDA=OFF -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$work/configured" 2>"$work/said" ||
    { cat "$work/said"; exit 1; }
[[ ! -s $work/said ]] || { cat "$work/said"; fail "configuring was not quiet"; }
for setting in BUILD_TESTING:BOOL=ON CMAKE_BUILD_TYPE:STRING=Release; do
    if grep -qx "$setting" "$work/build/CMakeCache.txt"; then fail "$setting was set for all"; fi
done
"$cmake" --build "$work/build" --parallel "$(nproc)" >"$work/built" 2>&1 ||
    { cat "$work/built"; exit 1; }
if grep -i warning "$work/built"; then fail "building was not quiet"; fi
if grep -E 'Built target (test_|duoblas_tool|duoblas_pages|duoblas_fortran)' "$work/built"; then
    fail "more than the libraries was built"
fi
commands=$work/build/compile_commands.json
grep -q -- '-O3 .*src/api/sgemm\.c' "$commands" || fail "the library is not optimised"
if grep -E -- ' (-O|-W|-m|-f).*consumer\.c' "$commands"; then fail "flags were handed on"; fi
for program in duoblas duoblas_static blas; do "$work/build/uses_$program"; done

echo "== install"
"$cmake" --install "$work/build" --prefix "$work/prefix" >"$work/installed"
installed=$(cd "$work/prefix" && find . -type f)
[[ $installed == ./bin/uses_duoblas ]] || fail "installed: $installed"

echo "== with the tool"
"$cmake" -S "$work/project" -B "$work/build" -DDUOBLAS_TOOL=ON >"$work/configured" 2>"$work/said"
[[ ! -s $work/said ]] || { cat "$work/said"; fail "configuring was not quiet"; }
"$cmake" --build "$work/build" --target help >"$work/targets"
grep -q duoblas_tool "$work/targets" || fail "there is no tool"
echo "== all right"
