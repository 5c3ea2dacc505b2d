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

/* ---- Random ones ---- */

/* Of each class that algorithms treat differently. They are made only of integers, so that a seed
 * gives the same shapes on every machine. */

typedef enum duo_shape_class {
    DUO_SHAPE_SQUARE, /* m, n and k within a factor of 5/3 */
    DUO_SHAPE_FLAT,   /* k up to 64, m and n large: writing C takes most of the time */
    DUO_SHAPE_THIN,   /* m or n from 9 to 128 */
    DUO_SHAPE_DEEP,   /* m and n from 9 to 256, k large */
    DUO_SHAPE_GEMV,   /* m or n up to 8: reading the matrix takes most of the time */
    DUO_SHAPE_TINY,   /* m, n and k up to 48 */
    DUO_SHAPE_VECTOR, /* of a reduction */
    DUO_SHAPE_CLASSES
} duo_shape_class;

enum { DUO_SGEMM_CLASSES = DUO_SHAPE_VECTOR };

extern const char *const duo_shape_class_names[DUO_SHAPE_CLASSES];

/* No operand of a random shape has more elements: 512 MB. */
#define DUO_RANDOM_MOST_ELEMENTS (INT64_C(1) << 27)

/* m, n and k of a random batch are no larger, nor is an operand of all its products, in floats:
 * 256 MB. */
enum { DUO_RANDOM_BATCH_EDGE = 256, DUO_RANDOM_BATCH_FLOATS = 1 << 26 };

/* Uniform in [0, count). */
int64_t duo_random_below(uint64_t *random, int64_t count);

/* In [low, high]: every doubling of the size is as likely as the next, and uniform within it. */
int64_t duo_random_size(uint64_t *random, int64_t low, int64_t high);

/* m, n, k; of DUO_SHAPE_VECTOR n, 1, 1. */
void duo_random_shape(uint64_t *random, duo_shape_class shape_class, int64_t shape[3]);

/* A product of the class: its shape, transposes, a beta of 0, 1 or 0.5, and, in half of all, gaps
 * of 0 to 6 between the columns of each matrix. */
duo_problem duo_random_product(uint64_t *random, duo_shape_class shape_class);

/* 2 to 100 000 products of any small shape, 10^6 to 5 * 10^9 multiply-adds in all where these
 * allow; transposes, beta and gaps as of a product, and where there are gaps, as wide ones between
 * the products. */
duo_batch_problem duo_random_batch(uint64_t *random);

#endif
