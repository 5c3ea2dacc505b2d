/*
 * duoblas.hpp - DuoBLAS in C++17 and later: a thin layer over duoblas.h, which is the manual.
 *
 *     std::vector<float> a(m * k), b(k * n), c(m * n);
 *     duo::context ctx;
 *     duo::gemm(ctx, duo::col_major(a.data(), m, k), duo::col_major(b.data(), k, n),
 *               duo::col_major(c.data(), m, n));         // C := A B
 *     const float norm1 = duo::asum(ctx, c);
 *
 * Contexts   A function takes a duo_context *. A duo::context converts to it, as duo::event and
 *            duo::graph do to theirs, so that every function of duoblas.h takes them. nullptr is
 *            the thread's default context. A context must outlive everything that was made with it.
 * Errors     A status other than DUO_OK is thrown as duo::error; duo::check throws the status of
 *            any function of duoblas.h. With std::nothrow as their first argument the operations do
 *            not throw but return the status. Compiled without exceptions (-fno-exceptions), an
 *            error is printed and ends the program.
 * Views      Operands are a matrix_view or a vector_view, made of a pointer and sizes, or of an
 *            object of the program: a std::mdspan of rank 2 or 1, or a class made like it
 *            (Kokkos's); a std::span, std::vector, or another range that is known to be contiguous;
 *            a matrix of Eigen (Matrix, block, transpose, Map, Ref) or a vector (row, column,
 *            diagonal, segment). The view has the layout, leading dimensions and increments; A, B
 *            and C may differ in layout. A view of device memory is made and passed on, not read.
 *            Batches are a batch_view, of a std::mdspan of rank 3 too, or a list_view. An object
 *            whose gaps no view can describe does not compile.
 * Ranges     These count as contiguous: arrays, std::vector, std::array, classes with pointers as
 *            iterators, the arrays below, vectors of Eigen with an inner stride of 1, whole
 *            matrices of Eigen, and from C++20 on every std::ranges::contiguous_range. For others
 *            pass data and size.
 * Lifetimes  A view points to the object that it was made of. A temporary lasts until its call has
 *            returned; a temporary Eigen::Matrix makes no matrix_view. Functions that keep the
 *            address for longer (kept, prepared, work::) take no temporary, unless it is a view
 *            itself (from C++20 on a borrowed range). Operands of captured calls have to last as
 *            long as the graph.
 * Moved      Contexts, events and graphs that were moved from are dead: each call on them returns
 *            DUO_ERR_CONTEXT, DUO_ERR_EVENT or DUO_ERR_GRAPH. An array that was moved from is
 *            empty.
 * Ends       Destructors cannot report errors. Call context::synchronize or kept::release before:
 *            they report.
 * State      This header has none. All functions are inline, and each calls its counterpart in
 *            duoblas.h, whose rules for overlap, residence, threads and numerics hold.
 *
 * All since 1.0.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DUOBLAS_HPP
#define DUOBLAS_HPP

#include <duoblas.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#if __cplusplus >= 202002L
#include <ranges>
#endif

namespace duo
{

/* ---- Errors ---------------------------------------------------------------------------------- */

/* The exception: a status and its text. */
class error : public std::runtime_error
{
  public:
    explicit error(duo_status status) : error(status, duo_status_string(status)) {}
    error(duo_status status, const std::string &text) : std::runtime_error(text), status_(status) {}

    duo_status status() const noexcept { return status_; }

  private:
    duo_status status_;
};

namespace detail
{

[[noreturn]] inline void raise(const error &what)
{
#ifdef __cpp_exceptions
    throw what;
#else
    (void)std::fprintf(stderr, "duo::error: %s\n", what.what());
    std::terminate();
#endif
}

} // namespace detail

/* duo::check(duo_trim(ctx)): throws a status other than DUO_OK. */
inline void check(duo_status status)
{
    if (status != DUO_OK) detail::raise(error(status));
}

/* ---- Handles --------------------------------------------------------------------------------- */

namespace detail
{

/* Owns a handle of the C library: it moves, and ends with its scope. Moved from it is false. */
template <class T, duo_status (*end)(T *)>
class handle
{
  public:
    T *get() const noexcept { return owned_.get(); }
    operator T *() const noexcept { return get(); }
    explicit operator bool() const noexcept { return owned_ != nullptr; }

  protected:
    explicit handle(T *raw) noexcept : owned_(raw) {}

  private:
    struct ender {
        void operator()(T *raw) const noexcept { (void)end(raw); }
    };
    std::unique_ptr<T, ender> owned_;
};

template <class T, duo_status (*create)(T **)>
T *created()
{
    T *raw = nullptr;
    check(create(&raw));
    return raw;
}

} // namespace detail

/* duo_create to duo_destroy. */
class context : public detail::handle<duo_context, duo_destroy>
{
  public:
    context() : handle(detail::created<duo_context, duo_create>()) {}

    /*
     * A moved-from one is not nullptr, which is the thread's default context, but a dead context.
     */
    duo_context *get() const noexcept { return *this ? handle::get() : gone(); }
    operator duo_context *() const noexcept { return get(); }

    void set_path(duo_path path) { check(duo_set_path(get(), path)); }
    void set_math(duo_math math) { check(duo_set_math(get(), math)); }
    void set_threads(int threads) { check(duo_set_threads(get(), threads)); }
    int threads() const
    {
        int count = 0;
        check(duo_get_threads(get(), &count));
        return count;
    }
    void set_adapt(bool on) { check(duo_set_adapt(get(), on)); }
    void set_verify(double rate, std::uint64_t seed = 0)
    {
        check(duo_set_verify(get(), rate, seed));
    }
    void set_open(duo_open open) { check(duo_set_open(get(), open)); }
    void set_remember(duo_remember remember) { check(duo_set_remember(get(), remember)); }
    void set_async(bool on) { check(duo_set_async(get(), on)); }
    void set_device(int device) { check(duo_set_device(get(), device)); }
    void set_devices(const int *devices, int count)
    {
        check(duo_set_devices(get(), devices, count));
    }
    void set_stream(void *cuda_stream) { check(duo_set_stream(get(), cuda_stream)); }
    void set_priority(duo_priority priority) { check(duo_set_priority(get(), priority)); }
    void warm_up() { check(duo_warm_up(get())); }
    void synchronize() { check(duo_synchronize(get())); }
    void trim() { check(duo_trim(get())); }

