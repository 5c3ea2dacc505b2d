/*
 * test_cpp_ranges.cpp - duoblas.hpp: which ranges of a program are operands, how long they have to
 * last, and the state of moved-from objects. Code that must not compile is also in
 * test_cpp_refused.sh; operands of Eigen are in test_cpp_eigen.
 */
#include <duoblas.hpp>

#include <array>
#include <cmath>
#include <deque>
#include <list>
#include <string>
#include <sys/mman.h>
#include <valarray>
#include <vector>
#if __cplusplus >= 202002L
#include <span>
#endif

extern "C" {
#include "sim/sim.h"
#include "support/harness.h"
}

namespace
{

duo::context forced()
{
    duo::context ctx;
    ctx.set_path(test_path());
    return ctx;
}

template <class Call>
bool throws(duo_status expected, const Call &call)
{
    try {
        call();
    } catch (const duo::error &caught) {
        return caught.status() == expected;
    }
    return false;
}

/* ---- Types of other libraries ---- */

/* As a Kokkos::View with LayoutStride: size and data, and gaps. */
template <class T>
struct strided_class {
    T *first;
    long extent, step;

    T *data() const { return first; }
    unsigned long size() const { return static_cast<unsigned long>(extent); }
    long stride(int) const { return step; }
};

/* As gsl::span or boost::container::vector: iterators of its own. */
struct own_iterators : std::vector<float> {
    struct iterator {
        const float *at;
        const float &operator*() const { return *at; }
    };
    iterator begin() const { return {data()}; }
};

/* As absl::Span or llvm::ArrayRef. */
struct array_ref {
    const float *first;
    std::size_t length;

    const float *data() const { return first; }
    std::size_t size() const { return length; }
    const float *begin() const { return first; }
    const float *end() const { return first + length; }
};

/* As an mdspan of one index; with layout_blas_packed it has strides that mean nothing. */
template <bool always_strided>
struct mdspan_of {
    using element_type = const float;
    using data_handle_type = const float *;
    using reference = const float &;

    const float *first;
    long length, step;

