#!/usr/bin/env bash
# test_install.sh BUILD SOURCE - installs, moves the installation, and builds and runs programs
# against it: C and C++, shared and static, by pkg-config and by CMake; Fortran, where there is a
# compiler; and the first example, which stands in README. Installs each component by itself, and
# uninstalls.
set -euo pipefail

build=$1
source=$2
cmake=${CMAKE:-cmake}
cc=${CC:-cc}
cxx=${CXX:-c++}
work=$(mktemp -d)
manifest=$build/install_manifest.txt # of what the user may have installed
[[ ! -e $manifest ]] || cp "$manifest" "$work/manifest"
finish() {
    rm -f "$build"/install_manifest*.txt
    [[ ! -e $work/manifest ]] || cp "$work/manifest" "$manifest"
    rm -rf "$work"
}
trap finish EXIT

step() { echo "== $*"; }

step "install, then move"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved"
prefix=$work/moved
files=(include/duoblas.{h,hpp,f90} bin/duoblas share/doc/DuoBLAS/{README.md,LICENSE}
    share/man/man{1/duoblas{,-crossover}.1,3/duoblas.3} share/bash-completion/completions/duoblas
    share/zsh/site-functions/_duoblas)
for file in "${files[@]}"; do
    [[ -e $prefix/$file ]] || { echo "FAILED: $file is not installed"; exit 1; }
done
if grep -rIl "$work/first" "$prefix"; then
    echo "FAILED: these files name the folder they were installed to"
    exit 1
fi
pc=$(find "$prefix" -name duoblas.pc)
library=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}

