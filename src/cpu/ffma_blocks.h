/*
 * ffma_blocks.h - large products, in blocks that fit the caches.
 *
 * Rows of A that fit the L2 cache are multiplied by all columns of a panel of B, segment after
 * segment of k. An operand is packed if it leaves the caches between its uses, unless it is packed
 * as a whole already.
 *
 * Included by ffma_body.h.
 */

/* Steps of k that decide whether a block of an operand is large: two segments. (With one, an A of
 * 192 rows would be read where it is, and 512^3 take 1.5 times as long on a Xeon.) */
static int64_t steps_used(const duo_product *p) { return smaller(p->k, 2 * DUO_SEGMENT); }

/* With few rows of C an element of B is used so seldom that columns of B are read where they are.
 * But if they are a multiple of 4 KiB apart, all columns of a tile want the same lines of the L1
 * cache, which has room for eight or twelve. */
static bool packs_b(const duo_product *p)
{
    const bool collides = !p->transb && p->ldb % 1024 == 0;
    if (!p->transb && p->m <= UNPACKED_ROWS && !(collides && COLUMNS > 8)) return false;
    return collides || p->n * steps_used(p) > UNPACKED_B;
}

/* What all rows of a block have in common: columns [0, n) of p and of packed B, or B itself. */
typedef struct block {
    const duo_product *p;
    const number *panel;  /* op(B) packed; NULL: B is read where it is */
    int64_t panel_step;   /* its columns; 0: only the current segment is in the panel, not all */
    int64_t panel_column; /* the first of p's columns in it */
    const number *all_a;  /* all of op(A) packed, from the first step of p on, or NULL */
    number *a;            /* memory for A, or NULL: A is read where it is */
    number *total;        /* of every tile, or NULL: there is one segment */
    int64_t width;        /* columns of a tile */
} block;

/* All of op(A), or of op(B), packed, from the first step of p on; NULL: it is not. */
static const number *all_of_a(const duo_product *p)
{
    const number *const a = p->packed != NULL ? p->packed->a : NULL;
    return a != NULL ? a + p->step * p->packed->rows : NULL;
}

static const number *all_of_b(const duo_product *p)
{
    const number *const b = p->packed != NULL ? p->packed->b : NULL;
    return b != NULL ? b + p->step * p->packed->columns : NULL;
}

static void multiply_segment(const block *b, int64_t i0, int64_t rows, int64_t first)
{
    const duo_product *const p = b->p;
    const int64_t k = smaller(p->k - first, DUO_SEGMENT);
    const number *const packed_a =
        b->all_a != NULL ? b->all_a + first * p->packed->rows + (p->row + i0) * k : b->a;
    const packing form = (packed_a != NULL ? A_PACKED : 0) | (b->panel != NULL ? B_PACKED : 0);
    const float *const a = p->a + (p->transa ? i0 * p->lda + first : i0 + first * p->lda);
    tile t = tile_of(p);
    t.k = k;
    t.total = b->total;
    t.adds = first > 0;
    t.ends = first + k == p->k;
    if (b->all_a == NULL && b->a != NULL) pack_a(b->a, a, p->lda, p->transa, rows, k);
    for (int64_t j = 0; j < p->n; j += b->width) {
        const int columns = (int)smaller(p->n - j, b->width);
        if (b->panel != NULL)
            t.packed_b = b->panel + first * b->panel_step + (b->panel_column + j) * k;
        else
            t.b = p->b + first * t.b_step + j * t.b_column;
        for (int64_t i = 0; i < rows; i += t.rows) {
            t.rows = rows_of_tile(rows - i);
            t.c = p->c + i0 + i + j * p->ldc;
            if (packed_a != NULL) {
                t.packed_a = packed_a + i * k;
                t.a_step = t.rows > FULL ? ROWS : FULL;
            } else {
                t.a = a + i;
            }
            run_kernel(&t, columns, form);
            if (t.total != NULL) t.total += ROWS * columns;
        }
    }
}

/* All rows of C, in blocks of rows. */
static void multiply_rows(const block *b)
{
    for (int64_t i = 0; i < b->p->m; i += BLOCK_ROWS)
        for (int64_t first = 0; first == 0 || first < b->p->k; first += DUO_SEGMENT)
            multiply_segment(b, i, smaller(b->p->m - i, BLOCK_ROWS), first);
}

/* Numbers of memory for a block's A, and for its totals of n columns. */
static int64_t a_numbers(const duo_product *p)
{
    if (all_of_a(p) != NULL) return 0;
    return (smaller(p->m, BLOCK_ROWS) / ROWS + 1) * ROWS * smaller(p->k, DUO_SEGMENT);
}

