/*
 * lanes_body.h - one clone of the reductions: the documented order of summation in vectors.
 *
 * Included by lanes_<isa>.c, which defines before:
 *   ISA            the clone's name, as a token
 *   WIDTH          floats in a vector: 4, 8 or 16
 *   vector         that vector, a GCC vector type
 *   load(p)        WIDTH floats from any float address
 *   load_some(p, count)  the first count of them, the others +0; reads nothing beyond; count >= 1
 *   absolute(v)    clears the signs
 *   add_lanes(v)   16 lanes in v[PARTS]: converts to float64 and adds by halving
 *
 * Order       Logical index in a block: 256q + 128h + 16r + l. A lane l never meets another one in
 *             float32, so the code below is about a vector of lanes that are 16 floats apart row
 *             by row, and a clone with WIDTH < 16 runs it once for each of its PARTS.
 * Memory      Every element is read once (WIDTH < 16: every cache line PARTS times, from L1).
 *             Loads go up in address, few in a loop body, without prefetch: measured best on Zen.
 * Compile     -ffp-contract=off: the order knows no fused multiply-add.
 */
#include <float.h>
#include <math.h>

#include "float_mode.h"
#include "lanes.h"
#include "lanes_internal.h"

#define INLINE              static inline __attribute__((always_inline))
#define NOINLINE            static __attribute__((noinline))
#define COLD                static __attribute__((noinline, cold))
#define UNLIKELY(condition) __builtin_expect(condition, 0)
#define PASTE_(a, b)        a##b
#define PASTE(a, b)         PASTE_(a, b)
#define TEXT_(a)            #a
#define TEXT(a)             TEXT_(a)

_Static_assert(PARTS *WIDTH == 16, "the order has 16 lanes");

/* The operation is a constant wherever these are inlined: the branches cost nothing. */
INLINE vector leaf(duo_operation operation, const float *x, const float *y)
{
    const vector a = load(x);
    if (operation == DUO_SASUM) return absolute(a);
    if (operation == DUO_SDOT) return multiply(a, load(y));
    return a;
}

INLINE vector leaf_some(duo_operation operation, const float *x, const float *y, int count)
{
    const vector a = load_some(x, count);
    if (operation == DUO_SASUM) return absolute(a);
    if (operation == DUO_SDOT) return multiply(a, load_some(y, count));
    return a;
}

/* T of the definition: 8 rows, by halving. */
INLINE vector column(duo_operation operation, const float *x, const float *y)
{
    vector a0 = leaf(operation, x, y);
    vector a1 = leaf(operation, x + 16, y + 16);
    vector a2 = leaf(operation, x + 32, y + 32);
    vector a3 = leaf(operation, x + 48, y + 48);
    a0 = add_m(a0, leaf(operation, x + 64, y + 64));
    a1 = add_m(a1, leaf(operation, x + 80, y + 80));
    a2 = add_m(a2, leaf(operation, x + 96, y + 96));
    a3 = add_m(a3, leaf(operation, x + 112, y + 112));
    return add(add(a0, a2), add(a1, a3));
}

/* T of a column that may end early: `count` elements are left from x on. */
INLINE vector column_some(duo_operation operation, const float *x, const float *y, int count)
{
    if (count <= 0) return (vector){0};
    vector a0 = leaf_some(operation, x, y, count);
    if (count <= 16) return a0;
    vector a1 = leaf_some(operation, x + 16, y + 16, count - 16);
    if (count <= 32) return add(a0, a1);
    vector a2 = leaf_some(operation, x + 32, y + 32, count - 32), a3 = {0};
    if (count > 48) a3 = leaf_some(operation, x + 48, y + 48, count - 48);
    if (count > 64) a0 = add(a0, leaf_some(operation, x + 64, y + 64, count - 64));
    if (count > 80) a1 = add(a1, leaf_some(operation, x + 80, y + 80, count - 80));
    if (count > 96) a2 = add(a2, leaf_some(operation, x + 96, y + 96, count - 96));
    if (count > 112) a3 = add(a3, leaf_some(operation, x + 112, y + 112, count - 112));
    return add(add(a0, a2), add(a1, a3));
}

