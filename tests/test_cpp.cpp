/*
 * test_cpp.cpp - duoblas.hpp: views, operations, scopes, errors.
 *
 * The results of the operations are tested in C. Here every argument has to reach them: layouts,
 * gaps, transposes, increments, scalars. Every scope has to end what it began, and every status has
 * to be thrown.
 */
#include <duoblas.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>
#if __has_include(<span>)
#include <span>
#endif
#if __has_include(<mdspan>)
#include <mdspan>
#endif
#ifdef __cpp_lib_mdspan
#define HAS_MDSPAN
namespace spans = std;
#elif __has_include(<cuda/std/mdspan>) /* the same class in the CUDA toolkit, from C++17 on */
#define HAS_MDSPAN
#include <cuda/std/array>
#include <cuda/std/mdspan>
namespace spans = cuda::std;
#endif

extern "C" {
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/sanitizers.h"
}

namespace
{

/* A context that is forced to the side of the mode. */
duo::context forced()
{
    duo::context ctx;
    ctx.set_path(test_path());
    return ctx;
}

std::vector<float> random_floats(const char *label, int64_t count)
{
    test_rng rng = test_rng_for(label);
    std::vector<float> x(static_cast<std::size_t>(count));
    test_fill(&rng, DATA_SIGNED, x.data(), count);
    return x;
}

/* Does the call throw this status? */
template <class Call>
bool throws(duo_status expected, const Call &call)
{
    try {
        call();
    } catch (const duo::error &caught) {
        return caught.status() == expected && caught.what()[0] != '\0';
    }
    return false;
}

void check_no_leaks()
{
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* ---- Views ---- */

/* Made like std::mdspan, which the standard library may lack. */
template <class T, std::size_t indices, class Reference = T &>
struct made_like_mdspan {
    using element_type = T;
    using data_handle_type = T *;
    using reference = Reference;

    T *data;
    std::array<int, indices> extents, strides;

    static constexpr std::size_t rank() { return indices; }
    T *data_handle() const { return data; }
    int extent(std::size_t i) const { return extents[i]; }
    int stride(std::size_t i) const { return strides[i]; }
};

using strided = made_like_mdspan<float, 2>;
using stacked = made_like_mdspan<float, 3>;

/* Layout and leading dimension; 0: refused. */
struct viewed {
    strided from;
    duo_layout layout;
    int64_t ld;
};

void strides_tell_layouts()
{
    const viewed cases[] = {
        {{nullptr, {3, 4}, {1, 3}}, DUO_COL_MAJOR, 3},
        {{nullptr, {3, 4}, {1, 9}}, DUO_COL_MAJOR, 9},
        {{nullptr, {3, 4}, {4, 1}}, DUO_ROW_MAJOR, 4},
        {{nullptr, {3, 4}, {7, 1}}, DUO_ROW_MAJOR, 7},
        {{nullptr, {3, 4}, {2, 6}}, DUO_COL_MAJOR, 0},
        {{nullptr, {3, 4}, {1, 2}}, DUO_COL_MAJOR, 0},
        {{nullptr, {1, 4}, {4, 1}}, DUO_ROW_MAJOR, 4},
        {{nullptr, {1, 4}, {1, 1}}, DUO_COL_MAJOR, 1},
        {{nullptr, {1, 4}, {9, 5}}, DUO_COL_MAJOR, 5},
        {{nullptr, {1, 4}, {1, 0}}, DUO_COL_MAJOR, 0},
        {{nullptr, {3, 1}, {1, 3}}, DUO_COL_MAJOR, 3},
        {{nullptr, {3, 1}, {1, 1}}, DUO_ROW_MAJOR, 1},
        {{nullptr, {3, 1}, {5, 9}}, DUO_ROW_MAJOR, 5},
        {{nullptr, {3, 1}, {0, 1}}, DUO_ROW_MAJOR, 0},
        {{nullptr, {0, 4}, {1, 0}}, DUO_COL_MAJOR, 1},
        {{nullptr, {0, 4}, {4, 1}}, DUO_ROW_MAJOR, 4},
        {{nullptr, {3, 0}, {1, 3}}, DUO_COL_MAJOR, 3},
        {{nullptr, {3, 0}, {0, 1}}, DUO_ROW_MAJOR, 1},
    };
    for (const viewed &v : cases) {
        test_case("view/%dx%d/%d,%d", v.from.extents[0], v.from.extents[1], v.from.strides[0],
                  v.from.strides[1]);
        const duo::matrix_view view(v.from);
        CHECK(view.layout == v.layout && view.ld == v.ld, "layout %d, ld %d",
              static_cast<int>(view.layout), static_cast<int>(view.ld));
        CHECK(view.rows == v.from.extents[0] && view.columns == v.from.extents[1], "sizes");
    }
}

/* Things that are no operands do not compile. */
void only_floats_in_memory()
{
    using scaled = made_like_mdspan<float, 2, float>;
    static_assert(std::is_convertible_v<strided, duo::matrix_view<const float>>);
    static_assert(!std::is_convertible_v<scaled, duo::matrix_view<const float>>);
    static_assert(!std::is_convertible_v<made_like_mdspan<double, 2>, duo::matrix_view<float>>);
    static_assert(
        !std::is_convertible_v<made_like_mdspan<const float, 2>, duo::matrix_view<float>>);
    static_assert(!std::is_convertible_v<duo::matrix_view<const float>, duo::matrix_view<float>>);
    static_assert(!std::is_convertible_v<strided, duo::vector_view>);
    static_assert(std::is_convertible_v<stacked, duo::batch_view<const float>>);
    static_assert(std::is_convertible_v<strided, duo::batch_view<const float>>);
    static_assert(!std::is_convertible_v<stacked, duo::matrix_view<const float>>);
    static_assert(!std::is_convertible_v<made_like_mdspan<double, 3>, duo::batch_view<float>>);
    static_assert(!std::is_convertible_v<made_like_mdspan<const float, 3>, duo::batch_view<float>>);
    static_assert(!std::is_convertible_v<duo::batch_view<const float>, duo::batch_view<float>>);
    static_assert(std::is_convertible_v<duo::list_view<float>, duo::list_view<const float>>);
    static_assert(!std::is_convertible_v<duo::list_view<const float>, duo::list_view<float>>);
    static_assert(!std::is_convertible_v<duo::list_view<float>, duo::batch_view<const float>>);
    static_assert(!std::is_convertible_v<std::vector<double>, duo::vector_view>);
    static_assert(!std::is_convertible_v<duo::matrix_view<float>, duo::vector_view>);
    static_assert(std::is_convertible_v<std::array<float, 3>, duo::vector_view>);
    static_assert(!std::is_copy_constructible_v<duo::context>);
    static_assert(std::is_nothrow_move_constructible_v<duo::context>);
    static_assert(std::is_nothrow_move_constructible_v<duo::device_array<float>>);
    static_assert(std::is_nothrow_move_constructible_v<duo::kept>);
}

/* ---- Operations ---- */

float &element(const duo::matrix_view<float> &x, int64_t i, int64_t j)
{
    return x.data[x.layout == DUO_COL_MAJOR ? i + j * x.ld : i * x.ld + j];
}

/* A view of random memory with gaps, or of the first of `count` matrices with gaps. */
duo::matrix_view<float> placed(std::vector<float> &memory, bool by_rows, int64_t rows,
                               int64_t columns, int64_t gap, int64_t count = 1)
{
    memory = random_floats("placed", (rows + gap) * (columns + gap) * count);
    return by_rows ? duo::row_major(memory.data(), rows, columns, columns + gap)
                   : duo::col_major(memory.data(), rows, columns, rows + gap);
}

/* Of each element the error has to be within the header's bound, as |A(i,j)|, |B|, |C| <= 1. */
void check_product(const duo::matrix_view<float> &a, const duo::matrix_view<float> &b,
                   const duo::matrix_view<float> &before, const duo::matrix_view<float> &c,
                   float alpha, float beta)
{
    const double u = std::ldexp(1, -24), k = static_cast<double>(a.columns);
    const double bound = ((k + 3) * k * std::fabs(alpha) + 2 * std::fabs(beta)) * u;
    for (int64_t i = 0; i < c.rows; i++)
        for (int64_t j = 0; j < c.columns; j++) {
            double sum = 0;
            for (int64_t l = 0; l < a.columns; l++)
                sum +=
                    static_cast<double>(element(a, i, l)) * static_cast<double>(element(b, l, j));
            double want = static_cast<double>(alpha) * sum;
            if (beta != 0)
                want += static_cast<double>(beta) * static_cast<double>(element(before, i, j));
            const double got = static_cast<double>(element(c, i, j));
            if (!CHECK(std::fabs(got - want) <= bound, "C(%d,%d) = %g, not %g", static_cast<int>(i),
                       static_cast<int>(j), got, want))
                return;
        }
}

/* Every combination of layouts, and A and B as they are or transposed. */
void products_in_all_layouts()
{
    const duo::context ctx = forced();
    std::vector<float> of_a, of_b, of_c;
    for (int bits = 0; bits < 32; bits++) {
        const bool turned_a = bits & 8, turned_b = bits & 16;
        const float alpha = bits % 3 == 0 ? 1.0f : -0.5f, beta = bits % 2 == 0 ? 0.0f : 2.0f;
        test_case("gemm/layouts/%d", bits);
        duo::matrix_view<float> a =
            placed(of_a, bits & 1, turned_a ? 30 : 37, turned_a ? 37 : 30, 2);
        duo::matrix_view<float> b =
            placed(of_b, bits & 2, turned_b ? 41 : 30, turned_b ? 30 : 41, 3);
        const duo::matrix_view<float> c = placed(of_c, bits & 4, 37, 41, 5);
        if (turned_a) a = duo::transposed(a);
        if (turned_b) b = duo::transposed(b);
        std::vector<float> old = of_c;
        duo::matrix_view<float> before = c;
        before.data = old.data();
        duo::gemm(ctx, a, b, c, alpha, beta);
        check_product(a, b, before, c, alpha, beta);
    }
}

void products_of_mdspans()
{
    const duo::context ctx = forced();
    std::vector<float> a = random_floats("a", 6 * 8), b = random_floats("b", 8 * 5), c(6 * 5);
    const strided rows{a.data(), {6, 8}, {8, 1}}, columns{b.data(), {8, 5}, {1, 8}},
        out{c.data(), {6, 5}, {5, 1}}, bad{a.data(), {6, 4}, {8, 2}};
    duo::gemm(ctx, rows, columns, out);
    check_product(rows, columns, out, out, 1, 0);
    CHECK_STATUS(DUO_ERR_LD,
                 duo::gemm(std::nothrow, ctx, bad, strided{b.data(), {4, 5}, {1, 8}}, out));
#ifdef HAS_MDSPAN
    test_case("gemm/std::mdspan");
    const spans::mdspan<const float, spans::dextents<int, 2>> x(a.data(), 6, 8);
    const spans::mdspan<float, spans::extents<int, 8, 5>, spans::layout_left> y(b.data());
    const spans::mdspan<float, spans::dextents<std::size_t, 2>> z(c.data(), 6, 5);
    std::vector<float> first = c;
    test_fill_poison(c.data(), 30);
    duo::gemm(ctx, x, y, z);
    CHECK(c == first, "other bits by std::mdspan");
    const spans::mdspan<float, spans::dextents<int, 1>> v(a.data(), 48);
    CHECK(duo::sum(ctx, v) == duo::sum(ctx, a), "sum of an mdspan");
    using shape = spans::dextents<int, 2>;
    using layout = spans::layout_stride::mapping<shape>;
    using steps = spans::array<int, 2>;
    const spans::mdspan gaps(c.data(), layout(shape(6, 2), steps{5, 2}));
    const spans::mdspan by_strides(x.data_handle(), layout(shape(6, 8), steps{8, 1}));
    test_fill_poison(c.data(), 30);
    duo::matrix_product(ctx, by_strides, y, z);
    CHECK(c == first, "other bits by strides");
    CHECK_STATUS(DUO_ERR_LD, duo::gemm(std::nothrow, ctx, x, spans::mdspan(b.data(), 8, 2), gaps));
#endif
}

/* Matrix i of a batch; a batch of one is that one for all. */
duo::matrix_view<float> member(duo::batch_view<float> x, int64_t i)
{
    if (x.count != 1) x.each.data += i * x.stride;
    return x.each;
}

/* Every combination of layouts, transposes, and one matrix or one for each product. */
void batches_in_all_layouts()
{
    const duo::context ctx = forced();
    std::vector<float> of_a, of_b, of_c;
    for (int bits = 0; bits < 128; bits++) {
        const bool turned_a = bits & 8, turned_b = bits & 16;
        const int64_t count = 3, as = bits & 32 ? 1 : count, bs = bits & 64 ? 1 : count;
        const float alpha = bits % 3 == 0 ? 1.0f : -0.5f, beta = bits % 5 == 0 ? 0.0f : 2.0f;
        test_case("gemm_batched/layouts/%d", bits);
        duo::batch_view<float> a = duo::batched(
            placed(of_a, bits & 1, turned_a ? 5 : 7, turned_a ? 7 : 5, 2, as), as, 9 * 7);
        duo::batch_view<float> b =
            duo::batched(placed(of_b, bits & 2, turned_b ? 6 : 5, turned_b ? 5 : 6, 3, bs), bs);
        const duo::batch_view<float> c =
            duo::batched(placed(of_c, bits & 4, 7, 6, 1, count), count, 8 * 7);
        if (turned_a) a = duo::transposed(a);
        if (turned_b) b = duo::transposed(b);
        std::vector<float> old = of_c;
        duo::batch_view<float> before = c;
        before.each.data = old.data();
        duo::gemm_batched(ctx, a, b, c, alpha, beta);
        for (int64_t i = 0; i < count; i++)
            check_product(member(a, i), member(b, i), member(before, i), member(c, i), alpha, beta);
    }
}

/* Where the matrices of a batch begin, from the last to the first. */
std::vector<float *> backwards(const duo::batch_view<float> &x)
{
    std::vector<float *> list;
    for (int64_t i = x.count; i-- > 0;) list.push_back(member(x, i).data);
    return list;
}

template <class List>
auto listed(const List &list, const duo::matrix_view<float> &x)
{
    return x.layout == DUO_COL_MAJOR ? duo::col_major(list, x.rows, x.columns, x.ld)
                                     : duo::row_major(list, x.rows, x.columns, x.ld);
}

void batches_by_lists()
{
    const duo::context ctx = forced();
    std::vector<float> of_a, of_b, of_c;
    for (int bits = 0; bits < 8; bits++) {
        test_case("gemm_batched/lists/%d", bits);
        const auto a = duo::batched(placed(of_a, bits & 1, 7, 5, 2, 3), 3);
        const auto b = duo::batched(placed(of_b, bits & 2, 6, 5, 3, 3), 3); /* transposed */
        const auto c = duo::batched(placed(of_c, bits & 4, 7, 6, 1, 3), 3);
        std::vector<float> old = of_c;
        auto before = c;
        before.each.data = old.data();
        const std::vector<float *> list_a = backwards(a), list_b = backwards(b);
        const std::array<const float *, 3> twice = {list_b[0], list_b[0], list_b[2]};
        duo::gemm_batched(ctx, listed(list_a, a.each), duo::transposed(listed(twice, b.each)),
                          listed(backwards(c), c.each), 1.5f, -1);
        for (int64_t i = 0; i < 3; i++)
            check_product(member(a, i), duo::transposed(member(b, i == 0 ? 0 : 2)),
                          member(before, i), member(c, i), 1.5f, -1);
    }
    float x[] = {3, 5}, y[2], *const from[] = {&x[0], &x[1]}, *const to[] = {&y[1], &y[0]};
    const auto list = duo::col_major(from, 1, 1);
    test_case("gemm_batched/lists/array");
    duo::gemm_batched(ctx, list, list, duo::row_major(to, 1, 1));
    CHECK(y[0] == 25 && y[1] == 9, "%g, %g", static_cast<double>(y[0]), static_cast<double>(y[1]));
#ifdef __cpp_lib_span
    const auto last = duo::row_major(std::span(from).last(1), 1, 1);
    test_case("gemm_batched/lists/std::span");
    duo::gemm_batched(ctx, last, last, duo::col_major(std::span(to).first(1), 1, 1));
    CHECK(y[1] == 25, "%g", static_cast<double>(y[1]));
#endif
}

/* Two groups, of other shapes and layouts; then one whose lists have not one length. */
void groups()
{
    const duo::context ctx = forced();
    std::vector<float> of_a[2], of_b[2], of_c[2];
    for (int bits = 0; bits < 8; bits++) {
        test_case("gemm_grouped/%d", bits);
        const auto a = duo::batched(placed(of_a[0], bits & 1, 7, 5, 2, 3), 3);
        const auto b = duo::batched(placed(of_b[0], bits & 2, 6, 5, 3, 3), 3); /* transposed */
        const auto c = duo::batched(placed(of_c[0], bits & 4, 7, 6, 1, 3), 3);
        const auto x = duo::batched(placed(of_a[1], bits & 4, 4, 9, 0, 2), 2);
        const auto y = duo::batched(placed(of_b[1], bits & 1, 9, 3, 1, 2), 2);
        const auto z = duo::batched(placed(of_c[1], bits & 2, 4, 3, 2, 2), 2);
        std::vector<float> old[] = {of_c[0], of_c[1]};
        auto before = c, before_z = z;
        before.each.data = old[0].data();
        before_z.each.data = old[1].data();
        const std::vector<float *> as = backwards(a), bs = backwards(b), cs = backwards(c),
                                   xs = backwards(x), ys = backwards(y), zs = backwards(z);
        const std::array<duo::gemm_group, 2> both = {
            {{listed(as, a.each), duo::transposed(listed(bs, b.each)), listed(cs, c.each), 1.5f,
              -1},
             {listed(xs, x.each), listed(ys, y.each), listed(zs, z.each), -2, 0.5f}}};
        duo::gemm_grouped(ctx, both);
        for (int64_t i = 0; i < 3; i++)
            check_product(member(a, i), duo::transposed(member(b, i)), member(before, i),
                          member(c, i), 1.5f, -1);
        for (int64_t i = 0; i < 2; i++)
            check_product(member(x, i), member(y, i), member(before_z, i), member(z, i), -2, 0.5f);
        test_case("gemm_grouped/%d/refused", bits);
        const std::vector<duo::gemm_group> bad = {
            {listed(as, a.each), duo::transposed(listed(bs, b.each)), listed(cs, c.each)},
            {listed(xs, x.each), listed(ys, y.each), listed(cs, z.each)}};
        CHECK_STATUS(DUO_ERR_SIZE, duo::gemm_grouped(std::nothrow, ctx, bad));
    }
    test_case("gemm_grouped/none");
    duo::gemm_grouped(ctx, std::vector<duo::gemm_group>{});
}

/* The first index tells which matrix; one matrix serves all products. */
void batches_of_mdspans()
{
    const duo::context ctx = forced();
    std::vector<float> a = random_floats("a", 4 * 6 * 8), b = random_floats("b", 8 * 5);
    std::vector<float> c(4 * 6 * 5);
    const strided one{b.data(), {8, 5}, {1, 8}};
    const stacked out{c.data(), {4, 6, 5}, {30, 1, 6}};
    const stacked behind{a.data(), {4, 6, 8}, {48, 8, 1}},
        by_turns{a.data(), {4, 6, 8}, {8, 32, 1}}, gaps{a.data(), {4, 6, 8}, {1, 4, 24}};
    for (const stacked &x : {behind, by_turns}) {
        test_case("gemm_batched/mdspans/%d", x.stride(0));
        duo::gemm_batched(ctx, x, one, out);
        for (int64_t i = 0; i < 4; i++)
            check_product(member(x, i), one, member(out, i), member(out, i), 1, 0);
    }
    CHECK_STATUS(DUO_ERR_LD, duo::gemm_batched(std::nothrow, ctx, gaps, one, out));
#ifdef HAS_MDSPAN
    test_case("gemm_batched/std::mdspan");
    const spans::mdspan<const float, spans::dextents<int, 3>> x(a.data(), 4, 6, 8);
    const spans::mdspan<const float, spans::extents<int, 8, 5>, spans::layout_left> y(b.data());
    const spans::mdspan<float, spans::dextents<std::size_t, 3>> z(c.data(), 4, 6, 5);
    duo::gemm_batched(ctx, x, y, z);
    const duo::batch_view<float> from(behind), to(z);
    for (int64_t i = 0; i < 4; i++)
        check_product(member(from, i), one, member(to, i), member(to, i), 1, 0);
#endif
}

/* Shapes and counts that do not fit, C that overlap, missing lists, and no products. */
void batches_that_are_refused()
{
    const duo::context ctx = forced();
    std::vector<float> x(48, 1.0f), y(48);
    test_fill_poison(y.data(), 48);
    const auto a = duo::col_major(x.data(), 3, 4), b = duo::row_major(x.data(), 4, 2),
               c = duo::col_major(y.data(), 3, 2);
    const auto as = duo::batched(a, 3), bs = duo::batched(b, 3), cs = duo::batched(c, 3);
    const std::vector<float *> list = {x.data(), x.data() + 12, nullptr}, two(2, x.data());
    const auto list_a = duo::col_major(two, 3, 4), list_b = duo::row_major(two, 4, 2);
    const std::vector<float *> out = {y.data(), y.data() + 6};
    const auto list_c = duo::col_major(out, 3, 2);

    test_case("gemm_batched/refused");
    const auto refused = [&](duo_status status, auto... batches) {
        CHECK(throws(status, [&] { duo::gemm_batched(ctx, batches...); }), "not thrown");
        CHECK_STATUS(status, duo::gemm_batched(std::nothrow, ctx, batches...));
    };
    refused(DUO_ERR_SIZE, as, as, cs);
    refused(DUO_ERR_SIZE, duo::transposed(as), bs, cs);
    refused(DUO_ERR_SIZE, duo::batched(a, 2), bs, cs);
    refused(DUO_ERR_SIZE, as, duo::batched(b, 4), cs);
    refused(DUO_ERR_SIZE, as, bs, c);
    refused(DUO_ERR_SIZE, as, bs, duo::batched(c, -1));
    refused(DUO_ERR_LD, as, bs, duo::batched(c, 3, 5));
    refused(DUO_ERR_NULL, duo::batched(duo::col_major<float>(nullptr, 3, 4), 3), bs, cs);
    refused(DUO_ERR_SIZE, list_a, list_a, list_c);
    refused(DUO_ERR_SIZE, duo::col_major(list, 3, 4), list_b, list_c);
    refused(DUO_ERR_SIZE, list_a, duo::row_major(list, 4, 2), list_c);
    refused(DUO_ERR_SIZE, list_a, list_b, duo::col_major(list, 3, 2));
    refused(DUO_ERR_NULL, duo::col_major(list, 3, 4), duo::row_major(list, 4, 2),
            duo::col_major(list, 3, 2));
    const std::vector<float *> none;
    duo::gemm_batched(ctx, duo::batched(a, 0), b, duo::batched(c, 0));
    duo::gemm_batched(ctx, duo::col_major(none, 3, 4), duo::row_major(none, 4, 2),
                      duo::col_major(none, 3, 2));
    CHECK(test_all_poison(y.data(), 48), "C of a bad call, or of none");
}

void reductions_of_what_a_program_has()
{
    duo::context ctx = forced();
    const std::vector<float> x = random_floats("x", 1000), y = random_floats("y", 1000);
    float asum = 0, sum = 0, dot = 0, every_third = 0;
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 1000, x.data(), 1, &asum));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 1000, x.data(), 1, &sum));
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 1000, x.data(), 1, y.data(), 1, &dot));
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 334, x.data(), 3, y.data(), 1, &every_third));

    CHECK(duo::asum(ctx, x) == asum && duo::asum(nullptr, x) == asum, "asum");
    CHECK(duo::sum(ctx, x) == sum && duo::sum(nullptr, x) == sum, "sum");
    CHECK(duo::dot(ctx, x, y) == dot && duo::dot(nullptr, x, y) == dot, "dot");
    const made_like_mdspan<const float, 1> third{x.data(), {334}, {3}};
    CHECK(duo::dot(ctx, third, {y.data(), 334}) == every_third, "dot with increments");
    CHECK(duo::dot(ctx, {y.data(), 334}, third) == every_third, "dot, the other way round");

    const float plain[] = {1, -2, 3};
    CHECK(duo::asum(ctx, plain) == 6 && duo::sum(ctx, std::array<float, 2>{4, 5}) == 9, "arrays");
