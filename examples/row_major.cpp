/*
 * row_major.cpp - row-major matrices of a C++ program, and a context that ends with its scope. The
 * Gram matrix of the rows of A: G := A A'.
 */
#include <duoblas.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

static void check(duo_status status)
{
    if (status != DUO_OK) throw std::runtime_error(duo_status_string(status));
}

struct Matrix {
    std::int64_t rows, columns;
    std::vector<float> elements;

    Matrix(std::int64_t m, std::int64_t n)
        : rows(m), columns(n), elements(static_cast<std::size_t>(m * n))
    {
    }
    float &operator()(std::int64_t i, std::int64_t j)
    {
        return elements[static_cast<std::size_t>(i * columns + j)];
    }
};

struct Destroy {
    void operator()(duo_context *context) const { duo_destroy(context); }
};
using Context = std::unique_ptr<duo_context, Destroy>;

static Context create()
{
    duo_context *context;
    check(duo_create(&context));
    return Context(context);
}

int main()
try {
    const Context context = create();
    Matrix a(300, 200), g(a.rows, a.rows);
    for (std::int64_t i = 0; i < a.rows; i++)
        for (std::int64_t j = 0; j < a.columns; j++)
            a(i, j) = static_cast<float>(std::cos(0.01 * static_cast<double>((i + 1) * (j + 1))));

    /* Row-major: a leading dimension is the distance between rows, the number of columns. */
    check(duo_sgemm(context.get(), DUO_ROW_MAJOR, DUO_NO_TRANS, DUO_TRANS, g.rows, g.columns,
                    a.columns, 1, a.elements.data(), a.columns, a.elements.data(), a.columns, 0,
                    g.elements.data(), g.columns));

    int wrong = 0;
    const double bound = 203 * 0x1p-24 * 200; /* the header's, for k = 200 and |A(i,j)| <= 1 */
    for (std::int64_t i = 0; i < g.rows; i++)
        for (std::int64_t j = 0; j < g.columns; j++) {
            double sum = 0;
            for (std::int64_t l = 0; l < a.columns; l++)
                sum += static_cast<double>(a(i, l)) * static_cast<double>(a(j, l));
            wrong += !(std::fabs(static_cast<double>(g(i, j)) - sum) <= bound); /* NaN is wrong */
        }
    std::cout << "G is " << g.rows << " x " << g.columns << ", wrong: " << wrong << '\n';
    return wrong == 0 ? 0 : 1;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