    static constexpr std::size_t rank() { return 1; }
    static constexpr bool is_always_strided() { return always_strided; }
    const float *data_handle() const { return first; }
    long extent(std::size_t) const { return length; }
    long stride(std::size_t) const { return step; }
};

template <class R>
constexpr bool is_operand = std::is_convertible_v<R, duo::vector_view>;
template <class R>
constexpr bool is_kept = std::is_constructible_v<duo::kept, duo_context *, R>;
template <class R>
constexpr bool is_prepared = std::is_constructible_v<duo::prepared, duo_context *, R>;
template <class R>
constexpr bool is_node = std::is_convertible_v<R, duo::detail::lasting_view>;
template <class R, class = void>
constexpr bool is_list = false;
template <class R>
constexpr bool is_list<R, std::void_t<decltype(duo::col_major(std::declval<R>(), 1, 1))>> = true;

#define TAKEN(trait, ...)   CHECK((trait<__VA_ARGS__>), "a %s is not taken", #__VA_ARGS__)
#define REFUSED(trait, ...) CHECK(!(trait<__VA_ARGS__>), "a %s is taken", #__VA_ARGS__)

void only_what_has_no_gaps()
{
    test_case("ranges/operands");
    TAKEN(is_operand, std::vector<float>);
    TAKEN(is_operand, const std::vector<float> &);
    TAKEN(is_operand, std::array<float, 3>);
    TAKEN(is_operand, float(&)[3]);
    TAKEN(is_operand, const float(&)[3]);
    TAKEN(is_operand, std::initializer_list<float>);
    TAKEN(is_operand, array_ref);
    TAKEN(is_operand, duo::pinned_array<float> &);
    TAKEN(is_operand, const duo::device_array<float> &);
    TAKEN(is_operand, mdspan_of<true>);
    REFUSED(is_operand, mdspan_of<false>);
    REFUSED(is_operand, strided_class<float>);
    REFUSED(is_operand, strided_class<const float>);
    REFUSED(is_operand, own_iterators);
    REFUSED(is_operand, std::vector<bool>);
    REFUSED(is_operand, std::vector<double>);
    REFUSED(is_operand, std::deque<float>);
    REFUSED(is_operand, std::list<float>);
    REFUSED(is_operand, std::string);
    REFUSED(is_operand, float(&)[2][3]);
    REFUSED(is_operand, std::vector<float *>);
    REFUSED(is_operand, float *);

    test_case("ranges/kept");
    TAKEN(is_kept, std::vector<float> &);
    TAKEN(is_kept, const std::vector<double> &);
    TAKEN(is_kept, float(&)[4][4]);
    TAKEN(is_kept, const std::array<int, 3> &);
    TAKEN(is_kept, duo::pinned_array<float> &);
    TAKEN(is_kept, array_ref &);
    REFUSED(is_kept, strided_class<float> &);
    REFUSED(is_kept, std::vector<bool> &);
    REFUSED(is_kept, own_iterators &);
    REFUSED(is_kept, std::vector<std::string> &);
    REFUSED(is_prepared, strided_class<float> &);
    REFUSED(is_prepared, std::deque<float> &);
}

/* An operand noted by address must not be a temporary, unless it is a view of another array. */
void only_what_lasts()
{
    test_case("ranges/temporaries");
    TAKEN(is_node, std::vector<float> &);
    TAKEN(is_node, const std::vector<float> &);
    TAKEN(is_node, duo::vector_view);
    TAKEN(is_node, mdspan_of<true>);
    TAKEN(is_node, float(&)[3]);
    TAKEN(is_prepared, const std::vector<float> &);
    REFUSED(is_kept, std::vector<float>);
    REFUSED(is_kept, const std::vector<float>);
    REFUSED(is_kept, duo::pinned_array<float>);
    REFUSED(is_prepared, std::vector<float>);
    REFUSED(is_node, std::vector<float>);
    REFUSED(is_node, std::array<float, 2>);
    REFUSED(is_node, std::initializer_list<float>);
    REFUSED(is_node, mdspan_of<false>);
    TAKEN(is_list, std::vector<float *> &);
    TAKEN(is_list, float *const(&)[2]);
    REFUSED(is_list, std::vector<float *>);
    REFUSED(is_list, strided_class<float *> &);
    REFUSED(is_list, std::vector<float> &);
    REFUSED(is_list, std::deque<float *> &);
}

/* From C++20 on a range tells its properties. */
void only_what_says_so()
{
#if __cplusplus >= 202002L
    test_case("ranges/C++20");
    TAKEN(is_operand, std::span<float>);
    TAKEN(is_operand, std::span<const float, 3>);
    TAKEN(is_kept, std::span<float>);
    TAKEN(is_kept, std::span<const float>);
    TAKEN(is_prepared, std::span<const float>);
    TAKEN(is_node, std::span<const float>);
    TAKEN(is_list, std::span<float *>);
    REFUSED(is_operand, std::span<double>);
#if !defined(__clang__) || __clang_major__ >= 16 /* older ones cannot compile a subrange */
    TAKEN(is_operand, std::ranges::subrange<std::vector<float>::iterator>);
    REFUSED(is_operand, std::ranges::subrange<std::deque<float>::iterator>);
#endif
#else
    test_skip("not C++20");
#endif
}

/* ---- Increments ---- */

void strides_are_honoured()
{
    const duo::context ctx = forced();
    std::vector<float> x(2000), y(1000);
    for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i % 7) - 2;
    for (std::size_t i = 0; i < y.size(); i++) y[i] = static_cast<float>(i % 5);
    double sum = 0, asum = 0, dot = 0;
    for (std::size_t i = 0; i < 1000; i++) {
        const double element = static_cast<double>(x[2 * i]);
        sum += element;
        asum += std::fabs(element);
        dot += element * static_cast<double>(y[999 - i]);
    }
    const auto is = [](float got, double want) { return static_cast<double>(got) == want; };
    const mdspan_of<true> up{x.data(), 1000, 2}, down{x.data() + 1998, 1000, -2};
    for (const duo::vector_view v :
         {duo::vector_view(up), duo::vector_view(down), duo::vector_view(x.data(), 1000, -2)}) {
        test_case("increments/%d", static_cast<int>(v.stride));
        CHECK(is(duo::sum(ctx, v), sum), "sum %g", static_cast<double>(duo::sum(ctx, v)));
        CHECK(is(duo::asum(ctx, v), asum), "asum %g", static_cast<double>(duo::asum(ctx, v)));
        float launched[2] = {0, 0};
        duo::graph g;
        g.add(duo::work::sum(v, &launched[0]));
        g.add(duo::work::asum(v, &launched[1]));
        g.build(ctx);
        g.launch(ctx);
        CHECK(is(launched[0], sum) && is(launched[1], asum), "in a graph");
    }
    CHECK(is(duo::dot(ctx, down, y), dot), "the first element of `down` is the last in memory");