  private:
    static duo_context *gone() noexcept
    {
        alignas(1024) static std::uint64_t none[128]; /* zeros: no live context is there */
        return reinterpret_cast<duo_context *>(none);
    }
};

/* duo_event_create to duo_event_destroy. */
class event : public detail::handle<duo_event, duo_event_destroy>
{
  public:
    event() : handle(detail::created<duo_event, duo_event_create>()) {}

    void record(duo_context *ctx) { check(duo_event_record(ctx, get())); }
    void wait(duo_context *ctx) { check(duo_event_wait(ctx, get())); } /* ctx waits, not the host */
    void synchronize() { check(duo_event_synchronize(get())); }
    bool query()
    {
        int done = 0;
        check(duo_event_query(get(), &done));
        return done != 0;
    }
};

/* ---- Views ----------------------------------------------------------------------------------- */

namespace detail
{

template <class From, class To>
inline constexpr bool points =
    std::conjunction_v<std::is_same<std::remove_cv_t<From>, std::remove_cv_t<To>>,
                       std::is_convertible<From *, To *>>;

/*
 * Are the elements of an mdspan at strides? A layout may have strides only for some extents (packed
 * triangles). A class without that function is taken as one with strides.
 */
template <class M, class = void>
inline constexpr bool is_strided = true;
template <class M>
inline constexpr bool
    is_strided<M, std::void_t<decltype(M::is_always_strided())>> = M::is_always_strided();

/*
 * An mdspan with this many indices and floats in memory as its elements. An accessor that computes
 * them, as std::linalg::scaled's, gives no references to them.
 */
template <class M, class T, std::size_t rank, class = void>
inline constexpr bool is_mdspan = false;
template <class M, class T, std::size_t rank>
inline constexpr bool is_mdspan<
    M, T, rank,
    std::enable_if_t<M::rank() == rank && points<typename M::element_type, T> &&
                     std::is_same_v<typename M::data_handle_type, typename M::element_type *> &&
                     std::is_same_v<typename M::reference, typename M::element_type &>>> =
    is_strided<M>;

/* How a matrix is stored. */
struct storage {
    int64_t rows, columns, ld;
    duo_layout layout;
};

/* By the distances of elements down a column and across a row. */
constexpr storage stored(int64_t rows, int64_t columns, int64_t down, int64_t across)
{
    const bool columns_whole = down == 1 && across >= rows;
    const bool rows_whole = across == 1 && down >= columns;
    storage as{rows, columns, 0, DUO_COL_MAJOR};
    if (columns_whole || (rows == 1 && !rows_whole)) {
        as.ld = columns_whole ? std::max<int64_t>(1, across) : across;
    } else if (rows_whole || columns == 1) {
        as.ld = rows_whole ? std::max<int64_t>(1, down) : down;
        as.layout = DUO_ROW_MAJOR;
    }
    return as;
}

/* The matrix of the last two indices of an mdspan. */
template <class M>
constexpr storage storage_of(const M &m)
{
    constexpr std::size_t i = M::rank() - 2, j = i + 1;
    return stored(static_cast<int64_t>(m.extent(i)), static_cast<int64_t>(m.extent(j)),
                  static_cast<int64_t>(m.stride(i)), static_cast<int64_t>(m.stride(j)));
}

/* The type that std::data points to; void if std::data or std::size is missing. */
template <class R, class = void>
struct element_of {
    using type = void;
};
template <class R>
struct element_of<R, std::void_t<decltype(*std::data(std::declval<R &>())),
                                 decltype(std::size(std::declval<R &>()))>> {
    using type = std::remove_pointer_t<decltype(std::data(std::declval<R &>()))>;
};
template <class R>
using element = typename element_of<R>::type;

/*
 * Does each element follow the one before it in memory? Strided classes have data() and size() as
 * well, so only types that cannot have gaps count.
 */
template <class R, class = void>
inline constexpr bool is_array = false;
template <class R>
inline constexpr bool is_array<R, std::void_t<decltype(std::begin(std::declval<R &>()))>> =
    std::is_pointer_v<decltype(std::begin(std::declval<R &>()))>;
template <class T, class A>
inline constexpr bool is_array<std::vector<T, A>> = true;
template <class T, std::size_t size>
inline constexpr bool is_array<std::array<T, size>> = true;

/* An expression of Eigen that has its elements in memory. */
template <class R, class = void>
inline constexpr bool is_eigen = false;
template <class R>
inline constexpr bool is_eigen<
    R, std::void_t<decltype(std::declval<const R &>().colStride()),
                   decltype(std::declval<const R &>().coeffRef(0, 0)), typename R::PlainObject>> =
    true;
template <class R, class = std::true_type>
inline constexpr bool is_eigen_vector = false;
template <class R>
inline constexpr bool
    is_eigen_vector<R, std::bool_constant<is_eigen<R> && R::IsVectorAtCompileTime>> = true;

/* One without gaps, or a whole Matrix or Array. */
template <class R, class = void>
inline constexpr bool is_eigen_array = false;
template <class R>
inline constexpr bool is_eigen_array<
    R, std::enable_if_t<std::is_same_v<R, typename R::PlainObject> ||
                        (R::IsVectorAtCompileTime && int{R::InnerStrideAtCompileTime} == 1)>> =
    true;

/*
 * A matrix of Eigen with elements of T, one of whose indices runs without gaps, or a vector. A
 * Matrix that owns its elements needs a name: what would be written to it, or read from it after
 * the call, is lost.
 */
template <class M, class T, class R = std::remove_reference_t<M>, class = std::true_type>
inline constexpr bool is_eigen_matrix = false;
template <class M, class T, class R>
inline constexpr bool is_eigen_matrix<
    M, T, R,
    std::bool_constant<is_eigen<R> && points<element<R>, T> &&
                       (int{R::InnerStrideAtCompileTime} == 1 || R::IsVectorAtCompileTime) &&
                       (std::is_lvalue_reference_v<M> ||
                        !std::is_same_v<std::remove_const_t<R>, typename R::PlainObject>)>> = true;

/*
 * Elements from the first one to that of row i and column j; 1 if there is none. They are asked
 * where they are: Eigen tells a wrong stride of the diagonal of a map with gaps.
 */
template <class M>
constexpr int64_t step_to(const M &m, int i, int j)
{
    return i < m.rows() && j < m.cols() ? &m.coeffRef(i, j) - m.data() : 1;
}

template <class R>
struct follows : std::bool_constant<
#ifdef __cpp_lib_ranges
                     std::ranges::contiguous_range<R> ||
#endif
                     is_array<R> || is_array<std::remove_const_t<R>> ||
                     is_eigen_array<std::remove_const_t<R>>> {
};
template <class R>
inline constexpr bool is_contiguous =
    std::conjunction_v<std::negation<std::is_void<element<R>>>, follows<R>>;

/*
 * Do the elements of an R && outlive its full expression? Yes if it has a name, or is a view that
 * says so.
 */
template <class R>
inline constexpr bool lasts =
#ifdef __cpp_lib_ranges
    std::ranges::borrowed_range<R> ||
#endif
    std::is_lvalue_reference_v<R>;

/* For functions that keep the address: contiguous, and no temporary. */
template <class R>
using if_it_stays =
    std::enable_if_t<is_contiguous<std::remove_reference_t<R>> && lasts<R> &&
                     std::is_trivially_copyable_v<element<std::remove_reference_t<R>>>>;

template <class R>
constexpr std::size_t count(const R &range)
{
    return static_cast<std::size_t>(std::size(range));
}

/* T, of a range of T * that lasts. */
template <class R, class = if_it_stays<R>,
          class E = std::remove_cv_t<element<std::remove_reference_t<R>>>>
using listed = std::enable_if_t<std::is_pointer_v<E>, std::remove_pointer_t<E>>;

} // namespace detail

