/*
 * cpp_first_call.cpp - C++ by duoblas.hpp: one product of vectors that a program has anyway, the
 * same again with the matrix kept on the device, and many small products in one call. Run it with
 * DUOBLAS_VERBOSE=1 to see which side they ran on, and why.
 */
#include <duoblas.hpp>

#include <iostream>
#include <vector>

int main()
try {
    const int n = 500;
    std::vector<float> a(n * n, 1), b(n * n, 1), c(n * n);
    const auto A = duo::col_major(a.data(), n, n), C = duo::col_major(c.data(), n, n);
    const auto B = duo::row_major(b.data(), n, n); /* each as it is stored */

    duo::gemm(nullptr, A, B, C); /* C := A B, in the thread's default context */
    std::cout << "c[0] = " << c[0] << '\n';

    duo::context ctx;
    const duo::kept kept(ctx, a);                      /* until the end of its scope */
    duo::gemm(ctx, duo::transposed(A), B, C, 0.5f, 1); /* C := 0.5 A' B + C */
    const float sum = duo::sum(ctx, c);
    std::cout << "sum of c = " << sum << '\n';
    const bool right = c[0] == 750 && sum == 750.0f * n * n;

    /* The same vectors, each as 100 matrices. */
    const auto small = [](std::vector<float> &x) {
        return duo::batched(duo::col_major(x.data(), n / 10, n / 10), 100);
    };
    duo::gemm_batched(ctx, small(a), small(b), small(c));
    std::cout << "of small products: c[0] = " << c[0] << '\n';
    return right && duo::sum(ctx, c) == 50.0f * n * n ? 0 : 1;
} catch (const duo::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