    test_case("increments/0");
    const mdspan_of<true> repeated{x.data(), 3, 0}, one{x.data() + 6, 1, 0}, none{nullptr, 0, 0};
    float result = 0;
    CHECK_STATUS(DUO_ERR_SIZE, duo::sum(std::nothrow, ctx, repeated, &result));
    CHECK_STATUS(DUO_ERR_SIZE, duo::asum(std::nothrow, ctx, repeated, &result));
    duo::graph g;
    g.add(duo::work::sum(repeated, &result));
    CHECK(throws(DUO_ERR_SIZE, [&] { g.build(ctx); }), "one element three times, in a graph");
    CHECK(duo::sum(ctx, one) == 4 && duo::asum(ctx, one) == 4, "one element");
    CHECK(duo::sum(ctx, none) == 0 && duo::dot(ctx, none, none) == 0, "no element");
    CHECK(duo::dot(ctx, repeated, {y.data() + 1, 3}) == -12, "a dot that repeats one");
}

/* ---- Arrays that cannot be written to ---- */

void read_only_arrays_are_kept()
{
    duo::context ctx = forced();
    constexpr std::size_t count = 4096;
    void *const page = mmap(nullptr, count * sizeof(float), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(page != MAP_FAILED, "no memory")) return;
    for (std::size_t i = 0; i < count; i++) static_cast<float *>(page)[i] = 1;
    (void)mprotect(page, count * sizeof(float), PROT_READ);
    {
        const float(&x)[count] = *static_cast<const float(*)[count]>(page);
        std::vector<float> c(count);
        duo::kept x_kept(ctx, x);
        const duo::prepared promise(ctx, x);
        const auto a = duo::col_major(&x[0], 64, 64);
        duo::gemm(ctx, a, duo::transposed(a), duo::col_major(c.data(), 64, 64));
        CHECK(c[0] == 64 && c[count - 1] == 64, "C %g", static_cast<double>(c[0]));
        CHECK(duo::sum(ctx, x) == count, "sum");
        x_kept.changed();
        x_kept.fetch();
        CHECK(duo::asum(ctx, x) == count, "asum");
        x_kept.release();
    }
    (void)munmap(page, count * sizeof(float));
}

/* ---- Moved from ---- */

