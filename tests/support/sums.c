/* sums.c - reductions for tests (sums.h). */
#include "support/sums.h"

#include "support/reference_order.h"

test_array test_sum_vector(int64_t n, int64_t inc, int64_t offset, test_data data, test_rng *rng)
{
    const int64_t distance = inc < 0 ? -inc : inc > 0 ? inc : 1;
    const int64_t runs = n <= 0 ? 0 : inc == 0 ? 1 : n;
    test_array x = test_array_new(1, runs, distance, offset);
    test_array_fill(&x, rng, data);
    return x;
}

float test_sum_documented(const test_sum *s, duo_math math, const float *x, const float *y)
{
    if (s->operation != DUO_SDOT && s->incx <= 0) return 0.0f;
    const duo_call call = test_reduce_call(s->operation, s->n, x, s->incx, y, s->incy, NULL);
    return (math == DUO_MATH_FLOAT64 ? reference_order_float64 : reference_order)(
        s->operation, s->n, call.operand[DUO_X].address, s->incx, call.operand[DUO_Y].address,
        s->incy);
}

duo_status test_sum_call(duo_context *ctx, const test_sum *s, const float *x, const float *y,
                         float *result)
{
    if (s->operation == DUO_SASUM) return duo_sasum(ctx, s->n, x, s->incx, result);
    if (s->operation == DUO_SSUM) return duo_ssum(ctx, s->n, x, s->incx, result);
    return duo_sdot(ctx, s->n, x, s->incx, y, s->incy, result);
}