/* G of the definition: two columns. */
INLINE vector group(duo_operation operation, const float *x, const float *y)
{
    return add(column(operation, x, y), column(operation, x + 128, y + 128));
}

/* V of a block that may end early, 0 < count <= 1024. */
INLINE vector chain_some(duo_operation operation, const float *x, const float *y, int count)
{
    if (count < 128) return column_some(operation, x, y, count);
    if (count < 256)
        return add(column(operation, x, y), column_some(operation, x + 128, y + 128, count - 128));
    vector v = group(operation, x, y);
    for (count -= 256, x += 256, y += 256; count >= 256; count -= 256, x += 256, y += 256)
        v = add(v, group(operation, x, y));
    if (count < 128) return add(v, column_some(operation, x, y, count));
    return add(v,
               add(column(operation, x, y), column_some(operation, x + 128, y + 128, count - 128)));
}

INLINE double block_some(duo_operation operation, int count, const float *x, const float *y)
{
    vector v[PARTS];
    for (int p = 0; p < PARTS; p++)
        v[p] = chain_some(operation, x + WIDTH * p, y + WIDTH * p, count - WIDTH * p);
    return add_lanes(v);
}

INLINE void block(duo_operation operation, const float *x, const float *y, vector v[PARTS])
{
    for (int p = 0; p < PARTS; p++) v[p] = (vector){0};
    UNR for (int q = 0; q < 4; q++, x += 256, y += 256) for (int p = 0; p < PARTS; p++) v[p] =
        add(v[p], group(operation, x + WIDTH * p, y + WIDTH * p));
}

#ifdef DEFER
INLINE void full_blocks(duo_operation operation, int blocks, const float *x, const float *y,
                        double *node)
{
    float lanes[64 * 16] __attribute__((aligned(64)));
    for (int b = 0; b < blocks; b++) {
        vector v[PARTS];
        block(operation, x + DUO_BLOCK * b, y + DUO_BLOCK * b, v);
        for (int p = 0; p < PARTS; p++) *(vector *)(lanes + 16 * b + WIDTH * p) = v[p];
    }
    __asm__ volatile("" ::: "memory");
    for (int b = 0; b < blocks; b++) node[b] = add_lanes_mem(lanes + 16 * b);
}
#else
INLINE void full_blocks(duo_operation operation, int blocks, const float *x, const float *y,
                        double *node)
{
    for (int b = 0; b < blocks; b++) {
        vector v[PARTS];
        block(operation, x + DUO_BLOCK * b, y + DUO_BLOCK * b, v);
        node[b] = add_lanes(v);
    }
}
#endif

INLINE double add_nodes(double *node, int count)
{
    for (int step = 1; step < count; step *= 2)
        for (int i = 0; i + step < count; i += 2 * step)
            node[i] = add_double(node[i], node[i + step]);
    return node[0];
}

#ifndef EIGHT
INLINE double unit_unchecked(duo_operation operation, int64_t n, const float *x, const float *y)
{
    double node[DUO_UNIT / DUO_BLOCK];
    const int blocks = (int)(n / DUO_BLOCK), rest = (int)(n % DUO_BLOCK);
    full_blocks(operation, blocks, x, y, node);
    if (rest > 0) node[blocks] = block_some(operation, rest, x + n - rest, y + n - rest);
    return add_nodes(node, blocks + (rest > 0));
}

