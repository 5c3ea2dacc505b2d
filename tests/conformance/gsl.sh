# gsl.sh - the GNU Scientific Library's tests of a CBLAS, with expected values of its own.

packages_gsl=(libblas-test libblas3 libgsl-dev dpkg-dev)

build_gsl() {
    local folder
    [[ ! -e $built/gsl ]] || return 0
    [[ -z $root ]] || return 1
    folder=$(debian_source gsl)cblas || return
    mkdir -p "$built"
    cat >main.c <<'END'
#include <gsl/gsl_test.h>
#include "tests.h"
int main(void)
{
    gsl_test_verbose(1);
    test_gemm();
    test_dot();
    test_asum();
    return gsl_test_summary();
}
END
    cc -O1 -I "$folder" main.c "$folder"/test_{gemm,dot,asum}.c -o "$built/gsl" \
        "$libraries/blas/libblas.so.3" -Wl,-Bstatic -lgsl -Wl,-Bdynamic -lm
}

suite_gsl() {
    local ours
    needs "$libraries/blas/libblas.so.3"
    build_gsl || skip "it cannot be built here"
    client "$built/gsl" >out || fail "$(grep -a -m 1 FAIL out)"
    no_failure_in out
    ours=$(grep -acE '^PASS: s(gemm|dot|asum)\(' out)
    note "$(grep -ac '^PASS: ' out) comparisons, $ours of them ours"
}
