/* sdot.c - duo_sdot. */
#include "api/reduce.h"

#include "cpu/lanes.h"

duo_status duo_sdot(duo_context *given, int64_t n, const float *x, int64_t incx, const float *y,
                    int64_t incy, float *result)
{
    duo_context *const ctx = given == NULL ? duo_context_default : duo_context_of(given);
    if (ctx != NULL && n > 0 && n <= ctx->policy.tiny[DUO_SDOT] && incx == 1 && incy == 1 &&
        x != NULL && y != NULL && result != NULL && duo_reduce_plain(x, n) &&
        duo_reduce_plain(y, n) && duo_reduce_plain(result, 1)) {
        *result = duo_lanes_current()->whole[DUO_SDOT](n, x, y);
        duo_reduce_remember(ctx, DUO_SDOT, n);
        return DUO_OK;
    }
    return duo_reduce(given, ctx, DUO_SDOT, n, x, incx, y, incy, result);
}
