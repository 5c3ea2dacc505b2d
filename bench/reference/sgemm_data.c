/* sgemm_data.c - see sgemm_data.h */
#include "bench/reference/sgemm_data.h"

#include <math.h>

#include "bench/reference/random.h"

static float normal(uint64_t *random)
{
    const double radius = sqrt(-2.0 * log(duo_random_unit(random)));
    return (float)(radius * cos(6.283185307179586 * duo_random_unit(random)));
}

static float unit(uint64_t *random) { return (float)duo_random_unit(random); }

/* The largest product is 2^8, so 2^16 of them are at most 2^24. */
static float integer(uint64_t *random) { return (float)(duo_random_bits(random) % 33) - 16.0f; }

const duo_sgemm_data duo_sgemm_kinds[DUO_SGEMM_KINDS] = {
    {.name = "normal", .draw = normal},
    {.name = "uniform 0..1", .draw = unit},
    {.name = "uniform -1..1", .draw = duo_random_signed},
    {.name = "spread 2^20", .draw = normal, .spread = 20},
    {.name = "spread 2^60", .draw = normal, .spread = 60},
    {.name = "graded 2^8", .draw = normal, .grading = 8},
    {.name = "graded 2^12", .draw = normal, .grading = 12},
    {.name = "graded 2^20", .draw = normal, .grading = 20},
    {.name = "rows 2^40 apart", .draw = normal, .apart = 40},
    {.name = "one huge", .draw = normal, .planted = 1, .plant = {0x1.234568p30f}},
    {.name = "large x small", .draw = normal, .scale_a = 125, .scale_b = -115},
    {.name = "subnormal A", .draw = normal, .scale_a = -130, .scale_b = 40},
    {.name = "subnormal C", .draw = normal, .scale_a = -70, .scale_b = -70},
    {.name = "integers", .draw = integer, .exact = true},
    {.name = "Inf", .draw = normal, .planted = 2, .plant = {INFINITY, -INFINITY}},
    {.name = "NaN and Inf", .draw = normal, .planted = 3, .plant = {NAN, INFINITY, -INFINITY}},
};

bool duo_sgemm_data_finite(const duo_sgemm_data *data)
{
    for (int i = 0; i < data->planted; i++)
        if (!isfinite(data->plant[i])) return false;
    return true;
}

/* A random exponent g for `number`, with |g| <= most. */
static int grade_of(int most, uint64_t seed, int64_t number)
{
    uint64_t random = seed ^ ((uint64_t)number + 1) * 0x9e3779b97f4a7c15u;
    const uint64_t steps = (uint64_t)(2 * most + 1);
    return (int)(duo_random_bits(&random) % steps) - most;
}

/* How to fill one stored operand. */
typedef struct recipe {
    const duo_sgemm_data *data;
    uint64_t seed;
    int scale, grade_sign;
    bool along_k; /* its stored columns are steps of k */
} recipe;

/* Scales x: the element at step l of k, in row i of op(A) or column i of op(B). */
static float scaled(const recipe *how, double x, int64_t i, int64_t l, uint64_t *random)
{
    const duo_sgemm_data *const data = how->data;
    double exponent = how->scale;
    if (data->spread > 0) exponent += data->spread * (duo_random_unit(random) - 0.5);
    if (data->grading > 0) exponent += how->grade_sign * grade_of(data->grading, how->seed, l);
    if (data->apart > 0) exponent += grade_of(data->apart, how->seed + 1, how->grade_sign * i);
    return (float)(x * exp2(exponent));
}

/* Each column has its own random numbers, so that columns may come in any order. */
static uint64_t column_seed(const recipe *how, int64_t column)
{
    uint64_t random = how->seed * 2 + (uint64_t)(how->grade_sign < 0);
    random = duo_random_bits(&random) ^ (uint64_t)column;
    return duo_random_bits(&random);
}

static void fill_column(const recipe *how, const duo_operand *o, int64_t column)
{
    const duo_sgemm_data *const data = how->data;
    const bool plain =
        data->spread == 0 && data->grading == 0 && data->apart == 0 && how->scale == 0;
    uint64_t random = column_seed(how, column);
    float *const to = o->address + column * o->ld;
    for (int64_t r = 0; r < o->rows; r++) {
        const float x = data->draw(&random);
        to[r] = plain          ? x
                : how->along_k ? scaled(how, (double)x, r, column, &random)
                               : scaled(how, (double)x, column, r, &random);
    }
}

/* Plants few values, so that they do not reach most of the product. */
static void plant(const recipe *how, const duo_operand *o)
{
    const duo_sgemm_data *const data = how->data;
    uint64_t random = column_seed(how, -1);
    const int plants = data->planted < 2 ? data->planted : 1 + (int)(random >> 62);
    for (int i = 0; i < plants; i++) {
        const int64_t r = (int64_t)(duo_random_bits(&random) % (uint64_t)o->rows);
        const int64_t c = (int64_t)(duo_random_bits(&random) % (uint64_t)o->columns);
        const uint64_t which = duo_random_bits(&random) % (uint64_t)data->planted;
        o->address[r + c * o->ld] = data->plant[which];
    }
}

static void fill(const recipe *how, const duo_operand *o)
{
    const bool large = o->rows * o->columns > 1 << 16;
#pragma omp parallel for schedule(dynamic, 16) if (large)
    for (int64_t c = 0; c < o->columns; c++) fill_column(how, o, c);
    plant(how, o);
}

void duo_sgemm_data_fill(const duo_sgemm_data *data, uint64_t seed, const duo_call *call)
{
    const recipe a = {data, seed, data->scale_a, 1, !call->transa};
    const recipe b = {data, seed, data->scale_b, -1, call->transb};
    fill(&a, &call->operand[DUO_A]);
    fill(&b, &call->operand[DUO_B]);
}