/*
 * A matrix of T, which is float or const float: X(i,j) = data[i + j*ld], or data[i*ld + j] if
 * row-major. The strides of an mdspan, or of a matrix of Eigen, give layout and leading dimension.
 * An mdspan in which neither stride is 1 becomes a view with ld = 0, which every product refuses
 * with DUO_ERR_LD.
 */
template <class T>
struct matrix_view {
    T *data;
    int64_t rows, columns, ld;
    duo_layout layout;

    constexpr matrix_view(T *data_, int64_t rows_, int64_t columns_, int64_t ld_,
                          duo_layout layout_) noexcept
        : data(data_), rows(rows_), columns(columns_), ld(ld_), layout(layout_)
    {
    }

    template <class U, class = std::enable_if_t<detail::points<U, T>>>
    constexpr matrix_view(const matrix_view<U> &other) noexcept
        : matrix_view(other.data, other.rows, other.columns, other.ld, other.layout)
    {
    }

    constexpr matrix_view(T *data_, const detail::storage &as) noexcept
        : matrix_view(data_, as.rows, as.columns, as.ld, as.layout)
    {
    }

    template <class M, std::enable_if_t<detail::is_mdspan<M, T, 2>, int> = 0>
    constexpr matrix_view(const M &m) : matrix_view(m.data_handle(), detail::storage_of(m))
    {
    }

    template <class M, std::enable_if_t<detail::is_eigen_matrix<M, T>, int> = 0>
    constexpr matrix_view(M &&m)
        : matrix_view(m.data(), detail::stored(m.rows(), m.cols(), detail::step_to(m, 1, 0),
                                               detail::step_to(m, 0, 1)))
    {
    }
};

template <class M>
matrix_view(const M &) -> matrix_view<typename M::element_type>;
template <class M, class T = detail::element<std::remove_reference_t<M>>,
          class = std::enable_if_t<detail::is_eigen_matrix<M, T>>>
matrix_view(M &&) -> matrix_view<T>;

/* Views of a pointer and sizes; ld 0: no gaps between columns, or rows. */
template <class T, class = std::enable_if_t<!std::is_pointer_v<T>>>
constexpr matrix_view<T> col_major(T *data, int64_t rows, int64_t columns, int64_t ld = 0) noexcept
{
    return {data, rows, columns, ld != 0 ? ld : std::max<int64_t>(1, rows), DUO_COL_MAJOR};
}

template <class T, class = std::enable_if_t<!std::is_pointer_v<T>>>
constexpr matrix_view<T> row_major(T *data, int64_t rows, int64_t columns, int64_t ld = 0) noexcept
{
    return {data, rows, columns, ld != 0 ? ld : std::max<int64_t>(1, columns), DUO_ROW_MAJOR};
}

/* The transpose of a matrix, where it is: nothing moves. */
template <class T>
constexpr matrix_view<T> transposed(matrix_view<T> x) noexcept
{
    return {x.data, x.columns, x.rows, x.ld,
            x.layout == DUO_COL_MAJOR ? DUO_ROW_MAJOR : DUO_COL_MAJOR};
}

/*
 * Matrices of one shape at equal distances: X[i] begins `stride` elements after X[i-1]. The first
 * index of an mdspan tells which matrix. Anything that makes a matrix_view is a batch of count 1:
 * as A or B it serves every product.
 */
template <class T>
struct batch_view {
    matrix_view<T> each; /* data: the first one's */
    int64_t stride, count;

    constexpr batch_view(matrix_view<T> each_, int64_t stride_, int64_t count_) noexcept
        : each(each_), stride(stride_), count(count_)
    {
    }

