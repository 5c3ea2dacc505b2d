/*
 * ffma_tall.h - products in tall tiles: of 3 or 4 vectors of rows, and of fewer columns than other
 * tiles. A tall tile loads fewer numbers for each multiplication. A and B are read where they are.
 * The tile's rows of A stay in the L1 cache.
 *
 * Included by ffma_body.h.
 */
#if TALL

enum { THREE_WIDE = 8, FOUR_WIDE = 6 };

#define EACH_OF_THREE(X) X(3, 1) X(3, 2) X(3, 3) X(3, 4) X(3, 5) X(3, 6) X(3, 7) X(3, 8)
#define EACH_OF_FOUR(X)  X(4, 1) X(4, 2) X(4, 3) X(4, 4) X(4, 5) X(4, 6)
#define TALL_KERNEL(count, columns)                                                                \
    static void tall_##count##_##columns(const tile *t)                                            \
    {                                                                                              \
        if (t->rows == count * FULL)                                                               \
            JOIN(micro_one, FULL)(count, columns, true, NONE_PACKED, t);                           \
        else                                                                                       \
            JOIN(micro_one, FULL)(count, columns, false, NONE_PACKED, t);                          \
    }
#define TALL_NAME(count, columns) tall_##count##_##columns,
EACH_OF_THREE(TALL_KERNEL)
EACH_OF_FOUR(TALL_KERNEL)

/* By vectors of rows - 3, by columns - 1. */
static kernel *const tall_kernels[2][THREE_WIDE] = {{EACH_OF_THREE(TALL_NAME)},
                                                    {EACH_OF_FOUR(TALL_NAME)}};

static bool is_tall(const duo_product *p)
{
    return !p->transa && p->packed == NULL && p->m > ROWS && p->m <= BLOCK_ROWS &&
           p->n <= 16 * COLUMNS && p->k <= DUO_SEGMENT && !packs_b(p);
}

/* Vectors of rows of the next tile. No tile has a single one: 5 are 3 and 2, 6 and 9 are threes. */
static int next_vectors(int64_t left)
{
    const int64_t vectors = (left + FULL - 1) / FULL;
    if (vectors <= 4) return (int)vectors;
    return vectors == 5 || vectors == 6 || vectors == 9 ? 3 : 4;
}

NOINLINE void tall(const duo_product *p)
{
    tile t = tile_of(p);
    for (int64_t i = 0; i < p->m; i += t.rows) {
        const int vectors = next_vectors(p->m - i);
        const int64_t width = even(p->n, vectors == 4   ? FOUR_WIDE
                                         : vectors == 3 ? THREE_WIDE
                                                        : COLUMNS);
        t.rows = (int)smaller(p->m - i, vectors * FULL);
        t.a = p->a + i;
        for (int64_t j = 0; j < p->n; j += width) {
            const int columns = (int)smaller(p->n - j, width);
            t.b = p->b + j * t.b_column;
            t.c = p->c + i + j * p->ldc;
            if (vectors < 3)
                run_kernel(&t, columns, NONE_PACKED);
            else
                tall_kernels[vectors - 3][columns - 1](&t);
        }
    }
}

#else

static bool is_tall(const duo_product *p)
{
    (void)p;
    return false;
}

static void tall(const duo_product *p) { (void)p; }

#endif
