/*
 * lanes_body.h - one clone of the reductions: the documented order of summation in vectors.
 *
 * Included by lanes_<clone>.c, which defines before that:
 *   CLONE, ISA           the names of the clone and of its instruction set, as tokens
 *   vector               16 floats
 *   load(p)              16 floats from any float address
 *   load_some(p, count)  the first `count` of them, 0 < count <= 16; the others are +0 and not read
 *   absolute(v)          v with its signs cleared
 *   KEEP(v)              makes the compiler have v in registers here, and nothing cross this place
 *   WIDE                 doubles in a wide vector
 *   wide, wide_lanes     a vector of WIDE doubles; struct { wide part[16 / WIDE]; }
 *   widen(p)             WIDE floats from any float address, converted
 *   widen_all(v)         a vector, converted
 *   add_lanes(v)         the sum of 16 wide lanes, added by halves
 *   add, multiply        of two vectors
 *   add_wide             of two wide vectors
 *   add_doubles          of two doubles
 *   to_float(sum)        a double rounded to float
 *   mode_read()          the floating-point mode with its flags; anything, if the arithmetic above
 *                        raises no flags
 *   mode_is_usable(mode) does the arithmetic above give the documented bits in this mode, and trap
 *                        nothing?
 *   flags_restore(mode)  restores the flags that the arithmetic above may have raised
 *
 * Order    The index in a block is 2048p + 256q + 128h + 16r + l (numerics.md; T, G and V are
 *          its names). Lanes l meet only at a block's end: a vector has all of them, and rows r are
 *          16 floats apart.
 * Memory   One pass, in ascending addresses. Beyond the L2 cache the order of the loads is worth a
 *          factor of two (Zen 4, descending by half kilobytes), so the compiler is kept from
 *          rearranging them, and from putting off additions, which would cost it registers and a
 *          third of the speed in L1 (gcc 12, Zen 5). No software prefetch: it costs in L1 and gains
 *          nothing elsewhere.
 * Compile  -ffp-contract=off: the order knows no fused multiply-add.
 */
#include <stdbool.h>

#include "cpu/lanes_clone.h"
#include "host/float_mode.h"

#define INLINE              static inline __attribute__((always_inline))
#define NOINLINE            static __attribute__((noinline))
#define LIKELY(condition)   __builtin_expect(condition, 1)
#define UNLIKELY(condition) __builtin_expect(condition, 0)
#define IN_ADDRESS_ORDER    __asm__ volatile("" ::: "memory")

#if defined(__clang__)
#define ROLLED   _Pragma("clang loop unroll(disable)")
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define ROLLED   _Pragma("GCC unroll 1")
#define UNROLLED _Pragma("GCC unroll 16")
#endif

enum { QUARTER = DUO_BLOCK / 4, WIDE_PARTS = 16 / WIDE /* wide vectors in 16 lanes */ };

_Static_assert(sizeof(vector) == 16 * sizeof(float), "the order has 16 lanes");

/* The operation is a constant after inlining, so its branches cost nothing. */
INLINE vector leaf(duo_operation operation, const float *x, const float *y)
{
    if (operation == DUO_SDOT) return multiply(load(x), load(y));
    return operation == DUO_SASUM ? absolute(load(x)) : load(x);
}

INLINE vector leaf_some(duo_operation operation, const float *x, const float *y, int count)
{
    if (operation == DUO_SDOT) return multiply(load_some(x, count), load_some(y, count));
    return operation == DUO_SASUM ? absolute(load_some(x, count)) : load_some(x, count);
}

/* T: the sum of a column of 8 rows, by halving. */
INLINE vector column(duo_operation operation, const float *x, const float *y)
{
    vector a0 = leaf(operation, x, y);
    IN_ADDRESS_ORDER;
    vector a1 = leaf(operation, x + 16, y + 16);
    IN_ADDRESS_ORDER;
    vector a2 = leaf(operation, x + 32, y + 32);
    IN_ADDRESS_ORDER;
    vector a3 = leaf(operation, x + 48, y + 48);
    IN_ADDRESS_ORDER;
    a0 = add(a0, leaf(operation, x + 64, y + 64));
    KEEP(a0);
    a1 = add(a1, leaf(operation, x + 80, y + 80));
    KEEP(a1);
    a2 = add(a2, leaf(operation, x + 96, y + 96));
    KEEP(a2);
    a3 = add(a3, leaf(operation, x + 112, y + 112));
    KEEP(a3);
    return add(add(a0, a2), add(a1, a3));
}

