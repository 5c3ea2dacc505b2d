/*
 * test_cpp_eigen.cpp - duoblas.hpp: each expression of Eigen is an operand with Eigen's numbers, or
 * does not compile. Skipped without Eigen (Debian's libeigen3-dev).
 */
#include <duoblas.hpp>

extern "C" {
#include "support/harness.h"
}

#if __has_include(<eigen3/Eigen/Dense>)
#include <cmath>
#include <eigen3/Eigen/Dense>

namespace
{

using Eigen::all;
using Eigen::InnerStride;
using Eigen::Map;
using Eigen::MatrixXf;
using Eigen::Ref;
using Eigen::seq;
using Eigen::VectorXf;
using row_major = Eigen::Matrix<float, -1, -1, Eigen::RowMajor>;

duo::context on_cpu()
{
    duo::context ctx;
    ctx.set_path(DUO_PATH_CPU);
    return ctx;
}

/* At run time, so that a planted fault compiles. */
#define HOLDS(...) CHECK((__VA_ARGS__), "not so: %s", #__VA_ARGS__)

/* Sums of small integers are exact. */
template <class Vector>
void check_vector(const char *name, const Vector &x)
{
    const duo::context ctx = on_cpu();
    const VectorXf weights = VectorXf::LinSpaced(x.size(), 1, static_cast<float>(x.size()));
    VectorXf values(x.size());
    for (Eigen::Index i = 0; i < x.size(); i++) values[i] = x.coeff(i);
    test_case("eigen/%s", name);
    CHECK(duo::sum(ctx, x) == values.sum(), "sum %g, not %g", static_cast<double>(duo::sum(ctx, x)),
          static_cast<double>(values.sum()));
    CHECK(duo::asum(ctx, x) == values.cwiseAbs().sum(), "asum");
    CHECK(duo::dot(ctx, x, weights) == values.dot(weights), "dot");
    CHECK(duo::dot(ctx, weights, x) == values.dot(weights), "dot, the other way round");
    const duo::vector_view view(x);
    CHECK(view.size == x.size(), "size");
}

/* 1 to 12 by rows, with signs. */
template <class Matrix>
Matrix numbers()
{
    Matrix a(3, 4);
    a << 1, -2, 3, 4, 5, 6, -7, 8, 9, 10, 11, -12;
    return a;
}

template <class Matrix>
void vectors_of()
{
    Matrix a = numbers<Matrix>();
    const Matrix &b = a;
    check_vector("row", a.row(1));
    check_vector("const row", b.row(1));
    check_vector("column", a.col(1));
    check_vector("const column", b.col(2));
    check_vector("diagonal", a.diagonal());
    check_vector("diagonal above", a.diagonal(1));
    check_vector("part of a row", a.row(2).segment(1, 2));
    check_vector("head of a column", a.col(3).head(2));
    check_vector("row of a block", a.block(1, 1, 2, 3).row(0));
    check_vector("column of a block", a.block(1, 1, 2, 3).col(1));
    check_vector("diagonal of a block", a.block(1, 1, 2, 2).diagonal());
    check_vector("block of one row", a.template block<1, 2>(1, 1));
    check_vector("block of one column", a.template block<2, 1>(1, 1));
    check_vector("row as a column", a.row(1).transpose());
    check_vector("row of the transpose", a.transpose().row(1));
    check_vector("row as an array", a.row(1).array());
    const Ref<const VectorXf, 0, InnerStride<>> row(a.row(1).transpose());
    check_vector("Ref to a row", row);
}

void vectors()
{
    vectors_of<MatrixXf>();
    vectors_of<row_major>();
    MatrixXf whole = numbers<MatrixXf>();
    check_vector("reshaped", whole.reshaped());
    VectorXf x = VectorXf::LinSpaced(12, -3, 8);
    float *const p = x.data();
    check_vector("VectorXf", x);
    check_vector("Vector4f", Eigen::Vector4f(1, 2, -3, 4));
    check_vector("RowVector3f", Eigen::RowVector3f(1, 2, -3));
    check_vector("ArrayXf", Eigen::ArrayXf(x.array()));
    check_vector("Map", Map<VectorXf>(p, 5));
    check_vector("Map of const", Map<const VectorXf>(p, 5));
    check_vector("Map<InnerStride<2>>", Map<VectorXf, 0, InnerStride<2>>(p, 6));
    check_vector("Map<InnerStride<>>", Map<VectorXf, 0, InnerStride<>>(p, 4, InnerStride<>(3)));
    check_vector("Map backwards", Map<VectorXf, 0, InnerStride<>>(p + 11, 4, InnerStride<>(-3)));
    check_vector("Ref", Ref<VectorXf>(x));
    using gaps = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    Map<MatrixXf, 0, gaps> strided(p, 2, 2, gaps(6, 3));
    check_vector("diagonal of a Map with gaps", strided.diagonal());
    check_vector("row of a Map with gaps", strided.row(1));
    const duo::context ctx = on_cpu();
    const MatrixXf a = numbers<MatrixXf>();
    test_case("eigen/two rows");
    CHECK(duo::dot(ctx, a.row(0), a.row(1)) == a.row(0).dot(a.row(1)), "dot");
    CHECK(duo::sum(ctx, a) == a.sum() && duo::sum(ctx, numbers<row_major>()) == a.sum(), "whole");
}

/* ---- Every expression of up to two steps ---- */

int vectors_taken, matrices_taken, expressions;

/* As a vector, an operand has the elements that the expression has in Eigen. */
void compare(const duo::vector_view &x, const MatrixXf &values)
{
    const duo::context ctx = on_cpu();
    const Map<const VectorXf> inner(values.data(), values.size());
    const VectorXf weights = VectorXf::LinSpaced(x.size, 1, static_cast<float>(x.size));
    vectors_taken++;
    CHECK(x.size == values.size(), "size %d", static_cast<int>(x.size));
    CHECK(duo::dot(ctx, x, weights) == inner.dot(weights), "as a vector");
    CHECK(duo::sum(ctx, x) == inner.sum(), "the sum");
}

void compare(const duo::matrix_view<const float> &x, const MatrixXf &values)
{
    const duo::context ctx = on_cpu();
    const MatrixXf one = MatrixXf::Identity(values.cols(), values.cols());
    MatrixXf c = MatrixXf::Constant(values.rows(), values.cols(), NAN);
    matrices_taken++;
    duo::gemm(ctx, x, one, c);
    CHECK(c == values, "as a matrix");
}

/* Refused, or right. */
template <class E>
void right_or_refused(E &&e)
{
    MatrixXf values(e.rows(), e.cols());
    for (Eigen::Index j = 0; j < e.cols(); j++)
        for (Eigen::Index i = 0; i < e.rows(); i++) values(i, j) = e.coeff(i, j);
    expressions++;
    test_case("eigen/expression %d, %d x %d", expressions, static_cast<int>(e.rows()),
              static_cast<int>(e.cols()));
    if constexpr (std::is_convertible_v<E, duo::vector_view> &&
                  std::decay_t<E>::IsVectorAtCompileTime)
        compare(duo::vector_view(e), values);
    if constexpr (std::is_convertible_v<E, duo::matrix_view<const float>>)
        compare(duo::matrix_view<const float>(std::forward<E>(e)), values);
}

template <int steps, class E>
void walk(E &&e)
{
    right_or_refused(std::forward<E>(e));
    if constexpr (steps > 0) {
        walk<steps - 1>(e.transpose());
        walk<steps - 1>(e.reshaped(1, e.size()));
        walk<steps - 1>(e.diagonal());
        walk<steps - 1>(e.row(e.rows() - 1));
        walk<steps - 1>(e.col(e.cols() - 1));
        walk<steps - 1>(e.bottomRows((e.rows() + 1) / 2));
        right_or_refused(e.leftCols(0));
        right_or_refused(e.array());
        right_or_refused(e.reverse());
        right_or_refused(e(Eigen::seq(0, e.rows() - 1, 2), all));
        right_or_refused(2 * e);
    }
}

/* Of columns, rows, and a map with gaps in both directions. */
void expressions_of_two_steps()
{
    float memory[100];
    for (int i = 0; i < 100; i++) memory[i] = static_cast<float>(i % 17 - 5);
    using gaps = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    MatrixXf columns = Map<MatrixXf>(memory, 4, 6);
    row_major rows = Map<row_major>(memory, 4, 6);
    walk<2>(columns);
    walk<1>(rows);
    walk<2>(Map<MatrixXf, 0, gaps>(memory, 4, 5, gaps(20, 3)));
    CHECK(expressions == 2 * (43 + 7 * 5) + 7 + 5, "%d expressions", expressions);
    CHECK(vectors_taken > 50, "%d vectors", vectors_taken);
    CHECK(matrices_taken > 80, "%d matrices", matrices_taken);
}

/* ---- Products ---- */

MatrixXf expected(const MatrixXf &a, const MatrixXf &b, const MatrixXf &c) { return c + 2 * a * b; }

/* C := 2 A B + C in a part of a matrix, and what is around C stays. */
template <class A, class B, class C>
void check_product(const char *name, A &&a, B &&b, MatrixXf &around, C &&c)
{
    const duo::context ctx = on_cpu();
    const MatrixXf before = around, c_before = c;
    test_case("eigen/%s", name);
    duo::gemm(ctx, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), 2, 1);
    CHECK(MatrixXf(c) == expected(a, b, c_before), "C");
    c = c_before;
    CHECK(around == before, "its neighbours");
}

