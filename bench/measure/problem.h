/* problem.h - what is measured: an operation at a shape, and of sgemm a layout. */
#ifndef DUO_PROBLEM_H
#define DUO_PROBLEM_H

#include "call.h"

/* As the public functions say it, and CBLAS by the same values. */
static inline duo_transpose duo_transpose_if(bool transposed)
{
    return transposed ? DUO_TRANS : DUO_NO_TRANS;
}

typedef struct duo_problem {
    duo_operation operation;
    int64_t shape[3];          /* m, n, k; reductions: n, 1, 1 */
    bool transa, transb;       /* sgemm */
    int64_t gap[DUO_OPERANDS]; /* sgemm: floats between the columns of A, B and C in memory */
    float beta;                /* sgemm */
} duo_problem;

/* A batch of products of one shape, each in the same distances from the one before. */
typedef struct duo_batch_problem {
    duo_problem product;
    int64_t count;
    int64_t gap[DUO_OPERANDS]; /* floats between the As of two products; Bs, Cs */
} duo_batch_problem;

/* sgemm: the columns of operand i in memory: how many, their length, and their distance. */
int64_t duo_problem_columns(const duo_problem *problem, int i);
int64_t duo_problem_rows(const duo_problem *problem, int i);
int64_t duo_problem_ld(const duo_problem *problem, int i);

/* From an operand's first float to that of the next product, with the gap behind the last column,
 * which MKL wants. */
int64_t duo_batch_problem_stride(const duo_batch_problem *batch, int i);

double duo_problem_flops(const duo_problem *problem);
double duo_problem_bytes(const duo_problem *problem);  /* every operand once */
bool duo_problem_fits(const duo_problem *problem);     /* has the machine so much memory? */
double duo_problem_size(const duo_problem *problem);   /* as curves count: n, or the cube's edge */
double duo_problem_growth(const duo_problem *problem); /* seconds grow with size^this */

#endif
