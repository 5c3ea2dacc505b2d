/* problem.h - a problem to measure: an operation and a shape; for sgemm a layout, too. */
#ifndef DUO_PROBLEM_H
#define DUO_PROBLEM_H

#include "call.h"

/* The public functions and CBLAS have the same values. */
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

/* A batch of products of one shape, at equal distances. */
typedef struct duo_batch_problem {
    duo_problem product;
    int64_t count;
    int64_t gap[DUO_OPERANDS]; /* floats between the As of two products; likewise Bs, Cs */
} duo_batch_problem;

/* sgemm: operand i in memory: its number of columns, their length, and their distance. */
int64_t duo_problem_columns(const duo_problem *problem, int i);
int64_t duo_problem_rows(const duo_problem *problem, int i);
int64_t duo_problem_ld(const duo_problem *problem, int i);

/* Floats from operand i to the same operand of the next product. That includes the gap behind the
 * last column, which MKL wants. */
int64_t duo_batch_problem_stride(const duo_batch_problem *batch, int i);

double duo_problem_flops(const duo_problem *problem);
double duo_problem_bytes(const duo_problem *problem);  /* every operand once */
bool duo_problem_fits(const duo_problem *problem);     /* is the machine's memory enough? */
double duo_problem_size(const duo_problem *problem);   /* as in curves: n, or the cube's edge */
double duo_problem_growth(const duo_problem *problem); /* seconds grow with size^this */

/* ---- Random ones ---- */

/* Classes of shapes that algorithms treat differently. Shapes are made only from integers, so that
 * a seed gives the same shapes on every machine. */

typedef enum duo_shape_class {
    DUO_SHAPE_SQUARE, /* m, n and k within a factor of 5/3 */
    DUO_SHAPE_FLAT,   /* k up to 64, m and n large: writing C takes most of the time */
    DUO_SHAPE_THIN,   /* m or n from 9 to 128 */
    DUO_SHAPE_DEEP,   /* m and n from 9 to 256, k large */
    DUO_SHAPE_GEMV,   /* m or n up to 8: reading the matrix takes most of the time */
    DUO_SHAPE_TINY,   /* m, n and k up to 48 */
    DUO_SHAPE_VECTOR, /* for a reduction */
    DUO_SHAPE_CLASSES
} duo_shape_class;

enum { DUO_SGEMM_CLASSES = DUO_SHAPE_VECTOR };

extern const char *const duo_shape_class_names[DUO_SHAPE_CLASSES];

/* No operand of a random shape has more elements: 512 MB. */
#define DUO_RANDOM_MOST_ELEMENTS (INT64_C(1) << 27)

/* Limits of a random batch: of m, n and k; and of the floats in an operand of all its products (256
 * MB). */
enum { DUO_RANDOM_BATCH_EDGE = 600, DUO_RANDOM_BATCH_FLOATS = 1 << 26 };

/* A random number, uniform in [0, count). */
int64_t duo_random_below(uint64_t *random, int64_t count);

/* A size in [low, high]: each doubling is equally likely, and uniform within it. */
int64_t duo_random_size(uint64_t *random, int64_t low, int64_t high);

/* m, n, k; n, 1, 1 for DUO_SHAPE_VECTOR. */
void duo_random_shape(uint64_t *random, duo_shape_class shape_class, int64_t shape[3]);

/* A product of the class: shape, transposes, and a beta of 0, 1 or 0.5. Half of all have gaps of 0
 * to 6 between the columns of each matrix. */
duo_problem duo_random_product(uint64_t *random, duo_shape_class shape_class);

/* A batch of 2 to 100 000 products of any small shape, if possible with 10^6 to 5 * 10^9
 * multiply-adds together. Transposes, beta and gaps are drawn as for a random product. If it has
 * gaps, there are gaps between the products, too. */
duo_batch_problem duo_random_batch(uint64_t *random);

#endif
