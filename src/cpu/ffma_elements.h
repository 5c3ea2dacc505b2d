/*
 * ffma_elements.h - vector products with few elements and a long k. A vector has the chains of an
 * element, and the elements of a block hide each other's latency.
 *
 * Included by ffma_body.h.
 */

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

/* One element: four segments at a time hide each other's latency. */
NOINLINE number one_element(const float *x, const float *y, int64_t k)
{
    number total = 0.0f, sum[4];
    int64_t l = 0;
    for (; l + 4 * DUO_SEGMENT <= k; l += 4 * DUO_SEGMENT) {
        vec8 s[4];
        UNROLLED for (int q = 0; q < 4; q++) s[q] = zero8();
        for (int64_t z = l; z < l + DUO_SEGMENT; z += DUO_CHAINS)
            UNROLLED for (int q = 0; q < 4; q++) s[q] =
                fused8(load8(x + z + q * DUO_SEGMENT), load8(y + z + q * DUO_SEGMENT), s[q]);
        for (int q = 0; q < 4; q++) sum[q] = add_chains8(s[q]);
        for (int q = 0; q < 4; q++) total = l == 0 && q == 0 ? sum[q] : total + sum[q];
    }
    for (; l < k; l += DUO_SEGMENT) {
        sum_elements(1, 1, x + l, 0, y + l, 0, smaller(k - l, DUO_SEGMENT), sum, 0);
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

/* Few elements. If A's rows or B's columns are not contiguous, a part of them is copied. */
NOINLINE void few_elements(const duo_product *p)
{
    enum { PART = 128 };
    const bool a_along_k = p->transa, b_along_k = !p->transb;
    const int64_t area = p->m * p->n, most = a_along_k && b_along_k ? DUO_SEGMENT : PART;
    number total[DUO_FEW], chain[DUO_FEW * DUO_CHAINS];
    float copy[DUO_FEW / 2 * PART];
    for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
        const int64_t end = smaller(p->k, first + DUO_SEGMENT);
        memset(chain, 0, (size_t)(area * DUO_CHAINS) * sizeof *chain);
        for (int64_t l = first; l < end; l += most) {
            const int64_t steps = smaller(end - l, most);
            const float *x = p->a + l, *y = p->b + l;
            if (!a_along_k)
                gather_rows(copy, PART, p->a + l * p->lda, p->lda, p->m, steps), x = copy;
            if (!b_along_k)
                gather_rows(copy, PART, p->b + l * p->ldb, p->ldb, p->n, steps), y = copy;
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

/* Few elements. Each row of C is a product of its own, or each column. */
NOINLINE void few_lines(const duo_product *p)
{
    const bool by_rows = p->transa || (p->transb && p->m < p->n);
    for (int64_t q = 0; q < (by_rows ? p->m : p->n); q++) {
        const duo_product line =
            by_rows ? duo_product_tile(p, q, 1, 0, p->n) : duo_product_tile(p, 0, p->m, q, 1);
        const view w = by_rows ? transposed_view_of(&line) : view_of(&line);
        vector_in_registers(&w);
    }
}
