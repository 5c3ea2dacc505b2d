/* draw.c - draws the calls of `duoblas bench bits`, and their data (bits.h). */
#include <string.h>

#include "bench/bits/bits.h"

static const struct {
    const char *name;
    int calls;
} groups[DUO_BITS_GROUPS] = {
    [DUO_BITS_PRODUCTS] = {"products", 250},
    [DUO_BITS_LONG] = {"k up to 100000", 20},
    [DUO_BITS_SHORT] = {"k up to 8", 80},
    [DUO_BITS_VECTORS] = {"vectors", 130},
    [DUO_BITS_THIN] = {"few rows or columns", 90},
    [DUO_BITS_FEW] = {"few elements", 80},
    [DUO_BITS_BATCHES] = {"batches", 40},
    [DUO_BITS_HOSTILE] = {"Inf and NaN", 110},
    [DUO_BITS_SUMS] = {"sums", 100},
    [DUO_BITS_SUMS_FLOAT64] = {"sums in float64", 40},
    [DUO_BITS_FLOAT64] = {"products in float64", 60},
};

const char *duo_bits_name(duo_bits_group group) { return groups[group].name; }
int duo_bits_calls(duo_bits_group group) { return groups[group].calls; }

/* ---- Numbers ---- */

/* splitmix64 */
static uint64_t next(duo_bits_random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int64_t between(duo_bits_random *r, int64_t low, int64_t high)
{
    return low + (int64_t)(next(r) % (uint64_t)(high - low + 1));
}

static bool one_in(duo_bits_random *r, int64_t n) { return between(r, 1, n) == 1; }

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t hostile_bits(duo_bits_random *r)
{
    static const uint32_t bits[] = {0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC12345,
                                    0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF, 0xFF7FFFFF,
                                    0x00000000, 0x80000000, 0x00000001, 0x807FFFFF};
    return bits[between(r, 0, sizeof bits / sizeof bits[0] - 1)];
}

/* Both signs, exponents of -7 to 4, any mantissa. */
void duo_bits_fill(duo_bits_random *r, bool hostile, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = next(r);
        const uint32_t exponent = 120 + (uint32_t)(bits >> 32) % 12;
        x[i] = of_bits((uint32_t)(bits >> 63) << 31 | exponent << 23 | ((uint32_t)bits & 0x7FFFFF));
    }
    for (int64_t i = between(r, 0, 3); hostile && count > 0 && i > 0; i--) {
        const int64_t at = between(r, 0, count - 1);
        x[at] = of_bits(hostile_bits(r));
    }
}

/* ---- Products ---- */

static void swap_if(bool swaps, int64_t *x, int64_t *y)
{
    const int64_t old = *x;
    if (!swaps) return;
    *x = *y;
    *y = old;
}

static void draw_sizes(duo_bits_random *r, duo_bits_group group, duo_bits_call *call)
{
    const bool large = group == DUO_BITS_PRODUCTS && one_in(r, 25);
    int64_t m = between(r, 1, 64), n = between(r, 1, 64), k = between(r, 1, 700);
    if (large) m = between(r, 129, 300), n = between(r, 129, 300);
    if (group == DUO_BITS_LONG)
        m = between(r, 2, 12), n = between(r, 2, 12), k = between(r, 1000, 100000);
    if (group == DUO_BITS_SHORT)
        m = between(r, 1, 300), n = between(r, 1, 300), k = between(r, 0, 8);
    if (group == DUO_BITS_VECTORS) m = between(r, 1, 400), n = 1, k = between(r, 1, 3000);
    if (group == DUO_BITS_THIN) m = between(r, 1, 500), n = between(r, 2, 9);
    if (group == DUO_BITS_FEW)
        m = between(r, 1, 4), n = between(r, 1, 4), k = between(r, 64, 20000);
    if (group == DUO_BITS_BATCHES) k = between(r, 1, 64);
    swap_if(one_in(r, 2), &m, &n);
    call->m = m;
    call->n = n;
    call->k = k;
}

