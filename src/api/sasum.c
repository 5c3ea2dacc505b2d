/* sasum.c - duo_sasum. */
#include "api/reduce.h"

#include "cpu/lanes.h"

duo_status duo_sasum(duo_context *given, int64_t n, const float *x, int64_t incx, float *result)
{
    duo_context *const ctx = given == NULL ? duo_context_default : duo_context_of(given);
    if (ctx != NULL && n > 0 && n <= ctx->policy.tiny[DUO_SASUM] && incx == 1 && x != NULL &&
        result != NULL && duo_reduce_plain(x, n) && duo_reduce_plain(result, 1)) {
        *result = duo_lanes_current()->whole[DUO_SASUM](n, x, NULL);
        duo_reduce_remember(ctx, DUO_SASUM, n);
        return DUO_OK;
    }
    return duo_reduce(given, ctx, DUO_SASUM, n, x, incx, NULL, 0, result);
}
