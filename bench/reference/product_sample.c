/* product_sample.c - see product_error.h */
#include "bench/reference/product_error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/reference/random.h"

enum { ENTRIES = DUO_SAMPLE_PARTS * DUO_SAMPLE_PARTS };

/* Elements op(A)(i, l) or op(B)(l, j), l = 0, 1, ...: the address of the first, and their
 * distance. */
typedef struct line {
    const float *first;
    int64_t step;
} line;

static line row_of_a(const duo_call *call, int64_t i)
{
    const duo_operand *const a = &call->operand[DUO_A];
    return call->transa ? (line){a->address + i * a->ld, 1} : (line){a->address + i, a->ld};
}

static line column_of_b(const duo_call *call, int64_t j)
{
    const duo_operand *const b = &call->operand[DUO_B];
    return call->transb ? (line){b->address + j, b->ld} : (line){b->address + j * b->ld, 1};
}

static float *entry_of_c(const duo_call *call, int64_t i, int64_t j)
{
    return call->operand[DUO_C].address + i + j * call->operand[DUO_C].ld;
}

/* ---- In float64 ---- */

static duo_sample_value dot(const double *x, line y, int64_t k)
{
    double sum = 0.0, size = 0.0;
#pragma omp simd reduction(+ : sum, size)
    for (int64_t l = 0; l < k; l++) {
        const double term = x[l] * (double)y.first[l * y.step];
        sum += term;
        size += fabs(term);
    }
    return (duo_sample_value){sum, size};
}

/* Dots of x with `count` lines side by side, element by element, so that memory is read in its
 * order. first: the first line's first element. */
enum { SIDE_BY_SIDE = 1024 };
static void dots(const double *x, const float *first, int64_t ld, int64_t k, int64_t count,
                 duo_sample_value *value)
{
    double sum[SIDE_BY_SIDE] = {0}, size[SIDE_BY_SIDE] = {0};
    for (int64_t l = 0; l < k; l++) {
        const float *const y = first + l * ld;
#pragma omp simd
        for (int64_t i = 0; i < count; i++) {
            const double term = x[l] * (double)y[i];
            sum[i] += term;
            size[i] += fabs(term);
        }
    }
    for (int64_t i = 0; i < count; i++) value[i] = (duo_sample_value){sum[i], size[i]};
}

/* Dots of x with lines 0 to count - 1: rows of op(A), or columns of op(B). */
static void compute(const duo_call *call, bool rows, const double *x, int64_t count,
                    duo_sample_value *value)
{
    const int64_t k = call->k;
    line (*const of)(const duo_call *, int64_t) = rows ? row_of_a : column_of_b;
    const duo_operand *const from = &call->operand[rows ? DUO_A : DUO_B];
    const bool along = rows ? call->transa : !call->transb; /* each line is contiguous */
    if (along) {
#pragma omp parallel for schedule(dynamic, 16)
        for (int64_t i = 0; i < count; i++) value[i] = dot(x, of(call, i), k);
        return;
    }
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < count; i += SIDE_BY_SIDE)
        dots(x, from->address + i, from->ld, k, count - i < SIDE_BY_SIDE ? count - i : SIDE_BY_SIDE,
             value + i);
}

static bool open_line(const duo_call *call, line y, bool rows, int64_t count,
                      duo_sample_value **value)
{
    double *const x = malloc(((size_t)call->k + 1) * sizeof *x);
    *value = malloc((size_t)count * sizeof **value);
    const bool good = x != NULL && *value != NULL;
    for (int64_t l = 0; l < call->k && good; l++) x[l] = y.first[l * y.step];
    if (good) compute(call, rows, x, count, *value);
    free(x);
    return good;
}

