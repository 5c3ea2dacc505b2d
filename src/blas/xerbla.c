/* xerbla.c - a wrong argument: the program's own handler, or one line on stderr. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "blas/blas.h"

/* Is it a BLAS library, which also has dgemm, or a LAPACK library, which also has ilaenv? */
static bool is_library(const Dl_info *where)
{
    static const char *const names[] = {"dgemm_",         "cblas_dgemm", "dgemm_64_",
                                        "cblas_dgemm64_", "ilaenv_",     "ilaenv_64_"};
    void *const handle = dlopen(where->dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_LOCAL);
    bool library = false;
    if (handle == NULL) return false; /* the program itself */
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++) {
        Dl_info found;
        void *const address = dlsym(handle, names[i]);
        library =
            address != NULL && dladdr(address, &found) != 0 && found.dli_fbase == where->dli_fbase;
    }
    dlclose(handle);
    return library;
}

/* The handler that the program defines; NULL: none, or only a library has one. */
static void *handler(const char *name)
{
    Dl_info where;
    void *const address = dlsym(RTLD_DEFAULT, name);
    return address != NULL && dladdr(address, &where) != 0 && !is_library(&where) ? address : NULL;
}

/* The reference CBLAS computes a row-major product as a column-major one with m and n, lda and ldb
 * exchanged. It sets this variable, and its handlers then exchange the argument's number back. Our
 * numbers are right already. */
static void numbers_are_right(void)
{
    int *const row_major = dlsym(RTLD_DEFAULT, "RowMajorStrg");
    if (row_major != NULL) *row_major = 0;
}

void duo_blas_report(bool cblas, bool wide, int argument)
{
    void (*fortran)(const char *name, const void *argument, size_t name_length);
    void (*c)(int argument, const char *name, const char *format, ...);
    const int c_argument = argument == DUO_BLAS_LAYOUT ? 1 : argument + 1;
    void *found = cblas ? handler(wide ? "cblas_xerbla64_" : "cblas_xerbla") : NULL;
    if (found != NULL) {
        memcpy(&c, &found, sizeof c);
        numbers_are_right();
        c(c_argument, "cblas_sgemm", "");
        return;
    }
    found = argument != DUO_BLAS_LAYOUT ? handler(wide ? "xerbla_64_" : "xerbla_") : NULL;
    if (found != NULL) {
        const int32_t narrow_number = argument;
        const int64_t wide_number = argument;
        memcpy(&fortran, &found, sizeof fortran);
        fortran("SGEMM ", wide ? (const void *)&wide_number : (const void *)&narrow_number, 6);
        return;
    }
    fprintf(stderr, "DuoBLAS: %s: argument %d has an illegal value; nothing was done\n",
            cblas ? "cblas_sgemm" : "sgemm", cblas ? c_argument : argument);
}