template <class Matrix>
void products_of()
{
    Matrix a = numbers<Matrix>();
    const Matrix &b = a;
    MatrixXf c = MatrixXf::Constant(5, 6, 3);
    check_product("A A'", a, b.transpose(), c, c.topLeftCorner(3, 3));
    check_product("A' A", a.transpose(), b, c, c.rightCols(4).topRows(4));
    check_product("blocks", a.block(0, 1, 2, 3), b.rightCols(2), c, c.template block<2, 2>(1, 3));
    check_product("a transposed C", a, b.transpose(), c, c.block(1, 2, 3, 3).transpose());
    check_product("a row and a matrix", a.row(1), b.transpose(), c, c.row(4).head(3));
    check_product("a matrix and a column", a, b.row(2).transpose(), c, c.col(5).tail(3));
    check_product("an outer product", a.col(0), b.row(1), c, c.bottomRows(3).leftCols(4));
    check_product("a diagonal", a.leftCols(3), b.diagonal(), c, c.diagonal().head(3));
    check_product("array", a.array().matrix(), b.transpose(), c, c.topLeftCorner(3, 3));
    check_product("nothing", a.topRows(0), b.transpose(), c, c.topLeftCorner(0, 3));
    check_product("k = 0", a.leftCols(0), b.topRows(0), c, c.topLeftCorner(3, 4));
    Ref<MatrixXf> part = c.bottomRightCorner(3, 3);
    check_product("Ref", Ref<const Matrix>(b), b.transpose(), c, part);
    Map<MatrixXf, 0, Eigen::OuterStride<>> map(c.data(), 3, 3, Eigen::OuterStride<>(5));
    check_product("Map", Map<Matrix>(a.data(), 3, 4), b.transpose(), c, map);
}