#ifdef __cpp_lib_span
    CHECK(duo::sum(ctx, std::span(x)) == sum, "sum of a span");
#endif
    ctx.set_math(DUO_MATH_FLOAT64);
    ctx.set_verify(1.0, 2);
    CHECK(std::fabs(static_cast<double>(duo::sum(ctx, x) - sum)) < 1e-3, "sum in float64");
}

/* Contexts with results that come later: a returned float is there all the same. */
void results_that_come_later()
{
    duo::context ctx = forced();
    ctx.set_async(true);
    const std::vector<float> x = random_floats("later", 5000);
    for (int i = 0; i < 20; i++) CHECK(duo::sum(ctx, x) == duo::sum(nullptr, x), "sum, awaited");
    float later = test_poison();
    duo::sum(ctx, x, &later);
    ctx.synchronize();
    CHECK(later == duo::sum(nullptr, x), "sum, after waiting");
}

/* ---- Errors ---- */

void statuses_are_thrown()
{
    const duo::context ctx = forced();
    std::vector<float> x(12, 1.0f), y(11, 1.0f);
    const auto a = duo::col_major(x.data(), 3, 4), c = duo::col_major(y.data(), 3, 3);
    float result = test_poison();

    CHECK(throws(DUO_ERR_SIZE, [&] { duo::gemm(ctx, a, a, c); }), "shapes that do not fit");
    CHECK(throws(DUO_ERR_SIZE, [&] { duo::gemm(ctx, c, a, c); }), "C too small");
    CHECK(throws(DUO_ERR_SIZE, [&] { duo::gemm(ctx, a, duo::transposed(c), c); }), "k differs");
    CHECK(throws(DUO_ERR_SIZE, [&] { duo::dot(ctx, x, y, &result); }), "vectors of two sizes");
    CHECK(throws(DUO_ERR_SIZE, [&] { result = duo::dot(ctx, x, y); }), "vectors of two sizes");
    CHECK(throws(DUO_ERR_SIZE, [&] { duo::copy(ctx, x, y); }), "a copy of two sizes");
    CHECK(throws(DUO_ERR_NULL, [&] { duo::sum(ctx, x, nullptr); }), "no result");
    CHECK(throws(DUO_ERR_NULL, [&] { result = duo::sum(ctx, {nullptr, 3}); }), "no vector");
    CHECK(throws(DUO_ERR_RANGE, [&] { duo::prepared(ctx, x); }), "not kept");
    CHECK(throws(DUO_ERR_SIZE, [&] { duo::check(duo_set_threads(ctx, -1)); }), "threads");
    duo::context one;
    one.set_threads(1);
    CHECK(one.threads() == 1, "threads");
    CHECK(throws(DUO_ERR_BUILT, [&] { duo::graph().launch(ctx); }), "not built");
    CHECK(throws(DUO_ERR_MEMORY, [&] { duo::device_array<float>(ctx, SIZE_MAX / 2); }),
          "too large");
    CHECK(test_is_poison(result), "a result was written");

    CHECK_STATUS(DUO_ERR_SIZE, duo::gemm(std::nothrow, ctx, a, a, c));
    CHECK_STATUS(DUO_ERR_SIZE, duo::dot(std::nothrow, ctx, x, y, &result));
    CHECK_STATUS(DUO_ERR_NULL, duo::asum(std::nothrow, ctx, x, nullptr));
    CHECK_STATUS(DUO_OK, duo::sum(std::nothrow, ctx, x, &result));
    CHECK(result == 12, "sum %g", static_cast<double>(result));
    CHECK(std::strcmp(duo::error(DUO_ERR_LD).what(), duo_status_string(DUO_ERR_LD)) == 0, "text");
}