    template <class U, class = std::enable_if_t<detail::points<U, T>>>
    constexpr batch_view(const batch_view<U> &other) noexcept
        : batch_view(other.each, other.stride, other.count)
    {
    }

    template <class M, std::enable_if_t<detail::is_mdspan<M, T, 3>, int> = 0>
    constexpr batch_view(const M &m)
        : batch_view({m.data_handle(), detail::storage_of(m)}, static_cast<int64_t>(m.stride(0)),
                     static_cast<int64_t>(m.extent(0)))
    {
    }

    template <class M, std::enable_if_t<std::is_convertible_v<M, matrix_view<T>>, int> = 0>
    constexpr batch_view(M &&one) : batch_view(matrix_view<T>(std::forward<M>(one)), 0, 1)
    {
    }
};

template <class M>
batch_view(const M &) -> batch_view<typename M::element_type>;

/* `count` matrices, of which this is the first; stride 0: each begins where the one before ends. */
template <class T>
constexpr batch_view<T> batched(matrix_view<T> first, int64_t count, int64_t stride = 0) noexcept
{
    const int64_t next = first.ld * (first.layout == DUO_COL_MAJOR ? first.columns : first.rows);
    return {first, stride != 0 ? stride : next, count};
}

template <class T>
constexpr batch_view<T> transposed(batch_view<T> x) noexcept
{
    return {transposed(x.each), x.stride, x.count};
}

/* Matrices of one shape wherever they are: X[i] begins at list[i]. The list is in host memory. */
template <class T>
struct list_view {
    matrix_view<T> each; /* without data */
    T *const *list;
    int64_t count;

    constexpr list_view(matrix_view<T> each_, T *const *list_, int64_t count_) noexcept
        : each(each_), list(list_), count(count_)
    {
    }

    template <class U, class = std::enable_if_t<detail::points<U, T>>>
    constexpr list_view(const list_view<U> &other) noexcept
        : list_view(other.each, other.list, other.count)
    {
    }
};

/* Of a std::vector<float *>, std::span<const float *> or another contiguous range of pointers. */
template <class R, class T = detail::listed<R>>
constexpr list_view<T> col_major(R &&list, int64_t rows, int64_t columns, int64_t ld = 0)
{
    return {col_major<T>(nullptr, rows, columns, ld), std::data(list),
            static_cast<int64_t>(std::size(list))};
}

template <class R, class T = detail::listed<R>>
constexpr list_view<T> row_major(R &&list, int64_t rows, int64_t columns, int64_t ld = 0)
{
    return {row_major<T>(nullptr, rows, columns, ld), std::data(list),
            static_cast<int64_t>(std::size(list))};
}

template <class T>
constexpr list_view<T> transposed(list_view<T> x) noexcept
{
    return {transposed(x.each), x.list, x.count};
}

/*
 * A vector that is read. data is its element with the lowest address: with a negative stride the
 * last one, as in duo_sdot. Sums take it forwards; a sum of one repeated element (a stride of 0) is
 * DUO_ERR_SIZE.
 */
struct vector_view {
    const float *data;
    int64_t size, stride;

    constexpr vector_view(const float *data_, int64_t size_, int64_t stride_ = 1) noexcept
        : data(data_), size(size_), stride(stride_)
    {
    }

    template <class R, std::enable_if_t<detail::is_contiguous<const R> &&
                                            detail::points<detail::element<const R>, const float> &&
                                            !detail::is_eigen_vector<R>,
                                        int> = 0>
    constexpr vector_view(const R &range)
        : vector_view(std::data(range), static_cast<int64_t>(std::size(range)))
    {
    }

    template <class V, std::enable_if_t<detail::is_eigen_vector<V> &&
                                            detail::points<detail::element<const V>, const float>,
                                        int> = 0>
    constexpr vector_view(const V &v)
        : vector_view(
              from_first(v.data(), v.size(),
                         v.rows() == 1 ? detail::step_to(v, 0, 1) : detail::step_to(v, 1, 0)))
    {
    }

    template <class M, std::enable_if_t<detail::is_mdspan<M, const float, 1>, int> = 0>
    constexpr vector_view(const M &m)
        : vector_view(from_first(m.data_handle(), static_cast<int64_t>(m.extent(0)),
                                 static_cast<int64_t>(m.stride(0))))
    {
    }

  private:
    static constexpr vector_view from_first(const float *first, int64_t size, int64_t stride)
    {
        return {size > 1 && stride < 0 ? first + (size - 1) * stride : first, size, stride};
    }
};

/* ---- Work ------------------------------------------------------------------------------------ */