void products()
{
    products_of<MatrixXf>();
    products_of<row_major>();
    const duo::context ctx = on_cpu();
    const MatrixXf a = numbers<MatrixXf>();
    Eigen::Vector3f y;
    duo::gemm(ctx, a, VectorXf::Ones(4).eval().head(4), y);
    CHECK(y == a.rowwise().sum(), "a matrix and a vector");
    MatrixXf c(3, 3);
    duo::matrix_product(ctx, a, duo::transposed(duo::matrix_view(a)), c);
    CHECK(c == a * a.transpose(), "matrix_product");
    CHECK(duo::vector_abs_sum(ctx, a.row(0)) == a.row(0).cwiseAbs().sum(), "vector_abs_sum");
    MatrixXf halves(3, 4);
    duo::gemm_batched(ctx, c, duo::batched(duo::matrix_view(a.leftCols<2>()), 2),
                      duo::batched(duo::matrix_view(halves.leftCols<2>()), 2));
    CHECK(halves == c * a, "one matrix for all products");
}

/* Who may be written to, and who has to have a name. */
void which_are_matrices()
{
    using input = duo::matrix_view<const float>;
    using output = duo::matrix_view<float>;
    using block = Eigen::Block<MatrixXf>;
    HOLDS(std::is_convertible_v<MatrixXf &, output>);
    HOLDS(std::is_convertible_v<const MatrixXf &, input>);
    HOLDS(!std::is_convertible_v<const MatrixXf &, output>);
    HOLDS(!std::is_convertible_v<MatrixXf, output>);
    HOLDS(!std::is_convertible_v<MatrixXf, input>);
    HOLDS(!std::is_convertible_v<const Eigen::Matrix4f, input>);
    HOLDS(std::is_convertible_v<block, output>);
    HOLDS(!std::is_convertible_v<const block, output>);
    HOLDS(!std::is_convertible_v<Map<const MatrixXf>, output>);
    HOLDS(!std::is_convertible_v<Ref<const MatrixXf> &, output>);
    HOLDS(std::is_convertible_v<const MatrixXf &, duo::batch_view<const float>>);
    HOLDS(std::is_convertible_v<MatrixXf &, duo::batch_view<float>>);
    HOLDS(!std::is_convertible_v<Eigen::MatrixXd &, input>);
    HOLDS(!std::is_convertible_v<Eigen::MatrixXcf &, input>);
    HOLDS(!std::is_convertible_v<decltype(std::declval<Eigen::MatrixXcf &>().real()), input>);
    HOLDS(!std::is_convertible_v<Map<MatrixXf, 0, Eigen::Stride<Eigen::Dynamic, 2>>, input>);
    MatrixXf a = numbers<MatrixXf>();
    const MatrixXf &b = a;
    HOLDS(std::is_same_v<decltype(duo::matrix_view(a)), output>);
    HOLDS(std::is_same_v<decltype(duo::matrix_view(b)), input>);
    HOLDS(std::is_same_v<decltype(duo::matrix_view(a.topRows(1))), output>);
    const auto refused = [](auto &&x) { HOLDS(!std::is_convertible_v<decltype(x), input>); };
    refused(a + a);
    refused(2 * a);
    refused(a * a.transpose());
    refused(a.reverse());
    refused(a(seq(0, 2, 2), all));
    refused(a.cwiseAbs());
    refused(a.triangularView<Eigen::Upper>());
    refused(a.selfadjointView<Eigen::Upper>());
    refused(a.cast<double>());
    refused((a + a).diagonal());
    refused((a + a).row(0));
}