/* ---- Memory ---- */

void arrays_on_the_device()
{
    duo::context ctx = forced();
    const std::vector<float> x = random_floats("device", 64 * 64);
    std::vector<float> there(x.size()), back(x.size());
    {
        duo::device_array<float> a(ctx, x.size()), c(ctx, x.size()), result(ctx, 1);
        duo::copy(ctx, a, x);
        const auto view = duo::col_major(a.data(), 64, 64);
        duo::gemm(ctx, view, duo::transposed(view), duo::col_major(c.data(), 64, 64));
        duo::copy(ctx, back, c);
        duo::sum(ctx, c, result.data());
        float sum = 0;
        duo::check(duo_copy(ctx, &sum, result.data(), sizeof sum));
        CHECK(sum == duo::sum(nullptr, back), "sum on the device");

        duo::device_array<float> moved = std::move(a);
        duo::pinned_array<float> pinned(ctx, x.size());
        duo::copy(ctx, pinned, moved);
        CHECK(std::equal(pinned.begin(), pinned.end(), x.begin()) && pinned[5] == x[5], "copies");
    }
    there = x;
    std::vector<float> product(x.size());
    duo::gemm(ctx, duo::col_major(there.data(), 64, 64), duo::row_major(there.data(), 64, 64),
              duo::col_major(product.data(), 64, 64));
    for (std::size_t i = 0; i < back.size(); i++)
        if (!CHECK(std::fabs(static_cast<double>(back[i] - product[i])) <= 1e-3, "C differs"))
            break;
}

