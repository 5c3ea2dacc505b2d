/*
 * lanes_double.c - the rare way: blocks whose float32 sum is not finite.
 *
 * Such a block overflowed, or holds an Inf or NaN. Its sum is taken again in float64, in the same
 * shape: products of two floats are exact there and nothing overflows, so only an Inf or NaN of the
 * data is left to show.
 */
#include "lanes_internal.h"

static double leaf(duo_operation operation, double x, double y)
{
    if (operation == DUO_SASUM) return fabs(x);
    return operation == DUO_SDOT ? x * y : x;
}

static double block(duo_operation operation, int64_t n, const float *x, const float *y)
{
    double element[DUO_BLOCK] = {0};
    for (int64_t i = 0; i < n; i++) element[i] = leaf(operation, (double)x[i], (double)y[i]);

    double lane[16] = {0};
    for (int l = 0; l < 16; l++)
        for (const double *q = element + l; q < element + DUO_BLOCK; q += 256) {
            const double low =
                ((q[0] + q[64]) + (q[32] + q[96])) + ((q[16] + q[80]) + (q[48] + q[112]));
            const double high =
                ((q[128] + q[192]) + (q[160] + q[224])) + ((q[144] + q[208]) + (q[176] + q[240]));
            lane[l] += low + high;
        }
    for (int step = 8; step >= 1; step /= 2)
        for (int l = 0; l < step; l++) lane[l] += lane[l + step];
    return lane[0];
}

double duo_lanes_redo(duo_operation operation, duo_lanes_node unchecked, int64_t n, const float *x,
                      const float *y)
{
    double node[DUO_UNIT / DUO_BLOCK];
    int nodes = 0;
    for (int64_t i = 0; i < n; i += DUO_BLOCK) {
        const int64_t count = n - i < DUO_BLOCK ? n - i : DUO_BLOCK;
        double sum = unchecked(count, x + i, y + i);
        if (!isfinite(sum)) sum = block(operation, count, x + i, y + i);
        if (isnan(sum)) return sum; /* and so is every sum with it */
        node[nodes++] = sum;
    }
    return duo_lanes_add_nodes(node, nodes);
}