namespace detail
{

inline bool fit(const matrix_view<const float> &a, const matrix_view<const float> &b,
                const matrix_view<float> &c) noexcept
{
    return a.rows == c.rows && b.columns == c.columns && a.columns == b.rows;
}

template <class T>
std::string shape(const matrix_view<T> &x)
{
    return std::to_string(x.rows) + " x " + std::to_string(x.columns);
}

inline void check_fit(const matrix_view<const float> &a, const matrix_view<const float> &b,
                      const matrix_view<float> &c)
{
    if (!fit(a, b, c))
        raise(error(DUO_ERR_SIZE,
                    "the product of " + shape(a) + " and " + shape(b) + " is not " + shape(c)));
}

/* Are there as many matrices as products? */
template <class T>
bool serves(const batch_view<T> &x, int64_t products) noexcept
{
    return x.count == products || x.count == 1;
}

template <class T>
bool serves(const list_view<T> &x, int64_t products) noexcept
{
    return x.count == products;
}

template <class In, class Out>
bool fit_batch(const In &a, const In &b, const Out &c) noexcept
{
    return fit(a.each, b.each, c.each) && serves(a, c.count) && serves(b, c.count);
}

template <class In, class Out>
void check_fit_batch(const In &a, const In &b, const Out &c)
{
    check_fit(a.each, b.each, c.each);
    if (!serves(a, c.count) || !serves(b, c.count))
        raise(error(DUO_ERR_SIZE, std::to_string(a.count) + " and " + std::to_string(b.count) +
                                      " matrices for " + std::to_string(c.count) + " products"));
}

inline void check_fit(const vector_view &x, const vector_view &y)
{
    if (x.size != y.size)
        raise(error(DUO_ERR_SIZE, "the inner product of " + std::to_string(x.size) + " and " +
                                      std::to_string(y.size) + " elements"));
}

inline duo_work work(duo_work_kind kind) noexcept
{
    duo_work w{};
    w.size = sizeof w;
    w.kind = kind;
    return w;
}

/* All in the layout of C: an A or B of the other layout becomes its own transpose. */
inline duo_work product(const matrix_view<const float> &a, const matrix_view<const float> &b,
                        const matrix_view<float> &c, float alpha, float beta) noexcept
{
    duo_work w = work(DUO_WORK_SGEMM);
    w.layout = c.layout;
    w.transa = a.layout == c.layout ? DUO_NO_TRANS : DUO_TRANS;
    w.transb = b.layout == c.layout ? DUO_NO_TRANS : DUO_TRANS;
    w.m = c.rows;
    w.n = c.columns;
    w.k = a.columns;
    w.alpha = alpha;
    w.a = a.data;
    w.lda = a.ld;
    w.b = b.data;
    w.ldb = b.ld;
    w.beta = beta;
    w.c = c.data;
    w.ldc = c.ld;
    return w;
}

/*
 * The increment of a sum; for one that is not positive duo_ssum would return 0. A repeated element
 * gets an increment that no other can follow.
 */
inline int64_t increment(const vector_view &x) noexcept
{
    return x.stride == 0 ? INT64_MAX : x.stride < 0 ? -x.stride : x.stride;
}

inline duo_work reduction(duo_work_kind kind, const vector_view &x, float *result) noexcept
{
    duo_work w = work(kind);
    w.n = x.size;
    w.x = x.data;
    w.incx = kind == DUO_WORK_SDOT ? x.stride : increment(x);
    w.result = result;
    return w;
}

/* A vector that is read after the call, too: no temporary. */
struct lasting_view : vector_view {
    lasting_view(const float *data_, int64_t size_, int64_t stride_ = 1) noexcept
        : vector_view(data_, size_, stride_)
    {
    }
    lasting_view(const vector_view &view) noexcept : vector_view(view) {}

    template <class R,
              std::enable_if_t<std::is_convertible_v<R, vector_view> &&
                                   (lasts<R> || is_mdspan<std::remove_cv_t<R>, const float, 1>),
                               int> = 0>
    lasting_view(R &&range) : vector_view(range)
    {
    }
};

} // namespace detail

/*
 * What nodes of a graph do, as graph::add takes it. The math of operations is DUO_MATH_ACCURATE;
 * set `math` of the returned work for another.
 */
namespace work
{

inline duo_work empty() noexcept { return detail::work(DUO_WORK_EMPTY); }

inline duo_work gemm(matrix_view<const float> a, matrix_view<const float> b, matrix_view<float> c,
                     float alpha = 1, float beta = 0)
{
    detail::check_fit(a, b, c);
    return detail::product(a, b, c, alpha, beta);
}

inline duo_work asum(detail::lasting_view x, float *result) noexcept
{
    return detail::reduction(DUO_WORK_SASUM, x, result);
}

inline duo_work sum(detail::lasting_view x, float *result) noexcept
{
    return detail::reduction(DUO_WORK_SSUM, x, result);
}

inline duo_work dot(detail::lasting_view x, detail::lasting_view y, float *result)
{
    detail::check_fit(x, y);
    duo_work w = detail::reduction(DUO_WORK_SDOT, x, result);
    w.y = y.data;
    w.incy = y.stride;
    return w;
}

inline duo_work copy(void *dst, const void *src, std::size_t bytes) noexcept
{
    duo_work w = detail::work(DUO_WORK_COPY);
    w.dst = dst;
    w.src = src;
    w.width = bytes;
    w.height = 1;
    return w;
}

inline duo_work set(void *dst, int value, std::size_t bytes) noexcept
{
    duo_work w = detail::work(DUO_WORK_SET);
    w.dst = dst;
    w.value = value;
    w.width = bytes;
    w.height = 1;
    return w;
}

inline duo_work host(void (*function)(void *user), void *user) noexcept
{
    duo_work w = detail::work(DUO_WORK_HOST);
    w.function = function;
    w.user = user;
    return w;
}

} // namespace work

/* ---- Operations ------------------------------------------------------------------------------ */

/* duo_sgemm - C := alpha A B + beta C. For a transpose pass transposed(x). Shapes that do not fit
 * are DUO_ERR_SIZE. */
[[nodiscard]] inline duo_status gemm(std::nothrow_t, duo_context *ctx, matrix_view<const float> a,
                                     matrix_view<const float> b, matrix_view<float> c,
                                     float alpha = 1, float beta = 0) noexcept
{
    if (!detail::fit(a, b, c)) return DUO_ERR_SIZE;
    const duo_work w = detail::product(a, b, c, alpha, beta);
    return duo_sgemm(ctx, w.layout, w.transa, w.transb, w.m, w.n, w.k, w.alpha, w.a, w.lda, w.b,
                     w.ldb, w.beta, w.c, w.ldc);
}

inline void gemm(duo_context *ctx, matrix_view<const float> a, matrix_view<const float> b,
                 matrix_view<float> c, float alpha = 1, float beta = 0)
{
    detail::check_fit(a, b, c);
    check(gemm(std::nothrow, ctx, a, b, c, alpha, beta));
}

/*
 * duo_sgemm_strided_batched - C[i] := alpha A[i] B[i] + beta C[i] for each matrix of c. A single
 * matrix as A or B serves all products; else there are as many as products, or DUO_ERR_SIZE.
 */
