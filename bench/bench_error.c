/* bench_error.c - errors against float64. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>

/* Terms are summed in float64 in runs, then the runs: of n = 2^31 terms the error is below
 * (2^14 + 2^17) * 2^-53 of the scale, less than 2^-11 of the unit that errors are given in. */
enum { SAMPLES = 256, RUN = 1 << 14 };
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

duo_exact duo_bench_exact(const duo_problem *problem, const duo_stock *host)
{
    duo_exact exact = {0.0, 0.0};
    if (problem->operation == DUO_SGEMM) return exact;
    const duo_call call = duo_problem_call(problem, host, 0);
    const float *const x = call.operand[DUO_X].address, *const y = call.operand[DUO_Y].address;
    for (int64_t first = 0; first < call.n; first += RUN) {
        const int64_t end = first + RUN < call.n ? first + RUN : call.n;
        double sum = 0.0, scale = 0.0;
        for (int64_t i = first; i < end; i++) {
            const double term = problem->operation == DUO_SDOT    ? (double)x[i] * (double)y[i]
                                : problem->operation == DUO_SASUM ? fabs((double)x[i])
                                                                  : (double)x[i];
            sum += term;
            scale += fabs(term);
        }
        exact.sum += sum;
        exact.scale += scale;
    }
    return exact;
}

double duo_bench_error(duo_context *context, const duo_problem *problem, const duo_stock *host,
                       const duo_exact *exact, const duo_contender *contender)
{
    const duo_call there = duo_problem_call(problem, contender->stock, 0);
    bool good = true;
    double worst;
    if (problem->operation == DUO_SGEMM) {
        const duo_call here = duo_problem_call(problem, host, 0);
        worst = matrix_error(context, &here, &there, &good);
    } else {
        const float *const result =
            contender->result != NULL ? contender->result : there.operand[DUO_RESULT].address;
        worst = relative(fetch(context, result, &good), exact->sum, exact->scale);
    }
    return good ? worst : -1.0;
}