void contexts_that_moved()
{
    duo::context first = forced();
    const duo::context second = std::move(first);
    std::vector<float> x(4, 1.0f);
    const auto a = duo::col_major(x.data(), 2, 2);
    float result = 0;
    CHECK(!first && second, "which is empty");
    const auto refused = [](auto call) { return throws(DUO_ERR_CONTEXT, call); };
    CHECK(refused([&] { first.set_path(DUO_PATH_CPU); }), "set_path");
    CHECK(refused([&] { first.set_math(DUO_MATH_FLOAT64); }), "set_math");
    CHECK(refused([&] { first.synchronize(); }), "synchronize");
    CHECK(refused([&] { (void)duo::sum(first, x); }), "sum");
    CHECK(refused([&] { duo::gemm(first, a, a, a); }), "gemm");
    CHECK(refused([&] { duo::kept(first, x); }), "kept");
    CHECK(refused([&] { duo::device_array<float>(first, 3); }), "device_array");
    CHECK(refused([&] { const duo::capture recording(first); }), "capture");
    CHECK(refused([&] { duo::event().record(first); }), "record");
    CHECK(refused([&] { duo::check(duo_set_threads(first.get(), 1)); }), "get");
    CHECK_STATUS(DUO_ERR_CONTEXT, duo::sum(std::nothrow, first, x, &result));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy(first));
    CHECK(duo::sum(second, x) == 4, "the one that it became");
    first = duo::context();
    CHECK(first && duo::sum(first, x) == 4, "one that is made again");
}

void others_that_moved()
{
    const duo::context ctx = forced();
    duo::event event;
    const duo::event event_now = std::move(event);
    CHECK(!event && event_now, "which event is empty");
    CHECK(throws(DUO_ERR_EVENT, [&] { event.record(ctx); }), "a moved from event");
    duo::graph graph;
    const duo::graph graph_now = std::move(graph);
    CHECK(!graph && graph_now, "which graph is empty");
    CHECK(throws(DUO_ERR_GRAPH, [&] { graph.build(ctx); }), "a moved from graph");

    duo::device_array<float> there(ctx, 10);
    const duo::device_array<float> there_now = std::move(there);
    CHECK(there.size() == 0 && there.data() == nullptr && there_now.size() == 10, "device_array");
    duo::pinned_array<float> pinned(ctx, 10);
    const duo::pinned_array<float> pinned_now = std::move(pinned);
    CHECK(pinned.size() == 0 && pinned.begin() == pinned.end(), "pinned_array");
    CHECK(pinned_now.size() == 10 && pinned_now.end() - pinned_now.begin() == 10, "it moved");
    CHECK(duo::sum(ctx, pinned) == 0, "the sum of nothing");

    std::vector<float> x(100, 1.0f);
    duo::kept released(ctx, x);
    released.release();
    CHECK(throws(DUO_ERR_RANGE, [&] { released.fetch(); }), "fetch after release");
    CHECK(throws(DUO_ERR_RANGE, [&] { released.release(); }), "release after release");
    duo::kept from(ctx, x);
    duo::kept to = std::move(from);
    CHECK(throws(DUO_ERR_RANGE, [&] { from.changed(); }), "changed after a move");
    CHECK(throws(DUO_ERR_RANGE, [&] { from.fetch(); }), "fetch after a move");
    CHECK_STATUS(DUO_OK, duo::sum(std::nothrow, ctx, x, &x[1]));
    to.fetch();
    CHECK(x[1] == 100, "the one that it became");
}

template <void (*body)()>
void test()
{
    try {
        body();
    } catch (const std::exception &caught) {
        CHECK(false, "thrown: %s", caught.what());
    }
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

} // namespace

int main(int argc, char **argv)
{
    const test_entry tests[] = {
        {"only_what_has_no_gaps", test<only_what_has_no_gaps>},
        {"only_what_lasts", test<only_what_lasts>},
        {"only_what_says_so", test<only_what_says_so>},
        {"strides_are_honoured", test<strides_are_honoured>},
        {"read_only_arrays_are_kept", test<read_only_arrays_are_kept>},
        {"contexts_that_moved", test<contexts_that_moved>},
        {"others_that_moved", test<others_that_moved>},
        {nullptr, nullptr},
    };
    return test_main(argc, argv, "cpp_ranges", tests);
}
