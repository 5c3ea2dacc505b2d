/*
 * ffma_body.h - one clone of sgemm_cpu_ffma or sgemm_cpu_float64: the documented order (ffma.h) in
 * vectors. A *number* is what is summed and packed: a float, or a double. A, B and C are floats:
 * they are converted as they are loaded and stored.
 *
 * Included by ffma_<isa>.c and float64_<isa>.c, which define before that:
 *   CLONE                the name of the clone, as a token
 *   number               float or double
 *   FULL, HALF           rows in a vector, and in one for few rows: half of them, or as many
 *   COLUMNS              of the largest tile that is summed in registers; it has 2 FULL rows
 *   BLOCK_ROWS           of A that are packed at once
 *   UNPACKED_ROWS        of C: with no more of them, a B that is not transposed is not packed
 *   UNPACKED_A, UNPACKED_B  the largest blocks of A and B, in elements, that are read where they
 *                        are: beyond, packing pays
 *   PANEL_BYTES          of packed B
 *   blend(alpha, sum, c) alpha sum + c, as the order ends
 * and for W = FULL and HALF:
 *   vecW, maskW          W numbers; a mask for the first of them
 *   someW(count)         the mask for the first `count` numbers; all if count >= W
 *   zeroW, splatW, plusW, timesW
 *   loadW, load_someW, storeW, store_someW   from and to floats
 *   load_numberW, store_numberW
 *   fusedW(x, y, z)      x y + z for floats x and y, rounded once
 *   blendW(alpha, sum, c)   as blend
 * and:
 *   columns_4(x, p, ld)  x[z] := the FULL floats p[z], p[z + ld], p[z + 2 ld] and so on, for z < 4
 *   columns_all          the same for z < FULL
 *   transpose_4(to, step, p, ld)  to[z step + i] := p[z + i ld] for z, i < 4
 *   vec8, zero8, load8, load_number8, store_number8, fused8   a vector of DUO_CHAINS numbers, if
 *                        FULL and HALF are not 8
 *   first8(p, count)     the first `count` floats, and zeros
 *
 * Paths    All give the same bits, as only the order of k matters. Small products read A and B
 *          where they are. Few steps of a large C keep a few columns of B in registers (`outer`).
 *          With few columns or few rows, memory is read once, in ascending order (`few`). All
 *          others are cut into blocks that fit the caches, and packed where that pays.
 */
#include <stddef.h>
#include <string.h>

#include "cpu/ffma.h"
#include "host/scratch.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

#define vec          JOIN(vec, WIDTH)
#define mask         JOIN(mask, WIDTH)
#define some         JOIN(some, WIDTH)
#define zero         JOIN(zero, WIDTH)
#define load         JOIN(load, WIDTH)
#define load_some    JOIN(load_some, WIDTH)
#define store        JOIN(store, WIDTH)
#define store_some   JOIN(store_some, WIDTH)
#define load_number  JOIN(load_number, WIDTH)
#define store_number JOIN(store_number, WIDTH)
#define splat        JOIN(splat, WIDTH)
#define fused        JOIN(fused, WIDTH)
#define plus         JOIN(plus, WIDTH)
#define times        JOIN(times, WIDTH)
#define blend_vector JOIN(blend, WIDTH)

/* For functions with arrays: each has a frame of its own, and none the sum of several. */
#define NOINLINE static __attribute__((noinline))
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 32")
#endif

enum { ROWS = 2 * FULL, CHAIN = DUO_CHAIN_BYTES / sizeof(number) };

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- A tile of C in registers ---- */

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

#if HALF != FULL
#define WIDTH HALF
#include "cpu/ffma_micro.h"
#undef WIDTH
#endif
#define WIDTH FULL
#include "cpu/ffma_micro.h"

typedef void kernel(const tile *);

