/* bench_error.c - errors against float64. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 256 };
static const double kUnit = 0x1p-24;

static double fetch(duo_context *context, const float *from, bool *good)
{
    float value = 0.0f;
    *good = *good && duo_copy(context, &value, from, sizeof value) == DUO_OK;
    return (double)value;
}

/* |error| / scale, where a NaN or Inf that should not be there is an infinite error. */
static double relative(double got, double want, double scale)
{
    const double error = fabs(got - want);
    return error <= 0.0               ? 0.0
           : error < (double)INFINITY ? error / (scale * kUnit)
                                      : (double)INFINITY;
}

static double matrix_error(duo_context *context, const duo_call *host, const duo_call *there,
                           bool *good)
{
    const float *const a = host->operand[DUO_A].address, *const b = host->operand[DUO_B].address;
    const float *const c = there->operand[DUO_C].address;
    double worst = 0.0;
    uint64_t random = 1;
    for (int s = 0; s < SAMPLES && *good; s++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int64_t i = (int64_t)((random >> 33) % (uint64_t)host->m);
        const int64_t j = (int64_t)((random >> 11) % (uint64_t)host->n);
        double sum = 0.0, scale = 0.0;
        for (int64_t p = 0; p < host->k; p++) {
            const double term = (double)a[i + p * host->m] * (double)b[p + j * host->k];
            sum += term;
            scale += fabs(term);
        }
        const double error = relative(fetch(context, c + i + j * host->m, good), sum, scale);
        worst = error > worst ? error : worst;
    }
    return worst;
}

double duo_bench_error(duo_context *context, const duo_problem *problem, const duo_stock *host,
                       const duo_stock *stock)
{
    const duo_call here = duo_problem_call(problem, host, 0);
    const duo_call there = duo_problem_call(problem, stock, 0);
    bool good = true;
    double worst;
    if (problem->operation == DUO_SGEMM) {
        worst = matrix_error(context, &here, &there, &good);
    } else {
        const float *const x = here.operand[DUO_X].address, *const y = here.operand[DUO_Y].address;
        double sum = 0.0, scale = 0.0;
        for (int64_t i = 0; i < here.n; i++) {
            const double term = problem->operation == DUO_SDOT    ? (double)x[i] * (double)y[i]
                                : problem->operation == DUO_SASUM ? fabs((double)x[i])
                                                                  : (double)x[i];
            sum += term;
            scale += fabs(term);
        }
        worst = relative(fetch(context, there.operand[DUO_RESULT].address, &good), sum, scale);
    }
    return good ? worst : -1.0;
}
