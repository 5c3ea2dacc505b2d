/* kernels.c - the arithmetic of the simulated device: plain loops, no code of src/. */
#include "sim/kernels.h"

#include "choice/algorithm.h"
#include "sim/memory.h"
#include "support/reference_order.h"

#include <math.h>
#include <string.h>

/* Rows of C whose sums are made at once: one sum alone would wait for itself at each step. */
enum { ROWS = 16 };

/* The order of summation of a product in float32 (docs/reference/numerics.md). */
enum { SEGMENT = 256, CHAINS = 8 };

/* Rows of op(A) and a column of op(B): the first elements, and the distances between rows and
 * between steps of k. */
typedef struct factors {
    const float *a, *b;
    int64_t a_row, a_step, b_step;
} factors;

/* sum[r] := the chain of row r over steps from, from + step and so on, before `end`. */
static inline __attribute__((always_inline)) void chain(const factors *f, int64_t from, int64_t end,
                                                        int64_t step, int rows, float sum[ROWS])
{
    for (int r = 0; r < rows; r++) sum[r] = 0.0f;
    for (int64_t l = from; l < end; l += step) {
        const float *const a = f->a + l * f->a_step, y = f->b[l * f->b_step];
        for (int r = 0; r < rows; r++) sum[r] = fmaf(a[r * f->a_row], y, sum[r]);
    }
}

/* sum[r] := all k steps of row r. */
static inline __attribute__((always_inline)) void sums(const factors *f, int64_t k, bool vector,
                                                       int rows, float sum[ROWS])
{
    for (int r = 0; r < rows; r++) sum[r] = 0.0f;
    for (int64_t first = 0; first < k; first += SEGMENT) {
        const int64_t end = k - first < SEGMENT ? k : first + SEGMENT;
        float s[CHAINS][ROWS];
        for (int z = 0; z < (vector ? CHAINS : 1); z++)
            chain(f, first + z, end, vector ? CHAINS : 1, rows, s[z]);
        for (int half = vector ? CHAINS / 2 : 0; half > 0; half /= 2)
            for (int z = 0; z < half; z++)
                for (int r = 0; r < rows; r++) s[z][r] += s[z + half][r];
        for (int r = 0; r < rows; r++) sum[r] = first == 0 ? s[0][r] : sum[r] + s[0][r];
    }
}

static void sums_anywhere(const factors *f, int64_t k, bool vector, int rows, float sum[ROWS])
{
    sums(f, k, vector, rows, sum);
}

#if defined(__x86_64__)
/* With an instruction for fmaf. Most columns have whole groups of rows that are neighbours. */
__attribute__((target("avx2,fma"))) static void sums_by_fma(const factors *f, int64_t k,
                                                            bool vector, int rows, float sum[ROWS])
{
    if (rows == ROWS && f->a_row == 1) {
        const factors neighbours = {f->a, f->b, 1, f->a_step, f->b_step};
        sums(&neighbours, k, vector, ROWS, sum);
    } else {
        sums(f, k, vector, rows, sum);
    }
}
#endif

static void sums_of_float32(const factors *f, int64_t k, bool vector, int rows, float sum[ROWS])
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        sums_by_fma(f, k, vector, rows, sum);
        return;
    }
#endif
    sums_anywhere(f, k, vector, rows, sum);
}

static double sum_of_float64(const factors *f, int64_t k, int row)
{
    double sum = 0.0;
    for (int64_t l = 0; l < k; l++)
        sum += (double)f->a[row * f->a_row + l * f->a_step] * (double)f->b[l * f->b_step];
    return sum;
}

static float one_nan(float x) { return isnan(x) ? NAN : x; }

/* alpha = 0: there is no product, and C is only scaled. */
static float end_float32(float alpha, float sum, float beta, float old)
{
    if (beta == 0.0f) return one_nan(alpha * sum);
    return one_nan(alpha == 0.0f ? beta * old : fmaf(alpha, sum, beta * old));
}

static float end_float64(float alpha, double sum, float beta, float old)
{
    const double part = (double)alpha * sum, kept = (double)beta * (double)old;
    return one_nan((float)(beta == 0.0f ? part : alpha == 0.0f ? kept : part + kept));
}

