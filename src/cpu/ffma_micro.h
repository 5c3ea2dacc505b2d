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

/* x := `count` vectors of the next step of A, the last of them full if `whole`. */
INLINE void take_rows(const int count, const bool whole, const bool packed, const tile *t,
                      mask last, next_step *at, vec x[MOST_VECTORS])
{
    UNROLLED for (int v = 0; v < count; v++)
    {
        if (packed)
            x[v] = load_number(at->packed_a + v * WIDTH);
        else
            x[v] = load_rows(whole || v < count - 1, at->a + v * WIDTH, last);
    }
    if (packed)
        at->packed_a += t->a_step;
    else
        at->a += t->a_step;
}

/* Adds the next step to the sums. along_k: a column of B, which is not packed, is contiguous, and
 * not a row. */
INLINE void add_step(const int count, const int columns, const bool whole, const packing form,
                     const bool along_k, const tile *t, mask last, next_step *at,
                     vec s[][MOST_VECTORS])
{
    const bool packed_b = form == B_PACKED || form == BOTH_PACKED;
    vec x[MOST_VECTORS];
    take_rows(count, whole, form == A_PACKED || form == BOTH_PACKED, t, last, at, x);
    UNROLLED for (int j = 0; j < columns; j++)
    {
        const vec y = splat(packed_b  ? at->packed_b[j]
                            : along_k ? at->third[j / 3][j % 3 * t->b_column]
                                      : at->third[0][j]);
        UNROLLED for (int v = 0; v < count; v++) s[j][v] = fused(x[v], y, s[j][v]);
    }
    if (packed_b) {
        at->packed_b += columns;
    } else if (along_k) {
        UNROLLED for (int j = 0; j < columns; j += 3) at->third[j / 3]++;
    } else {
        at->third[0] += t->b_step;
    }
}

/* The same, `along_k`, for one vector of rows and two steps or one. Both elements of a column come
 * from one address, which has no index: Intel's processors take a multiplication by an element at
 * an address with an index apart. */
INLINE void add_steps(const int steps, const int columns, const bool whole, const bool packed_a,
                      const tile *t, mask last, next_step *at, vec s[][MOST_VECTORS])
{
    vec x[2][MOST_VECTORS];
    const float *b = at->third[0];
    UNROLLED for (int z = 0; z < steps; z++) take_rows(1, whole, packed_a, t, last, at, x[z]);
    UNROLLED for (int j = 0; j < columns; j++, b += t->b_column)
    {
        HIDE(b);
        UNROLLED for (int z = 0; z < steps; z++) s[j][0] = fused(x[z][0], splat(b[z]), s[j][0]);
    }
    at->third[0] += steps;
}

/* The tile's first `count` vectors of rows and `columns` columns. whole: is the last vector full? A
 * mask in a loop costs arithmetic. form: which operands are packed. Returns `nans`, and whether
 * there are some in C now. */
INLINE seen JOIN(micro, WIDTH)(const int count, const int columns, const bool whole,
                               const packing form, const tile *t, seen nans)
{
    vec s[2 * COLUMNS][MOST_VECTORS];
    const mask last = some(whole ? WIDTH : t->rows - (count - 1) * WIDTH);
    const bool packed_a = form == A_PACKED || form == BOTH_PACKED;
    const bool packed_b = form == B_PACKED || form == BOTH_PACKED;
    UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++) s[j][v] =
        zero();

    next_step at = {.a = t->a, .packed_a = t->packed_a, .packed_b = t->packed_b};
    int64_t left = t->k;
    at.third[0] = t->b;
    if (packed_b || t->b_step != 1) {
        for (; left > 0; left--) add_step(count, columns, whole, form, false, t, last, &at, s);
    } else if (FUSES_ELEMENTS != 0 && count == 1) {
        for (; left >= 2; left -= 2) add_steps(2, columns, whole, packed_a, t, last, &at, s);
        if (left > 0) add_steps(1, columns, whole, packed_a, t, last, &at, s);
    } else {
        UNROLLED for (int j = 3; j < columns; j += 3) at.third[j / 3] = t->b + j * t->b_column;
        if (count == 1) {
            for (; left > 0; left--) add_step(1, columns, whole, form, true, t, last, &at, s);
        } else { /* of a short loop processors foresee the end */
            BY_FOUR for (; left > 0; left--)
                add_step(count, columns, whole, form, true, t, last, &at, s);
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
    /* After all loads: a load that meets a masked store just done waits for it. */
    float *c = t->c;
    UNROLLED for (int j = 0; j < columns; j++, c += t->ldc)
    {
        HIDE(c);
        UNROLLED for (int v = 0; v < count; v++)
            store_rows(whole || v < count - 1, c + v * WIDTH, last, s[j][v]);
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

/* The same for a tile of many products, for all steps of k, without packing. */
INLINE void JOIN(micro_many, WIDTH)(const int count, const int columns, const bool whole,
                                    const tile *t, const many *of)
{
    tile one = *t;
    seen nans = unseen();
    one.adds = false;
    one.ends = true;
    for (int64_t i = 0; i < of->count; i++) {
        one.a = of->a[i] + of->a_at;
        one.b = of->b[i] + of->b_at;
        one.c = of->c[i] + of->c_at;
        nans = JOIN(micro, WIDTH)(count, columns, whole, NONE_PACKED, &one, nans);
    }
    if (has_nan(nans)) mend_many(t, of, columns);
}
