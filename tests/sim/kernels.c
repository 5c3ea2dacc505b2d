/* kernels.c - the arithmetic of the simulated device: plain loops, no code of src/. */
#include "sim/kernels.h"

#include "choice/algorithm.h"
#include "sim/memory.h"
#include "support/reference_order.h"

#include <string.h>

/* Rows of C whose sums are made at once: one sum alone would wait for itself at each step. */
enum { ROWS = 16 };

/*
 * sum[r] := the chain over k of row r of op(A) and a column of op(B), for `rows` rows. Products are
 * exact. Each sum is rounded to float64, and in a chain of float32 then to float32.
 */
static inline __attribute__((always_inline)) void chains(const float *a, int64_t a_step,
                                                         const float *b, int64_t b_step, int64_t k,
                                                         double sum[ROWS], int64_t a_row, int rows,
                                                         bool float64)
{
    for (int r = 0; r < rows; r++) sum[r] = 0.0;
    for (int64_t p = 0; p < k; p++, a += a_step, b += b_step) {
        const double factor = (double)*b;
        for (int r = 0; r < rows; r++) sum[r] += (double)a[r * a_row] * factor;
        for (int r = 0; r < rows && !float64; r++) sum[r] = (double)(float)sum[r];
    }
}

static float blend(double alpha, double sum, bool float64, float beta, float old)
{
    const double part = float64 ? alpha * sum : (double)(float)(alpha * sum);
    return (float)(beta == 0.0f ? part : part + (double)beta * (double)old);
}

void sim_run_sgemm(const work *w)
{
    const duo_call *call = &w->call;
    const bool float64 = duo_algorithm_serves(w->algorithm, DUO_MATH_FLOAT64);
    const duo_operand *a = &call->operand[DUO_A], *b = &call->operand[DUO_B];
    const duo_operand *c = &call->operand[DUO_C];
    const int64_t k = call->alpha != 0.0f ? call->k : 0;
    const double alpha = k > 0 ? (double)call->alpha : 0.0;
    const float *a_first = sim_behind(a->address), *b_first = sim_behind(b->address);
    float *c_first = sim_behind(c->address);
    const int64_t a_row = call->transa ? a->ld : 1, a_step = call->transa ? 1 : a->ld;
    const int64_t b_column = call->transb ? 1 : b->ld, b_step = call->transb ? b->ld : 1;
    for (int64_t j = 0; j < call->n; j++)
        for (int64_t i = 0; i < call->m; i += ROWS) {
            const int rows = call->m - i < ROWS ? (int)(call->m - i) : ROWS;
            double sum[ROWS];
            const float *const a_here = a_first + i * a_row, *const b_here = b_first + j * b_column;
            if (rows == ROWS && !float64)
                chains(a_here, a_step, b_here, b_step, k, sum, a_row, ROWS, false);
            else
                chains(a_here, a_step, b_here, b_step, k, sum, a_row, rows, float64);
            float *const to = c_first + i + j * c->ld;
            for (int r = 0; r < rows; r++) to[r] = blend(alpha, sum[r], float64, call->beta, to[r]);
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