void arrays_that_are_kept()
{
    duo::context ctx = forced();
    std::vector<float> x(4096, 1.0f), y(4096, 0.0f);
    {
        duo::kept x_kept(ctx, x), y_kept(ctx, y);
        const duo::prepared promise(ctx, x);
        const auto a = duo::col_major(x.data(), 64, 64), c = duo::col_major(y.data(), 64, 64);
        duo::gemm(ctx, a, a, c);
        y_kept.fetch();
        CHECK(y[0] == 64, "fetched %g", static_cast<double>(y[0]));
        std::fill(x.begin(), x.end(), 2.0f);
        x_kept.changed();
        duo::gemm(ctx, a, a, c);
        duo::kept moved = std::move(y_kept);
        moved.release();
        CHECK(y[4095] == 256, "released %g", static_cast<double>(y[4095]));
        CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, y.data()));
        duo::gemm(ctx, a, a, duo::col_major(y.data(), 64, 64), 1, 1);
        CHECK(y[1] == 512, "plain again %g", static_cast<double>(y[1]));
    }
    CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, x.data())); /* its scope has ended */
    CHECK(throws(DUO_ERR_RANGE, [&] { duo::prepared(ctx, x); }), "still kept");
}

/* ---- Events, graphs, explanation ---- */

void events_and_graphs()
{
    duo::context first = forced(), second = forced();
    std::vector<float> x(100, 1.0f), y(100, 3.0f);
    duo::event event;
    CHECK(event.query(), "a new event counts as reached");
    event.record(first);
    event.wait(second);
    event.synchronize();

    float sums[3] = {0, 0, 0};
    int called = 0;
    duo::graph by_hand;
    const duo_node sum = by_hand.add(duo::work::sum(x, &sums[0]));
    const duo_node dot = by_hand.add(duo::work::dot(x, y, &sums[1]), {sum});
    by_hand.add(duo::work::asum(y, &sums[2]), {sum, dot});
    by_hand.add(duo::work::host([](void *user) { ++*static_cast<int *>(user); }, &called), {dot});
    by_hand.build(first);
    for (int i = 0; i < 2; i++) by_hand.launch(second);
    CHECK(sums[0] == 100 && sums[1] == 300 && sums[2] == 300 && called == 2, "launched");
    by_hand.update(sum, duo::work::sum(y, &sums[0]));
    by_hand.launch(second);
    CHECK(sums[0] == 300 && by_hand.node_at(1) == sum, "updated");
    const std::string text = by_hand.print();
    CHECK(text.find("digraph") == 0 && text.back() != '\0', "%s", text.c_str());
}

