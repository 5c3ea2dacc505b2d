/* verify_draw.c - see verify_draw.h */
#include "bench/crossover/verify_draw.h"

#include <inttypes.h>
#include <stdio.h>

#include "algorithms.h"
#include "bench/reference/random.h"
#include "bench/tool/text.h"
#include "call.h"
#include "host/environment.h"

/* ---- Drawing ---- */

static bool one_in(uint64_t *random, int64_t count) { return duo_random_below(random, count) == 0; }

static duo_operation draw_operation(uint64_t *random)
{
    static const duo_operation list[] = {DUO_SGEMM, DUO_SGEMM, DUO_SGEMM, DUO_SGEMM,
                                         DUO_SGEMM, DUO_SASUM, DUO_SSUM,  DUO_SDOT};
    return list[duo_random_below(random, sizeof list / sizeof list[0])];
}

static duo_math draw_math(uint64_t *random)
{
    static const duo_math list[] = {DUO_MATH_ACCURATE, DUO_MATH_ACCURATE, DUO_MATH_ACCURATE,
                                    DUO_MATH_IEEE,     DUO_MATH_TF32,     DUO_MATH_FLOAT64};
    return list[duo_random_below(random, sizeof list / sizeof list[0])];
}

static duo_residence draw_input_place(uint64_t *random)
{
    static const duo_residence list[] = {DUO_AT_PAGEABLE, DUO_AT_PINNED, DUO_AT_DEVICE,
                                         DUO_AT_DEVICE,   DUO_AT_KEPT,   DUO_AT_STALE};
    return list[duo_random_below(random, sizeof list / sizeof list[0])];
}

static duo_residence draw_output_place(uint64_t *random)
{
    static const duo_residence list[] = {DUO_AT_PAGEABLE, DUO_AT_PINNED, DUO_AT_DEVICE};
    return list[duo_random_below(random, sizeof list / sizeof list[0])];
}

/* Half of all calls have their operands in one place, as most programs do. */
static void draw_places(uint64_t *random, duo_drawn *d)
{
    const bool together = one_in(random, 2);
    d->at[DUO_C] = draw_output_place(random);
    for (int i = 0; i < DUO_C; i++) {
        const duo_residence place = draw_input_place(random);
        d->at[i] = together ? d->at[DUO_C] : place;
    }
    if (d->problem.operation == DUO_SASUM || d->problem.operation == DUO_SSUM)
        d->at[DUO_Y] = DUO_AT_UNUSED;
}

/* alpha is never 0: with a beta of 0.5, repeated calls would make C denormal, and slow. */
static void draw_product(uint64_t *random, duo_drawn *d)
{
    static const float alphas[] = {1.0f, 1.0f, 0.7f, -1.3f};
    d->problem = duo_random_product(random, d->shape_class);
    d->alpha = alphas[duo_random_below(random, 4)];
    if (one_in(random, 32)) {
        d->alpha = 0.0f;
        d->problem.beta = one_in(random, 2) ? 0.0f : -1.0f;
    }
    for (int i = 0; i < DUO_OPERANDS; i++) d->ld[i] = duo_problem_ld(&d->problem, i);
}

/* Vectors with gaps get fewer elements, so that they span no more memory. */
static void draw_vectors(uint64_t *random, duo_drawn *d)
{
    duo_random_shape(random, DUO_SHAPE_VECTOR, d->problem.shape);
    const bool dense = !one_in(random, 4);
    int64_t largest = 1;
    for (int i = 0; i < DUO_RESULT; i++) {
        const int64_t step = duo_random_size(random, 1, 31);
        d->ld[i] = dense ? 1 : step;
        if (d->ld[i] > largest) largest = d->ld[i];
    }
    d->ld[DUO_RESULT] = 1;
    d->problem.shape[0] = (d->problem.shape[0] + largest - 1) / largest;
}

