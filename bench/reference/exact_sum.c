/* exact_sum.c - see exact_sum.h */
#include "bench/reference/exact_sum.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/*
 * The smallest product is 2^-298; float64 stores 52 more bits below it, all zero: no bit is below
 * 2^-350. The largest is below 2^256, and 2^40 of them below 2^296; the limbs reach to 2^352.
 */
enum { ORIGIN = 352, LIMB_BITS = 32, MANTISSA_BITS = 52, BIAS = 1075 };
static const uint64_t kLimbMask = 0xFFFFFFFFu;

/* A term adds less than 2^33 to a limb, which holds 63 bits. */
static const int64_t kTermsPerCarry = INT64_C(1) << 29;

static void carry(duo_exact_sum *s)
{
    for (int i = 0; i + 1 < DUO_EXACT_LIMBS; i++) {
        const int64_t up = s->limb[i] >> LIMB_BITS; /* rounds down, also below zero */
        s->limb[i] -= up * (INT64_C(1) << LIMB_BITS);
        s->limb[i + 1] += up;
    }
    s->since_carry = 0;
}

void duo_exact_sum_add(duo_exact_sum *s, double term)
{
    uint64_t bits;
    memcpy(&bits, &term, sizeof bits);
    const int exponent = (int)(bits >> MANTISSA_BITS & 0x7FF);
    if (exponent == 0) return; /* zero: these terms are never subnormal in float64 */
    const uint64_t one = UINT64_C(1) << MANTISSA_BITS, mantissa = (bits & (one - 1)) | one;
    const int64_t sign = bits >> 63 != 0 ? -1 : 1;
    const int place = exponent - BIAS + ORIGIN;
    const int first = place / LIMB_BITS, shift = place % LIMB_BITS;
    const uint64_t low = (mantissa & kLimbMask) << shift, high = (mantissa >> LIMB_BITS) << shift;
    s->limb[first] += sign * (int64_t)(low & kLimbMask);
    s->limb[first + 1] += sign * (int64_t)((low >> LIMB_BITS) + (high & kLimbMask));
    s->limb[first + 2] += sign * (int64_t)(high >> LIMB_BITS);
    if (++s->since_carry == kTermsPerCarry) carry(s);
}

double duo_exact_sum_value(const duo_exact_sum *sum)
{
    duo_exact_sum s = *sum;
    carry(&s);
    const bool negative = s.limb[DUO_EXACT_LIMBS - 1] < 0;
    if (negative) {
        for (int i = 0; i < DUO_EXACT_LIMBS; i++) s.limb[i] = -s.limb[i];
        carry(&s);
    }
    int top = DUO_EXACT_LIMBS - 1;
    while (top > 2 && s.limb[top] == 0) top--;
    /* The three highest limbs have at least 65 bits, or all. */
    const double value =
        (double)s.limb[top] * 0x1p64 + (double)s.limb[top - 1] * 0x1p32 + (double)s.limb[top - 2];
    return ldexp(negative ? -value : value, LIMB_BITS * (top - 2) - ORIGIN);
}
