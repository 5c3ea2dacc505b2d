/*
 * ffma_vectors.h - vector products with one column or one row: DUO_CHAINS chains an element.
 *
 * If X's rows are contiguous, a vector has the chains of an element. If its columns are, a vector
 * has elements, and there is one for each chain.
 *
 * Included by ffma_body.h.
 */

/* One column of Y. The chains of a vector of rows stay in registers: for an X in the caches with
 * contiguous columns, and for one with rows so short that they are transposed. */
enum { SHORT_ROW = 2 * DUO_CHAINS };

/* One vector of rows, of `rows`: all of them if `whole`. */
INLINE void rows_in_registers(const bool whole, const view *w, const float *x, int64_t ldx,
                              int64_t rows, float *c)
{
    const duo_product *const p = w->p;
    const mask which = some(rows);
    vec total = zero();
    for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
        const int64_t end = smaller(p->k, first + DUO_SEGMENT);
        vec s[DUO_CHAINS];
        UNROLLED for (int z = 0; z < DUO_CHAINS; z++) s[z] = zero();
        int64_t l = first;
        for (; l + DUO_CHAINS <= end; l += DUO_CHAINS)
            UNROLLED for (int z = 0; z < DUO_CHAINS; z++) s[z] = fused(
                load_rows(whole, x + (l + z) * ldx, which), splat(w->y[(l + z) * w->y_k]), s[z]);
        UNROLLED for (int z = 0; z < DUO_CHAINS - 1; z++) if (l + z < end) s[z] =
            fused(load_rows(whole, x + (l + z) * ldx, which), splat(w->y[(l + z) * w->y_k]), s[z]);
        const vec sum = add_chain_vectors(s);
        total = first == 0 ? sum : plus(total, sum);
    }
    end_elements(p, total, c, w->c_i, rows);
}

NOINLINE void vector_in_registers(const view *w)
{
    const int64_t k = w->p->k;
    float transposed[SHORT_ROW * FULL];
    for (int64_t i = 0; i < w->m; i += FULL) {
        const int64_t rows = smaller(w->m - i, FULL);
        float *const c = w->c + i * w->c_i;
        const float *x = w->x + i;
        int64_t ldx = w->ldx;
        if (w->along_k) {
            gather_rows(transposed, FULL, w->x + i * w->ldx, w->ldx, k, rows);
            x = transposed;
            ldx = FULL;
        }
        if (rows == FULL) /* else there is no row behind some lanes: they must not raise flags */
            rows_in_registers(true, w, x, ldx, rows, c);
        else
            rows_in_registers(false, w, x, ldx, rows, c);
    }
}

/* Adds steps [l, l + 2 DUO_CHAINS) to the chains of a vector of rows: chain[z FULL + row]. */
INLINE void add_to_columns(const bool whole, const view *w, const float *x, int64_t l, mask which,
                           number *chain)
{
    enum { CHAINS = DUO_CHAINS };
    const float *const y = w->y + l * w->y_k;
    UNROLLED for (int z = 0; z < CHAINS; z++)
    {
        number *const s = chain + z * FULL;
        const float *const xz = x + z * w->ldx;
        const vec half = fused(load_rows(whole, xz, which), splat(y[z * w->y_k]), load_number(s));
        store_number(s, fused(load_rows(whole, xz + CHAINS * w->ldx, which),
                              splat(y[(z + CHAINS) * w->y_k]), half));
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
        const int64_t whole = rows / FULL, vectors = (rows + FULL - 1) / FULL;
        const mask last = some(rows - whole * FULL);
        for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
            const int64_t end = smaller(p->k, first + DUO_SEGMENT);
            memset(chain, 0, (size_t)vectors * FULL * CHAINS * sizeof *chain);
            int64_t l = first;
            for (; l + 2 * CHAINS <= end; l += 2 * CHAINS) {
                const float *const x = w->x + i0 + l * w->ldx;
                for (int64_t v = 0; v < whole; v++)
                    add_to_columns(true, w, x + v * FULL, l, last, chain + v * CHAINS * FULL);
                if (whole < vectors)
                    add_to_columns(false, w, x + whole * FULL, l, last,
                                   chain + whole * CHAINS * FULL);
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
    /* Of the other chains nothing changes: they get + 0 * -0. */
    vec8 factor[4];
    UNROLLED for (int j = 0; j < columns; j++) factor[j] = filled8(y + j * ldy + l, k - l);
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
    UNROLLED for (int e = 0; e < rows * columns; e++) s[e] = zero8();
    add_to_chains(rows, columns, x, ldx, y, ldy, k, s);
    UNROLLED for (int i = 0; i < rows; i++) UNROLLED for (int j = 0; j < columns; j++)
        sum[i + j * step_j] = add_chains8(s[i * columns + j]);
}

/* One column of Y, X's rows contiguous. All of a few rows are read before the next ones: memory is
 * read in long runs. */
NOINLINE void vector_by_rows(const view *w)
{
    enum { ROWS_OF_STRIP = 256 };
    const duo_product *const p = w->p;
    number total[ROWS_OF_STRIP], sum[8];
    const bool gathers = w->y_k != 1;
    float near[DUO_SEGMENT], *const far = gathers && p->k > DUO_SEGMENT
                                              ? duo_scratch_take((size_t)p->k * sizeof *far)
                                              : NULL;
    float *const copy = far != NULL ? far : near;
    const bool whole = far != NULL || p->k <= DUO_SEGMENT; /* is all of Y copied at once? */
    if (gathers && whole)
        for (int64_t l = 0; l < p->k; l++) copy[l] = w->y[l * w->y_k];
    for (int64_t i0 = 0; i0 < w->m; i0 += ROWS_OF_STRIP) {
        const int64_t rows = smaller(w->m - i0, ROWS_OF_STRIP);
        for (int64_t i = 0, here; i < rows; i += here) {
            here = rows - i >= 8 ? 8 : rows - i >= 4 ? 4 : 1;
            for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
                const int64_t k = smaller(p->k - first, DUO_SEGMENT);
                const float *const x = w->x + (i0 + i) * w->ldx + first, *y = w->y + first;
                if (gathers && !whole)
                    for (int64_t l = 0; l < k; l++) copy[l] = w->y[(first + l) * w->y_k];
                if (gathers) y = whole ? copy + first : copy;
                if (here == 8)
                    sum_elements(8, 1, x, w->ldx, y, 0, k, sum, 0);
                else if (here == 4)
                    sum_elements(4, 1, x, w->ldx, y, 0, k, sum, 0);
                else
                    sum_elements(1, 1, x, w->ldx, y, 0, k, sum, 0);
                for (int64_t q = 0; q < here; q++)
                    total[i + q] = first == 0 ? sum[q] : total[i + q] + sum[q];
            }
        }
        for (int64_t i = 0; i < rows; i++) end_element(p, total[i], w->c + (i0 + i) * w->c_i);
    }
    duo_scratch_give(far);
}