duo_drawn duo_draw(uint64_t seed, int64_t number)
{
    uint64_t by_seed = seed, by_number = ~(uint64_t)number;
    uint64_t random = duo_random_bits(&by_seed) ^ duo_random_bits(&by_number);
    duo_drawn d = {.number = number};
    d.problem.operation = draw_operation(&random);
    d.math = draw_math(&random);
    const bool matrix = d.problem.operation == DUO_SGEMM;
    d.shape_class =
        matrix ? (duo_shape_class)duo_random_below(&random, DUO_SGEMM_CLASSES) : DUO_SHAPE_VECTOR;
    if (matrix)
        draw_product(&random, &d);
    else
        draw_vectors(&random, &d);
    draw_places(&random, &d);
    return d;
}

duo_drawn duo_drawn_at(const duo_drawn *drawn, duo_residence place)
{
    duo_drawn d = *drawn;
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (d.at[i] != DUO_AT_UNUSED) d.at[i] = place;
    return d;
}

/* ---- As a call ---- */

static void put(duo_operand *o, int64_t ld, duo_residence at)
{
    o->ld = ld;
    if (!duo_operand_touched(o)) return;
    o->residence = at;
    o->on_device = at == DUO_AT_DEVICE || at == DUO_AT_KEPT;
    o->on_host = at != DUO_AT_DEVICE;
}

duo_call duo_drawn_call(const duo_drawn *drawn)
{
    const duo_problem *const p = &drawn->problem;
    duo_call call = p->operation == DUO_SGEMM
                        ? duo_call_sgemm(p->transa, p->transb, p->shape[0], p->shape[1],
                                         p->shape[2], drawn->alpha, p->beta)
                        : duo_call_reduction(p->operation, p->shape[0]);
    for (int i = 0; i < DUO_OPERANDS; i++) put(&call.operand[i], drawn->ld[i], drawn->at[i]);
    return call;
}

int64_t duo_drawn_floats(const duo_drawn *drawn, int operand)
{
    if (drawn->at[operand] == DUO_AT_UNUSED) return 0;
    const duo_call call = duo_drawn_call(drawn);
    const duo_operand *const o = &call.operand[operand];
    return (o->columns - 1) * o->ld + o->rows;
}

/* ---- As text ---- */

static void product_text(const duo_drawn *d, char *text, size_t size)
{
    const int64_t *const s = d->problem.shape, *const ld = d->ld;
    snprintf(text, size,
             "%" PRId64 "x%" PRId64 "x%" PRId64 " %c%c ld %" PRId64 ",%" PRId64 ",%" PRId64
             " a=%g b=%g",
             s[0], s[1], s[2], d->problem.transa ? 't' : 'n', d->problem.transb ? 't' : 'n', ld[0],
             ld[1], ld[2], (double)d->alpha, (double)d->problem.beta);
}

static void vector_text(const duo_drawn *d, char *text, size_t size)
{
    if (d->problem.operation == DUO_SDOT)
        snprintf(text, size, "%" PRId64 " inc %" PRId64 ",%" PRId64, d->problem.shape[0], d->ld[0],
                 d->ld[1]);
    else
        snprintf(text, size, "%" PRId64 " inc %" PRId64, d->problem.shape[0], d->ld[0]);
}

const char *duo_drawn_text(const duo_drawn *drawn, char text[DUO_DRAWN_TEXT])
{
    char shape[DUO_DRAWN_TEXT - 60];
    if (drawn->problem.operation == DUO_SGEMM)
        product_text(drawn, shape, sizeof shape);
    else
        vector_text(drawn, shape, sizeof shape);
    snprintf(text, DUO_DRAWN_TEXT, "%s %s %s", duo_operation_name(drawn->problem.operation), shape,
             duo_math_name(drawn->math));
    return text;
}

const char *duo_drawn_places(const duo_drawn *drawn, char text[DUO_DRAWN_TEXT])
{
    snprintf(text, DUO_DRAWN_TEXT, "%s, %s, %s", duo_text_residence(drawn->at[0]),
             duo_text_residence(drawn->at[1]), duo_text_residence(drawn->at[2]));
    return text;
}
