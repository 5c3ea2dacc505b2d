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
