/*
 * ffma_few.h - products with few columns or few rows. The large operand is used so seldom that it
 * is read from memory once, in ascending order, and not packed.
 *
 * Included by ffma_body.h.
 */

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

/* Is a matrix too large for the L2 cache? */
INLINE bool is_far(int64_t elements) { return elements > 1 << 15; }

/* Is a segment of X too far for tiles of columns of Y? With many of them there is no other way that
 * does not copy X. */
INLINE bool is_far_for_tiles(const view *w)
{
    const int64_t segment = w->m * smaller(w->p->k, DUO_SEGMENT);
    return w->n > 8 ? segment > 1 << 18 : is_far(w->n > 4 ? segment : w->m * w->p->k);
}

/* Sums that stay in the L1 cache, or in the L2 cache. */
enum { STRIP = 8192 / sizeof(number), LONG_STRIP = 8 * STRIP };

/*
 * Adds `steps` steps to sums of `count` vectors of rows and up to four columns: sum[vector of rows
 * step + column][row]. whole: is the last vector full?
 */
INLINE void add_columns(const bool whole, const int count, const int columns, const int steps,
                        const float *x, int64_t ldx, mask last, vec factor[][8], number *sum,
                        int64_t step)
{
    vec s[2][4];
    UNROLLED for (int v = 0; v < count; v++) UNROLLED for (int j = 0; j < columns; j++) s[v][j] =
        load_number(sum + (v * step + j) * FULL);
    UNROLLED for (int z = 0; z < steps; z++)
    {
        vec xz[2];
        UNROLLED for (int v = 0; v < count; v++) xz[v] =
            load_rows(whole || v < count - 1, x + z * ldx + v * FULL, last);
        UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++)
            s[v][j] = fused(xz[v], factor[j][z], s[v][j]);
    }
    UNROLLED for (int v = 0; v < count; v++) UNROLLED for (int j = 0; j < columns; j++)
        store_number(sum + (v * step + j) * FULL, s[v][j]);
}

/* The same for a strip of rows, from column `first` on. */
INLINE void add_strip(const int columns, const int steps, const view *w, int64_t i0, int64_t rows,
                      int64_t l, int64_t first, number *sum)
{
    const mask last = some((rows - 1) % FULL + 1);
    const float *const x = w->x + i0 + l * w->ldx;
    vec factor[4][8];
    for (int j = 0; j < columns; j++)
        for (int z = 0; z < steps; z++)
            factor[j][z] = splat(w->y[(l + z) * w->y_k + (first + j) * w->y_j]);
    int64_t i = 0;
    number *s = sum + first * FULL;
    for (; i + ROWS <= rows; i += ROWS, s += ROWS * w->n)
        add_columns(true, 2, columns, steps, x + i, w->ldx, last, factor, s, w->n);
    for (; i + FULL <= rows; i += FULL, s += FULL * w->n)
        add_columns(true, 1, columns, steps, x + i, w->ldx, last, factor, s, w->n);
    if (i < rows) add_columns(false, 1, columns, steps, x + i, w->ldx, last, factor, s, w->n);
}

/* The same for all columns, four at a time: `steps` is 8 or 1. */
NOINLINE void add_strips(const int steps, const view *w, int64_t i0, int64_t rows, int64_t l,
                         number *sum)
{
#define ADD(columns)                                                                               \
    case columns:                                                                                  \
        if (steps == 8)                                                                            \
            add_strip(columns, 8, w, i0, rows, l, j, sum);                                         \
        else                                                                                       \
            add_strip(columns, 1, w, i0, rows, l, j, sum);                                         \
        break;
    for (int64_t j = 0; j < w->n; j += 4) switch (smaller(w->n - j, 4)) {
            ADD(1)
            ADD(2)
            ADD(3)
            ADD(4)
        }
#undef ADD
}

/* Up to 8 columns of Y, X's columns contiguous: X is read a few whole columns at a time, and the
 * sums of a strip of rows stay in the cache. From memory long columns are read faster. */
NOINLINE void few_by_columns(const view *w)
{
    enum { STEPS = 8 };
    const duo_product *const p = w->p;
    number near[2 * STRIP], *total = near;
    int64_t sums = STRIP;
    number *const memory =
        w->m * w->n > STRIP ? duo_scratch_take(2 * LONG_STRIP * sizeof *memory) : NULL;
    if (memory != NULL) {
        total = memory;
        sums = LONG_STRIP;
    }
    number *const sum = total + sums;
    const int64_t strip = sums / w->n / ROWS * ROWS;
    for (int64_t i0 = 0; i0 < w->m; i0 += strip) {
        const int64_t rows = smaller(w->m - i0, strip);
        const int64_t vectors = (rows + FULL - 1) / FULL;
        for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
            const int64_t end = smaller(p->k, first + DUO_SEGMENT);
            number *const to = first == 0 ? total : sum;
            int64_t l = first;
            memset(to, 0, (size_t)(vectors * w->n * FULL) * sizeof *to);
            for (; l + STEPS <= end; l += STEPS) add_strips(STEPS, w, i0, rows, l, to);
            for (; l < end; l++) add_strips(1, w, i0, rows, l, to);
            for (int64_t e = 0; first > 0 && e < vectors * w->n * FULL; e += FULL)
                store_number(total + e, plus(load_number(total + e), load_number(sum + e)));
        }
        for (int64_t v = 0; v < vectors; v++)
            for (int64_t j = 0; j < w->n; j++)
                end_elements(p, load_number(total + (v * w->n + j) * FULL),
                             w->c + (i0 + v * FULL) * w->c_i + j * w->c_j, w->c_i, rows - v * FULL);
    }
    duo_scratch_give(memory);
}

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