/* Kernels for one number of columns: up to HALF, FULL and 2 FULL rows; for each form. */
#define KERNEL(rows, width, count, columns, form)                                                  \
    static void kernel_##rows##_##columns##_##form(const tile *t)                                  \
    {                                                                                              \
        JOIN(micro, width)(count, columns, form, t);                                               \
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
#elif COLUMNS == 6
#define EACH_COLUMNS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif
EACH_COLUMNS(KERNELS)

/* By columns - 1, by rows (vectors_of), by form. */
static kernel *const kernels[COLUMNS][3][4] = {EACH_COLUMNS(NAMES)};

INLINE int vectors_of(int rows) { return rows > FULL ? 2 : rows > HALF || HALF == FULL ? 1 : 0; }

INLINE void run_kernel(const tile *t, int columns, packing form)
{
    kernels[columns - 1][vectors_of(t->rows)][form](t);
}

/* How many of the `left` rows the next tile has: 17 to 24 of AVX-512's go as 16 and 1 to 8. */
INLINE int rows_of_tile(int64_t left)
{
    return (int)(left >= ROWS ? ROWS : left > FULL && left <= FULL + HALF ? FULL : left);
}

/* Columns of each tile but the last: as even as possible. */
INLINE int64_t even_columns(int64_t n)
{
    const int64_t tiles = (n + COLUMNS - 1) / COLUMNS;
    return tiles > 0 ? (n + tiles - 1) / tiles : 1;
}

INLINE void end_element(const duo_product *p, number sum, float *c)
{
    const number alpha = p->alpha, beta = p->beta;
    *c = (float)(p->beta == 0.0f ? alpha * sum : blend(alpha, sum, beta * *c));
}

INLINE void end_vector(const duo_product *p, vec sum, float *c, mask which)
{
    const vec alpha = splat(p->alpha);
    store_some(c, which,
               p->beta == 0.0f
                   ? times(alpha, sum)
                   : blend_vector(alpha, sum, times(splat(p->beta), load_some(c, which))));
}

/* Ends a vector of C's elements that are `step` apart. */
INLINE void end_elements(const duo_product *p, vec sum, float *c, int64_t step, int64_t count)
{
    number element[FULL];
    if (step == 1) {
        end_vector(p, sum, c, some(count));
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

INLINE vec add_chain_vectors(const vec *s)
{
    return plus(plus(plus(s[0], s[4]), plus(s[2], s[6])), plus(plus(s[1], s[5]), plus(s[3], s[7])));
}

/* ---- Packing ---- */

/*
 * Rows of op(A) for `k` steps, tile by tile: a tile has its rows for each step in turn, filled up
 * with zeros to whole vectors. From an A that is not transposed all rows of a few columns are taken
 * at a time: columns may be pages apart.
 */
static void pack_columns_of_a(number *to, const float *a, int64_t lda, int64_t rows, int64_t k)
{
    enum { STEPS = 8 };
    for (int64_t first = 0; first < k; first += STEPS) {
        const int64_t end = smaller(first + STEPS, k);
        for (int64_t i = 0, r; i < rows; i += r) {
            r = rows_of_tile(rows - i);
            const int64_t step = r > FULL ? ROWS : FULL;
            const mask last = some(r - (step - FULL));
            number *const out = to + i * k;
            for (int64_t l = first; l < end; l++) {
                const float *const p = a + i + l * lda;
                if (step > FULL) store_number(out + l * step, load(p));
                store_number(out + l * step + step - FULL, load_some(p + step - FULL, last));
            }
        }
    }
}

/* Transposes up to FULL rows into vectors `step` apart. */
NOINLINE void transpose_rows(number *to, int64_t step, const float *a, int64_t lda, int64_t rows,
                             int64_t k)
{
    int64_t l = 0;
    if (rows == FULL) {
        for (; l + FULL <= k; l += FULL) { /* whole lines of the cache */
            vec x[FULL];
            columns_all(x, a + l, lda);
            UNROLLED for (int z = 0; z < FULL; z++) store_number(to + (l + z) * step, x[z]);
        }
        for (; l + 4 <= k; l += 4) {
            vec x[4];
            columns_4(x, a + l, lda);
            UNROLLED for (int z = 0; z < 4; z++) store_number(to + (l + z) * step, x[z]);
        }
    } else {
        for (; l + 4 <= k; l += 4) {
            int64_t q = 0;
            UNROLLED for (int z = 0; z < 4; z++) store_number(to + (l + z) * step, zero());
            for (; q + 4 <= rows; q += 4)
                transpose_4(to + l * step + q, step, a + l + q * lda, lda);
            for (; q < rows; q++)
                for (int64_t z = 0; z < 4; z++) to[(l + z) * step + q] = a[l + z + q * lda];
        }
    }
    for (; l < k; l++)
        for (int64_t q = 0; q < FULL; q++) to[l * step + q] = q < rows ? a[l + q * lda] : 0.0f;
}

static void pack_rows_of_a(number *to, const float *a, int64_t lda, int64_t rows, int64_t k)
{
    for (int64_t i = 0, r; i < rows; i += r) {
        r = rows_of_tile(rows - i);
        const int64_t step = r > FULL ? ROWS : FULL;
        for (int64_t v = 0; v < step; v += FULL)
            transpose_rows(to + v, step, a + (i + v) * lda, lda, smaller(r - v, FULL), k);
        to += step * k;
    }
}

static void pack_a(number *to, const float *a, int64_t lda, bool trans, int64_t rows, int64_t k)
{
    if (trans)
        pack_rows_of_a(to, a, lda, rows, k);
    else
        pack_columns_of_a(to, a, lda, rows, k);
}

INLINE void copy_columns(number *to, const float *from)
{
    UNROLLED for (int j = 0; j < COLUMNS; j++) to[j] = from[j];
}

/* `n` columns of op(B) for `k` steps, `width` columns side by side: for each step in turn. Of a
 * transposed B all columns of a few steps are taken at a time: steps may be pages apart. */
static void pack_rows_of_b(number *to, const float *b, int64_t ldb, int64_t n, int64_t k,
                           int64_t width)
{
    enum { STEPS = 8 };
    for (int64_t first = 0; first < k; first += STEPS) {
        const int64_t end = smaller(first + STEPS, k);
        for (int64_t j = 0; j < n; j += width) {
            const int64_t here = smaller(n - j, width);
            number *const out = to + j * k;
            if (here == COLUMNS) {
                for (int64_t l = first; l < end; l++)
                    copy_columns(out + l * COLUMNS, b + j + l * ldb);
            } else {
                for (int64_t l = first; l < end; l++)
                    for (int64_t q = 0; q < here; q++) out[l * here + q] = b[j + q + l * ldb];
            }
        }
    }
}

static void pack_columns_of_b(number *to, const float *b, int64_t ldb, int64_t n, int64_t k,
                              int64_t width)
{
    for (int64_t j = 0; j < n; j += width) {
        const int64_t here = smaller(n - j, width);
        int64_t q = 0;
        for (; q + 4 <= here; q += 4) {
            const float *p = b + (j + q) * ldb;
            int64_t l = 0;
            for (; l + 4 <= k; l += 4) transpose_4(to + l * here + q, here, p + l, ldb);
            for (; l < k; l++)
                for (int64_t z = 0; z < 4; z++) to[l * here + q + z] = p[z * ldb + l];
        }
        for (; q < here; q++)
            for (int64_t l = 0; l < k; l++) to[l * here + q] = b[(j + q) * ldb + l];
        to += here * k;
    }
}

static void pack_b(number *to, const float *b, int64_t ldb, bool trans, int64_t n, int64_t k,
                   int64_t width)
{
    if (trans)
        pack_rows_of_b(to, b, ldb, n, k, width);
    else
        pack_columns_of_b(to, b, ldb, n, k, width);
}

/* ---- Small products ---- */

enum { TINY_STEPS = 8 };

INLINE bool is_small(const duo_product *p)
{
    return p->m <= ROWS && p->n <= 8 * COLUMNS && p->k < DUO_MANY;
}

/* All of a small product but its operands. */
INLINE tile small_tile(const duo_product *p)
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

/* B is read where it is, and so is A, unless it is transposed: then all of it is in `packed`. */
INLINE void small_with(const duo_product *p, tile *t, const number *packed)
{
    const int64_t width = p->n <= COLUMNS ? p->n : even_columns(p->n);
    for (int64_t i = 0; i < p->m; i += t->rows) {
        t->rows = rows_of_tile(p->m - i);
        if (p->transa) {
            t->packed_a = packed + i * p->k;
            t->a_step = t->rows > FULL ? ROWS : FULL;
        } else {
            t->a = p->a + i;
        }
        t->b = p->b;
        t->c = p->c + i;
        for (int64_t left = p->n; left > 0; left -= width) {
            run_kernel(t, (int)smaller(left, width), p->transa ? A_PACKED : NONE_PACKED);
            t->b += width * t->b_column;
            t->c += width * p->ldc;
        }
    }
}

INLINE void small_packed(const duo_product *p, number *packed)
{
    tile t = small_tile(p);
    pack_a(packed, p->a, p->lda, true, p->m, p->k);
    small_with(p, &t, packed);
}

NOINLINE void small_transposed(const duo_product *p)
{
    number packed[ROWS * DUO_MANY];
    small_packed(p, packed);
}

/* Some threads have no more stack than this needs. */
NOINLINE void tiny_transposed(const duo_product *p)
{
    number packed[ROWS * TINY_STEPS];
    small_packed(p, packed);
}

NOINLINE void small(const duo_product *p)
{
    tile t = small_tile(p);
    if (!p->transa)
        small_with(p, &t, NULL);
    else if (p->k <= TINY_STEPS)
        tiny_transposed(p);
    else
        small_transposed(p);
}

/* ---- Blocks ---- */

/* With few rows of C an element of B is used so seldom that columns of B are read where they are.
 * But if they are a multiple of 1 KiB apart, all columns of a tile want the same lines of the L1
 * cache, which has room for eight. */
static bool packs_b(const duo_product *p)
{
    const bool collides = !p->transb && p->ldb % 256 == 0;
    if (!p->transb && p->m <= UNPACKED_ROWS && !(collides && COLUMNS > 8)) return false;
    return collides || p->n * smaller(p->k, CHAIN) > UNPACKED_B;
}

/* What all rows of a block have in common: columns [0, n) of p and of packed B, or B itself. */
typedef struct block {
    const duo_product *p;
    const number *panel; /* op(B) packed; NULL: B is read where it is */
    bool one_segment;    /* is only the current segment in the panel, not all? */
    number *a;           /* memory for A, or NULL: A is read where it is */
    number *total;       /* of every tile, or NULL: there is one segment */
    int64_t width;       /* columns of a tile */
} block;

static void multiply_segment(const block *b, int64_t i0, int64_t rows, int64_t first)
{
    const duo_product *const p = b->p;
    const int64_t k = smaller(p->k - first, CHAIN);
    const packing form = (b->a != NULL ? A_PACKED : 0) | (b->panel != NULL ? B_PACKED : 0);
    const float *const a = p->a + (p->transa ? i0 * p->lda + first : i0 + first * p->lda);
    tile t = {.k = k,
              .a_step = p->lda,
              .b_step = p->transb ? p->ldb : 1,
              .b_column = p->transb ? 1 : p->ldb,
              .ldc = p->ldc,
              .alpha = p->alpha,
              .beta = p->beta,
              .total = b->total,
              .adds = first > 0,
              .ends = first + k == p->k};
    if (b->a != NULL) pack_a(b->a, a, p->lda, p->transa, rows, k);
    for (int64_t j = 0; j < p->n; j += b->width) {
        const int columns = (int)smaller(p->n - j, b->width);
        if (b->panel != NULL)
            t.packed_b = b->panel + (b->one_segment ? 0 : first * p->n) + j * k;
        else
            t.b = p->b + first * t.b_step + j * t.b_column;
        for (int64_t i = 0; i < rows; i += t.rows) {
            t.rows = rows_of_tile(rows - i);
            t.c = p->c + i0 + i + j * p->ldc;
            if (b->a != NULL) {
                t.packed_a = b->a + i * k;
                t.a_step = t.rows > FULL ? ROWS : FULL;
            } else {
                t.a = a + i;
            }
            run_kernel(&t, columns, form);
            if (t.total != NULL) t.total += ROWS * columns;
        }
    }
}

/* All rows of C, in blocks of rows. */
static void multiply_rows(const block *b)
{
    for (int64_t i = 0; i < b->p->m; i += BLOCK_ROWS)
        for (int64_t first = 0; first == 0 || first < b->p->k; first += CHAIN)
            multiply_segment(b, i, smaller(b->p->m - i, BLOCK_ROWS), first);
}

/* Numbers of memory for a block's A, and for its totals of n columns. The last rows may be two
 * tiles. */
static int64_t a_numbers(const duo_product *p)
{
    return (smaller(p->m, BLOCK_ROWS) / ROWS + 1) * ROWS * smaller(p->k, CHAIN);
}

static int64_t total_numbers(const duo_product *p, int64_t n)
{
    return p->k > CHAIN ? (smaller(p->m, BLOCK_ROWS) / ROWS + 2) * ROWS * n : 0;
}

static int64_t panel_numbers(int64_t n, int64_t k) { return n * k; }

static void pack_segment(const duo_product *p, int64_t first, int64_t j, int64_t n, number *to)
{
    const int64_t k = smaller(p->k - first, CHAIN);
    pack_b(to + j * k, p->b + (p->transb ? first * p->ldb + j : first + j * p->ldb), p->ldb,
           p->transb, n, k, even_columns(p->n));
}

static void pack_panel(const duo_product *p, int64_t first, int64_t j, int64_t n, void *panel)
{
    pack_segment(p, first, j, n, (number *)panel + first * p->n);
}

static bool multiply_panel(const duo_product *p, const void *panel)
{
    const int64_t a = a_numbers(p), total = total_numbers(p, p->n);
    number *const memory = duo_scratch_take((size_t)(a + total) * sizeof(number));
    if (memory == NULL) return false;
    multiply_rows(&(block){.p = p,
                           .panel = panel,
                           .a = memory,
                           .total = total > 0 ? memory + a : NULL,
                           .width = even_columns(p->n)});
    duo_scratch_give(memory);
    return true;
}

/*
 * A product that is packed as far as that pays, some columns of C at a time, so that their panel of
 * B stays in a cache. If there is one block of rows the panel has one segment, else all.
 */
static bool multiply_blocks(const duo_product *p)
{
    enum { LEAST = 8 * COLUMNS, MOST = 4080 / sizeof(number) / COLUMNS * COLUMNS };
    const bool one_segment = p->m <= BLOCK_ROWS;
    const int64_t steps = smaller(p->k, CHAIN), deep = one_segment ? steps : p->k;
    const int64_t fit = PANEL_BYTES / (int64_t)sizeof(number) / deep / COLUMNS * COLUMNS;
    const int64_t columns = smaller(p->n, fit < LEAST ? LEAST : smaller(fit, MOST));
    const bool packs = packs_b(p);
    const bool packs_a = p->transa || smaller(p->m, BLOCK_ROWS) * steps > UNPACKED_A;
    const int64_t total = total_numbers(p, columns), a = packs_a ? a_numbers(p) : 0;
    const int64_t panel = packs ? columns * deep : 0;
    number *memory = NULL;
    if (total + a + panel > 0) {
        memory = duo_scratch_take((size_t)(total + a + panel) * sizeof(number));
        if (memory == NULL) return false;
    }
    for (int64_t j = 0; j < p->n; j += columns) {
        const duo_product part = duo_product_tile(p, 0, p->m, j, smaller(p->n - j, columns));
        number *const packed = packs ? memory + total + a : NULL;
        const block b = {.p = &part,
                         .panel = packed,
                         .one_segment = one_segment,
                         .a = packs_a ? memory + total : NULL,
                         .total = total > 0 ? memory : NULL,
                         .width = even_columns(part.n)};
        for (int64_t first = 0; first < p->k; first += CHAIN) {
            if (packs)
                pack_segment(&part, first, 0, part.n, packed + (one_segment ? 0 : first * part.n));
            if (one_segment) multiply_segment(&b, 0, part.m, first);
        }
        if (!one_segment) multiply_rows(&b);
    }
    duo_scratch_give(memory);
    return true;
}

/* ---- Products that read one operand from memory once ---- */

/*
 * C, or its transpose, as n long columns: C(i, j) = sum of X(i, l) Y(l, j). X has many rows, and Y
 * has few columns.
 */
typedef struct view {
    const duo_product *p;
    const float *x, *y;
    int64_t ldx;      /* between neighbours in k, or in rows if `along_k` */
    bool along_k;     /* are X's neighbours in k neighbours in memory? */
    int64_t y_k, y_j; /* from one element of Y to the next, in k and in columns */
    float *c;
    int64_t c_i, c_j;
    int64_t m, n;
} view;

static view view_of(const duo_product *p)
{
    return (view){
        p,    p->a, p->b,   p->lda, p->transa, p->transb ? p->ldb : 1, p->transb ? 1 : p->ldb,
        p->c, 1,    p->ldc, p->m,   p->n};
}

static view transposed_view_of(const duo_product *p)
{
    return (view){
        p,    p->b,   p->a, p->ldb, !p->transb, p->transa ? 1 : p->lda, p->transa ? p->lda : 1,
        p->c, p->ldc, 1,    p->n,   p->m};
}

enum { OUTER_STEPS = 4 };

/* Up to OUTER_STEPS steps of k, or DUO_CHAINS in a vector product, and A is not transposed: a few
 * columns of C at a time, from top to bottom, so that a large C is written in ascending order. */
INLINE void outer(const int steps, const int columns, const bool vector, const duo_product *p)
{
    const int64_t b_k = p->transb ? p->ldb : 1, b_j = p->transb ? 1 : p->ldb;
    const int64_t strip = 8192 / steps / FULL * FULL; /* of A, in the L1 cache */
    for (int64_t i0 = 0; i0 < p->m; i0 += strip)
        for (int64_t j = 0; j < p->n; j += columns) {
            const int64_t rows = smaller(p->m - i0, strip), here = smaller(p->n - j, columns);
            vec y[4][DUO_CHAINS];
            UNROLLED for (int q = 0; q < columns; q++)
            {
                const float *const b = p->b + (q < here ? j + q : j) * b_j;
                UNROLLED for (int l = 0; l < steps; l++) y[q][l] = splat(b[l * b_k]);
            }
            for (int64_t v = 0; v < rows; v += FULL) {
                const mask which = some(rows - v);
                vec x[DUO_CHAINS];
                UNROLLED for (int l = 0; l < steps; l++) x[l] =
                    load_some(p->a + i0 + v + l * p->lda, which);
                UNROLLED for (int q = 0; q < columns; q++)
                {
                    if (q >= here) break;
                    vec chain[DUO_CHAINS], s = zero();
                    UNROLLED for (int l = 0; l < steps; l++) s = fused(x[l], y[q][l], s);
                    UNROLLED for (int l = 0; l < DUO_CHAINS; l++) chain[l] =
                        l < steps ? fused(x[l], y[q][l], zero()) : zero();
                    end_vector(p, vector ? add_chain_vectors(chain) : s,
                               p->c + i0 + v + (j + q) * p->ldc, which);
                }
            }
        }
}

NOINLINE void few_steps(const duo_product *p)
{
#define STEPS(steps, columns)                                                                      \
    case steps:                                                                                    \
        if (p->vector || steps > OUTER_STEPS)                                                      \
            outer(steps, 1, true, p);                                                              \
        else                                                                                       \
            outer(steps, columns, false, p);                                                       \
        break;
    switch (p->k) {
        STEPS(1, 4)
        STEPS(2, 4)
        STEPS(3, 4)
        STEPS(4, FULL == 16 ? 4 : 2)
        STEPS(5, 1)
        STEPS(6, 1)
        STEPS(7, 1)
        STEPS(8, 1)
    }
#undef STEPS
}

/* Sums that stay in the L1 cache, or in the L2 cache. */
enum { STRIP = 8192 / sizeof(number), LONG_STRIP = 8 * STRIP };

/* Adds `steps` steps to sums of `count` vectors of rows and `here` of the columns. */
INLINE void add_columns(const int count, const int columns, const int here, const int steps,
                        const float *x, int64_t ldx, mask last, vec factor[][8], number *sum)
{
    vec s[2][4];
    UNROLLED for (int v = 0; v < count; v++) UNROLLED for (int j = 0; j < here; j++) s[v][j] =
        load_number(sum + (v * columns + j) * FULL);
    UNROLLED for (int z = 0; z < steps; z++)
    {
        vec xz[2];
        UNROLLED for (int v = 0; v < count - 1; v++) xz[v] = load(x + z * ldx + v * FULL);
        xz[count - 1] = load_some(x + z * ldx + (count - 1) * FULL, last);
        UNROLLED for (int j = 0; j < here; j++) UNROLLED for (int v = 0; v < count; v++) s[v][j] =
            fused(xz[v], factor[j][z], s[v][j]);
    }
    UNROLLED for (int v = 0; v < count; v++) UNROLLED for (int j = 0; j < here; j++)
        store_number(sum + (v * columns + j) * FULL, s[v][j]);
}

/* `steps` steps of a strip of rows: sum[vector of rows][column][row]. */
INLINE void add_strip(const int columns, const int steps, const view *w, int64_t i0, int64_t rows,
                      int64_t l, number *sum)
{
    const mask all = some(FULL), last = some((rows - 1) % FULL + 1);
    const float *const x = w->x + i0 + l * w->ldx;
    const int four = columns < 4 ? columns : 4;
    vec factor[8][8];
    for (int j = 0; j < columns; j++)
        for (int z = 0; z < steps; z++) factor[j][z] = splat(w->y[(l + z) * w->y_k + j * w->y_j]);
    for (int64_t i = 0; i < rows; i += 2 * FULL) {
        number *const s = sum + i * columns;
        if (i + FULL < rows) {
            const mask second = i + 2 * FULL < rows ? all : last;
            add_columns(2, columns, four, steps, x + i, w->ldx, second, factor, s);
            if (columns > 4)
                add_columns(2, columns, columns - four, steps, x + i, w->ldx, second, factor + 4,
                            s + 4 * FULL);
        } else {
            add_columns(1, columns, four, steps, x + i, w->ldx, last, factor, s);
            if (columns > 4)
                add_columns(1, columns, columns - four, steps, x + i, w->ldx, last, factor + 4,
                            s + 4 * FULL);
        }
    }
}

/* Up to 8 columns of Y, X's columns contiguous: X is read a few whole columns at a time, and the
 * sums of a strip of rows stay in the cache. From memory long columns are read faster. */
INLINE void few_by_columns(const int columns, const view *w)
{
    enum { STEPS = 8 };
    const duo_product *const p = w->p;
    number near[2 * STRIP], *total = near;
    int64_t sums = STRIP;
    number *const memory =
        w->m * columns > STRIP ? duo_scratch_take(2 * LONG_STRIP * sizeof *memory) : NULL;
    if (memory != NULL) {
        total = memory;
        sums = LONG_STRIP;
    }
    number *const sum = total + sums;
    const int64_t strip = sums / columns / ROWS * ROWS;
    for (int64_t i0 = 0; i0 < w->m; i0 += strip) {
        const int64_t rows = smaller(w->m - i0, strip);
        const int64_t vectors = (rows + FULL - 1) / FULL;
        for (int64_t first = 0; first < p->k; first += CHAIN) {
            const int64_t end = smaller(p->k, first + CHAIN);
            number *const to = first == 0 ? total : sum;
            int64_t l = first;
            memset(to, 0, (size_t)(vectors * columns * FULL) * sizeof *to);
            for (; l + STEPS <= end; l += STEPS) add_strip(columns, STEPS, w, i0, rows, l, to);
            for (; l < end; l++) add_strip(columns, 1, w, i0, rows, l, to);
            for (int64_t e = 0; first > 0 && e < vectors * columns * FULL; e += FULL)
                store_number(total + e, plus(load_number(total + e), load_number(sum + e)));
        }
        for (int64_t v = 0; v < vectors; v++)
            for (int j = 0; j < columns; j++)
                end_elements(p, load_number(total + (v * columns + j) * FULL),
                             w->c + (i0 + v * FULL) * w->c_i + j * w->c_j, w->c_i, rows - v * FULL);
    }
    duo_scratch_give(memory);
}

/* Else compilers keep an address for each of the elements behind the pointer. */
#define HIDE(pointer) __asm__("" : "+r"(pointer))

/* Adds steps [l + skip, l + FULL) to the sums of FULL rows, which are transposed in registers. */
INLINE void add_rows(const int columns, const view *w, const float *x, int64_t l, int64_t skip,
                     vec s[8])
{
    const float *y = w->y + (l + skip) * w->y_k;
    vec column[FULL];
    columns_all(column, x + l, w->ldx);
    if (skip == 0) {
        UNROLLED for (int z = 0; z < FULL; z++)
        {
            UNROLLED for (int j = 0; j < columns; j++) s[j] =
                fused(column[z], splat(y[j * w->y_j]), s[j]);
            y += w->y_k;
            HIDE(y);
        }
        return;
    }
    number copy[FULL][FULL];
    UNROLLED for (int z = 0; z < FULL; z++) store_number(copy[z], column[z]);
    for (int64_t z = skip; z < FULL; z++, y += w->y_k)
        UNROLLED for (int j = 0; j < columns; j++) s[j] =
            fused(load_number(copy[z]), splat(y[j * w->y_j]), s[j]);
}

/* The same without vectors, if there are fewer rows or steps than a vector has elements. */
INLINE void add_short_rows(const int columns, const view *w, int64_t i, int64_t first, int64_t end,
                           vec s[8])
{
    for (int64_t l = first; l < end; l++) {
        float column[FULL] = {0};
        for (int64_t q = 0; q < FULL && i + q < w->m; q++) column[q] = w->x[(i + q) * w->ldx + l];
        UNROLLED for (int j = 0; j < columns; j++) s[j] =
            fused(load(column), splat(w->y[l * w->y_k + j * w->y_j]), s[j]);
    }
}

/* A vector of rows from row i on. The first `known` of them are in C already. */
INLINE void few_rows(const int columns, const view *w, int64_t i, int64_t known)
{
    const duo_product *const p = w->p;
    vec total[8];
    UNROLLED for (int j = 0; j < columns; j++) total[j] = zero(); /* compilers want it */
    for (int64_t first = 0; first < p->k; first += CHAIN) {
        const int64_t end = smaller(p->k, first + CHAIN);
        vec s[8];
        UNROLLED for (int j = 0; j < columns; j++) s[j] = zero();
        if (w->m < FULL || p->k < FULL)
            add_short_rows(columns, w, i, first, end, s);
        else
            for (int64_t l = first; l < end; l += FULL) {
                const int64_t skip = l + FULL <= end ? 0 : l + FULL - end;
                add_rows(columns, w, w->x + i * w->ldx, l - skip, skip, s);
            }
        UNROLLED for (int j = 0; j < columns; j++) total[j] =
            first == 0 ? s[j] : plus(total[j], s[j]);
    }
    UNROLLED for (int j = 0; j < columns; j++)
    {
        float *const c = w->c + i * w->c_i + j * w->c_j;
        if (known == 0) {
            end_elements(p, total[j], c, w->c_i, w->m - i);
        } else {
            number sum[FULL];
            store_number(sum, total[j]);
            for (int64_t q = known; q < FULL; q++) end_element(p, sum[q], &c[q * w->c_i]);
        }
    }
}

/* Up to 8 columns of Y, X's rows contiguous. The last rows are summed with some before them. */
INLINE void few_by_rows(const int columns, const view *w)
{
    for (int64_t i = 0; i < w->m; i += FULL) {
        const int64_t known = w->m < FULL ? 0 : i - smaller(i, w->m - FULL);
        few_rows(columns, w, i - known, known);
    }
}

/* Up to 8 columns. */
NOINLINE void few(const view *w)
{
#define FEW(columns)                                                                               \
    case columns:                                                                                  \
        if (w->along_k)                                                                            \
            few_by_rows(columns, w);                                                               \
        else                                                                                       \
            few_by_columns(columns, w);                                                            \
        break;
    switch (w->n) {
        FEW(1)
        FEW(2)
        FEW(3)
        FEW(4)
        FEW(5)
        FEW(6)
        FEW(7)
        FEW(8)
    }
#undef FEW
}

/* Without memory: any product, a few columns at a time. */
NOINLINE void few_after_few(const duo_product *p)
{
    for (int64_t j = 0; j < p->n; j += 8) {
        const duo_product part = duo_product_tile(p, 0, p->m, j, smaller(p->n - j, 8));
        const view w = view_of(&part);
        few(&w);
    }
}

/* ---- Vector products: DUO_CHAINS chains an element ---- */

/* Rows of k steps, side by side: to[i step + l] := p[i + l ld]. */
static void gather_rows(float *to, int64_t step, const float *p, int64_t ld, int64_t rows,
                        int64_t k)
{
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4)
        for (int64_t l = 0; l < k; l++)
            UNROLLED for (int z = 0; z < 4; z++) to[(i + z) * step + l] = p[i + z + l * ld];
    for (; i < rows; i++)
        for (int64_t l = 0; l < k; l++) to[i * step + l] = p[i + l * ld];
}

/* One column of Y. The chains of a vector of rows stay in registers: for an X in the caches with
 * contiguous columns, and for one with rows so short that they are transposed. */
enum { SHORT_ROW = 2 * DUO_CHAINS };

NOINLINE void vector_in_registers(const view *w)
{
    const duo_product *const p = w->p;
    float transposed[SHORT_ROW * FULL];
    const int64_t ldx = w->along_k ? FULL : w->ldx;
    for (int64_t i = 0; i < w->m; i += FULL) {
        const int64_t rows = smaller(w->m - i, FULL);
        const mask which = some(rows);
        vec total = zero();
        if (w->along_k) gather_rows(transposed, FULL, w->x + i * w->ldx, w->ldx, p->k, rows);
        const float *const x = w->along_k ? transposed : w->x + i;
        for (int64_t first = 0; first < p->k; first += CHAIN) {
            const int64_t end = smaller(p->k, first + CHAIN);
            vec s[DUO_CHAINS];
            UNROLLED for (int z = 0; z < DUO_CHAINS; z++) s[z] = zero();
            int64_t l = first;
            for (; l + DUO_CHAINS <= end; l += DUO_CHAINS)
                UNROLLED for (int z = 0; z < DUO_CHAINS; z++) s[z] =
                    fused(load_some(x + (l + z) * ldx, which), splat(w->y[(l + z) * w->y_k]), s[z]);
            UNROLLED for (int z = 0; z < DUO_CHAINS - 1; z++) if (l + z < end) s[z] =
                fused(load_some(x + (l + z) * ldx, which), splat(w->y[(l + z) * w->y_k]), s[z]);
            const vec sum = add_chain_vectors(s);
            total = first == 0 ? sum : plus(total, sum);
        }
        end_elements(p, total, w->c + i * w->c_i, w->c_i, rows);
    }
}

/* One column of Y, X's columns contiguous. The chains of a strip of rows stay in the L1 cache; two
 * times as many columns of X as chains are read at a time. */
NOINLINE void vector_by_columns(const view *w)
{
    enum { CHAINS = DUO_CHAINS, ROWS_OF_STRIP = 16384 / sizeof(number) / DUO_CHAINS };
    const duo_product *const p = w->p;
    number chain[ROWS_OF_STRIP * CHAINS], total[ROWS_OF_STRIP];
    for (int64_t i0 = 0; i0 < w->m; i0 += ROWS_OF_STRIP) {
        const int64_t rows = smaller(w->m - i0, ROWS_OF_STRIP);
        const int64_t vectors = (rows + FULL - 1) / FULL;
        for (int64_t first = 0; first < p->k; first += CHAIN) {
            const int64_t end = smaller(p->k, first + CHAIN);
            memset(chain, 0, (size_t)vectors * FULL * CHAINS * sizeof *chain);
            int64_t l = first;
            for (; l + 2 * CHAINS <= end; l += 2 * CHAINS) {
                const float *const x = w->x + i0 + l * w->ldx, *const y = w->y + l * w->y_k;
                for (int64_t v = 0; v < vectors; v++) {
                    const mask which = some(rows - v * FULL);
                    UNROLLED for (int z = 0; z < CHAINS; z++)
                    {
                        number *const s = chain + (v * CHAINS + z) * FULL;
                        const float *const xz = x + v * FULL + z * w->ldx;
                        const vec half =
                            fused(load_some(xz, which), splat(y[z * w->y_k]), load_number(s));
                        store_number(s, fused(load_some(xz + CHAINS * w->ldx, which),
                                              splat(y[(z + CHAINS) * w->y_k]), half));
                    }
                }
            }
            for (; l < end; l++)
                for (int64_t v = 0; v < vectors; v++) {
                    number *const s = chain + (v * CHAINS + l % CHAINS) * FULL;
                    const vec x =
                        load_some(w->x + i0 + v * FULL + l * w->ldx, some(rows - v * FULL));
                    store_number(s, fused(x, splat(w->y[l * w->y_k]), load_number(s)));
                }
            for (int64_t v = 0; v < vectors; v++) {
                vec s[CHAINS];
                UNROLLED for (int z = 0; z < CHAINS; z++) s[z] =
                    load_number(chain + (v * CHAINS + z) * FULL);
                const vec sum = add_chain_vectors(s);
                store_number(total + v * FULL,
                             first == 0 ? sum : plus(load_number(total + v * FULL), sum));
            }
        }
        for (int64_t v = 0; v < vectors; v++)
            end_elements(p, load_number(total + v * FULL), w->c + (i0 + v * FULL) * w->c_i, w->c_i,
                         rows - v * FULL);
    }
}

/* Adds `k` steps, contiguous in both, to the chains of rows x columns elements: their chains hide
 * each other's latency. */
INLINE void add_to_chains(const int rows, const int columns, const float *x, int64_t ldx,
                          const float *y, int64_t ldy, int64_t k, vec8 *s)
{
    int64_t l = 0;
    for (; l + DUO_CHAINS <= k; l += DUO_CHAINS) {
        vec8 factor[4];
        UNROLLED for (int j = 0; j < columns; j++) factor[j] = load8(y + j * ldy + l);
        UNROLLED for (int i = 0; i < rows; i++)
        {
            const vec8 xi = load8(x + i * ldx + l);
            UNROLLED for (int j = 0; j < columns; j++) s[i * columns + j] =
                fused8(xi, factor[j], s[i * columns + j]);
        }
    }
    if (l == k) return;
    /* Of the other chains nothing changes: they get + 0 * 0. */
    vec8 factor[4];
    UNROLLED for (int j = 0; j < columns; j++) factor[j] = first8(y + j * ldy + l, k - l);
    UNROLLED for (int i = 0; i < rows; i++)
    {
        const vec8 xi = first8(x + i * ldx + l, k - l);
        UNROLLED for (int j = 0; j < columns; j++) s[i * columns + j] =
            fused8(xi, factor[j], s[i * columns + j]);
    }
}

/* The sums of a segment of rows x columns elements: sum[i * step + j * step_j]. */
INLINE void sum_elements(const int rows, const int columns, const float *x, int64_t ldx,
                         const float *y, int64_t ldy, int64_t k, number *sum, int64_t step_j)
{
    vec8 s[16];
    number chain[DUO_CHAINS];
    UNROLLED for (int e = 0; e < rows * columns; e++) s[e] = zero8();
    add_to_chains(rows, columns, x, ldx, y, ldy, k, s);
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int j = 0; j < columns; j++)
    {
        store_number8(chain, s[i * columns + j]);
        sum[i + j * step_j] = add_chains(chain);
    }
}

/* Adds to chains in memory: chain[(i + j step) DUO_CHAINS]. */
INLINE void add_block(const int rows, const int columns, const float *x, int64_t ldx,
                      const float *y, int64_t ldy, int64_t k, number *chain, int64_t step)
{
    vec8 s[16];
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int j = 0; j < columns; j++)
        s[i * columns + j] = load_number8(chain + (i + j * step) * DUO_CHAINS);
    add_to_chains(rows, columns, x, ldx, y, ldy, k, s);
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int j = 0; j < columns; j++)
        store_number8(chain + (i + j * step) * DUO_CHAINS, s[i * columns + j]);
}

