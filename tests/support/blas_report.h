/*
 * blas_report.h - handlers of the drop-in's error exits, xerbla_ and cblas_xerbla, as an
 * application has them. Linked into a test program that exports them, they are what the drop-in
 * finds.
 */
#ifndef DUO_TESTS_BLAS_REPORT_H
#define DUO_TESTS_BLAS_REPORT_H

#include "support/blas_abi.h"

typedef struct blas_report_kept {
    int calls;
    blas_abi abi; /* whose handler it was */
    int64_t argument;
    bool named; /* after the routine? */
    int row_major;
} blas_report_kept;

extern blas_report_kept blas_report; /* the last; calls counts since it was set to 0 */
extern int RowMajorStrg;             /* as testers have it that were made for the reference CBLAS */

#endif