/* A vector of rows from row i on. The first `known` of them are in C already. */
INLINE void few_rows(const int columns, const view *w, int64_t i, int64_t known)
{
    const duo_product *const p = w->p;
    vec total[8];
    UNROLLED for (int j = 0; j < columns; j++) total[j] = zero(); /* compilers want it */
    for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
        const int64_t end = smaller(p->k, first + DUO_SEGMENT);
        vec s[8];
        UNROLLED for (int j = 0; j < columns; j++) s[j] = zero();
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

/* Up to 8 columns of Y, X's rows contiguous; at least a vector of them and of steps. The last rows
 * are summed with some before them. */
INLINE void few_by_rows(const int columns, const view *w)
{
    for (int64_t i = 0; i < w->m; i += FULL) {
        const int64_t known = i - smaller(i, w->m - FULL);
        few_rows(columns, w, i - known, known);
    }
}

enum { MOST_FEW = 24 }; /* columns of Y */

/* Ends rows [i, i + rows) of C's transpose. sum[j height + row]: of column j. */
NOINLINE void end_transposed(const view *w, int64_t i, int64_t rows, const number *sum,
                             int64_t height)
{
    const number alpha = w->p->alpha, beta = w->p->beta;
    const int64_t step = w->c_i;
    for (int64_t j = 0; j < w->n; j++, sum += height) {
        float *const c = w->c + i * step + j;
        if (beta == 0)
            for (int64_t q = 0; q < rows; q++) c[q * step] = duo_one_nan((float)(alpha * sum[q]));
        else
            for (int64_t q = 0; q < rows; q++)
                c[q * step] = duo_one_nan((float)blend(alpha, sum[q], beta * c[q * step]));
    }
}

/* Up to MOST_FEW columns of Y, X's columns contiguous, C's transpose: in tiles, as in small
 * products. */
NOINLINE void few_in_tiles(const view *w)
{
    const duo_product *const p = w->p;
    const int64_t width = even_columns(w->n);
    number total[ROWS * MOST_FEW];
    tile t = tile_of(p);
    t.a_step = w->ldx;
    t.b_step = w->y_k;
    t.b_column = w->y_j;
    t.ends = false;
    for (int64_t i = 0; i < w->m; i += t.rows) {
        t.rows = rows_of_tile(w->m - i);
        const int64_t height = t.rows > FULL ? ROWS : t.rows > HALF ? FULL : HALF;
        for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
            t.k = smaller(p->k - first, DUO_SEGMENT);
            t.adds = first > 0;
            t.a = w->x + i + first * w->ldx;
            for (int64_t j = 0; j < w->n; j += width) {
                t.b = w->y + first * w->y_k + j * w->y_j;
                t.total = total + j * height;
                run_kernel(&t, (int)smaller(w->n - j, width), NONE_PACKED);
            }
        }
        end_transposed(w, i, t.rows, total, height);
    }
}

/* Up to 8 columns, or MOST_FEW if few_in_tiles serves them. */
NOINLINE void few(const view *w)
{
    if (!w->along_k) {
        if (w->c_i != 1 && !is_far_for_tiles(w) && (w->n > 4 || w->m < 4 * FULL))
            few_in_tiles(w);
        else
            few_by_columns(w);
        return;
    }
#define FEW(columns)                                                                               \
    case columns:                                                                                  \
        few_by_rows(columns, w);                                                                   \
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

/* Any product, a vector of C at a time. */
NOINLINE void without_memory(const duo_product *p)
{
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i += FULL) {
            const int64_t rows = smaller(p->m - i, FULL);
            vec total = zero();
            for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
                const int64_t end = smaller(p->k, first + DUO_SEGMENT);
                vec s = zero();
                for (int64_t l = first; l < end; l++) {
                    float row[FULL] = {0};
                    for (int64_t q = 0; q < rows; q++)
                        row[q] = p->transa ? p->a[(i + q) * p->lda + l] : p->a[i + q + l * p->lda];
                    s = fused(load(row), splat(p->b[p->transb ? j + l * p->ldb : l + j * p->ldb]),
                              s);
                }
                total = first == 0 ? s : plus(total, s);
            }
            end_vector(p, total, p->c + i + j * p->ldc, rows);
        }
}