template <class R>
constexpr bool is_operand = std::is_convertible_v<R, duo::vector_view>;
template <class R>
constexpr bool is_kept = std::is_constructible_v<duo::kept, duo_context *, R>;

/* Blocks have gaps, expressions have no memory. No type tells whether parts of matrices have
 * gaps. */
template <class Matrix>
void refused_of()
{
    Matrix a = numbers<Matrix>();
    const auto refused = [](auto &&x) { HOLDS(!is_operand<decltype(x)>); };
    const auto not_kept = [](auto &&x) { HOLDS(!is_kept<decltype(x)>); };
    refused(a.block(0, 0, 2, 2));
    refused(a.template block<2, 2>(0, 0));
    refused(a.topRows(2));
    refused(a.middleCols(1, 2));
    refused(a.transpose());
    refused(a(seq(0, 2, 2), all));
    refused(a(1, seq(0, 2, 2)));
    refused(a + a);
    refused(a.row(0) + a.row(1));
    refused(2 * a.col(0));
    refused(a.row(0).reverse());
    refused(a * a.transpose());
    refused(a.cwiseAbs());
    refused(a.template cast<double>());
    refused(a.template triangularView<Eigen::Upper>());
    refused(Map<Matrix, 0, Eigen::OuterStride<>>(a.data(), 2, 2, Eigen::OuterStride<>(5)));
    refused(Ref<Matrix>(a));
    refused(Eigen::MatrixXd(3, 3));
    refused(Eigen::VectorXcf(3).real());
    not_kept(a.block(0, 0, 2, 2));
    auto row = a.row(0);
    auto transposed = a.transpose();
    auto diagonal = a.diagonal();
    HOLDS(!is_kept<decltype(diagonal) &> && !is_kept<decltype(transposed) &>);
    HOLDS(is_kept<decltype(row) &> == static_cast<bool>(Matrix::IsRowMajor));
}

void refused()
{
    refused_of<MatrixXf>();
    refused_of<row_major>();
    row_major rows(3, 4);
    HOLDS(!is_operand<decltype(rows.reshaped())>);
    HOLDS(is_kept<MatrixXf &> && is_kept<const VectorXf &> && is_kept<Eigen::ArrayXXf &>);
    HOLDS(is_kept<Eigen::Matrix4f &> && is_kept<Map<VectorXf> &>);
    HOLDS(!is_kept<MatrixXf> && !is_kept<VectorXf> && !is_kept<Map<MatrixXf>>);
    HOLDS(!is_kept<Map<VectorXf, 0, InnerStride<2>> &>);
    HOLDS(!std::is_convertible_v<VectorXf, duo::detail::lasting_view>);
    HOLDS(std::is_convertible_v<VectorXf &, duo::detail::lasting_view>);
}

/* Contiguous objects can be copied and kept. */
void whole_arrays()
{
    const duo::context ctx = on_cpu();
    MatrixXf a = numbers<MatrixXf>(), b = MatrixXf::Zero(3, 4);
    VectorXf x = VectorXf::Zero(3);
    test_case("eigen/copy");
    duo::copy(ctx, b, a);
    CHECK(a == b, "a matrix");
    duo::copy(ctx, x, a.col(1));
    CHECK(x == a.col(1), "of a column");
    duo::copy(ctx, b.col(2), x);
    CHECK(b.col(2) == x, "to a column");
    test_case("eigen/kept");
    MatrixXf c(3, 3);
    const MatrixXf &read_only = a;
    duo::kept a_kept(ctx, read_only), c_kept(ctx, c);
    duo::gemm(ctx, read_only, read_only.transpose(), c);
    c_kept.release();
    CHECK(c == a * a.transpose(), "a product");
}

} // namespace

int main(int argc, char **argv)
{
    const test_entry tests[] = {
        {"vectors", vectors},   {"expressions", expressions_of_two_steps},
        {"products", products}, {"matrices", which_are_matrices},
        {"refused", refused},   {"whole_arrays", whole_arrays},
        {nullptr, nullptr},
    };
    return test_main(argc, argv, "cpp_eigen", tests);
}

#else

int main()
{
    test_skip("no Eigen (Debian's libeigen3-dev)");
    return 77;
}

#endif
