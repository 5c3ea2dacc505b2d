/* sgemm_data.c - see sgemm_data.h */
#include "sgemm_data.h"

#include <math.h>

#include "random.h"

static float normal(uint64_t *random)
{
    const double radius = sqrt(-2.0 * log(duo_random_unit(random)));
    return (float)(radius * cos(6.283185307179586 * duo_random_unit(random)));
}

static float unit(uint64_t *random) { return (float)duo_random_unit(random); }

/* The largest product is 2^8: 2^16 of them are less than 2^24. */
static float integer(uint64_t *random) { return (float)(duo_random_bits(random) % 33) - 16.0f; }

const duo_sgemm_data duo_sgemm_kinds[DUO_SGEMM_KINDS] = {
    {.name = "N(0,1)", .draw = normal},
    {.name = "U(0,1)", .draw = unit},
    {.name = "U(-1,1)", .draw = duo_random_signed},
    {.name = "spread 2^20", .draw = normal, .spread = 20},
    {.name = "spread 2^60", .draw = normal, .spread = 60},
    {.name = "graded 2^8", .draw = normal, .grading = 8},
    {.name = "graded 2^12", .draw = normal, .grading = 12},
    {.name = "graded 2^20", .draw = normal, .grading = 20},
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

/* The exponent of step l, the same for both operands. */
static int grade_of(const duo_sgemm_data *data, uint64_t seed, int64_t l)
{
    uint64_t random = seed ^ ((uint64_t)l + 1) * 0x9e3779b97f4a7c15u;
    const uint64_t steps = (uint64_t)(2 * data->grading + 1);
    return (int)(duo_random_bits(&random) % steps) - data->grading;
}

/* An operand as it is stored; along_k: its columns are steps of k. */
static void fill(const duo_sgemm_data *data, uint64_t seed, const duo_operand *o, bool along_k,
                 int scale, int grade_sign)
{
    uint64_t random = seed * 2 + (uint64_t)(grade_sign < 0);
    const bool scaled = data->spread > 0 || data->grading > 0 || scale != 0;
    for (int64_t c = 0; c < o->columns; c++)
        for (int64_t r = 0; r < o->rows; r++) {
            double x = (double)data->draw(&random);
            if (scaled) {
                double exponent = scale;
                if (data->spread > 0) exponent += data->spread * (duo_random_unit(&random) - 0.5);
                if (data->grading > 0)
                    exponent += grade_sign * grade_of(data, seed, along_k ? c : r);
                x *= exp2(exponent);
            }
            o->address[r + c * o->ld] = (float)x;
        }
    /* Few, so that most of the product has nothing to do with them. */
    const int plants = data->planted == 1 ? 1 : data->planted > 0 ? 1 + (int)(random >> 62) : 0;
    for (int i = 0; i < plants; i++) {
        const int64_t r = (int64_t)(duo_random_bits(&random) % (uint64_t)o->rows);
        const int64_t c = (int64_t)(duo_random_bits(&random) % (uint64_t)o->columns);
        const uint64_t which = duo_random_bits(&random) % (uint64_t)data->planted;
        o->address[r + c * o->ld] = data->plant[which];
    }
}

void duo_sgemm_data_fill(const duo_sgemm_data *data, uint64_t seed, const duo_call *call)
{
    fill(data, seed, &call->operand[DUO_A], !call->transa, data->scale_a, 1);
    fill(data, seed, &call->operand[DUO_B], call->transb, data->scale_b, -1);
}
