#!/usr/bin/env bash
# test_cpp_refused.sh SOURCE - code that duoblas.hpp must not take does not compile, as C++17 and
# C++20, by every compiler that is here. Each line of `snippets` has a statement that must be
# refused, and after a bar a similar one that must compile. Without exceptions the header compiles,
# and an error ends the program.
set -euo pipefail

include=$1/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/snippets" <<'END'
duo::kept k(ctx, std::vector<float>(9)); | std::vector<float> x(9); duo::kept k(ctx, x);
duo::kept k(ctx, std::array<int, 9>{}); | const std::array<int, 9> x{}; duo::kept k(ctx, x);
duo::kept k(ctx, duo::pinned_array<float>(ctx, 9)); | duo::kept k(ctx, pinned);
duo::kept k(ctx, gaps); | duo::kept k(ctx, gaps.data(), 9);
duo::prepared p(ctx, std::vector<float>(9)); | duo::prepared p(ctx, v);
duo::prepared p(ctx, gaps); | duo::prepared p(ctx, gaps.data(), 9);
g.add(duo::work::sum(std::vector<float>(9), &r)); | g.add(duo::work::sum(v, &r));
g.add(duo::work::dot(v, {1.0f, 2.0f}, &r)); | g.add(duo::work::dot(v, {v.data(), 2}, &r));
g.add(duo::work::asum(gaps, &r)); | g.add(duo::work::asum({gaps.data(), 9, 2}, &r));
auto l = duo::col_major(std::vector<float *>(9), 1, 1); | auto l = duo::col_major(list, 1, 1);
auto l = duo::row_major(gaps_of_pointers, 1, 1); | auto l = duo::row_major(list, 1, 1);
r = duo::sum(ctx, gaps); | r = duo::sum(ctx, v);
r = duo::dot(ctx, v, std::vector<bool>(9)); | r = duo::dot(ctx, v, std::vector<float>(9));
r = duo::asum(ctx, std::deque<float>(9)); | r = duo::asum(ctx, std::array<float, 2>{1, 2});
duo::copy(ctx, v, gaps); | duo::copy(ctx, v, pinned);
duo::copy(ctx, gaps, v); | duo::copy(ctx, pinned, v);
duo::copy(ctx, v, std::vector<double>(9)); | duo::copy(ctx, v, std::vector<float>(9));
const std::vector<float> w(9); duo::copy(ctx, w, v); | const auto w = v; duo::copy(ctx, v, w);
END

# program COLUMN: each statement of the column in a function, at its line of `snippets`.
program() {
    cat <<'END'
#include <duoblas.hpp>
#include <deque>
template <class T>
struct with_gaps {
    T *first;
    T *data() const { return first; }
    unsigned long size() const { return 9; }
    long stride(int) const { return 2; }
};
template <int>
void statement(duo::context &, duo::graph &, std::vector<float> &, std::vector<float *> &,
               duo::pinned_array<float> &, with_gaps<float>, with_gaps<float *>, float);
END
    awk -F'|' -v column="$1" '{
        printf "#line %d \"snippet\"\ntemplate <> void statement<%d>(duo::context &ctx, ", NR, NR
        printf "duo::graph &g, std::vector<float> &v, std::vector<float *> &list, "
        printf "duo::pinned_array<float> &pinned, with_gaps<float> gaps, "
        printf "with_gaps<float *> gaps_of_pointers, float r) {" $column "}\n" }' "$work/snippets"
}
program 1 >"$work/refused.cpp"
program 2 >"$work/taken.cpp"
count=$(wc -l <"$work/snippets")

compilers=0
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    compilers=$((compilers + 1))
    every=$([[ $cxx == g++ ]] && echo -fmax-errors=0 || echo -ferror-limit=0)
    for standard in 17 20; do
        compile=("$cxx" "-std=c++$standard" -w "$every" -I"$include" -fsyntax-only)
        "${compile[@]}" "$work/taken.cpp"
        "${compile[@]}" "$work/refused.cpp" 2>"$work/said" && { echo "FAILED: all taken"; exit 1; }
        for ((i = 1; i <= count; i++)); do
            grep -q "snippet:$i:" "$work/said" && continue
            echo "FAILED: $cxx takes, as C++$standard: $(sed -n "${i}s/|.*//p" "$work/snippets")"
            exit 1
        done
        echo "ok: $count statements are refused as C++$standard by $cxx, and their likes taken"
    done
done
if [[ $compilers -eq 0 ]]; then
    echo "skipped: there is no C++ compiler"
    exit 77
fi

cat >"$work/ends.cpp" <<'END'
#include <duoblas.hpp>
int main()
{
    duo::check(DUO_ERR_LD);
}
END
library="duo_status_string(duo_status) { return \"a text\"; }"
echo "#include <duoblas.h>
const char *$library" >"$work/library.c"
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    for options in "-fno-exceptions -fno-rtti" "-fexceptions"; do
        # shellcheck disable=SC2086 # several options
        "$cxx" -std=c++17 $options -Wall -Wextra -Werror -I"$include" "$work/ends.cpp" \
            -x c++ "$work/library.c" -o "$work/ends"
        status=0
        (ulimit -c 0; "$work/ends"; exit $?) >/dev/null 2>"$work/said" || status=$?
        if [[ $status -ne 134 ]] || ! grep -q 'a text' "$work/said"; then
            echo "FAILED: $options: status $status, and it says:"
            cat "$work/said"
            exit 1
        fi
    done
    echo "ok: without exceptions an error ends the program, as one that nobody catches, by $cxx"
done
