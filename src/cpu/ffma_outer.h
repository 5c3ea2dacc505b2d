/*
 * ffma_outer.h - products with few steps of k: an element takes little more than its reading and
 * writing. Columns of B stay in registers, and C is written from top to bottom.
 *
 * Included by ffma_body.h.
 */

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