/* A stored matrix of rows x columns. */
static duo_bits_operand draw_matrix(duo_bits_random *r, duo_layout layout, int64_t rows,
                                    int64_t columns)
{
    const int64_t width = layout == DUO_COL_MAJOR ? rows : columns;
    const int64_t runs = layout == DUO_COL_MAJOR ? columns : rows;
    const int64_t ld = width + between(r, width > 0 ? 0 : 1, 5);
    const int64_t floats = width > 0 && runs > 0 ? (runs - 1) * ld + width : 0;
    return (duo_bits_operand){.floats = floats, .ld = ld, .stride = floats + between(r, 0, 7)};
}

static float draw_scalar(duo_bits_random *r, const float usual[4], bool hostile)
{
    const float x = usual[between(r, 0, 3)];
    return hostile && one_in(r, 8) ? of_bits(hostile_bits(r)) : x;
}

static duo_bits_call draw_product(duo_bits_random *r, duo_bits_group group)
{
    static const float alphas[4] = {1.0f, 1.0f, -1.7f, 0.3f}, betas[4] = {0.0f, 1.0f, -0.6f, 2.5f};
    const bool hostile = group == DUO_BITS_HOSTILE;
    const duo_bits_group sizes =
        group == DUO_BITS_HOSTILE || group == DUO_BITS_FLOAT64
            ? (duo_bits_group)between(r, DUO_BITS_PRODUCTS, DUO_BITS_BATCHES)
            : group;
    duo_bits_call call = {.operation = DUO_SGEMM,
                          .math = group == DUO_BITS_FLOAT64 ? DUO_MATH_FLOAT64 : DUO_MATH_IEEE,
                          .hostile = hostile};
    draw_sizes(r, sizes, &call);
    call.layout = one_in(r, 3) ? DUO_ROW_MAJOR : DUO_COL_MAJOR;
    call.transa = one_in(r, 2) ? DUO_TRANS : DUO_NO_TRANS;
    call.transb = one_in(r, 2) ? DUO_TRANS : DUO_NO_TRANS;
    call.alpha = draw_scalar(r, alphas, hostile);
    if (one_in(r, 40)) call.alpha = 0.0f;
    call.beta = draw_scalar(r, betas, hostile);
    const bool ta = call.transa == DUO_TRANS, tb = call.transb == DUO_TRANS;
    duo_bits_operand *const o = call.operand;
    o[DUO_A] = draw_matrix(r, call.layout, ta ? call.k : call.m, ta ? call.m : call.k);
    o[DUO_B] = draw_matrix(r, call.layout, tb ? call.n : call.k, tb ? call.k : call.n);
    o[DUO_C] = draw_matrix(r, call.layout, call.m, call.n);
    if (sizes == DUO_BITS_BATCHES) {
        call.count = between(r, 1, 30);
        call.lists = one_in(r, 2);
        if (one_in(r, 4)) o[DUO_A].stride = 0; /* all products have the same A */
    }
    return call;
}

/* ---- Reductions ---- */

static duo_bits_call draw_sum(duo_bits_random *r, duo_bits_group group)
{
    static const duo_operation operations[] = {DUO_SASUM, DUO_SSUM, DUO_SDOT};
    duo_bits_call call = {.operation = operations[between(r, 0, 2)],
                          .math = group == DUO_BITS_SUMS ? DUO_MATH_IEEE : DUO_MATH_FLOAT64};
    const int64_t most = INT64_C(1) << between(r, 0, 20);
    call.n = between(r, 0, most);
    call.hostile = one_in(r, 8);
    for (int i = DUO_X; i <= DUO_Y; i++) {
        const int64_t step = one_in(r, 2) ? 1 : between(r, 1, 3);
        duo_bits_operand *const o = &call.operand[i];
        o->ld = one_in(r, 4) ? -step : step;
        o->floats = call.n > 0 ? (call.n - 1) * step + 1 : 0;
    }
    return call;
}

duo_bits_call duo_bits_draw(duo_bits_random *r, duo_bits_group group)
{
    return group == DUO_BITS_SUMS || group == DUO_BITS_SUMS_FLOAT64 ? draw_sum(r, group)
                                                                    : draw_product(r, group);
}

int64_t duo_bits_floats(const duo_bits_call *call, int operand)
{
    const duo_bits_operand *const o = &call->operand[operand];
    return o->floats + (call->count > 1 ? (call->count - 1) * o->stride : 0);
}
