/*
 * ffma_micro.h - the product of a tile of C in registers. Included by ffma_body.h once for each
 * width of vectors.
 *
 * A vector holds WIDTH rows of a column. The function is inlined with constant arguments: so every
 * number of columns has a kernel of its own, and the last vector's mask is the only edge.
 */

/* The tile's first `count` vectors of rows, the last one perhaps not full, and `columns` columns.
 * form: which operands are packed. */
INLINE void JOIN(micro, WIDTH)(const int count, const int columns, const packing form,
                               const tile *t)
{
    vec s[COLUMNS][2];
    const mask last = some(t->rows - (count - 1) * WIDTH);
    const bool packed_a = form == A_PACKED || form == BOTH_PACKED;
    const bool packed_b = form == B_PACKED || form == BOTH_PACKED;
    UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++) s[j][v] =
        zero();
    if (t->ends && t->k >= 32) {
        UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++)
            __builtin_prefetch(t->c + j * t->ldc + v * WIDTH, 1);
    }

    /* Of B without packing every third column has a pointer: an address has only scales of 1 and
     * 2. */
    const number *pa = t->packed_a, *pb = t->packed_b;
    const float *a = t->a, *third[(COLUMNS + 2) / 3];
    UNROLLED for (int j = 0; !packed_b && j < columns; j += 3) third[j / 3] =
        t->b + j * t->b_column;
    for (int64_t left = t->k; left > 0; left--) {
        vec x[2];
        UNROLLED for (int v = 0; v < count; v++)
        {
            if (packed_a)
                x[v] = load_number(pa + v * WIDTH);
            else if (v < count - 1)
                x[v] = load(a + v * WIDTH);
            else
                x[v] = load_some(a + v * WIDTH, last);
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
        return;
    }
    const vec alpha = splat(t->alpha), beta = splat(t->beta);
    UNROLLED for (int j = 0; j < columns; j++) UNROLLED for (int v = 0; v < count; v++)
    {
        const float *const c = t->c + j * t->ldc + v * WIDTH;
        if (t->beta == 0.0f)
            s[j][v] = times(alpha, s[j][v]);
        else
            s[j][v] = blend_vector(alpha, s[j][v],
                                   times(beta, v < count - 1 ? load(c) : load_some(c, last)));
    }
    /* After all loads: a load that meets a masked store just done waits for it. */
    UNROLLED for (int j = 0; j < columns; j++)
    {
        float *const c = t->c + j * t->ldc;
        UNROLLED for (int v = 0; v < count - 1; v++) store(c + v * WIDTH, s[j][v]);
        store_some(c + (count - 1) * WIDTH, last, s[j][count - 1]);
    }
}