/* One column of Y, X's rows contiguous. */
NOINLINE void vector_by_rows(const view *w)
{
    enum { ROWS_OF_STRIP = 256 };
    const duo_product *const p = w->p;
    float copy[CHAIN];
    number total[ROWS_OF_STRIP], sum[8];
    for (int64_t i0 = 0; i0 < w->m; i0 += ROWS_OF_STRIP) {
        const int64_t rows = smaller(w->m - i0, ROWS_OF_STRIP);
        for (int64_t first = 0; first < p->k; first += CHAIN) {
            const int64_t k = smaller(p->k - first, CHAIN);
            const float *const x = w->x + i0 * w->ldx + first, *y = w->y + first * w->y_k;
            if (w->y_k != 1) {
                for (int64_t l = 0; l < k; l++) copy[l] = y[l * w->y_k];
                y = copy;
            }
            for (int64_t i = 0, here; i < rows; i += here) {
                here = rows - i >= 8 ? 8 : rows - i >= 4 ? 4 : 1;
                if (here == 8)
                    sum_elements(8, 1, x + i * w->ldx, w->ldx, y, 0, k, sum, 0);
                else if (here == 4)
                    sum_elements(4, 1, x + i * w->ldx, w->ldx, y, 0, k, sum, 0);
                else
                    sum_elements(1, 1, x + i * w->ldx, w->ldx, y, 0, k, sum, 0);
                for (int64_t q = 0; q < here; q++)
                    total[i + q] = first == 0 ? sum[q] : total[i + q] + sum[q];
            }
        }
        for (int64_t i = 0; i < rows; i++) end_element(p, total[i], w->c + (i0 + i) * w->c_i);
    }
}

