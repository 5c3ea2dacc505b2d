/* kernels.c - the arithmetic of the simulated device: plain loops, no code of src/. */
#include "sim/kernels.h"

#include "choice/algorithm.h"
#include "sim/memory.h"
#include "support/reference_order.h"

#include <math.h>
#include <string.h>

static float chain_libm(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k)
{
    float sum = 0.0f;
    for (int64_t p = 0; p < k; p++) sum = fmaf(a[p * a_step], b[p * b_step], sum);
    return sum;
}

#if defined(__x86_64__)
__attribute__((target("fma"))) static float chain_fma(const float *a, int64_t a_step,
                                                      const float *b, int64_t b_step, int64_t k)
{
    float sum = 0.0f;
    for (int64_t p = 0; p < k; p++) sum = __builtin_fmaf(a[p * a_step], b[p * b_step], sum);
    return sum;
}
#endif

static float chain(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) return chain_fma(a, a_step, b, b_step, k);
#endif
    return chain_libm(a, a_step, b, b_step, k);
}

static double chain_float64(const float *a, int64_t a_step, const float *b, int64_t b_step,
                            int64_t k)
{
    double sum = 0.0;
    for (int64_t p = 0; p < k; p++) sum += (double)a[p * a_step] * (double)b[p * b_step];
    return sum;
}

void sim_run_sgemm(const work *w)
{
    const duo_call *call = &w->call;
    const bool float64 = duo_algorithm_serves(w->algorithm, DUO_MATH_FLOAT64);
    const duo_operand *a = &call->operand[DUO_A], *b = &call->operand[DUO_B];
    const duo_operand *c = &call->operand[DUO_C];
    const bool product = call->alpha != 0.0f && call->k > 0;
    const float *a_first = sim_behind(a->address), *b_first = sim_behind(b->address);
    float *c_first = sim_behind(c->address);
    const int64_t a_row = call->transa ? a->ld : 1, a_step = call->transa ? 1 : a->ld;
    const int64_t b_column = call->transb ? 1 : b->ld, b_step = call->transb ? b->ld : 1;
    for (int64_t j = 0; j < call->n; j++) {
        for (int64_t i = 0; i < call->m; i++) {
            float *cell = c_first + i + j * c->ld;
            if (float64) { /* rounded once, at the end */
                double wide = 0.0;
                if (product)
                    wide = (double)call->alpha * chain_float64(a_first + i * a_row, a_step,
                                                               b_first + j * b_column, b_step,
                                                               call->k);
                if (call->beta != 0.0f) wide += (double)call->beta * (double)*cell;
                *cell = (float)wide;
                continue;
            }
            float value = 0.0f;
            if (product)
                value = call->alpha *
                        chain(a_first + i * a_row, a_step, b_first + j * b_column, b_step, call->k);
            if (call->beta != 0.0f) value = fmaf(call->beta, *cell, value);
            *cell = value;
        }
    }
}

void sim_run_reduction(const work *w, const duo_call *call)
{
    const duo_operand *x = &call->operand[DUO_X], *y = &call->operand[DUO_Y];
    const bool float64 = duo_algorithm_serves(w->algorithm, DUO_MATH_FLOAT64);
    if (w->pinned_result == NULL && call->unrounded != NULL) {
        *(double *)sim_behind(call->unrounded) =
            reference_order_unrounded(call->operation, call->n, sim_behind(x->address), x->ld,
                                      sim_behind(y->address), y->ld, float64);
        return;
    }
    float (*const reduce)(duo_operation, int64_t, const float *, int64_t, const float *, int64_t) =
        float64 ? reference_order_float64 : reference_order;
    const float sum = call->n > 0 ? reduce(call->operation, call->n, sim_behind(x->address), x->ld,
                                           sim_behind(y->address), y->ld)
                                  : 0.0f;
    if (w->pinned_result == NULL) {
        *(float *)sim_behind(call->operand[DUO_RESULT].address) = sum;
        return;
    }
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    __atomic_store_n(w->pinned_result, (uint64_t)w->ticket << 32 | bits, __ATOMIC_RELEASE);
}
