#include "float_mode.h"
#include "lanes_internal.h"

#include <math.h>

#include <stdbool.h>
#include <string.h>

float duo_lanes_round(double sum)
{
    if (isnan(sum)) {
        float r;
        const uint32_t canonical = 0x7FC00000u;
        memcpy(&r, &canonical, 4);
        return r;
    }
    return (float)(sum + 0.0);
}
static double leaf(duo_operation operation, float x, float y)
{
    if (operation == DUO_SASUM) return fabs((double)x);
    return operation == DUO_SDOT ? (double)x * (double)y : (double)x;
}
double duo_lanes_block_float64(duo_operation operation, int n, const float *x, const float *y)
{
    double a[1024] = {0};
    for (int i = 0; i < n; i++) a[i] = leaf(operation, x[i], y[i]);
    double v[16];
    for (int l = 0; l < 16; l++) {
        v[l] = 0;
        for (int q = 0; q < 4; q++) {
            double t[2];
            for (int h = 0; h < 2; h++) {
                const double *e = a + 256 * q + 128 * h + l;
                t[h] = ((e[0] + e[64]) + (e[32] + e[96])) + ((e[16] + e[80]) + (e[48] + e[112]));
            }
            v[l] += t[0] + t[1];
        }
    }
    for (int step = 8; step >= 1; step /= 2)
        for (int l = 0; l < step; l++) v[l] += v[l + step];
    return v[0];
}
float duo_lanes_in_default_mode(duo_lanes_node unit, int64_t n, const float *x, const float *y)
{
    const float_mode caller = float_mode_enter();
    const float r = duo_lanes_round(unit(n, x, y));
    float_mode_leave(caller);
    return r;
}
float duo_lanes_reduce(duo_operation operation, int64_t n, const float *x, int64_t incx,
                       const float *y, int64_t incy, int threads)
{
    (void)incx;
    (void)incy;
    (void)threads;
    double s = 0;
    const duo_lanes *l = duo_lanes_current();
    for (int64_t i = 0; i < n; i += DUO_UNIT)
        s += l->unit[operation](n - i < DUO_UNIT ? n - i : DUO_UNIT, x + i, y + i);
    return duo_lanes_round(s);
}
