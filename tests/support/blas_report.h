/*
 * blas_report.h - an application's handlers of the drop-in's error exits, xerbla_ and cblas_xerbla.
 * The drop-in finds them if the test program exports them.
 */
#ifndef DUO_TESTS_BLAS_REPORT_H
#define DUO_TESTS_BLAS_REPORT_H

#include "support/blas_abi.h"

typedef struct blas_report_kept {
    int calls;
    blas_abi abi; /* the called handler's */
    int64_t argument;
    bool named; /* is the handler named after the routine? */
    int row_major;
} blas_report_kept;

extern blas_report_kept blas_report; /* the last report; `calls` counts since a test set it to 0 */
extern int RowMajorStrg;             /* as in testers for the reference CBLAS */

#endif
