/*
 * ffma_small.h - products that fit the L1 cache with their operands: these are read where they
 * are. Only a transposed A is packed, on the stack.
 *
 * Included by ffma_body.h.
 */

enum { TINY_STEPS = 8 };

INLINE bool is_small(const duo_product *p)
{
    return p->m <= ROWS && p->n <= 8 * COLUMNS && p->k < DUO_MANY;
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

/* Small products of one shape. A and B are read where they are. */
INLINE void small_of_many(const duo_product *p, many *of)
{
    tile t = tile_of(p);
    for (of->a_at = 0; of->a_at < p->m; of->a_at += t.rows) {
        t.rows = rows_of_tile(p->m - of->a_at);
        const int64_t width = even(p->n, t.rows > FULL ? COLUMNS : 2 * COLUMNS);
        for (int64_t j = 0; j < p->n; j += width) {
            of->b_at = j * t.b_column;
            of->c_at = of->a_at + j * p->ldc;
            kernels_of_many[vectors_of(t.rows)][smaller(p->n - j, width) - 1](&t, of);
        }
    }
}

INLINE void small_packed(const duo_product *p, number *packed)
{
    tile t = tile_of(p);
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
    tile t = tile_of(p);
    if (!p->transa)
        small_with(p, &t, NULL);
    else if (p->k <= TINY_STEPS)
        tiny_transposed(p);
    else
        small_transposed(p);
}
