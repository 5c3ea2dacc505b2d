/* test_xerbla.c - a program without handlers of its own, and a BLAS library with handlers that
 * would end it: a wrong argument costs one line on stderr, and nothing else. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "support/blas_abi.h"
#include "support/harness.h"

static void wrong_arguments_end_nothing(void)
{
    CHECK(dlsym(RTLD_DEFAULT, "xerbla_") != NULL && dlsym(RTLD_DEFAULT, "cblas_xerbla") != NULL,
          "there are no handlers to be left alone");
    for (int abi = 0; abi < ABI_NATIVE; abi++) {
        test_case("%s", blas_abi_name((blas_abi)abi));
        float a = 2.0f, c = 5.0f;
        blas_product p = {DUO_COL_MAJOR, 'N', 'N', 1, -1, 1, 1.0f, &a, 1, &a, 1, 0.0f, &c, 1};
        char text[400], expected[100];
        snprintf(expected, sizeof expected,
                 "DuoBLAS: %s: argument %d has an illegal value; nothing was done\n",
                 blas_abi_is_cblas((blas_abi)abi) ? "cblas_sgemm" : "sgemm",
                 blas_abi_is_cblas((blas_abi)abi) ? 5 : 4);
        test_capture_begin();
        (void)blas_sgemm((blas_abi)abi, &p);
        test_capture_end(text, sizeof text);
        CHECK(strcmp(text, expected) == 0, "it says \"%s\"", text);
        CHECK(c == 5.0f, "C was written");
        p.n = 1;
        (void)blas_sgemm((blas_abi)abi, &p);
        CHECK(c == 4.0f, "the next call gives %g", (double)c);
    }
}

/* The layout is the first argument, and Fortran's handlers do not know it. */
static void wrong_layout(void)
{
    char text[400];
    test_case("layout");
    float a = 2.0f, c = 5.0f;
    const blas_product p = {7, 'N', 'N', 1, 1, 1, 1.0f, &a, 1, &a, 1, 0.0f, &c, 1};
    test_capture_begin();
    (void)blas_sgemm(ABI_CBLAS, &p);
    test_capture_end(text, sizeof text);
    CHECK(strstr(text, "cblas_sgemm: argument 1 has") != NULL && c == 5.0f, "it says \"%s\"", text);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"wrong_arguments_end_nothing", wrong_arguments_end_nothing},
        {"wrong_layout", wrong_layout},
        {NULL, NULL},
    };
    return test_main(argc, argv, "xerbla", tests);
}