/*
 * The same if `count` elements are left, 0 < count <= 128. Only the last row may be incomplete.
 * Missing elements count as +0. Missing rows are not added: that could change only the sign of a
 * zero, which is lost in the end.
 */
INLINE vector column_some(duo_operation operation, const float *x, const float *y, int count)
{
#define ROW(r) leaf(operation, x + 16 * (r), y + 16 * (r))
    const int last = (count - 1) / 16, left = count - 16 * last;
    const vector end = leaf_some(operation, x + 16 * last, y + 16 * last, left);
    /* clang-format off */
    switch (last) {
    case 0: return end;
    case 1: return add(ROW(0), end);
    case 2: return add(add(ROW(0), end), ROW(1));
    case 3: return add(add(ROW(0), ROW(2)), add(ROW(1), end));
    case 4: return add(add(add(ROW(0), end), ROW(2)), add(ROW(1), ROW(3)));
    case 5: return add(add(add(ROW(0), ROW(4)), ROW(2)), add(add(ROW(1), end), ROW(3)));
    case 6: return add(add(add(ROW(0), ROW(4)), add(ROW(2), end)),
                       add(add(ROW(1), ROW(5)), ROW(3)));
    default: return add(add(add(ROW(0), ROW(4)), add(ROW(2), ROW(6))),
                        add(add(ROW(1), ROW(5)), add(ROW(3), end)));
    }
    /* clang-format on */
#undef ROW
}

/* G: a group of two columns. */
INLINE vector group(duo_operation operation, const float *x, const float *y)
{
    vector low = column(operation, x, y);
    KEEP(low);
    vector both = add(low, column(operation, x + 128, y + 128));
    KEEP(both);
    return both;
}

/* 0 < count < 256 */
INLINE vector group_some(duo_operation operation, const float *x, const float *y, int count)
{
    if (count < 128) return column_some(operation, x, y, count);
    vector both = column(operation, x, y);
    KEEP(both);
    if (count > 128) both = add(both, column_some(operation, x + 128, y + 128, count - 128));
    return both;
}

/* Two groups, and four. */
INLINE vector pair(duo_operation operation, const float *x, const float *y)
{
    const vector low = group(operation, x, y);
    vector both = add(low, group(operation, x + 256, y + 256));
    KEEP(both);
    return both;
}

INLINE vector half(duo_operation operation, const float *x, const float *y)
{
    const vector low = pair(operation, x, y);
    vector both = add(low, pair(operation, x + 512, y + 512));
    KEEP(both);
    return both;
}

/* V: a quarter of a block, the tree of eight groups. */
INLINE vector quarter(duo_operation operation, const float *x, const float *y)
{
    vector low, high = {0};
    ROLLED for (int i = 0; i < QUARTER; i += QUARTER / 2)
    {
        low = high;
        high = half(operation, x + i, y + i);
    }
    return add(low, high);
}

/* 0 < count < 2048. What is missing is +0: that could change only the sign of a zero. */
INLINE vector quarter_some(duo_operation operation, const float *x, const float *y, int count)
{
    vector four = {0}, two = {0}, one = {0}, some = {0};
    if (count & 1024) {
        four = half(operation, x, y);
        x += 1024;
        y += 1024;
    }
    if (count & 512) {
        two = pair(operation, x, y);
        x += 512;
        y += 512;
    }
    if (count & 256) {
        one = group(operation, x, y);
        x += 256;
        y += 256;
    }
    if (count & 255) some = group_some(operation, x, y, count & 255);
    return add(four, add(two, add(one, some)));
}

INLINE wide_lanes add_quarter(wide_lanes sum, vector quarter)
{
    const wide_lanes v = widen_all(quarter);
    UNROLLED for (int p = 0; p < WIDE_PARTS; p++) sum.part[p] = add_wide(sum.part[p], v.part[p]);
    return sum;
}

/* The sum of a block, 0 < n <= DUO_BLOCK. */
INLINE double block(duo_operation operation, int n, const float *x, const float *y)
{
    wide_lanes sum = {0};
    ROLLED for (; n >= QUARTER; n -= QUARTER)
    {
        sum = add_quarter(sum, quarter(operation, x, y));
        x += QUARTER;
        y += QUARTER;
    }
    if (n > 0) sum = add_quarter(sum, quarter_some(operation, x, y, n));
    return add_lanes(sum);
}

