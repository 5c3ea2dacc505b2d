/* verify_pace.c - see verify_pace.h */
#include "bench/crossover/verify_pace.h"

#include <math.h>
#include <stddef.h>

#include "bench/measure/benchmark.h"

bool duo_verify_product(void *context, int64_t calls)
{
    enum { EDGE = 192 };
    static float a[EDGE * EDGE], c[EDGE * EDGE];
    for (int i = 0; i < EDGE * EDGE && a[EDGE * EDGE - 1] == 0.0f; i++)
        a[i] = (float)(i % 17) - 8.5f; /* once: zeros are quicker */
    for (int64_t i = 0; i < calls; i++)
        if (duo_sgemm(context, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f, a,
                      EDGE, a, EDGE, 0.0f, c, EDGE) != DUO_OK)
            return false;
    return true;
}

duo_context *duo_verify_pace_open(void)
{
    duo_context *alone = NULL;
    if (duo_create(&alone) != DUO_OK) return NULL;
    if (duo_set_path(alone, DUO_PATH_CPU) == DUO_OK && duo_set_threads(alone, 1) == DUO_OK &&
        duo_set_adapt(alone, 0) == DUO_OK)
        return alone;
    (void)duo_destroy(alone);
    return NULL;
}

double duo_verify_pace(duo_context *alone)
{
    enum { CALLS = 4 };
    double least = (double)INFINITY;
    duo_decision decision = {.size = sizeof decision};
    for (int i = 0; i < CALLS; i++) {
        const double begin = duo_now_seconds();
        if (!duo_verify_product(alone, 1)) return (double)NAN;
        least = fmin(least, duo_now_seconds() - begin);
    }
    if (duo_explain_last(alone, &decision) != DUO_OK) return (double)NAN;
    const double predicted = decision.predicted_seconds;
    return predicted > 0.0 && isfinite(predicted) ? least / predicted : (double)NAN;
}