/* One element: four segments at a time hide each other's latency. */
NOINLINE number one_element(const float *x, const float *y, int64_t k)
{
    number total = 0.0f, sum[4];
    int64_t l = 0;
    for (; l + 4 * CHAIN <= k; l += 4 * CHAIN) {
        vec8 s[4];
        UNROLLED for (int q = 0; q < 4; q++) s[q] = zero8();
        for (int64_t z = l; z < l + CHAIN; z += DUO_CHAINS)
            UNROLLED for (int q = 0; q < 4; q++) s[q] =
                fused8(load8(x + z + q * CHAIN), load8(y + z + q * CHAIN), s[q]);
        for (int q = 0; q < 4; q++) {
            number chain[DUO_CHAINS];
            store_number8(chain, s[q]);
            sum[q] = add_chains(chain);
        }
        for (int q = 0; q < 4; q++) total = l == 0 && q == 0 ? sum[q] : total + sum[q];
    }
    for (; l < k; l += CHAIN) {
        sum_elements(1, 1, x + l, 0, y + l, 0, smaller(k - l, CHAIN), sum, 0);
        total = l == 0 ? sum[0] : total + sum[0];
    }
    return total;
}

/* Adds `k` steps to the chains of few elements: chain[(i + j m) DUO_CHAINS]. */
static void add_to_few(int64_t m, int64_t n, const float *x, int64_t ldx, const float *y,
                       int64_t ldy, int64_t k, number *chain)
{
#define ADD(r, c)                                                                                  \
    case 4 * r + c:                                                                                \
        add_block(r, c, x + i * ldx, ldx, y + j * ldy, ldy, k, chain + (i + j * m) * DUO_CHAINS,   \
                  m);                                                                              \
        break;
    for (int64_t i = 0, rows; i < m; i += rows) {
        rows = m - i >= 2 ? 2 : 1;
        for (int64_t j = 0, columns; j < n; j += columns) {
            columns = smaller(n - j, 4);
            switch (4 * rows + columns) {
                ADD(1, 1)
                ADD(1, 2)
                ADD(1, 3)
                ADD(1, 4)
                ADD(2, 1)
                ADD(2, 2)
                ADD(2, 3)
                ADD(2, 4)
            }
        }
    }
#undef ADD
}