static bool open_entries(duo_product_sample *s)
{
    const duo_call *const call = &s->call;
    bool good = true;
#pragma omp parallel for schedule(dynamic) reduction(&& : good)
    for (int e = 0; e < ENTRIES; e++) {
        double *const x = malloc(((size_t)call->k + 1) * sizeof *x);
        const line from = row_of_a(call, s->entry[e][0]);
        good = good && x != NULL;
        for (int64_t l = 0; l < call->k && x != NULL; l++) x[l] = from.first[l * from.step];
        if (x != NULL) s->at[e] = dot(x, column_of_b(call, s->entry[e][1]), call->k);
        free(x);
    }
    return good;
}

static int64_t draw(uint64_t *random, int64_t low, int64_t high)
{
    return high <= low ? low : low + (int64_t)(duo_random_bits(random) % (uint64_t)(high - low));
}

bool duo_product_sample_open(duo_product_sample *s, const duo_call *call, int lines, uint64_t seed)
{
    uint64_t random = seed;
    bool good = true;
    *s = (duo_product_sample){.call = *call, .lines = lines};
    for (int e = 0; e < ENTRIES; e++) {
        const int64_t i = e / DUO_SAMPLE_PARTS, j = e % DUO_SAMPLE_PARTS;
        s->entry[e][0] =
            draw(&random, i * call->m / DUO_SAMPLE_PARTS, (i + 1) * call->m / DUO_SAMPLE_PARTS);
        s->entry[e][1] =
            draw(&random, j * call->n / DUO_SAMPLE_PARTS, (j + 1) * call->n / DUO_SAMPLE_PARTS);
    }
    for (int i = 0; i < lines && good; i++) {
        s->row[i] = draw(&random, 0, call->m);
        s->column[i] = draw(&random, 0, call->n);
        good = open_line(call, row_of_a(call, s->row[i]), false, call->n, &s->in_row[i]) &&
               open_line(call, column_of_b(call, s->column[i]), true, call->m, &s->in_column[i]);
    }
    good = good && open_entries(s);
    if (!good) duo_product_sample_close(s);
    return good;
}

void duo_product_sample_close(duo_product_sample *s)
{
    for (int i = 0; i < DUO_SAMPLE_LINES; i++) {
        free(s->in_row[i]);
        free(s->in_column[i]);
        s->in_row[i] = s->in_column[i] = NULL;
    }
    s->lines = 0;
}

/* ---- C ---- */

void duo_product_sample_spoil(const duo_product_sample *s)
{
    const duo_call *const call = &s->call;
    for (int at = 0; at < s->lines; at++) {
        for (int64_t j = 0; j < call->n; j++) *entry_of_c(call, s->row[at], j) = NAN;
        for (int64_t i = 0; i < call->m; i++) *entry_of_c(call, i, s->column[at]) = NAN;
    }
    for (int e = 0; e < ENTRIES; e++) *entry_of_c(call, s->entry[e][0], s->entry[e][1]) = NAN;
}

static void judge(const duo_call *call, const duo_sample_value *want, float got,
                  duo_sample_error *all)
{
    const double error = fabs((double)got - want->product), k = (double)call->k;
    if (!isfinite(error))
        all->largest = INFINITY;
    else if (error > 0.0)
        all->largest = fmax(all->largest, error / (want->magnitude * 0x1p-24));
    all->right =
        all->right && error <= (k + 3.0) * 0x1p-24 * want->magnitude + (k + 2.0) * 0x1p-149;
}

duo_sample_error duo_product_sample_error(const duo_product_sample *s)
{
    const duo_call *const call = &s->call;
    duo_sample_error all = {.right = s->lines > 0};
    for (int at = 0; at < s->lines; at++) {
        for (int64_t j = 0; j < call->n; j++)
            judge(call, &s->in_row[at][j], *entry_of_c(call, s->row[at], j), &all);
        for (int64_t i = 0; i < call->m; i++)
            judge(call, &s->in_column[at][i], *entry_of_c(call, i, s->column[at]), &all);
    }
    for (int e = 0; e < ENTRIES; e++)
        judge(call, &s->at[e], *entry_of_c(call, s->entry[e][0], s->entry[e][1]), &all);
    return all;
}
