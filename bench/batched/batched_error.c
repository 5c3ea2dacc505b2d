/* batched_error.c - checks some products of a batch against float64. */
#include <math.h>
#include <stdlib.h>

#include "bench/batched/batched.h"

enum { ARRAYS = DUO_BATCHED_BEFORE + 1 };

/* C's contents before a checked run. */
static float *before(const duo_batched *b)
{
    return b->buffers->at[b->call.beta != 0.0f ? DUO_BATCHED_BEFORE : DUO_BATCHED_NANS];
}

bool duo_batched_prepare(const duo_batched *b)
{
    const size_t floats = (size_t)(b->problem.count * b->strides.stride[DUO_C]);
    return duo_copy(b->buffers->context, b->call.operand[DUO_C].address, before(b),
                    sizeof(float) * floats) == DUO_OK &&
           duo_synchronize(b->buffers->context) == DUO_OK;
}

/* Copies one product's part of an array to host memory, for free(). NULL: it failed. */
static float *fetch(const duo_batched *b, const float *array, int i, int64_t product)
{
    const duo_operand *const o = &b->call.operand[i];
    const size_t bytes = sizeof(float) * (size_t)((o->columns - 1) * o->ld + o->rows);
    float *const to = malloc(bytes);
    if (to != NULL &&
        duo_copy(b->buffers->context, to, array + product * b->strides.stride[i], bytes) == DUO_OK)
        return to;
    free(to);
    return NULL;
}

/* Row i of op(A) times column j of op(B); *magnitude: the same of the absolute values. */
static double dot(const duo_call *c, const float *const x[DUO_OPERANDS], int64_t i, int64_t j,
                  double *magnitude)
{
    const int64_t lda = c->operand[DUO_A].ld, ldb = c->operand[DUO_B].ld;
    double sum = 0.0;
    *magnitude = 0.0;
    for (int64_t l = 0; l < c->k; l++) {
        const double a = x[DUO_A][c->transa ? l + i * lda : i + l * lda];
        const double term = a * x[DUO_B][c->transb ? j + l * ldb : l + j * ldb];
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

/* A NaN is never within the bound. */
bool duo_batched_check_product(const duo_call *c, const float *const x[DUO_OPERANDS],
                               const float *old_c, double *largest)
{
    static const double kRounding = 0x1p-24;
    const double alpha = c->alpha, beta = c->beta;
    bool good = true;
    for (int64_t j = 0; j < c->n; j++)
        for (int64_t i = 0; i < c->m; i++) {
            const int64_t at = i + j * c->operand[DUO_C].ld;
            double magnitude;
            const double product = alpha * dot(c, x, i, j, &magnitude);
            const double old = beta != 0.0 ? beta * old_c[at] : 0.0;
            const double error = fabs(x[DUO_C][at] - (product + old));
            magnitude *= fabs(alpha);
            good = good && error <= ((double)(c->k + 3) * magnitude + 2.0 * fabs(old)) * kRounding;
            *largest = fmax(*largest, error / (magnitude + fabs(old)) / kRounding);
        }
    return good;
}

bool duo_batched_check(const duo_batched *b, double *error)
{
    const int64_t last = b->problem.count - 1;
    bool good = true;
    *error = 0.0;
    for (int64_t i = 0; i < DUO_BATCHED_CHECKED && good; i++) {
        const int64_t product = i * last / (DUO_BATCHED_CHECKED - 1);
        float *x[ARRAYS];
        for (int a = 0; a < DUO_OPERANDS; a++) x[a] = fetch(b, b->buffers->at[a], a, product);
        x[DUO_BATCHED_BEFORE] = fetch(b, before(b), DUO_C, product);
        for (int a = 0; a < ARRAYS; a++) good = good && x[a] != NULL;
        good = good && duo_batched_check_product(&b->call, (const float *const *)x,
                                                 x[DUO_BATCHED_BEFORE], error);
        for (int a = 0; a < ARRAYS; a++) free(x[a]);
    }
    return good;
}