INLINE double unit(duo_operation operation, int64_t n, const float *x, const float *y)
{
    double partial[DUO_UNIT / DUO_BLOCK];
    int partials = 0;
    for (int64_t i = 0; i < n; i += DUO_BLOCK)
        partial[partials++] =
            block(operation, n - i < DUO_BLOCK ? (int)(n - i) : DUO_BLOCK, x + i, y + i);
    for (int step = 1; step < partials; step *= 2)
        for (int i = 0; i + step < partials; i += 2 * step)
            partial[i] = add_doubles(partial[i], partial[i + step]);
    return partial[0];
}

/* ---- Float64 throughout ---- */

/*
 * The same order in float64: for every sum of DUO_MATH_FLOAT64, and for blocks with a float32 sum
 * that is not finite. Elements are converted to float64 as they are loaded: a product of two is
 * exact, and nothing overflows.
 *
 * Memory   A quarter of a block is read once for each of WIDE_PARTS, after the first time from L1:
 *          sums of all 16 lanes at once do not fit into the registers of AVX2.
 * Tail     A last group of fewer than 256 elements is copied and filled up with zeros.
 */
_Static_assert(sizeof(wide) == WIDE * sizeof(double), "a wide vector holds WIDE doubles");

typedef int64_t wide_bits __attribute__((vector_size(WIDE * sizeof(double))));

INLINE wide wide_leaf(duo_operation operation, const float *x, const float *y)
{
    const wide v = widen(x);
    if (operation == DUO_SDOT) return v * widen(y);
    return operation == DUO_SASUM ? (wide)((wide_bits)v & INT64_MAX) : v;
}

/* T: the sum of a column of 8 rows, by halving. */
INLINE wide wide_column(duo_operation operation, const float *x, const float *y)
{
    const wide a0 = wide_leaf(operation, x, y) + wide_leaf(operation, x + 64, y + 64);
    const wide a1 = wide_leaf(operation, x + 16, y + 16) + wide_leaf(operation, x + 80, y + 80);
    const wide a2 = wide_leaf(operation, x + 32, y + 32) + wide_leaf(operation, x + 96, y + 96);
    const wide a3 = wide_leaf(operation, x + 48, y + 48) + wide_leaf(operation, x + 112, y + 112);
    return (a0 + a2) + (a1 + a3);
}

/* G: a group of two columns. */
INLINE wide wide_group(duo_operation operation, const float *x, const float *y)
{
    const wide low = wide_column(operation, x, y);
    return low + wide_column(operation, x + 128, y + 128);
}

/* Adds V of a quarter to all lanes, 0 < count <= 2048. */
INLINE void wide_quarter(duo_operation operation, const float *x, const float *y, int count,
                         wide_lanes *sum)
{
    const int groups = count / 256, left = count % 256;
    float x_left[256] = {0}, y_left[256] = {0};
    if (left > 0) {
        memcpy(x_left, x + 256 * groups, (size_t)left * sizeof *x);
        if (operation == DUO_SDOT) memcpy(y_left, y + 256 * groups, (size_t)left * sizeof *y);
    }
    ROLLED for (int i = 0; i < WIDE_PARTS; i++)
    {
        wide g[8] = {0};
        ROLLED for (int q = 0; q < groups; q++) g[q] =
            wide_group(operation, x + 256 * q + WIDE * i, y + 256 * q + WIDE * i);
        if (left > 0) g[groups] = wide_group(operation, x_left + WIDE * i, y_left + WIDE * i);
        sum->part[i] += ((g[0] + g[1]) + (g[2] + g[3])) + ((g[4] + g[5]) + (g[6] + g[7]));
    }
}

/* 0 < n <= DUO_BLOCK */
INLINE double wide_block(duo_operation operation, const float *x, const float *y, int n)
{
    wide_lanes sum = {0};
    ROLLED for (int i = 0; i < n; i += QUARTER)
        wide_quarter(operation, x + i, y + i, n - i < QUARTER ? n - i : QUARTER, &sum);
    return add_lanes(sum);
}

INLINE double wide_unit(duo_operation operation, int64_t n, const float *x, const float *y)
{
    double partial[DUO_UNIT / DUO_BLOCK];
    int partials = 0;
    for (int64_t i = 0; i < n; i += DUO_BLOCK)
        partial[partials++] =
            wide_block(operation, x + i, y + i, n - i < DUO_BLOCK ? (int)(n - i) : DUO_BLOCK);
    return duo_lanes_add_partials(partial, partials);
}

