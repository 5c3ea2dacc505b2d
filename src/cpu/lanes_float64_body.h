/*
 * lanes_float64_body.h - the same order in float64 throughout: for every sum of DUO_MATH_FLOAT64,
 * and for blocks with a float32 sum that is not finite.
 *
 * Included by lanes_body.h. Elements are converted to float64 as they are loaded: a product of two
 * is exact, and nothing overflows.
 *
 * Memory   A group of 256 elements is read once for each of WIDE_PARTS, after the first time from
 *          L1: sums of all 16 lanes at once do not fit into the registers of AVX2.
 * Tail     A last group of fewer than 256 elements is copied and filled up with zeros.
 */
enum { WIDE = WIDTH / 2, WIDE_PARTS = 16 / WIDE }; /* doubles in a vector; vectors in 16 lanes */

_Static_assert(sizeof(wide) == WIDE * sizeof(double), "a wide vector holds WIDE doubles");

typedef int64_t wide_bits __attribute__((vector_size(WIDE * sizeof(double))));
typedef struct wide_lanes {
    wide part[WIDE_PARTS];
} wide_lanes;

INLINE wide wide_leaf(duo_operation operation, const float *x, const float *y)
{
    const wide v = widen(x);
    if (operation == DUO_SDOT) return v * widen(y);
    return operation == DUO_SASUM ? (wide)((wide_bits)v & INT64_MAX) : v;
}

/* T: a column of 8 rows, by halving. */
INLINE wide wide_column(duo_operation operation, const float *x, const float *y)
{
    const wide a0 = wide_leaf(operation, x, y) + wide_leaf(operation, x + 64, y + 64);
    const wide a1 = wide_leaf(operation, x + 16, y + 16) + wide_leaf(operation, x + 80, y + 80);
    const wide a2 = wide_leaf(operation, x + 32, y + 32) + wide_leaf(operation, x + 96, y + 96);
    const wide a3 = wide_leaf(operation, x + 48, y + 48) + wide_leaf(operation, x + 112, y + 112);
    return (a0 + a2) + (a1 + a3);
}

/* Adds G, a group of two columns, to V in all lanes. */
INLINE void wide_group(duo_operation operation, const float *x, const float *y, wide_lanes *v)
{
    ROLLED for (int i = 0; i < WIDE_PARTS; i++)
    {
        const wide low = wide_column(operation, x, y);
        const wide high = wide_column(operation, x + 128, y + 128);
        v->part[i] += low + high;
        x += WIDE;
        y += WIDE;
    }
}

/* The same if `count` elements are left, 0 < count < 256; missing ones count as +0. */
INLINE void wide_group_some(duo_operation operation, const float *x, const float *y, int count,
                            wide_lanes *v)
{
    float x_left[256] = {0}, y_left[256] = {0};
    memcpy(x_left, x, (size_t)count * sizeof *x);
    if (operation == DUO_SDOT) memcpy(y_left, y, (size_t)count * sizeof *y);
    wide_group(operation, x_left, y_left, v);
}

/* The sum of 16 lanes, by halving. */
INLINE double wide_add_lanes(wide_lanes v)
{
    for (int step = WIDE_PARTS / 2; step >= 1; step /= 2)
        for (int i = 0; i < step; i++) v.part[i] += v.part[i + step];
    for (int step = WIDE / 2; step >= 1; step /= 2)
        for (int i = 0; i < step; i++) v.part[0][i] += v.part[0][i + step];
    return v.part[0][0];
}

/* Sum of a block, 0 < count <= 1024. */
INLINE double wide_block(duo_operation operation, const float *x, const float *y, int count)
{
    wide_lanes v = {0};
    ROLLED for (; count >= 256; count -= 256)
    {
        wide_group(operation, x, y, &v);
        x += 256;
        y += 256;
    }
    if (UNLIKELY(count > 0)) wide_group_some(operation, x, y, count, &v);
    return wide_add_lanes(v);
}

INLINE double wide_unit(duo_operation operation, int64_t n, const float *x, const float *y)
{
    double node[DUO_UNIT / DUO_BLOCK];
    int nodes = 0;
    for (int64_t i = 0; i < n; i += DUO_BLOCK)
        node[nodes++] =
            wide_block(operation, x + i, y + i, n - i < DUO_BLOCK ? (int)(n - i) : DUO_BLOCK);
    return duo_lanes_add_nodes(node, nodes);
}