/* Few elements. If A's rows or B's columns are not contiguous in k, a part of them is copied. */
NOINLINE void few_elements(const duo_product *p)
{
    enum { PART = 128 };
    const bool a_along_k = p->transa, b_along_k = !p->transb;
    const int64_t area = p->m * p->n, most = a_along_k && b_along_k ? CHAIN : PART;
    number total[DUO_FEW], chain[DUO_FEW * DUO_CHAINS];
    float a[DUO_FEW * PART], b[DUO_FEW * PART];
    if (area == 1 && (a_along_k || p->lda == 1) && (b_along_k || p->ldb == 1)) {
        end_element(p, one_element(p->a, p->b, p->k), p->c);
        return;
    }
    for (int64_t first = 0; first < p->k; first += CHAIN) {
        const int64_t end = smaller(p->k, first + CHAIN);
        memset(chain, 0, (size_t)(area * DUO_CHAINS) * sizeof *chain);
        for (int64_t l = first; l < end; l += most) {
            const int64_t steps = smaller(end - l, most);
            const float *x = p->a + l, *y = p->b + l;
            if (!a_along_k) gather_rows(a, PART, p->a + l * p->lda, p->lda, p->m, steps), x = a;
            if (!b_along_k) gather_rows(b, PART, p->b + l * p->ldb, p->ldb, p->n, steps), y = b;
            add_to_few(p->m, p->n, x, a_along_k ? p->lda : PART, y, b_along_k ? p->ldb : PART,
                       steps, chain);
        }
        for (int64_t e = 0; e < area; e++) {
            const number sum = add_chains(chain + e * DUO_CHAINS);
            total[e] = first == 0 ? sum : total[e] + sum;
        }
    }
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++)
            end_element(p, total[i + j * p->m], p->c + i + j * p->ldc);
}

