#!/usr/bin/env bash
# test_header.sh SOURCE - the public header compiles alone and without warnings, as C11 and as
# C++17, by every compiler that is here; it includes no CUDA and defines no macro outside DUO_, and
# names with DUO_DEPRECATED warn. It refuses -fshort-enums. duoblas.hpp and its tests, of Eigen too,
# compile without more warnings, as C++17, C++20 and C++23.
set -euo pipefail

include=$1/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
tried=0

for file in one.c one.cpp; do
    printf '#include <duoblas.h>\n#include <duoblas.h>\nint main(void) { return DUO_OK; }\n' \
        >"$work/$file"
done
sed 's/duoblas\.h/&pp/' "$work/one.cpp" >"$work/two.cpp"
printf '#include <stddef.h>\n#include <stdint.h>\n' >"$work/none.c"

for pair in gcc:g++ clang:clang++; do
    c=${pair%%:*} cxx=${pair##*:}
    if command -v "$c" >/dev/null; then
        "$c" -std=c11 "${warnings[@]}" -I"$include" -fsyntax-only "$work/one.c"
        echo "ok: C11 by $c"
        tried=$((tried + 1))
    fi
    if command -v "$cxx" >/dev/null; then
        "$cxx" -std=c++17 "${warnings[@]}" -I"$include" -fsyntax-only "$work/one.cpp"
        echo "ok: C++17 by $cxx"
        more=(-Wold-style-cast -Wsign-conversion)
        [[ $cxx == clang++ ]] || more+=(-Wuseless-cast)
        for standard in 17 20 2b; do
            files=("$work/two.cpp" "$1/tests/test_cpp_ranges.cpp")
            # Eigen takes long: once by each compiler, and the build compiles it as C++17.
            [[ $standard != 2b ]] || files=("$1"/tests/test_cpp*.cpp)
            for file in "${files[@]}"; do
                "$cxx" -std=c++$standard "${warnings[@]}" "${more[@]}" -I"$include" \
                    -isystem "$1/src" -isystem "$1/tests" -fsyntax-only "$file"
            done
            echo "ok: duoblas.hpp and its tests as C++$standard by $cxx"
        done
        tried=$((tried + 1))
    fi
done
# refuses COMPILER OPTION...: enumerations that are not as large as an int
refuses() {
    if "$@" -fshort-enums -I"$include" -fsyntax-only "$work/one.cpp" 2>"$work/said"; then
        echo "FAILED: $* takes the header with -fshort-enums"
        exit 1
    fi
    grep -q "enumerations of int's size" "$work/said"
    echo "ok: -fshort-enums is refused by $*"
}
for pair in gcc:g++ clang:clang++; do
    if command -v ${pair%%:*} >/dev/null; then refuses ${pair%%:*} -x c -std=c11; fi
    if command -v ${pair##*:} >/dev/null; then refuses ${pair##*:} -std=c++17; fi
done
[[ $tried -gt 0 ]] || { echo "FAILED: no compiler"; exit 1; }

echo '#include <duoblas.h>
DUO_DEPRECATED("use new_one") DUO_API int old_one(void);
int (*function)(void) = old_one;' >"$work/deprecated.c"
if "${CC:-cc}" -I"$include" -Werror -fsyntax-only "$work/deprecated.c" 2>"$work/said"; then
    echo "FAILED: no warning of what is deprecated"
    exit 1
fi
grep -q 'use new_one' "$work/said"
echo "ok: compilers warn of what is deprecated, and say what to use"

macros() {
    "${CC:-cc}" -std=c11 -I"$include" -dM -E "$1" | awk '{ sub(/\(.*/, "", $2); print $2 }' | sort
}
macros "$work/none.c" >"$work/before"
macros "$work/one.c" >"$work/after"
if comm -13 "$work/before" "$work/after" | grep -vE '^(DUO_|DUOBLAS_H$)'; then
    echo "FAILED: macros without the prefix DUO_"
    exit 1
fi
echo "ok: every macro begins with DUO_"
