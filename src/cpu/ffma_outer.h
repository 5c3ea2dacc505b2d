/*
 * ffma_outer.h - products with few steps of k: an element takes little more than its reading and
 * writing. Columns of B stay in registers, and C is written from top to bottom.
 *
 * Included by ffma_body.h.
 */

enum { OUTER_STEPS = 4 };

/* How elements end: with alpha 1 and beta 0, with beta 0, or any. */
typedef enum ending { PLAIN, SCALED, BLENDED } ending;

/* A vector of rows of one column, which it returns. x[step], y[step]: elements of A and of B. */
INLINE vec outer_vector(const bool whole, const ending how, const int steps, const duo_product *p,
                        const vec *x, const vec *y, mask which, float *c)
{
    vec chain[DUO_CHAINS], s = zero();
    UNROLLED for (int l = 0; l < steps; l++) s = fused(x[l], y[l], s);
    UNROLLED for (int l = 0; l < DUO_CHAINS; l++) chain[l] =
        l < steps ? fused(x[l], y[l], zero()) : zero();
    if (p->vector) s = add_chain_vectors(chain);
    if (how == SCALED) s = times(splat(p->alpha), s);
    if (how == BLENDED)
        s = blend_vector(splat(p->alpha), s, times(splat(p->beta), load_rows(whole, c, which)));
    store_rows(whole, c, which, s);
    return s;
}

/* `count` vectors of rows, in each of the first `here` columns. y[column][step]. */
INLINE seen outer_vectors(const bool whole, const ending how, const int steps, const int count,
                          const int columns, const duo_product *p, const float *a,
                          vec y[][DUO_CHAINS], int64_t here, mask which, float *c, seen nans)
{
    vec x[2][DUO_CHAINS], ended[2];
    UNROLLED for (int v = 0; v < count; v++) UNROLLED for (int l = 0; l < steps; l++) x[v][l] =
        load_rows(whole, a + v * FULL + l * p->lda, which);
    UNROLLED for (int q = 0; q < columns; q++)
    {
        if (q >= here) break;
        UNROLLED for (int v = 0; v < count; v++)
        {
            const int e = q * count + v;
            ended[e % 2] =
                outer_vector(whole, how, steps, p, x[v], y[q], which, c + v * FULL + q * p->ldc);
            if (e % 2 == 1 || (count == 1 && q + 1 == here))
                nans = look(nans, ended[0], ended[e % 2]);
        }
    }
    return nans;
}

/*
 * `rows` rows, in each of the first `here` columns. A load that meets a masked store just done
 * waits for it, and so would the first rows of the next column for the last ones of this. So if C
 * is read, the last rows come first. AVX-512 has masked stores.
 */
INLINE seen outer_rows(const ending how, const int steps, const int columns, const duo_product *p,
                       const float *a, vec y[][DUO_CHAINS], int64_t here, int64_t rows, float *c,
                       seen nans)
{
    const int64_t last = rows % FULL, whole = rows - last;
    const mask all = some(FULL), few = some(last);
    const bool last_first = how == BLENDED && FULL * sizeof(number) == 64;
    int64_t left = whole;
    if (last_first && last > 0)
        nans = outer_vectors(false, how, steps, 1, columns, p, a + whole, y, here, few, c + whole,
                             nans);
    for (; columns == 1 && left >= ROWS; left -= ROWS, a += ROWS, c += ROWS)
        nans = outer_vectors(true, how, steps, 2, columns, p, a, y, here, all, c, nans);
    for (; left > 0; left -= FULL, a += FULL, c += FULL)
        nans = outer_vectors(true, how, steps, 1, columns, p, a, y, here, all, c, nans);
    if (!last_first && last > 0)
        nans = outer_vectors(false, how, steps, 1, columns, p, a, y, here, few, c, nans);
    return nans;
}

/* Up to OUTER_STEPS steps of k, or DUO_CHAINS in a vector product, and A is not transposed. */
INLINE void outer(const int steps, const int columns, const bool vector, const duo_product *product)
{
    duo_product copy = *product; /* which no store to C can change */
    const duo_product *const p = &copy;
    const int64_t b_k = p->transb ? p->ldb : 1, b_j = p->transb ? 1 : p->ldb;
    const int64_t strip = 8192 / steps / FULL * FULL; /* of A, in the L1 cache */
    copy.vector = vector;
    for (int64_t i = 0; i < p->m; i += strip) {
        const int64_t rows = smaller(p->m - i, strip);
        const float *const a = p->a + i;
        seen nans = unseen();
        for (int64_t j = 0; j < p->n; j += columns) {
            const int64_t here = smaller(p->n - j, columns);
            float *const c = p->c + i + j * p->ldc;
            vec y[4][DUO_CHAINS];
            UNROLLED for (int q = 0; q < columns; q++)
            {
                const float *const b = p->b + (q < here ? j + q : j) * b_j;
                UNROLLED for (int l = 0; l < steps; l++) y[q][l] = splat(b[l * b_k]);
            }
            if (p->beta != 0.0f)
                nans = outer_rows(BLENDED, steps, columns, p, a, y, here, rows, c, nans);
            else if (p->alpha != 1.0f)
                nans = outer_rows(SCALED, steps, columns, p, a, y, here, rows, c, nans);
            else
                nans = outer_rows(PLAIN, steps, columns, p, a, y, here, rows, c, nans);
        }
        if (has_nan(nans)) mend(p->c + i, p->ldc, rows, p->n);
    }
}

/* A line of the cache that two vectors share is written once if C is written column by column.
 * That pays for vectors of whole lines, if C is not in the L1 cache. */
NOINLINE void few_steps(const duo_product *p)
{
    const bool by_column = FULL * sizeof(float) == 64 && p->m * p->n > 1 << 13;
#define STEPS(steps, columns)                                                                      \
    case steps:                                                                                    \
        if (p->vector || steps > OUTER_STEPS)                                                      \
            outer(steps, 1, true, p);                                                              \
        else if (by_column)                                                                        \
            outer(steps, 1, false, p);                                                             \
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

/* The same for a transposed A: some of its rows are copied, and then the next ones. */
NOINLINE void few_steps_of_rows(const duo_product *p)
{
    enum { STRIP = 512 };
    float copy[DUO_CHAINS * STRIP];
    for (int64_t i = 0; i < p->m; i += STRIP) {
        const int64_t rows = smaller(p->m - i, STRIP);
        duo_product part = duo_product_tile(p, i, rows, 0, p->n);
        gather_rows(copy, STRIP, part.a, p->lda, p->k, rows);
        part.transa = false;
        part.a = copy;
        part.lda = STRIP;
        few_steps(&part);
    }
}