void nodes_of_every_kind()
{
    duo::context ctx = forced();
    std::vector<float> a = random_floats("nodes", 12), b = random_floats("nodes", 20), c(15), d(15);
    const auto view_a = duo::row_major(a.data(), 3, 4), view_b = duo::col_major(b.data(), 4, 5);
    const auto view_c = duo::col_major(c.data(), 3, 5);
    duo::graph g;
    const duo_node zero = g.add(duo::work::set(d.data(), 0, sizeof(float) * 15));
    const duo_node all =
        g.add(duo::work::empty(), {g.add(duo::work::gemm(view_a, view_b, view_c))});
    g.add(duo::work::copy(d.data(), c.data(), sizeof(float) * 14), {all, zero});
    g.build(ctx);
    g.launch(ctx);
    check_product(view_a, view_b, view_c, view_c, 1, 0);
    CHECK(std::equal(d.begin(), d.end() - 1, c.begin()) && d[14] == 0, "copied");
    CHECK(throws(DUO_ERR_SIZE, [&] { g.add(duo::work::gemm(view_a, view_a, view_c)); }), "shapes");
    CHECK(throws(DUO_ERR_SIZE, [&] { g.add(duo::work::dot(a, b, c.data())); }), "sizes");
}

/* A capture that ends, one that is left by an exception, and a call that would return a float. */
void captures()
{
    duo::context ctx = forced();
    std::vector<float> x(100, 1.0f);
    float sum = 0;
    duo::capture recording(ctx);
    duo::sum(ctx, x, &sum);
    duo::graph g = recording.end();
    CHECK(sum == 0, "done already");
    g.build(ctx);
    g.launch(ctx);
    CHECK(sum == 100, "sum %g", static_cast<double>(sum));

    if (UNDER_SANITIZER) return; /* the float that the dropped node names is never freed */
    CHECK(throws(DUO_ERR_CAPTURE,
                 [&] {
                     const duo::capture left(ctx);
                     sum = duo::sum(ctx, x);
                 }),
          "a result in a capture");
    CHECK(sum == 100 && duo::sum(ctx, x) == 100, "still captured");
}

