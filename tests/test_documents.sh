#!/usr/bin/env bash
# test_documents.sh BUILD SOURCE - the code in README.md, docs/guide and docs/reference compiles
# without warnings: C, C++ (of Eigen, if it is there) and Fortran (if there is a compiler). Whole
# programs run and end with status 0, on the CPU and on the simulated GPU. Fragments compile inside
# a frame of tests/documents, which declares what they take for granted. Code of the library that
# stands outside of these blocks, where nobody compiles it, fails.
set -euo pipefail

build=$1
source=$2
cc=${CC:-cc}
cxx=${CXX:-c++}
fortran=${FC:-gfortran}
frames=$source/tests/documents
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset "${!DUOBLAS_@}" LD_PRELOAD LD_LIBRARY_PATH
export XDG_CONFIG_HOME=$work LC_ALL=C
programs=0 fragments=0 failures=0 skipped=0

fail() { # PLACE MESSAGE [FILE]: also shows the file
    echo "FAILED: $1: $2"
    [[ -z ${3-} ]] || sed 's/^/    /' "$3"
    failures=$((failures + 1))
}

# blocks DOCUMENT FOLDER - writes each fenced block that names a language to a file LINE.LANGUAGE,
# without the fence's indentation, and tells of code outside of blocks.
blocks() {
    awk -v folder="$2" '
        /^ *```/ {
            indent = match($0, /[^ ]/) - 1
            language = substr($0, indent + 4)
            sub(/[ {].*/, "", language)
            file = file == "" && language != "" ? folder "/" FNR "." language : ""
            inside = !inside
            if (file != "") printf "" > file
            next
        }
        file != "" { print substr($0, indent + 1) > file }
        !inside && /^    .*duo_[a-z_]+\(.*\);/ { print FNR > (folder "/outside") }
    ' "$1"
}

warnings=(-Wall -Wextra -Wpedantic -Werror)
c_options=(-std=c11 "${warnings[@]}" -I"$source/include")
cxx_options=(-std=c++17 "${warnings[@]}" -I"$source/include")
libraries=(-L"$build" "-Wl,-rpath,$build" -lduoblas -lm -pthread)
simulated=$build/tests/libduoblas_internal.so:$build/tests/libduoblas-blas-sim.so
if [[ ! -e ${simulated%%:*} || ! -e ${simulated##*:} ]]; then
    echo "There is no simulated GPU in $build: programs run on the CPU alone."
    simulated=
fi
has_eigen() { echo '#include <Eigen/Dense>' | "$cxx" "${eigen[@]}" -E -x c++ - >/dev/null 2>&1; }
eigen=(-isystem /usr/include/eigen3)
if command -v "$fortran" >/dev/null; then # its module, once
    "$fortran" -J"$work" -c "$source/include/duoblas.f90" -o "$work/duoblas.o"
fi

# compile FILE - compiles a block, and links it if it is a whole program: $work/program then. Status
# 1: it does not compile; 2: it cannot be tried here.
compile() {
    local block=$1
    cp "$block" "$work/fragment"
    case $block in
    *.c)
        if grep -q '^int main(' "$block"; then
            "$cc" "${c_options[@]}" "$block" -o "$work/program" "${libraries[@]}"
        else
            "$cc" "${c_options[@]}" -I"$work" -Wno-unused -fsyntax-only "$frames/frame.c"
        fi
        ;;
    *.cpp)
        if grep -q '^int main(' "$block"; then
            "$cxx" "${cxx_options[@]}" "$block" -o "$work/program" "${libraries[@]}"
        elif grep -q 'Eigen::' "$block"; then
            has_eigen || return 2
            "$cxx" "${cxx_options[@]}" "${eigen[@]}" -I"$work" -Wno-unused -fsyntax-only \
                "$frames/frame_eigen.cpp"
        else
            "$cxx" "${cxx_options[@]}" -I"$work" -Wno-unused -fsyntax-only "$frames/frame.cpp"
        fi
        ;;
    *.fortran)
        command -v "$fortran" >/dev/null || return 2
        if grep -q '^program ' "$block"; then
            "$fortran" -I"$work" -x f95 "$block" -x none "$work/duoblas.o" -o "$work/program" \
                "${libraries[@]}"
        else
            cp "$block" "$work/fragment"
            (cd "$work" && "$fortran" -I"$work" -Wall -Werror -Wno-unused -fsyntax-only \
                "$frames/frame.f90")
        fi
        ;;
    esac
}

# try DOCUMENT BLOCK
try() {
    local block=$2 place status=0
    place=$1:$(basename "${block%.*}")
    rm -f "$work/program"
    compile "$block" >"$work/said" 2>&1 || status=$?
    if [[ $status -eq 2 ]]; then
        skipped=$((skipped + 1))
        return
    elif [[ $status -ne 0 ]]; then
        fail "$place" "it does not compile" "$work/said"
        return
    elif [[ ! -e $work/program ]]; then
        fragments=$((fragments + 1))
        return
    fi
    programs=$((programs + 1))
    (cd "$work" && ./program) >"$work/said" 2>&1 </dev/null ||
        fail "$place" "the program ends with status $?" "$work/said"
    [[ -n $simulated ]] || return 0
    (cd "$work" && DUOBLAS_PATH=gpu LD_PRELOAD=$simulated ./program) >"$work/said" 2>&1 \
        </dev/null ||
        fail "$place" "on the simulated GPU it ends with status $?" "$work/said"
}

# Blocks that do not compile are seen.
for planted in c:'duo_sgemm(NULL);' cpp:'duo::gemm(A);' fortran:'call duo_sgemm(1'; do
    echo "${planted#*:}" >"$work/1.${planted%%:*}"
    status=0
    compile "$work/1.${planted%%:*}" >"$work/said" 2>&1 || status=$?
    [[ $status -ne 0 ]] || fail "${planted%%:*}" "a fragment with an error compiles"
done

for document in "$source"/README.md "$source"/docs/{guide,reference}/*.md; do
    name=${document#"$source/"}
    folder=$work/blocks/$name
    mkdir -p "$folder"
    blocks "$document" "$folder"
    if [[ -e $folder/outside ]]; then
        fail "$name:$(paste -sd, "$folder/outside")" "this code stands in no block of a language"
    fi
    for block in "$folder"/*.*; do
        case $block in
        *'/*.*') ;;
        *.c | *.cpp | *.fortran) try "$name" "$block" ;;
        *.python) # python/tests/test_documents.py runs these
            [[ $name == docs/@(guide|reference)/python.md ]] ||
                fail "$name" "Python that no test runs" ;;
        *) fail "$name:$(basename "$block")" "no test knows this language" ;;
        esac
    done
done

echo "$programs programs ran, $fragments fragments compiled, $skipped skipped, $failures failures"
[[ $programs -ge 4 && $fragments -ge 8 && $failures -eq 0 ]]
