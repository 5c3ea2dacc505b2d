/*
 * ffma_micro.h - the product of a tile of C in registers, and how a vector of C ends. Included by
 * ffma_body.h once for each width of vectors.
 *
 * A vector holds WIDTH rows of a column. The function is inlined with constant arguments: so every
 * number of columns has a kernel of its own, and the last vector's mask is the only edge.
 */

/* From and to a vector of rows. whole: it is full; else the mask says which rows there are. */
INLINE vec load_rows(const bool whole, const float *p, mask which)
{
    return whole ? load(p) : load_some(p, which);
}

INLINE void store_rows(const bool whole, float *p, mask which, vec v)
{
    if (whole)
        store(p, v);
    else
        store_some(p, which, v);
}

INLINE void end_vector(const duo_product *p, vec sum, float *c, int64_t count)
{
    const vec alpha = splat(p->alpha);
    const mask which = some(count);
    const vec x = p->beta == 0.0f
                      ? times(alpha, sum)
                      : blend_vector(alpha, sum, times(splat(p->beta), load_some(c, which)));
    store_some(c, which, x);
    if (has_nan(look(unseen(), x, x))) mend(c, 0, smaller(count, WIDTH), 1);
}

/* The tile's first `count` vectors of rows and `columns` columns. whole: is the last vector full? A
 * mask in a loop costs arithmetic. form: which operands are packed. Returns `nans`, and whether
 * there are some in C now. */
INLINE seen JOIN(micro, WIDTH)(const int count, const int columns, const bool whole,
                               const packing form, const tile *t, seen nans)
{
    vec s[2 * COLUMNS][2];
    const mask last = some(whole ? WIDTH : t->rows - (count - 1) * WIDTH);
    const bool packed_a = form == A_PACKED || form == BOTH_PACKED;
    const bool packed_b = form == B_PACKED || form == BOTH_PACKED;
    UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++) s[j][v] =
        zero();

    /* Of B without packing every third column has a pointer: an address has only scales of 1 and
     * 2. */
    const number *pa = t->packed_a, *pb = t->packed_b;
    const float *a = t->a, *third[(2 * COLUMNS + 2) / 3];
    UNROLLED for (int j = 0; !packed_b && j < columns; j += 3) third[j / 3] =
        t->b + j * t->b_column;
    for (int64_t left = t->k; left > 0; left--) {
        vec x[2];
        UNROLLED for (int v = 0; v < count; v++)
        {
            if (packed_a)
                x[v] = load_number(pa + v * WIDTH);
            else
                x[v] = load_rows(whole || v < count - 1, a + v * WIDTH, last);
        }
        if (packed_a)
            pa += t->a_step;
        else
            a += t->a_step;
        UNROLLED for (int j = 0; j < columns; j++)
        {
            const vec y = splat(packed_b ? pb[j] : third[j / 3][j % 3 * t->b_column]);
            UNROLLED for (int v = 0; v < count; v++) s[j][v] = fused(x[v], y, s[j][v]);
        }
        if (packed_b) {
            pb += columns;
        } else {
            UNROLLED for (int j = 0; j < columns; j += 3) third[j / 3] += t->b_step;
        }
    }

    if (t->adds) {
        UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++)
            s[j][v] = plus(load_number(t->total + (j * count + v) * WIDTH), s[j][v]);
    }
    if (!t->ends) {
        UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++)
            store_number(t->total + (j * count + v) * WIDTH, s[j][v]);
        return nans;
    }
    const vec alpha = splat(t->alpha), beta = splat(t->beta);
    if (t->beta == 0.0f && t->alpha == 1.0f) {
        /* the sums are C */
    } else if (t->beta == 0.0f) {
        UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++)
            s[j][v] = times(alpha, s[j][v]);
    } else {
        UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++)
        {
            const float *const c = t->c + j * t->ldc + v * WIDTH;
            s[j][v] = blend_vector(alpha, s[j][v],
                                   times(beta, load_rows(whole || v < count - 1, c, last)));
        }
    }
    /* After all loads: a load that meets a masked store just done waits for it. Every third column
     * has a pointer, found only now: compilers find all of them before, one after the other, and
     * keep them in vectors. */
    float *c = t->c;
    const int64_t ldc = t->ldc;
    UNROLLED for (int j = 0; j < columns; j++)
    {
        if (j % 3 == 0) __asm__("" : "+r"(c));
        UNROLLED for (int v = 0; v < count; v++)
            store_rows(whole || v < count - 1, c + j % 3 * ldc + v * WIDTH, last, s[j][v]);
        if (j % 3 == 2) c += 3 * ldc;
    }
    UNROLLED for (int e = 0; e < count * columns; e += 2)
    {
        const int f = e + 1 < count * columns ? e + 1 : e;
        nans = look(nans, s[e / count][e % count], s[f / count][f % count]);
    }
    return nans;
}

/* The same, with the one NaN for each. */
INLINE void JOIN(micro_one, WIDTH)(const int count, const int columns, const bool whole,
                                   const packing form, const tile *t)
{
    if (t->ends && t->k >= 32) {
        UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++)
            __builtin_prefetch(t->c + j * t->ldc + v * WIDTH, 1);
    }
    if (has_nan(JOIN(micro, WIDTH)(count, columns, whole, form, t, unseen())))
        mend(t->c, t->ldc, t->rows, columns);
}

/* The same for a tile of one vector of rows, of many products, for all steps of k, without
 * packing. */
INLINE void JOIN(micro_many, WIDTH)(const int columns, const bool whole, const tile *t,
                                    const many *of)
{
    tile one = *t;
    seen nans = unseen();
    one.adds = false;
    one.ends = true;
    for (int64_t i = 0; i < of->count; i++) {
        one.a = of->a[i] + of->a_at;
        one.b = of->b[i] + of->b_at;
        one.c = of->c[i] + of->c_at;
        nans = JOIN(micro, WIDTH)(1, columns, whole, NONE_PACKED, &one, nans);
    }
    if (has_nan(nans)) mend_many(t, of, columns);
}