static void vector_product(const duo_product *p)
{
    /* Of few elements, a part of k may be short. */
    if ((p->m > 1 && p->n > 1) || (p->m * p->n <= DUO_FEW && p->k >= DUO_MANY)) {
        few_elements(p);
        return;
    }
    if (p->k <= DUO_CHAINS && p->n == 1 && !p->transa) {
        few_steps(p);
        return;
    }
    const view w = p->n == 1 ? view_of(p) : transposed_view_of(p);
    if (w.along_k ? p->k < SHORT_ROW : w.m * p->k < 1 << 16)
        vector_in_registers(&w);
    else if (w.along_k)
        vector_by_rows(&w);
    else
        vector_by_columns(&w);
}

/* ---- Which path ---- */

/*
 * The most columns for which X is read once and not packed. There are fewer if X fits the L2 cache
 * with contiguous columns: tiles are faster then, the more so if C is not transposed. Measured with
 * AVX2 on a Zen 3.
 */
static int64_t most_columns(const view *w)
{
    if (w->p->k <= 16 || w->m < 4 * FULL) return 0;
    if (w->along_k || w->m * w->p->k > 1 << 15) return 8;
    return w->c_i == 1 ? 2 : 4;
}

enum { LARGE_C = 1 << 18 }; /* elements that do not fit the L2 cache */

