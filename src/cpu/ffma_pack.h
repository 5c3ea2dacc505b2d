/*
 * ffma_pack.h - operands in the order in which a kernel reads them: for each step of k the rows,
 * or the columns, of a tile.
 *
 * Included by ffma_body.h.
 */

/*
 * Rows of op(A) for `k` steps, tile by tile: a tile has its rows for each step in turn, filled up
 * with zeros to whole vectors. From an A that is not transposed all rows of a few columns are taken
 * at a time: columns may be pages apart.
 */
static void pack_columns_of_a(number *to, const float *a, int64_t lda, int64_t rows, int64_t k)
{
    enum { STEPS = 8 };
    for (int64_t first = 0; first < k; first += STEPS) {
        const int64_t end = smaller(first + STEPS, k);
        for (int64_t i = 0, r; i < rows; i += r) {
            r = rows_of_tile(rows - i);
            const int64_t step = r > FULL ? ROWS : FULL;
            const mask last = some(r - (step - FULL));
            number *const out = to + i * k;
            for (int64_t l = first; l < end; l++) {
                const float *const p = a + i + l * lda;
                if (step > FULL) store_number(out + l * step, load(p));
                store_number(out + l * step + step - FULL, load_some(p + step - FULL, last));
            }
        }
    }
}

/* Transposes up to FULL rows into vectors `step` apart. */
NOINLINE void transpose_rows(number *to, int64_t step, const float *a, int64_t lda, int64_t rows,
                             int64_t k)
{
    int64_t l = 0;
    if (rows == FULL) {
        for (; l + FULL <= k; l += FULL) { /* whole lines of the cache */
            vec x[FULL];
            columns_all(x, a + l, lda);
            UNROLLED for (int z = 0; z < FULL; z++) store_number(to + (l + z) * step, x[z]);
        }
        for (; l + 4 <= k; l += 4) {
            vec x[4];
            columns_4(x, a + l, lda);
            UNROLLED for (int z = 0; z < 4; z++) store_number(to + (l + z) * step, x[z]);
        }
    } else {
        for (; l + 4 <= k; l += 4) {
            int64_t q = 0;
            UNROLLED for (int z = 0; z < 4; z++) store_number(to + (l + z) * step, zero());
            for (; q + 4 <= rows; q += 4)
                transpose_4(to + l * step + q, step, a + l + q * lda, lda);
            for (; q < rows; q++)
                for (int64_t z = 0; z < 4; z++) to[(l + z) * step + q] = a[l + z + q * lda];
        }
    }
    for (; l < k; l++)
        for (int64_t q = 0; q < FULL; q++) to[l * step + q] = q < rows ? a[l + q * lda] : 0.0f;
}

static void pack_rows_of_a(number *to, const float *a, int64_t lda, int64_t rows, int64_t k)
{
    for (int64_t i = 0, r; i < rows; i += r) {
        r = rows_of_tile(rows - i);
        const int64_t step = r > FULL ? ROWS : FULL;
        for (int64_t v = 0; v < step; v += FULL)
            transpose_rows(to + v, step, a + (i + v) * lda, lda, smaller(r - v, FULL), k);
        to += step * k;
    }
}

static void pack_a(number *to, const float *a, int64_t lda, bool trans, int64_t rows, int64_t k)
{
    if (trans)
        pack_rows_of_a(to, a, lda, rows, k);
    else
        pack_columns_of_a(to, a, lda, rows, k);
}

INLINE void copy_columns(number *to, const float *from)
{
    UNROLLED for (int j = 0; j < COLUMNS; j++) to[j] = from[j];
}

/* `n` columns of op(B) for `k` steps, `width` columns side by side: for each step in turn. Of a
 * transposed B all columns of a few steps are taken at a time: steps may be pages apart. */
static void pack_rows_of_b(number *to, const float *b, int64_t ldb, int64_t n, int64_t k,
                           int64_t width)
{
    enum { STEPS = 8 };
    for (int64_t first = 0; first < k; first += STEPS) {
        const int64_t end = smaller(first + STEPS, k);
        for (int64_t j = 0; j < n; j += width) {
            const int64_t here = smaller(n - j, width);
            number *const out = to + j * k;
            if (here == COLUMNS) {
                for (int64_t l = first; l < end; l++)
                    copy_columns(out + l * COLUMNS, b + j + l * ldb);
            } else {
                for (int64_t l = first; l < end; l++)
                    for (int64_t q = 0; q < here; q++) out[l * here + q] = b[j + q + l * ldb];
            }
        }
    }
}

static void pack_columns_of_b(number *to, const float *b, int64_t ldb, int64_t n, int64_t k,
                              int64_t width)
{
    for (int64_t j = 0; j < n; j += width) {
        const int64_t here = smaller(n - j, width);
        int64_t q = 0;
        for (; q + 4 <= here; q += 4) {
            const float *p = b + (j + q) * ldb;
            int64_t l = 0;
            for (; l + 4 <= k; l += 4) transpose_4(to + l * here + q, here, p + l, ldb);
            for (; l < k; l++)
                for (int64_t z = 0; z < 4; z++) to[l * here + q + z] = p[z * ldb + l];
        }
        for (; q < here; q++)
            for (int64_t l = 0; l < k; l++) to[l * here + q] = b[(j + q) * ldb + l];
        to += here * k;
    }
}

static void pack_b(number *to, const float *b, int64_t ldb, bool trans, int64_t n, int64_t k,
                   int64_t width)
{
    if (trans)
        pack_rows_of_b(to, b, ldb, n, k, width);
    else
        pack_columns_of_b(to, b, ldb, n, k, width);
}

typedef float floats4 __attribute__((vector_size(16)));

/* to[i step + l] := p[i + l ld] for i, l < 4 */
INLINE void gather_4(float *to, int64_t step, const float *p, int64_t ld)
{
    floats4 r[4], t[4];
    UNROLLED for (int l = 0; l < 4; l++) memcpy(&r[l], p + l * ld, sizeof r[l]);
    t[0] = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    t[1] = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    t[2] = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    t[3] = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(t[0], t[2], 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(t[0], t[2], 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(t[1], t[3], 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(t[1], t[3], 2, 3, 6, 7);
    UNROLLED for (int i = 0; i < 4; i++) memcpy(to + i * step, &r[i], sizeof r[i]);
}

/* Rows of k steps, side by side: to[i step + l] := p[i + l ld]. */
static void gather_rows(float *to, int64_t step, const float *p, int64_t ld, int64_t rows,
                        int64_t k)
{
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        int64_t l = 0;
        for (; l + 4 <= k; l += 4) gather_4(to + i * step + l, step, p + i + l * ld, ld);
        for (; l < k; l++)
            UNROLLED for (int z = 0; z < 4; z++) to[(i + z) * step + l] = p[i + z + l * ld];
    }
    for (; i < rows; i++)
        for (int64_t l = 0; l < k; l++) to[i * step + l] = p[i + l * ld];
}
