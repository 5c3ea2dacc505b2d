/* blas_report.c - an application's handlers of the drop-in's error exits; see blas_report.h. */
#define _GNU_SOURCE
#include "support/blas_report.h"

#include <string.h>

#include "support/blas_abi.h"

void xerbla_(const char *name, const int32_t *argument, size_t length);
void xerbla_64_(const char *name, const int64_t *argument, size_t length);
void cblas_xerbla(int argument, const char *name, const char *format, ...);
void cblas_xerbla64_(int64_t argument, const char *name, const char *format, ...);
int RowMajorStrg;

blas_report_kept blas_report;

static void handle(blas_abi abi, int64_t argument, bool named)
{
    blas_report.calls++;
    blas_report.abi = abi;
    blas_report.argument = argument;
    blas_report.named = named;
    blas_report.row_major = RowMajorStrg;
}

static bool is_fortran_name(const char *name, size_t length)
{
    return length == 6 && memcmp(name, "SGEMM ", 6) == 0;
}

void xerbla_(const char *name, const int32_t *argument, size_t length)
{
    handle(ABI_FORTRAN, *argument, is_fortran_name(name, length));
}

void xerbla_64_(const char *name, const int64_t *argument, size_t length)
{
    handle(ABI_FORTRAN64, *argument, is_fortran_name(name, length));
}

void cblas_xerbla(int argument, const char *name, const char *format, ...)
{
    handle(ABI_CBLAS, argument, strcmp(name, "cblas_sgemm") == 0 && format != NULL);
}

void cblas_xerbla64_(int64_t argument, const char *name, const char *format, ...)
{
    handle(ABI_CBLAS64, argument, strcmp(name, "cblas_sgemm") == 0 && format != NULL);
}