void sim_run_sgemm(const work *w)
{
    const duo_call *call = &w->call;
    const bool float64 = duo_algorithm_serves(w->algorithm, DUO_MATH_FLOAT64);
    const bool vector = duo_call_is_vector(call);
    const duo_operand *a = &call->operand[DUO_A], *b = &call->operand[DUO_B];
    const duo_operand *c = &call->operand[DUO_C];
    const int64_t k = call->alpha != 0.0f ? call->k : 0;
    const float alpha = k > 0 ? call->alpha : 0.0f;
    const float *a_first = sim_behind(a->address), *b_first = sim_behind(b->address);
    float *c_first = sim_behind(c->address);
    const int64_t b_column = call->transb ? 1 : b->ld;
    factors f = {.a_row = call->transa ? a->ld : 1,
                 .a_step = call->transa ? 1 : a->ld,
                 .b_step = call->transb ? b->ld : 1};
    for (int64_t j = 0; j < call->n; j++)
        for (int64_t i = 0; i < call->m; i += ROWS) {
            const int rows = call->m - i < ROWS ? (int)(call->m - i) : ROWS;
            float *const to = c_first + i + j * c->ld, sum[ROWS];
            f.a = a_first + i * f.a_row;
            f.b = b_first + j * b_column;
            if (!float64) sums_of_float32(&f, k, vector, rows, sum);
            for (int r = 0; r < rows; r++)
                to[r] = float64 ? end_float64(alpha, sum_of_float64(&f, k, r), call->beta, to[r])
                                : end_float32(alpha, sum[r], call->beta, to[r]);
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
    float sum = call->n > 0 ? reduce(call->operation, call->n, sim_behind(x->address), x->ld,
                                     sim_behind(y->address), y->ld)
                            : 0.0f;
    if (sim_errs()) sum += 1.0f;
    if (w->pinned_result == NULL) {
        *(float *)sim_behind(call->operand[DUO_RESULT].address) = sum;
        return;
    }
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    __atomic_store_n(w->pinned_result, (uint64_t)w->ticket << 32 | bits, __ATOMIC_RELEASE);
}

void sim_tag(uint64_t tag[2], const char *bytes, const char *key)
{
    uint32_t m[SIM_TAG_BLOCK / 4], k[SIM_TAG_BLOCK / 4 + 4];
    memcpy(m, bytes, sizeof m);
    memcpy(k, key, sizeof k);
    tag[0] = tag[1] = 0;
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < SIM_TAG_BLOCK / 4; i += 2) {
            const uint32_t x = m[i] + k[i + 4 * half], y = m[i + 1] + k[i + 1 + 4 * half];
            tag[half] += (uint64_t)x * y;
        }
}

void sim_freivalds_multiply(const duo_freivalds_product *p)
{
    const double *const by = p->by != NULL ? sim_behind(p->by) : NULL;
    const double *const by_magnitude = p->by != NULL ? sim_behind(p->by_magnitude) : NULL;
    const double *const by_largest = p->by != NULL ? sim_behind(p->by_largest) : NULL;
    double *const sum = sim_behind(p->sum), *const magnitude = sim_behind(p->magnitude);
    double *const largest = p->largest != NULL ? sim_behind(p->largest) : NULL;
    for (int64_t matrix = 0; matrix < p->count; matrix++)
        for (int64_t i = 0; i < p->rows; i++)
            for (int64_t j = 0; j < p->columns; j++) {
                const int64_t at = p->trans ? j + i * p->ld : i + j * p->ld;
                const double x = *(const float *)sim_behind(p->x + matrix * p->stride + at);
                const int64_t in = matrix * p->columns + j, out = matrix * p->rows + i;
                const double size = fabs(x) + p->least;
                sum[out] += x * (by != NULL ? by[in] : duo_freivalds_sign(p->seed, j));
                magnitude[out] += size * (by != NULL ? by_magnitude[in] : 1.0);
                if (p->largest == NULL) continue;
                if (by != NULL)
                    largest[out] += size * by_largest[in];
                else if (!(size <= largest[out]))
                    largest[out] = size;
            }
}

static const double *behind(const double *x) { return x != NULL ? sim_behind(x) : NULL; }

void sim_freivalds_compare(const duo_freivalds_rows *rows, uint32_t *wrong, uint32_t number)
{
    duo_freivalds_rows here = *rows;
    here.product = behind(rows->product);
    here.product_magnitude = behind(rows->product_magnitude);
    here.product_largest = behind(rows->product_largest);
    here.old = behind(rows->old);
    here.old_magnitude = behind(rows->old_magnitude);
    here.result = behind(rows->result);
    here.result_magnitude = behind(rows->result_magnitude);
    for (int64_t i = 0; i < rows->rows; i++)
        if (!duo_freivalds_right(&here, i)) __atomic_store_n(wrong, number, __ATOMIC_RELEASE);
}