static int64_t total_numbers(const duo_product *p, int64_t n)
{
    return p->k > DUO_SEGMENT ? (smaller(p->m, BLOCK_ROWS) / ROWS + 1) * ROWS * n : 0;
}

static int64_t panel_numbers(int64_t n, int64_t k) { return n * k; }

static void pack_segment(const duo_product *p, int64_t first, int64_t j, int64_t n, number *to)
{
    const int64_t k = smaller(p->k - first, DUO_SEGMENT);
    pack_b(to + j * k, p->b + (p->transb ? first * p->ldb + j : first + j * p->ldb), p->ldb,
           p->transb, n, k, even_columns(p->n));
}

static void pack_panel(const duo_product *p, int64_t first, int64_t j, int64_t n, void *panel)
{
    pack_segment(p, first, j, n, (number *)panel + first * p->n);
}

static void pack_rows(const duo_product *p, int64_t first, int64_t i, int64_t m, int64_t rows,
                      void *packed)
{
    const int64_t k = smaller(p->k - first, DUO_SEGMENT);
    pack_a((number *)packed + first * rows + i * k,
           p->a + (p->transa ? i * p->lda + first : i + first * p->lda), p->lda, p->transa, m, k);
}

static bool multiply_panel(const duo_product *p, const void *panel)
{
    const int64_t a = a_numbers(p), total = total_numbers(p, p->n);
    number *memory = NULL;
    if (a + total > 0) {
        memory = duo_scratch_take((size_t)(a + total) * sizeof(number));
        if (memory == NULL) return false;
    }
    multiply_rows(&(block){.p = p,
                           .panel = panel,
                           .panel_step = p->n,
                           .all_a = all_of_a(p),
                           .a = memory,
                           .total = total > 0 ? memory + a : NULL,
                           .width = even_columns(p->n)});
    duo_scratch_give(memory);
    return true;
}

/*
 * A product that is packed as far as that pays, some columns of C at a time, so that their panel of
 * B stays in a cache. If there is one block of rows the panel has one segment, else all.
 */
static bool multiply_blocks(const duo_product *p)
{
    enum { LEAST = 8 * COLUMNS, MOST = 4080 / sizeof(number) / COLUMNS * COLUMNS };
    const bool one_segment = p->m <= BLOCK_ROWS;
    const int64_t steps = smaller(p->k, DUO_SEGMENT), deep = one_segment ? steps : p->k;
    const int64_t fit = PANEL_BYTES / (int64_t)sizeof(number) / deep / COLUMNS * COLUMNS;
    const number *const all_b = all_of_b(p);
    const int64_t width = all_b != NULL ? even_columns(p->packed->columns) : 1;
    const int64_t columns =
        smaller(p->n, (fit < LEAST ? LEAST : smaller(fit, MOST)) / width * width);
    const bool packs = all_b == NULL && packs_b(p);
    const bool packs_a = p->transa || smaller(p->m, BLOCK_ROWS) * steps_used(p) > UNPACKED_A;
    const int64_t total = total_numbers(p, columns), a = packs_a ? a_numbers(p) : 0;
    const int64_t panel = packs ? columns * deep : 0;
    number *memory = NULL;
    if (total + a + panel > 0) {
        memory = duo_scratch_take((size_t)(total + a + panel) * sizeof(number));
        if (memory == NULL) return false;
    }
    for (int64_t j = 0; j < p->n; j += columns) {
        const duo_product part = duo_product_tile(p, 0, p->m, j, smaller(p->n - j, columns));
        number *const packed = packs ? memory + total + a : NULL;
        block b = {.p = &part,
                   .panel = packed,
                   .panel_step = one_segment ? 0 : part.n,
                   .all_a = all_of_a(p),
                   .a = packs_a ? memory + total : NULL,
                   .total = total > 0 ? memory : NULL,
                   .width = even_columns(part.n)};
        if (all_b != NULL) {
            b.panel = all_b;
            b.panel_step = p->packed->columns;
            b.panel_column = part.column;
            b.width = width;
        }
        for (int64_t first = 0; first < p->k; first += DUO_SEGMENT) {
            if (packs)
                pack_segment(&part, first, 0, part.n, packed + (one_segment ? 0 : first * part.n));
            if (one_segment) multiply_segment(&b, 0, part.m, first);
        }
        if (!one_segment) multiply_rows(&b);
    }
    duo_scratch_give(memory);
    return true;
}
