/* correction.c - see correction.h */
#include "choice/correction.h"

#include <string.h>

const int64_t duo_correction_sizes[DUO_CORRECTION_SIZES] = {1, 9, 50, 250, 1000, 16000, 300000};

/*
 * About log2(x), in a nanosecond: exponent and mantissa of a float read as one number, which is
 * linear between powers of two.
 */
static float about_log2(int64_t x)
{
    const float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (float)bits * 0x1p-23F;
}

/* Where a size lies: beyond the size number `low`, by `part` of the way to the next. */
typedef struct position {
    int low;
    float part;
} position;

static position find(int64_t size)
{
    int low = 0;
    while (low < DUO_CORRECTION_SIZES - 2 && size >= duo_correction_sizes[low + 1]) low++;
    const float from = about_log2(duo_correction_sizes[low]);
    const float to = about_log2(duo_correction_sizes[low + 1]);
    const float part = (about_log2(size) - from) / (to - from);
    return (position){low, part < 0.0F ? 0.0F : part > 1.0F ? 1.0F : part};
}

static float between(float from, float to, float part) { return from + part * (to - from); }

double duo_correction_at(const duo_correction *correction, int layout, int64_t m, int64_t n,
                         int64_t k)
{
    if (!correction->measured) return 1.0;
    const position at[3] = {find(m), find(n), find(k)};
    float along_m[2];
    for (int i = 0; i < 2; i++) {
        const float(*const plane)[DUO_CORRECTION_SIZES] =
            correction->factor[layout][at[0].low + i] + at[1].low;
        float along_n[2];
        for (int j = 0; j < 2; j++)
            along_n[j] = between(plane[j][at[2].low], plane[j][at[2].low + 1], at[2].part);
        along_m[i] = between(along_n[0], along_n[1], at[1].part);
    }
    return (double)between(along_m[0], along_m[1], at[0].part);
}