#else
INLINE double unit_unchecked(duo_operation operation, int64_t n, const float *x, const float *y)
{
    double node[8] = {0};
    int k = 0;
    while (n > 0) {
        float lanes[128] __attribute__((aligned(64)));
        int b = 0;
        for (; b < 8 && n >= 1024; b++, n -= 1024, x += 1024, y += 1024) {
            vector v[1];
            block(operation, x, y, v);
            *(vector *)(lanes + 16 * b) = v[0];
        }
        if (b < 8) {
            if (n > 0) {
                *(vector *)(lanes + 16 * b) = chain_some(operation, x, y, (int)n);
                b++;
                n = 0;
            }
            for (; b < 8; b++) *(vector *)(lanes + 16 * b) = (vector){0};
        }
        node[k++] = add_lanes8(lanes);
    }
    return add_nodes(node, k);
}
#endif

INLINE double unit_careful(duo_operation operation, int64_t n, const float *x, const float *y)
{
    double node[DUO_UNIT / DUO_BLOCK];
    int nodes = 0;
    for (int64_t i = 0; i < n; i += DUO_BLOCK) {
        const int count = (int)(n - i < DUO_BLOCK ? n - i : DUO_BLOCK);
        double sum = block_some(operation, count, x + i, y + i);
        if (!isfinite(sum)) sum = duo_lanes_block_float64(operation, count, x + i, y + i);
        node[nodes++] = sum;
    }
    return add_nodes(node, nodes);
}

#define INSTANCE(name, operation, second)                                                          \
    COLD double name##_unit_careful(int64_t n, const float *x, const float *y)                     \
    {                                                                                              \
        (void)y;                                                                                   \
        return unit_careful(operation, n, x, second);                                              \
    }                                                                                              \
    NOINLINE double name##_unit_unchecked(int64_t n, const float *x, const float *y)               \
    {                                                                                              \
        (void)y;                                                                                   \
        return unit_unchecked(operation, n, x, second);                                            \
    }                                                                                              \
    static double name##_unit(int64_t n, const float *x, const float *y)                           \
    {                                                                                              \
        const double sum = name##_unit_unchecked(n, x, y);                                         \
        return UNLIKELY(!isfinite(sum)) ? name##_unit_careful(n, x, y) : sum;                      \
    }                                                                                              \
    NOINLINE float name##_whole_careful(int64_t n, const float *x, const float *y)                 \
    {                                                                                              \
        return duo_lanes_round(name##_unit_careful(n, x, y));                                      \
    }                                                                                              \
    NOINLINE float name##_whole_unit(int64_t n, const float *x, const float *y)                    \
    {                                                                                              \
        (void)y;                                                                                   \
        const double sum = unit_unchecked(operation, n, x, second);                                \
        if (UNLIKELY(!isfinite(sum))) return name##_whole_careful(n, x, y);                        \
        return round_double(add_double(sum, 0.0));                                                 \
    }                                                                                              \
    static float name##_whole(int64_t n, const float *x, const float *y)                           \
    {                                                                                              \
        (void)y;                                                                                   \
        if (UNLIKELY(!mode_is_fit())) return duo_lanes_in_default_mode(name##_unit, n, x, y);      \
        if (n > DUO_BLOCK) return name##_whole_unit(n, x, y);                                      \
        const double sum = block_some(operation, (int)n, x, second);                               \
        if (UNLIKELY(!isfinite(sum))) return name##_whole_careful(n, x, y);                        \
        return round_double(add_double(sum, 0.0));                                                 \
    }

INSTANCE(sasum, DUO_SASUM, x)
INSTANCE(ssum, DUO_SSUM, x)
INSTANCE(sdot, DUO_SDOT, y)

extern const duo_lanes PASTE(duo_lanes_, ISA);
const duo_lanes PASTE(duo_lanes_, ISA) = {
    .isa = TEXT(ISA),
    .whole = {[DUO_SASUM] = sasum_whole, [DUO_SSUM] = ssum_whole, [DUO_SDOT] = sdot_whole},
    .unit = {[DUO_SASUM] = sasum_unit, [DUO_SSUM] = ssum_unit, [DUO_SDOT] = sdot_unit},
};
