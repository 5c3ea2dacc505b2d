# cxx.sh - C++ libraries that multiply with BLAS, on a program each: single-precision results beside
# loops in double.

packages_armadillo=(libarmadillo-dev libblas3 liblapack3)
packages_opencv=(libopencv-core-dev libblas3)
packages_dlib=(libdlib-dev libblas3)

has_header() { c++ -x c++ -E "$@" - >/dev/null 2>&1; }

# The program's sum of squared differences, relative to the squares of the right values.
run_cxx() { # FLAG... ; the program on stdin
    c++ -x c++ -O1 -w - -x none "$@" -o program
    client ./program >out
    awk 'NR == 1 && $1 == $1 + 0 && $1 >= 0 && $1 < 1e-12 { right = 1 } END { exit !right }' out ||
        fail "relative error squared: $(head -n 1 out)"
}

suite_armadillo() {
    has_header <<<'#include <armadillo>' || skip "there is no Armadillo"
    run_cxx -larmadillo <<'END'
#include <armadillo>
int main()
{
    arma::arma_rng::set_seed(1);
    const arma::fmat a(150, 200, arma::fill::randu), b(200, 100, arma::fill::randu);
    const arma::mat da = arma::conv_to<arma::mat>::from(a), db = arma::conv_to<arma::mat>::from(b);
    arma::mat right(150, 100, arma::fill::zeros);
    double dot = 0, sum = 0;
    for (int i = 0; i < 150; i++)
        for (int j = 0; j < 100; j++)
            for (int l = 0; l < 200; l++) right(i, j) += da(i, l) * db(l, j);
    for (int l = 0; l < 200; l++) dot += da(0, l) * db(l, 0), sum += db(l, 0);
    const arma::fmat c = a * b;
    const arma::mat difference = arma::conv_to<arma::mat>::from(c) - right;
    const arma::fvec row = a.row(0).t(), column = b.col(0);
    const double off_dot = arma::dot(row, column) / dot - 1;
    const double off_sum = arma::norm(column, 1) / sum - 1;
    std::cout << arma::accu(difference % difference) / arma::accu(right % right)
                     + off_dot * off_dot + off_sum * off_sum << "\n";
}
END
    note "a product, a dot, a 1-norm"
}

suite_opencv() {
    local flags=(-I/usr/include/opencv4)
    has_header "${flags[@]}" <<<'#include <opencv2/core.hpp>' || skip "there is no OpenCV"
    run_cxx "${flags[@]}" -lopencv_core <<'END'
#include <iostream>
#include <opencv2/core.hpp>
int main()
{
    cv::Mat a(150, 200, CV_32F), b(200, 100, CV_32F), c;
    cv::randu(a, 0, 1), cv::randu(b, 0, 1);
    cv::gemm(a, b, 1, cv::noArray(), 0, c);
    double off = 0, all = 0;
    for (int i = 0; i < 150; i++)
        for (int j = 0; j < 100; j++) {
            double right = 0;
            for (int l = 0; l < 200; l++) right += (double)a.at<float>(i, l) * b.at<float>(l, j);
            off += (c.at<float>(i, j) - right) * (c.at<float>(i, j) - right), all += right * right;
        }
    std::cout << off / all << "\n";
}
END
    note "a product"
}

suite_dlib() {
    has_header <<<'#include <dlib/matrix.h>' || skip "there is no dlib"
    run_cxx -DDLIB_USE_BLAS "$libraries/blas/libblas.so.3" -ldlib <<'END'
#include <dlib/matrix.h>
#include <dlib/rand.h>
int main()
{
    dlib::rand random;
    dlib::matrix<float> a(150, 200), b(200, 100);
    for (long i = 0; i < a.size(); i++) a(i / 200, i % 200) = random.get_random_float();
    for (long i = 0; i < b.size(); i++) b(i / 100, i % 100) = random.get_random_float();
    const dlib::matrix<float> c = a * b;
    double off = 0, all = 0;
    for (int i = 0; i < 150; i++)
        for (int j = 0; j < 100; j++) {
            double right = 0;
            for (int l = 0; l < 200; l++) right += (double)a(i, l) * b(l, j);
            off += (c(i, j) - right) * (c(i, j) - right), all += right * right;
        }
    std::cout << off / all << "\n";
}
END
    note "a product, in rows"
}