step "links of the installed documents"
links=0
while IFS=: read -r file link; do
    links=$((links + 1)) link=${link#*](}
    [[ -e ${file%/*}/${link%[)#]} ]] || { echo "FAILED: $file: a dead link: $link"; exit 1; }
done < <(grep -rHoE --include='*.md' '\]\([^)#: ]+[)#]' "$prefix/share/doc")
[[ $links -gt 50 ]] || { echo "FAILED: only $links links were found"; exit 1; }
echo "$links links"

step "the installed library"
bash "$source/tests/test_exports.sh" "$library" "$source"

step "the installed tool"
"$prefix/bin/duoblas" info >"$work/info"
head -n 3 "$work/info"

step "pkg-config"
version=$(sed -n 's/^#define DUO_VERSION_STRING "\(.*\)"$/\1/p' "$prefix/include/duoblas.h")
[[ $(pkg-config --modversion duoblas) == "$version" ]]
[[ $(pkg-config --modversion duoblas-blas duoblas-static | sort -u) == "$version" ]]
pkg-config --atleast-version=1.0 duoblas
warnings=(-Wall -Wextra -Wpedantic -Werror)
read -ra flags <<<"$(pkg-config --cflags duoblas)"
read -ra shared <<<"$(pkg-config --libs duoblas) -Wl,-rpath,$library"
# shellcheck disable=SC2034 # used by name, below
read -ra static <<<"$(pkg-config --libs duoblas-static)"

"$cc" -std=c11 "${warnings[@]}" "${flags[@]}" "$source/examples/first_call.c" -o "$work/example" \
    "${shared[@]}"
"$work/example" | tee "$work/printed"

# README shows that program, its output, and lines of another, apart from their indentation.
code() { # N: the N-th block of C in README
    awk -v n="$1" '/^```c$/ { inside = 1; block++; next } /^```$/ { inside = 0 }
        inside && block == n' "$source/README.md" | sed 's/^ *//'
}
shows() { # FILE N: the N-th block stands whole in the file
    local block text
    block=$(code "$2") text=$(sed 's/^ *//' "$1")
    [[ -n $block && $text == *"$block"* ]] ||
        { echo "FAILED: C block $2 of README is not in $1"; exit 1; }
}
shows "$source/examples/first_call.c" 1
shows "$source/examples/keep.c" 2
grep -qxF "    $(<"$work/printed")" "$source/README.md" ||
    { echo "FAILED: README shows another output of the first example"; exit 1; }

# shellcheck disable=SC2034
read -ra archive <<<"$(pkg-config --static --libs duoblas)"
for kind in shared static archive; do
    declare -n libraries=$kind
    "$cc" -std=c11 "${warnings[@]}" "${flags[@]}" "$source/tests/consumer/consumer.c" \
        -o "$work/${kind}_c" "${libraries[@]}"
    "$cxx" -std=c++17 "${warnings[@]}" "${flags[@]}" "$source/tests/consumer/consumer.cpp" \
        -o "$work/${kind}_cpp" "${libraries[@]}"
    "$work/${kind}_c"
    "$work/${kind}_cpp"
done

step "C++ and Fortran"
"$cxx" -std=c++17 "${warnings[@]}" "${flags[@]}" "$source/examples/cpp_first_call.cpp" \
    -o "$work/cpp_example" "${shared[@]}"
"$work/cpp_example"
fortran=${FC:-gfortran}
if command -v "$fortran" >/dev/null; then # from the source that is installed
    (cd "$work" && "$fortran" "$prefix/include/duoblas.f90" \
        "$source/examples/fortran_first_call.f90" -o "$work/fortran_example" "${shared[@]}")
    "$work/fortran_example"
fi

needs() { readelf -d "$1" | grep -q 'NEEDED.*libduoblas'; }
needs "$work/shared_c" || { echo "FAILED: linked with the archive"; exit 1; }
for program in static_c static_cpp archive_c archive_cpp; do
    if needs "$work/$program"; then
        echo "FAILED: $program is linked with the shared library"
        exit 1
    fi
done

# All static: the libraries are found by any of the two modules, and no BLAS is opened, which would
# crash.
if printf 'int main(void) { return 0; }' >"$work/empty.c" &&
    "$cc" -static -fopenmp "$work/empty.c" -o "$work/empty" -linih 2>/dev/null; then
    step "a static program"
    for module in duoblas duoblas-static; do
        read -ra all_static <<<"$(pkg-config --static --libs "$module")"
        "$cc" -std=c11 -static "${flags[@]}" "$source/examples/first_call.c" -o "$work/all_static" \
            "${all_static[@]}" 2>"$work/static.log" || { cat "$work/static.log"; exit 1; }
        "$work/all_static"
    done
fi

step "the drop-in"
read -ra dropin <<<"$(pkg-config --libs duoblas-blas) -Wl,-rpath,$library"
"$cc" -std=c11 "${warnings[@]}" "$source/tests/consumer/blas.c" -o "$work/blas" "${dropin[@]}"
DUOBLAS_SUMMARY=$work/summary "$work/blas"
grep -qE '^ +sgemm +1 ' "$work/summary" ||
    { echo "FAILED: the program's sgemm_ was not ours"; exit 1; }
printf 'void sgemm_(void) { __builtin_trap(); } float sdot_(void) { __builtin_trap(); }' \
    >"$work/other.c"
"$cc" -w -shared -fPIC "$work/other.c" -o "$work/libother.so"
"$cc" -std=c11 "${warnings[@]}" "$source/tests/consumer/blas.c" -o "$work/others_blas" \
    "$work/libother.so" -Wl,-rpath,"$work"
"$prefix/bin/duoblas" run --summary "$work/preloaded" -- "$work/others_blas"
grep -qE '^ +sdot +1 ' "$work/preloaded" || { echo "FAILED: duoblas run does not preload"; exit 1; }
system=$library/duoblas/libblas.so.3
if [[ -e $system ]]; then # only where there is an OpenBLAS for all other names
    rm "$work/summary"
    "$cc" -std=c11 "${warnings[@]}" "$source/tests/consumer/blas.c" -o "$work/system_blas" \
        "$system" -Wl,-rpath,"${system%/*}" -Wl,--allow-shlib-undefined
    readelf -d "$work/system_blas" | grep -q 'NEEDED.*\[libblas\.so\.3\]' ||
        { echo "FAILED: the system's variant has another name"; exit 1; }
    DUOBLAS_SUMMARY=$work/summary "$work/system_blas"
    grep -qE '^ +sgemm +1 ' "$work/summary" || { echo "FAILED: sgemm_ was not ours"; exit 1; }
fi

step "CMake"
"$cmake" -S "$source/tests/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$work/cmake.log" ||
    { cat "$work/cmake.log"; exit 1; }
"$cmake" --build "$work/consumer" >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
for program in shared_c shared_cpp static_c static_cpp blas; do
    "$work/consumer/$program"
done

if [[ -e $library/libduoblas-fortran.a ]]; then # the module of the compiler that CMake finds
    step "Fortran by CMake"
    mkdir "$work/fortran"
    cat >"$work/fortran/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C Fortran)
find_package(duoblas 1.0 REQUIRED)
add_executable(example "$source/examples/fortran_first_call.f90")
target_link_libraries(example PRIVATE duoblas::fortran)
EOF
    "$cmake" -S "$work/fortran" -B "$work/fortran/build" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$cc" >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
    "$cmake" --build "$work/fortran/build" >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
    "$work/fortran/build/example"
fi

step "components, then uninstall"
mkdir "$work/parts"
for component in runtime dev tools; do
    "$cmake" --install "$build" --prefix "$work/part" --component "$component" >"$work/install.log"
    (cd "$work/part" && find . ! -type d | sort) >"$work/parts/$component"
    "$cmake" --build "$build" --target uninstall >"$work/uninstall.log"
done
(cd "$prefix" && find . ! -type d | sort) >"$work/whole"
sort -m "$work/parts"/* | diff "$work/whole" - ||
    { echo "FAILED: the components are not the whole"; exit 1; }
if grep -vE '/lib[^/]*\.so\.[0-9.]*$' "$work/parts/runtime"; then
    echo "FAILED: these are not what programs need"
    exit 1
fi
for component in runtime tools; do
    "$cmake" --install "$build" --prefix "$work/part" --component "$component" >"$work/install.log"
done
"$work/part/bin/duoblas" run --summary "$work/without_dev" -- "$work/others_blas"
grep -qE '^ +sdot +1 ' "$work/without_dev" || { echo "FAILED: duoblas run wants more"; exit 1; }
"$cmake" --build "$build" --target uninstall >"$work/uninstall.log"
"$cmake" --install "$build" --prefix "$work/whole_again" >"$work/install.log"
touch "$work/whole_again/other"
"$cmake" --build "$build" --target uninstall >"$work/uninstall.log"
left=$(cd "$work/whole_again" && find . ! -type d -o -iname '*duoblas*')
[[ $left == ./other ]] || { echo "FAILED: uninstall left $left"; exit 1; }
if "$cmake" --build "$build" --target uninstall >"$work/uninstall.log" 2>&1; then
    echo "FAILED: nothing was uninstalled without a word"
    exit 1
fi

step "configure without CUnit"
"$cmake" -S "$source" -B "$work/bare" -DDUOBLAS_CUDA=OFF -Dduo_cunit=OFF -DCMAKE_C_COMPILER="$cc" \
    >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
grep -q 'No tests: there is no CUnit' "$work/cmake.log" || { echo "FAILED: not said"; exit 1; }
if "$cmake" --build "$work/bare" --target help | grep -q test_api; then
    echo "FAILED: tests without CUnit"
    exit 1
fi

step "all right"