[[nodiscard]] inline duo_status gemm_batched(std::nothrow_t, duo_context *ctx,
                                             batch_view<const float> a, batch_view<const float> b,
                                             batch_view<float> c, float alpha = 1,
                                             float beta = 0) noexcept
{
    if (!detail::fit_batch(a, b, c)) return DUO_ERR_SIZE;
    const duo_work w = detail::product(a.each, b.each, c.each, alpha, beta);
    return duo_sgemm_strided_batched(ctx, w.layout, w.transa, w.transb, w.m, w.n, w.k, w.alpha, w.a,
                                     w.lda, a.count == 1 ? 0 : a.stride, w.b, w.ldb,
                                     b.count == 1 ? 0 : b.stride, w.beta, w.c, w.ldc, c.stride,
                                     c.count);
}

inline void gemm_batched(duo_context *ctx, batch_view<const float> a, batch_view<const float> b,
                         batch_view<float> c, float alpha = 1, float beta = 0)
{
    detail::check_fit_batch(a, b, c);
    check(gemm_batched(std::nothrow, ctx, a, b, c, alpha, beta));
}

/* duo_sgemm_batched - the same by lists. Lists of different lengths are DUO_ERR_SIZE. */
[[nodiscard]] inline duo_status gemm_batched(std::nothrow_t, duo_context *ctx,
                                             list_view<const float> a, list_view<const float> b,
                                             list_view<float> c, float alpha = 1,
                                             float beta = 0) noexcept
{
    if (!detail::fit_batch(a, b, c)) return DUO_ERR_SIZE;
    const duo_work w = detail::product(a.each, b.each, c.each, alpha, beta);
    return duo_sgemm_batched(ctx, w.layout, w.transa, w.transb, w.m, w.n, w.k, w.alpha, a.list,
                             w.lda, b.list, w.ldb, w.beta, c.list, w.ldc, c.count);
}

inline void gemm_batched(duo_context *ctx, list_view<const float> a, list_view<const float> b,
                         list_view<float> c, float alpha = 1, float beta = 0)
{
    detail::check_fit_batch(a, b, c);
    check(gemm_batched(std::nothrow, ctx, a, b, c, alpha, beta));
}

/* Products of one shape, for gemm_grouped. */
struct gemm_group {
    list_view<const float> a, b;
    list_view<float> c;
    float alpha = 1, beta = 0;
};

namespace detail
{

/* The arguments of duo_sgemm_grouped, column-major. A group with a row-major C is transposed. */
class joined_groups
{
  public:
    duo_status join(const gemm_group *group, int64_t count) noexcept
    {
        int64_t products = 0;
        for (int64_t g = 0; g < count; g++) {
            if (!fit_batch(group[g].a, group[g].b, group[g].c)) return DUO_ERR_SIZE;
            products += group[g].c.count;
        }
        size.reset(new (std::nothrow) int64_t[7 * static_cast<size_t>(count) + 1]);
        factor.reset(new (std::nothrow) float[2 * static_cast<size_t>(count) + 1]);
        turn.reset(new (std::nothrow) duo_transpose[2 * static_cast<size_t>(count) + 1]);
        in.reset(new (std::nothrow) const float *[2 * static_cast<size_t>(products) + 1]);
        out.reset(new (std::nothrow) float *[static_cast<size_t>(products) + 1]);
        if (!size || !factor || !turn || !in || !out) return DUO_ERR_MEMORY;
        groups = count;
        all = products;
        int64_t first = 0;
        for (int64_t g = 0; g < count; first += group[g++].c.count) set(g, group[g], first);
        return DUO_OK;
    }
    duo_status multiply(duo_context *ctx) const noexcept
    {
        const int64_t *const s = size.get();
        return duo_sgemm_grouped(ctx, DUO_COL_MAJOR, groups, turn.get(), turn.get() + groups, s,
                                 s + groups, s + 2 * groups, factor.get(), in.get(), s + 3 * groups,
                                 in.get() + all, s + 4 * groups, factor.get() + groups, out.get(),
                                 s + 5 * groups, s + 6 * groups);
    }

  private:
    std::unique_ptr<int64_t[]> size; /* m, n, k, lda, ldb, ldc, group_size: all groups' of each */
    std::unique_ptr<float[]> factor;
    std::unique_ptr<duo_transpose[]> turn;
    std::unique_ptr<const float *[]> in;
    std::unique_ptr<float *[]> out;
    int64_t groups = 0, all = 0;

    void set(int64_t g, const gemm_group &group, int64_t first) noexcept
    {
        const duo_work w =
            product(group.a.each, group.b.each, group.c.each, group.alpha, group.beta);
        const bool rows = w.layout == DUO_ROW_MAJOR;
        const int64_t of[] = {rows ? w.n : w.m,     rows ? w.m : w.n,     w.k,
                              rows ? w.ldb : w.lda, rows ? w.lda : w.ldb, w.ldc,
                              group.c.count};
        for (int64_t i = 0; i < 7; i++) size[static_cast<size_t>(g + i * groups)] = of[i];
        factor[static_cast<size_t>(g)] = w.alpha;
        factor[static_cast<size_t>(g + groups)] = w.beta;
        turn[static_cast<size_t>(g)] = rows ? w.transb : w.transa;
        turn[static_cast<size_t>(g + groups)] = rows ? w.transa : w.transb;
        for (int64_t p = 0; p < group.c.count; p++) {
            in[static_cast<size_t>(first + p)] = (rows ? group.b : group.a).list[p];
            in[static_cast<size_t>(all + first + p)] = (rows ? group.a : group.b).list[p];
            out[static_cast<size_t>(first + p)] = group.c.list[p];
        }
    }
};

} // namespace detail

/* duo_sgemm_grouped - the same for every group, a contiguous range of gemm_group. Each has lists of
 * one length, or all of it is DUO_ERR_SIZE. DUO_ERR_MEMORY also if the lists cannot be joined. */