void explanations()
{
    const duo::context ctx = forced();
    const std::vector<float> x(100000, 1.0f);
    (void)duo::sum(ctx, x);
    const duo_decision decision = duo::explain_last(ctx);
    CHECK(decision.n == 100000 && decision.side == (test_gpu_side() ? DUO_SIDE_GPU : DUO_SIDE_CPU),
          "side %d", static_cast<int>(decision.side));
    if (!test_gpu_side()) return;
    CHECK(duo::device_count() >= 1 && duo::device_describe(0).name[0] != '\0', "devices");
    CHECK(throws(DUO_ERR_DEVICE, [] { (void)duo::device_describe(99); }), "no such device");
}

/* One test's body: exceptions end it, and its scopes leave nothing. */
template <void (*body)()>
void test()
{
    try {
        body();
    } catch (const std::exception &caught) {
        CHECK(false, "thrown: %s", caught.what());
    }
    check_no_leaks();
}

} // namespace

int main(int argc, char **argv)
{
    const test_entry tests[] = {
        {"strides_tell_layouts", test<strides_tell_layouts>},
        {"only_floats_in_memory", test<only_floats_in_memory>},
        {"products_in_all_layouts", test<products_in_all_layouts>},
        {"products_of_mdspans", test<products_of_mdspans>},
        {"batches_in_all_layouts", test<batches_in_all_layouts>},
        {"batches_by_lists", test<batches_by_lists>},
        {"groups", test<groups>},
        {"batches_of_mdspans", test<batches_of_mdspans>},
        {"batches_that_are_refused", test<batches_that_are_refused>},
        {"reductions_of_what_a_program_has", test<reductions_of_what_a_program_has>},
        {"results_that_come_later", test<results_that_come_later>},
        {"statuses_are_thrown", test<statuses_are_thrown>},
        {"arrays_on_the_device", test<arrays_on_the_device>},
        {"arrays_that_are_kept", test<arrays_that_are_kept>},
        {"events_and_graphs", test<events_and_graphs>},
        {"nodes_of_every_kind", test<nodes_of_every_kind>},
        {"captures", test<captures>},
        {"explanations", test<explanations>},
        {nullptr, nullptr},
    };
    return test_main(argc, argv, "cpp", tests);
}