static void multiply(const duo_product *p)
{
    if (p->vector) {
        vector_product(p);
        return;
    }
    if (is_small(p)) {
        small(p);
        return;
    }
    if (p->k <= OUTER_STEPS && !p->transa && p->m >= 4 * ROWS && p->m * p->n > LARGE_C) {
        few_steps(p);
        return;
    }
    if (p->m <= 8 || p->n <= 8) {
        const view columns = view_of(p), rows = transposed_view_of(p);
        if (p->n <= most_columns(&columns)) {
            few(&columns);
            return;
        }
        if (p->m <= most_columns(&rows)) {
            few(&rows);
            return;
        }
    }
    if (!multiply_blocks(p)) few_after_few(p);
}

/* Of small ones that are not packed all but the addresses is prepared once. With one step, the
 * orders of a vector product and of others are the same. */
static void multiply_each(const duo_product *all, int64_t count, const float *const a[],
                          const float *const b[], float *const c[])
{
    duo_product p = *all;
    tile t = small_tile(&p);
    const bool prepared = is_small(&p) && !p.transa && (!p.vector || p.k == 1);
    for (int64_t i = 0; i < count; i++) {
        p.a = a[i];
        p.b = b[i];
        p.c = c[i];
        if (prepared)
            small_with(&p, &t, NULL);
        else
            multiply(&p);
    }
}

static void finish(const duo_product *p, const float *sums, int64_t segments, int64_t j0, int64_t n)
{
    for (int64_t j = j0; j < j0 + n; j++)
        for (int64_t i = 0; i < p->m; i += FULL) {
            const mask which = some(p->m - i);
            vec total = load_some(sums + i + j * p->m, which);
            for (int64_t s = 1; s < segments; s++)
                total = plus(total, load_some(sums + (s * p->n + j) * p->m + i, which));
            end_vector(p, total, p->c + i + j * p->ldc, which);
        }
}

const duo_ffma CLONE = {.number_bytes = sizeof(number),
                        .rows = ROWS,
                        .columns = COLUMNS,
                        .block_rows = BLOCK_ROWS,
                        .multiply = multiply,
                        .multiply_each = multiply_each,
                        .packs_b = packs_b,
                        .panel_numbers = panel_numbers,
                        .panel_width = even_columns,
                        .pack = pack_panel,
                        .multiply_panel = multiply_panel,
                        .finish = finish};
