/*
 * ffma_tile.h - a tile of C in registers, and how an element of C ends.
 *
 * A tile has up to 2 FULL rows and COLUMNS columns. Its sums stay in registers for a segment of k.
 * Each number of columns, of vectors of rows, and each form of the operands has a kernel of its
 * own (ffma_micro.h).
 *
 * Included by ffma_body.h.
 */

typedef enum packing { NONE_PACKED, A_PACKED, B_PACKED, BOTH_PACKED } packing;

typedef struct tile {
    int64_t k;
    const float *a, *b; /* or, packed, */
    const number *packed_a, *packed_b;
    int64_t a_step, b_step, b_column; /* from one step of k to the next, from column to column */
    float *c;
    int64_t ldc;
    float alpha, beta;
    number *total; /* of the segments so far: the tile's vectors, column by column */
    int rows;
    bool adds, ends; /* are there earlier segments; is this the last one? */
} tile;

/* Products of one shape, and where a tile begins in A, B and C of each. */
typedef struct many {
    const float *const *a, *const *b;
    float *const *c;
    int64_t count;
    int64_t a_at, b_at, c_at;
} many;

/* All of a tile but its operands and its rows, for all steps of a product. */
INLINE tile tile_of(const duo_product *p)
{
    return (tile){.k = p->k,
                  .a_step = p->lda,
                  .b_step = p->transb ? p->ldb : 1,
                  .b_column = p->transb ? 1 : p->ldb,
                  .ldc = p->ldc,
                  .alpha = p->alpha,
                  .beta = p->beta,
                  .ends = true};
}

/* C with the one NaN for each. */
static __attribute__((noinline, cold)) void mend(float *c, int64_t ldc, int64_t rows,
                                                 int64_t columns)
{
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) c[i + j * ldc] = duo_one_nan(c[i + j * ldc]);
}

static __attribute__((noinline, cold)) void mend_many(const tile *t, const many *of, int columns)
{
    for (int64_t i = 0; i < of->count; i++) mend(of->c[i] + of->c_at, t->ldc, t->rows, columns);
}

/* Where the next step of k begins. Of B without packing every third column has a pointer: an
 * address has only scales of 1 and 2. */
typedef struct next_step {
    const float *a, *third[(2 * COLUMNS + 2) / 3];
    const number *packed_a, *packed_b;
} next_step;

enum { MOST_VECTORS = 4 }; /* of rows in a tile */

#if HALF != FULL
#define WIDTH HALF
#include "cpu/ffma_micro.h"
#undef WIDTH
#endif
#define WIDTH FULL
#include "cpu/ffma_micro.h"

typedef void kernel(const tile *);

/* Kernels for one number of columns: up to HALF, FULL and 2 FULL rows; for each form. */
#define KERNEL(height, width, count, columns, form)                                                \
    static void kernel_##height##_##columns##_##form(const tile *t)                                \
    {                                                                                              \
        if (!(form & A_PACKED) && t->rows == count * width)                                        \
            JOIN(micro_one, width)(count, columns, true, form, t);                                 \
        else                                                                                       \
            JOIN(micro_one, width)(count, columns, false, form, t);                                \
    }
#define EACH_FORM(rows, width, count, columns)                                                     \
    KERNEL(rows, width, count, columns, NONE_PACKED)                                               \
    KERNEL(rows, width, count, columns, A_PACKED)                                                  \
    KERNEL(rows, width, count, columns, B_PACKED)                                                  \
    KERNEL(rows, width, count, columns, BOTH_PACKED)
#if HALF != FULL
#define HALF_KERNELS(columns) EACH_FORM(half, HALF, 1, columns)
#define HALF_NAMES(columns)   NAME_FORMS(half, columns)
#else /* vectors_of never asks for them */
#define HALF_KERNELS(columns)
#define HALF_NAMES(columns)                                                                        \
    {                                                                                              \
        NULL, NULL, NULL, NULL                                                                     \
    }
#endif
#define KERNELS(columns)                                                                           \
    HALF_KERNELS(columns)                                                                          \
    EACH_FORM(one, FULL, 1, columns)                                                               \
    EACH_FORM(two, FULL, 2, columns)
#define NAME_FORMS(rows, columns)                                                                  \
    {                                                                                              \
        kernel_##rows##_##columns##_NONE_PACKED, kernel_##rows##_##columns##_A_PACKED,             \
            kernel_##rows##_##columns##_B_PACKED, kernel_##rows##_##columns##_BOTH_PACKED          \
    }