template <class R>
[[nodiscard]] duo_status gemm_grouped(std::nothrow_t, duo_context *ctx, const R &groups) noexcept
{
    detail::joined_groups all;
    const duo_status status = all.join(std::data(groups), static_cast<int64_t>(std::size(groups)));
    return status == DUO_OK ? all.multiply(ctx) : status;
}

template <class R>
void gemm_grouped(duo_context *ctx, const R &groups)
{
    for (const gemm_group &g : groups) detail::check_fit_batch(g.a, g.b, g.c);
    check(gemm_grouped(std::nothrow, ctx, groups));
}

/*
 * duo_sasum, duo_ssum, duo_sdot. With a pointer to the result, which may be on the device, they are
 * those functions. Without a pointer they return the result, and wait for all work of a context
 * that is not nullptr (duo_synchronize). Vectors of different sizes are DUO_ERR_SIZE.
 */
[[nodiscard]] inline duo_status asum(std::nothrow_t, duo_context *ctx, vector_view x,
                                     float *result) noexcept
{
    return duo_sasum(ctx, x.size, x.data, detail::increment(x), result);
}

[[nodiscard]] inline duo_status sum(std::nothrow_t, duo_context *ctx, vector_view x,
                                    float *result) noexcept
{
    return duo_ssum(ctx, x.size, x.data, detail::increment(x), result);
}

[[nodiscard]] inline duo_status dot(std::nothrow_t, duo_context *ctx, vector_view x, vector_view y,
                                    float *result) noexcept
{
    if (x.size != y.size) return DUO_ERR_SIZE;
    return duo_sdot(ctx, x.size, x.data, x.stride, y.data, y.stride, result);
}

inline void asum(duo_context *ctx, vector_view x, float *result)
{
    check(asum(std::nothrow, ctx, x, result));
}

inline void sum(duo_context *ctx, vector_view x, float *result)
{
    check(sum(std::nothrow, ctx, x, result));
}

inline void dot(duo_context *ctx, vector_view x, vector_view y, float *result)
{
    detail::check_fit(x, y);
    check(dot(std::nothrow, ctx, x, y, result));
}

namespace detail
{

/*
 * The result of reduce(&result). A context may still write it when the call has returned
 * (duo_set_async), or when its graph is launched (duo_graph_begin). If waiting for it fails, as it
 * does in a capture, the float has to stay: it is never freed.
 */
template <class Reduce>
float awaited(duo_context *ctx, const Reduce &reduce)
{
    float here = 0;
    if (ctx == nullptr) {
        reduce(&here);
        return here;
    }
    auto result = std::make_unique<float>();
    reduce(result.get());
    const duo_status status = duo_synchronize(ctx);
    if (status != DUO_OK) (void)result.release();
    check(status);
    return *result;
}

} // namespace detail

[[nodiscard]] inline float asum(duo_context *ctx, vector_view x)
{
    return detail::awaited(ctx, [&](float *result) { asum(ctx, x, result); });
}

[[nodiscard]] inline float sum(duo_context *ctx, vector_view x)
{
    return detail::awaited(ctx, [&](float *result) { sum(ctx, x, result); });
}

[[nodiscard]] inline float dot(duo_context *ctx, vector_view x, vector_view y)
{
    return detail::awaited(ctx, [&](float *result) { dot(ctx, x, y, result); });
}

/* The names of std::linalg for gemm and asum; the context stands for the execution policy. */
inline void matrix_product(duo_context *ctx, matrix_view<const float> a, matrix_view<const float> b,
                           matrix_view<float> c)
{
    gemm(ctx, a, b, c);
}

[[nodiscard]] inline float vector_abs_sum(duo_context *ctx, vector_view x) { return asum(ctx, x); }

/* ---- Memory ---------------------------------------------------------------------------------- */

namespace detail
{

template <class T, duo_status (*take)(duo_context *, std::size_t, void **),
          duo_status (*give_back)(duo_context *, void *)>
class array
{
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");

  public:
    array(duo_context *ctx, std::size_t size) : owned_(taken(ctx, size), giver{ctx}), size_(size) {}

    T *data() noexcept { return owned_.get(); }
    const T *data() const noexcept { return owned_.get(); }
    std::size_t size() const noexcept { return owned_ ? size_ : 0; } /* 0: moved from */

  private:
    struct giver {
        duo_context *ctx;
        void operator()(T *elements) const noexcept { (void)give_back(ctx, elements); }
    };

    static T *taken(duo_context *ctx, std::size_t size)
    {
        void *elements = nullptr;
        if (size > SIZE_MAX / sizeof(T)) raise(error(DUO_ERR_MEMORY));
        check(take(ctx, size * sizeof(T), &elements));
        return static_cast<T *>(elements);
    }

    std::unique_ptr<T[], giver> owned_;
    std::size_t size_;
};

template <class T, duo_status (*take)(duo_context *, std::size_t, void **),
          duo_status (*give_back)(duo_context *, void *)>
inline constexpr bool is_array<array<T, take, give_back>> = true;

template <class R>
std::size_t bytes(const R &range)
{
    return count(range) * sizeof *std::data(range);
}

} // namespace detail

/* duo_malloc to duo_free: `size` elements on the device, not set. Only calls and duo::copy may read
 * and write them. */
template <class T>
using device_array = detail::array<T, duo_malloc, duo_free>;

/* duo_malloc_host to duo_free_host: `size` elements in pinned host memory, not set. */
template <class T>
class pinned_array : public detail::array<T, duo_malloc_host, duo_free_host>
{
  public:
    using detail::array<T, duo_malloc_host, duo_free_host>::array;

    T &operator[](std::size_t i) noexcept { return this->data()[i]; }
    const T &operator[](std::size_t i) const noexcept { return this->data()[i]; }
    T *begin() noexcept { return this->data(); }
    const T *begin() const noexcept { return this->data(); }
    T *end() noexcept { return this->data() + this->size(); }
    const T *end() const noexcept { return this->data() + this->size(); }
};

/* duo_copy - all elements of one contiguous range to another of the same size (or DUO_ERR_SIZE):
 * vectors, spans, device_array, pinned_array. */