/* May the sum round to 0 or Inf, or is it a NaN? One comparison tells, off the path of the result.
 * Less than 2^-149 wraps around. */
INLINE bool needs_care(double sum)
{
    const uint64_t least = UINT64_C(0x36A) << 53, most = UINT64_C(0x47E) << 53; /* 2^127 */
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return 2 * bits - least >= most - least;
}

/*
 * The functions of one operation. `second` is y, or x if the operation has no y: then every address
 * that is formed lies in x. whole() calls nothing for up to one block, and otherwise makes only
 * tail calls, so it needs no stack frame. A sum of 0 may be -0, and a sum that is not finite may
 * have overflowed on the way: anew() returns the right result.
 */
#define OPERATION(name, operation, second)                                                         \
    static double name##_unit_float64(int64_t n, const float *x, const float *y)                   \
    {                                                                                              \
        (void)y;                                                                                   \
        return wide_unit(operation, n, x, second);                                                 \
    }                                                                                              \
                                                                                                   \
    NOINLINE double name##_unchecked(int64_t n, const float *x, const float *y)                    \
    {                                                                                              \
        (void)y;                                                                                   \
        return unit(operation, n, x, second);                                                      \
    }                                                                                              \
                                                                                                   \
    NOINLINE double name##_redone(int64_t n, const float *x, const float *y, float_mode before)    \
    {                                                                                              \
        (void)y;                                                                                   \
        const double sum = duo_lanes_redo(name##_unchecked, name##_unit_float64, n, x, second);    \
        if (!isnan(sum)) flags_restore(before);                                                    \
        return sum;                                                                                \
    }                                                                                              \
                                                                                                   \
    static double name##_unit(int64_t n, const float *x, const float *y)                           \
    {                                                                                              \
        (void)y;                                                                                   \
        const float_mode before = mode_read();                                                     \
        const double sum = name##_unchecked(n, x, second);                                         \
        return LIKELY(isfinite(sum)) ? sum : name##_redone(n, x, y, before);                       \
    }                                                                                              \
                                                                                                   \
    static float name##_rounded(int64_t n, const float *x, const float *y)                         \
    {                                                                                              \
        return duo_lanes_round(name##_unit(n, x, y));                                              \
    }                                                                                              \
                                                                                                   \
    NOINLINE float name##_anew(int64_t n, const float *x, const float *y, float_mode before,       \
                               double sum)                                                         \
    {                                                                                              \
        if (to_float(sum) == 0) return 0;                                                          \
        flags_restore(before);                                                                     \
        return duo_lanes_in_fit_mode(name##_rounded, n, x, y);                                     \
    }                                                                                              \
                                                                                                   \
    NOINLINE float name##_blocks(int64_t n, const float *x, const float *y, float_mode before)     \
    {                                                                                              \
        const double sum = name##_unchecked(n, x, second);                                         \
        return LIKELY(!needs_care(sum)) ? to_float(sum) : name##_anew(n, x, y, before, sum);       \
    }                                                                                              \
                                                                                                   \
    static float name##_whole(int64_t n, const float *x, const float *y)                           \
    {                                                                                              \
        const float_mode before = mode_read();                                                     \
        if (UNLIKELY(!mode_is_usable(before)))                                                     \
            return duo_lanes_in_fit_mode(name##_rounded, n, x, y);                                 \
        if (n > DUO_BLOCK) return name##_blocks(n, x, y, before);                                  \
        const double sum = block(operation, (int)n, x, second);                                    \
        return LIKELY(!needs_care(sum)) ? to_float(sum) : name##_anew(n, x, y, before, sum);       \
    }

OPERATION(sasum, DUO_SASUM, x)
OPERATION(ssum, DUO_SSUM, x)
OPERATION(sdot, DUO_SDOT, y)

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define TEXT_(a)     #a
#define TEXT(a)      TEXT_(a)

const duo_lanes PASTE(duo_lanes_, CLONE) = {
    .name = TEXT(CLONE),
    .isa = TEXT(ISA),
    .whole = {[DUO_SASUM] = sasum_whole, [DUO_SSUM] = ssum_whole, [DUO_SDOT] = sdot_whole},
    .unit = {[DUO_SASUM] = sasum_unit, [DUO_SSUM] = ssum_unit, [DUO_SDOT] = sdot_unit},
    .unit_float64 = {[DUO_SASUM] = sasum_unit_float64,
                     [DUO_SSUM] = ssum_unit_float64,
                     [DUO_SDOT] = sdot_unit_float64},
};