#define NAMES(columns) {HALF_NAMES(columns), NAME_FORMS(one, columns), NAME_FORMS(two, columns)},
#if COLUMNS == 12
#define EACH_COLUMNS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define EACH_WIDE(X)                                                                               \
    EACH_COLUMNS(X)                                                                                \
    X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24)
#elif COLUMNS == 6
#define EACH_COLUMNS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define EACH_WIDE(X)    EACH_COLUMNS(X) X(7) X(8) X(9) X(10) X(11) X(12)
#endif
EACH_COLUMNS(KERNELS)

/* By columns - 1, by rows (vectors_of), by form. */
static kernel *const kernels[COLUMNS][3][4] = {EACH_COLUMNS(NAMES)};

/* The same for a tile of many products, without packing. Of one vector of rows it has up to
 * 2 COLUMNS columns: a tile costs about as much as 6 steps of k, so few are better. */
typedef void kernel_of_many(const tile *, const many *);

#define KERNEL_OF_MANY(height, width, count, columns)                                              \
    static void many_##height##_##columns(const tile *t, const many *of)                           \
    {                                                                                              \
        if (t->rows == count * width)                                                              \
            JOIN(micro_many, width)(count, columns, true, t, of);                                  \
        else                                                                                       \
            JOIN(micro_many, width)(count, columns, false, t, of);                                 \
    }
#if HALF != FULL
#define HALF_OF_MANY(columns) KERNEL_OF_MANY(half, HALF, 1, columns)
#define HALF_MANY(columns)    many_half_##columns,
#else
#define HALF_OF_MANY(columns)
#define HALF_MANY(columns) NULL,
#endif
#define WIDE_OF_MANY(columns) HALF_OF_MANY(columns) KERNEL_OF_MANY(one, FULL, 1, columns)
#define TWO_OF_MANY(columns)  KERNEL_OF_MANY(two, FULL, 2, columns)
#define ONE_MANY(columns)     many_one_##columns,
#define TWO_MANY(columns)     many_two_##columns,
EACH_WIDE(WIDE_OF_MANY)
EACH_COLUMNS(TWO_OF_MANY)

/* By rows (vectors_of), by columns - 1. */
static kernel_of_many *const kernels_of_many[3][2 * COLUMNS] = {
    {EACH_WIDE(HALF_MANY)}, {EACH_WIDE(ONE_MANY)}, {EACH_COLUMNS(TWO_MANY)}};

INLINE int vectors_of(int rows) { return rows > FULL ? 2 : rows > HALF || HALF == FULL ? 1 : 0; }

INLINE void run_kernel(const tile *t, int columns, packing form)
{
    kernels[columns - 1][vectors_of(t->rows)][form](t);
}

/* How many of the `left` rows the next tile has. */
INLINE int rows_of_tile(int64_t left) { return (int)smaller(left, ROWS); }

/* Columns of each tile but the last, of no more than `most`: as even as possible. */
INLINE int64_t even(int64_t n, int64_t most)
{
    const int64_t tiles = (n + most - 1) / most;
    return tiles > 0 ? (n + tiles - 1) / tiles : 1;
}

INLINE int64_t even_columns(int64_t n) { return even(n, COLUMNS); }

INLINE void end_element(const duo_product *p, number sum, float *c)
{
    const number alpha = p->alpha, beta = p->beta;
    *c = duo_one_nan((float)(p->beta == 0.0f ? alpha * sum : blend(alpha, sum, beta * *c)));
}

/* Ends a vector of C's elements that are `step` apart. */
INLINE void end_elements(const duo_product *p, vec sum, float *c, int64_t step, int64_t count)
{
    number element[FULL];
    if (step == 1) {
        end_vector(p, sum, c, count);
        return;
    }
    store_number(element, sum);
    for (int64_t i = 0; i < count && i < FULL; i++) end_element(p, element[i], &c[i * step]);
}

/* The sum of the chains, by halves. */
INLINE number add_chains(const number x[DUO_CHAINS])
{
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

#ifndef add_chains8
INLINE number add_chains8(vec8 s)
{
    number x[DUO_CHAINS];
    store_number8(x, s);
    return add_chains(x);
}
#endif

INLINE vec add_chain_vectors(const vec *s)
{
    return plus(plus(plus(s[0], s[4]), plus(s[2], s[6])), plus(plus(s[1], s[5]), plus(s[3], s[7])));
}