template <class To, class From>
void copy(duo_context *ctx, To &&to, const From &from)
{
    using range = std::remove_reference_t<To>;
    using element = detail::element<range>;
    static_assert(detail::is_contiguous<range> && detail::is_contiguous<const From>,
                  "both are known to be contiguous (else pass addresses to duo_copy)");
    static_assert(detail::points<detail::element<const From>, const element>,
                  "elements of the same type");
    static_assert(std::is_trivially_copyable_v<element>, "elements are copied as bytes");
    if (detail::count(to) != detail::count(from))
        detail::raise(error(DUO_ERR_SIZE, "a copy of " + std::to_string(detail::count(from)) +
                                              " elements to " + std::to_string(detail::count(to))));
    check(duo_copy(ctx, std::data(to), std::data(from), detail::bytes(from)));
}

/*
 * duo_keep to duo_release. An array has one such scope at a time: the first that ends forgets it.
 * If the last fetch may fail (a device is lost) call release: the destructor cannot report it.
 * After release, or moved from, it keeps nothing: DUO_ERR_RANGE.
 */
class kept
{
  public:
    kept(duo_context *ctx, const void *host, std::size_t bytes)
        : owned_(nullptr, {ctx}), bytes_(bytes)
    {
        check(duo_keep(ctx, host, bytes));
        owned_.reset(host);
    }

    template <class R, class = detail::if_it_stays<R>>
    kept(duo_context *ctx, R &&range) : kept(ctx, std::data(range), detail::bytes(range))
    {
    }

    void changed() { check(duo_changed(ctx(), host(), bytes_)); }
    void fetch() { check(duo_fetch(ctx(), const_cast<void *>(host()), bytes_)); }
    void release()
    {
        const duo_status status = duo_release(ctx(), host());
        if (status == DUO_OK || status == DUO_ERR_LOST) (void)owned_.release();
        check(status);
    }

  private:
    struct releaser {
        duo_context *ctx;
        void operator()(const void *host) const noexcept { (void)duo_release(ctx, host); }
    };
    duo_context *ctx() const noexcept { return owned_.get_deleter().ctx; }
    const void *host() const
    {
        if (!owned_)
            detail::raise(error(DUO_ERR_RANGE, "nothing is kept here: released, or moved from"));
        return owned_.get();
    }

    std::unique_ptr<const void, releaser> owned_;
    std::size_t bytes_;
};

/* duo_prepare, until the scope ends the promise for the whole array that the range is in. */
class prepared
{
  public:
    prepared(duo_context *ctx, const void *address, std::size_t bytes) : owned_(nullptr, {ctx})
    {
        check(duo_prepare(ctx, address, bytes));
        owned_.reset(address);
    }

    template <class R, class = detail::if_it_stays<R>>
    prepared(duo_context *ctx, R &&range) : prepared(ctx, std::data(range), detail::bytes(range))
    {
    }

  private:
    struct ender {
        duo_context *ctx;
        void operator()(const void *address) const noexcept { (void)duo_prepare(ctx, address, 0); }
    };
    std::unique_ptr<const void, ender> owned_;
};

/* ---- Graphs ---------------------------------------------------------------------------------- */

/* duo_graph_create to duo_graph_destroy. */
class graph : public detail::handle<duo_graph, duo_graph_destroy>
{
  public:
    graph() : handle(detail::created<duo_graph, duo_graph_create>()) {}
    explicit graph(duo_graph *owned) noexcept : handle(owned) {} /* of duo_graph_end */

    duo_node add(const duo_work &work, std::initializer_list<duo_node> after = {})
    {
        duo_node node = 0;
        check(duo_graph_add(get(), &work, after.begin(), static_cast<int>(after.size()), &node));
        return node;
    }
    void build(duo_context *ctx) { check(duo_graph_build(get(), ctx)); }
    void launch(duo_context *ctx) { check(duo_graph_launch(get(), ctx)); }
    void update(duo_node node, const duo_work &work)
    {
        check(duo_graph_update(get(), node, &work));
    }
    duo_node node_at(int64_t number) const
    {
        duo_node node = 0;
        check(duo_graph_node_at(get(), number, &node));
        return node;
    }
    std::string print() const
    {
        std::size_t length = 0;
        check(duo_graph_print(get(), nullptr, 0, &length));
        std::string text(length + 1, '\0');
        check(duo_graph_print(get(), text.data(), text.size(), nullptr));
        text.resize(length);
        return text;
    }
    std::string detail() const { return duo_graph_detail(get()); }
};

/* duo_graph_begin to duo_graph_end. Without end(), as after an exception, the graph is dropped. */
class capture
{
  public:
    explicit capture(duo_context *ctx) : ctx_(ctx) { check(duo_graph_begin(ctx)); }
    capture(const capture &) = delete;
    capture &operator=(const capture &) = delete;
    ~capture()
    {
        duo_graph *dropped = nullptr;
        if (ctx_ != nullptr && duo_graph_end(ctx_, &dropped) == DUO_OK)
            (void)duo_graph_destroy(dropped);
    }

    graph end()
    {
        duo_graph *ended = nullptr;
        check(duo_graph_end(std::exchange(ctx_, nullptr), &ended));
        return graph(ended);
    }

  private:
    duo_context *ctx_;
};

/* ---- Explanation ----------------------------------------------------------------------------- */

/* duo_explain_last */
inline duo_decision explain_last(duo_context *ctx)
{
    duo_decision decision{};
    decision.size = sizeof decision;
    check(duo_explain_last(ctx, &decision));
    return decision;
}

/* duo_device_count */
inline int device_count()
{
    int count = 0;
    check(duo_device_count(&count));
    return count;
}

/* duo_device_describe */
inline duo_device_info device_describe(int device)
{
    duo_device_info info{};
    info.size = sizeof info;
    check(duo_device_describe(device, &info));
    return info;
}

} // namespace duo

#endif /* DUOBLAS_HPP */
