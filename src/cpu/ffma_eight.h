/*
 * ffma_eight.h - eight numbers as two vectors. Clones with vectors of four include it.
 */
#ifndef DUO_FFMA_EIGHT_H
#define DUO_FFMA_EIGHT_H

typedef struct vec8 {
    vec4 low, high;
} vec8;

INLINE vec8 zero8(void) { return (vec8){zero4(), zero4()}; }
INLINE vec8 load8(const float *p) { return (vec8){load4(p), load4(p + 4)}; }
INLINE vec8 first8(const float *p, int64_t count)
{
    return (vec8){load_some4(p, some4(count)),
                  count > 4 ? load_some4(p + 4, some4(count - 4)) : zero4()};
}
INLINE vec8 filled8(const float *p, int64_t count)
{
    float copy[8];
    for (int i = 0; i < 8; i++) copy[i] = i < count ? p[i] : -0.0f;
    return load8(copy);
}
INLINE vec8 load_number8(const number *p) { return (vec8){load_number4(p), load_number4(p + 4)}; }
INLINE void store_number8(number *p, vec8 v)
{
    store_number4(p, v.low);
    store_number4(p + 4, v.high);
}
INLINE number add_chains8(vec8 s)
{
    number four[4];
    store_number4(four, plus4(s.low, s.high));
    return (four[0] + four[2]) + (four[1] + four[3]);
}
#define add_chains8 add_chains8
INLINE vec8 fused8(vec8 x, vec8 y, vec8 z)
{
    return (vec8){fused4(x.low, y.low, z.low), fused4(x.high, y.high, z.high)};
}

#endif
