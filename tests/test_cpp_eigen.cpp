/*
 * test_cpp_eigen.cpp - duoblas.hpp: each expression of Eigen is an operand with Eigen's numbers, or
 * does not compile. Skipped without Eigen (Debian's libeigen3-dev).
 */
#include <duoblas.hpp>

extern "C" {
#include "support/harness.h"
}

#if __has_include(<eigen3/Eigen/Dense>)
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
    Eigen::VectorXcf z = Eigen::VectorXcf::Zero(5);
    z.real() = x.head(5);
    z.imag() = x.tail(5);
    check_vector("real parts", z.real());
    check_vector("imaginary parts", z.imag());
    const duo::context ctx = on_cpu();
    const MatrixXf a = numbers<MatrixXf>();
    test_case("eigen/two rows");
    CHECK(duo::dot(ctx, a.row(0), a.row(1)) == a.row(0).dot(a.row(1)), "dot");
    CHECK(duo::sum(ctx, a) == a.sum() && duo::sum(ctx, numbers<row_major>()) == a.sum(), "whole");
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
    const auto refused = [](auto &&x) { static_assert(!is_operand<decltype(x)>); };
    const auto not_kept = [](auto &&x) { static_assert(!is_kept<decltype(x)>); };
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
    not_kept(a.block(0, 0, 2, 2));
    auto row = a.row(0);
    auto transposed = a.transpose();
    auto diagonal = a.diagonal();
    static_assert(!is_kept<decltype(diagonal) &> && !is_kept<decltype(transposed) &>);
    static_assert(is_kept<decltype(row) &> == static_cast<bool>(Matrix::IsRowMajor));
}

void refused()
{
    refused_of<MatrixXf>();
    refused_of<row_major>();
    row_major rows(3, 4);
    static_assert(!is_operand<decltype(rows.reshaped())>);
    static_assert(is_kept<MatrixXf &> && is_kept<const VectorXf &> && is_kept<Eigen::ArrayXXf &>);
    static_assert(is_kept<Eigen::Matrix4f &> && is_kept<Map<VectorXf> &>);
    static_assert(!is_kept<MatrixXf> && !is_kept<VectorXf> && !is_kept<Map<MatrixXf>>);
    static_assert(!is_kept<Map<VectorXf, 0, InnerStride<2>> &>);
    static_assert(!std::is_convertible_v<VectorXf, duo::detail::lasting_view>);
    static_assert(std::is_convertible_v<VectorXf &, duo::detail::lasting_view>);
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
    duo::gemm(ctx, duo::col_major(read_only.data(), 3, 4), duo::row_major(read_only.data(), 4, 3),
              duo::col_major(c.data(), 3, 3));
    c_kept.release();
    CHECK(c == a * a.transpose(), "a product");
}

} // namespace

int main(int argc, char **argv)
{
    const test_entry tests[] = {
        {"vectors", vectors},
        {"refused", refused},
        {"whole_arrays", whole_arrays},
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
