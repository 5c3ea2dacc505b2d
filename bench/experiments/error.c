/* error.c - errors against float64 (setup.h) */
#include "bench/experiments/setup.h"

#include <math.h>
#include <stdlib.h>

#include "gpu/backend/devices.h"

/* Terms are summed in float64: first in runs, then the sums of the runs. For n = 2^31 terms the
 * error is below (2^14 + 2^17) * 2^-53 of the scale: less than 2^-11 of the unit of errors. */
enum { RUN = 1 << 14 };
static const double kUnit = 0x1p-24;

static double fetch(duo_context *context, const float *from, bool *good)
{
    float value = 0.0f;
    *good = *good && duo_copy(context, &value, from, sizeof value) == DUO_OK;
    return (double)value;
}

/* |error| / scale; a wrong NaN or Inf is an infinite error. */
static double relative(double got, double want, double scale)
{
    const double error = fabs(got - want);
    return error <= 0.0               ? 0.0
           : error < (double)INFINITY ? error / (scale * kUnit)
                                      : (double)INFINITY;
}

duo_exact duo_bench_exact(const duo_problem *problem, const duo_stock *host)
{
    duo_exact exact = {0.0, 0.0};
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

double duo_bench_error(duo_context *context, const duo_problem *problem, const duo_exact *exact,
                       const duo_implementation *implementation)
{
    const duo_call there = duo_problem_call(problem, implementation->stock, 0);
    const float *const result =
        implementation->result != NULL ? implementation->result : there.operand[DUO_RESULT].address;
    bool good = true;
    const double error = relative(fetch(context, result, &good), exact->sum, exact->scale);
    return good ? error : -1.0;
}

bool duo_bench_spoil(const duo_bench *b, const duo_implementation *implementation,
                     const duo_call *call)
{
    const bool product = call->operation == DUO_SGEMM;
    const duo_operand *const c = &call->operand[DUO_C];
    const size_t floats = product ? (size_t)((call->n - 1) * c->ld + call->m) : 1;
    float *const output = product                          ? c->address
                          : implementation->result != NULL ? implementation->result
                                                           : call->operand[DUO_RESULT].address;
    float *const nans = malloc(floats * sizeof *nans);
    for (size_t i = 0; i < floats && nans != NULL; i++) nans[i] = NAN;
    const bool good = nans != NULL &&
                      duo_copy(b->context, output, nans, floats * sizeof *nans) == DUO_OK &&
                      duo_synchronize(b->context) == DUO_OK;
    free(nans);
    return good;
}

bool duo_bench_exact_product(const duo_bench *b, const duo_problem *problem,
                             duo_product_exact *exact)
{
    const duo_call host = duo_problem_call(problem, &b->host, 0);
    const duo_call device = duo_problem_call(problem, &b->resident, 0);
    const bool gpu = b->gpu && b->gpu_peers;
    return duo_product_exact_open(exact, &host, gpu ? &device : NULL,
                                  gpu ? duo_backend_current()->stream(b->queue) : NULL);
}
