/*
 * test_verify_draw.c - the random calls of `crossover --verify`: valid, reproducible, and of every
 * kind.
 */
#include <string.h>

#include "bench/crossover/verify_draw.h"
#include "support/harness.h"

enum { DRAWS = 4000 };

/* Numbers of draws by their properties. */
typedef struct counts {
    int operation[DUO_OPERATIONS], math[DUO_MATH_FLOAT64 + 1], shape_class[DUO_SHAPE_CLASSES];
    int input[DUO_AT_DEVICE + 1], output[DUO_AT_DEVICE + 1], layout[4];
    int gaps, dense, steps, alpha_0, beta_0, beta_1, beta_other;
} counts;

static void count(counts *n, const duo_drawn *d)
{
    n->operation[d->problem.operation]++;
    n->math[d->math]++;
    n->shape_class[d->shape_class]++;
    n->input[d->at[0]]++;
    n->output[d->at[2]]++;
    if (d->problem.operation != DUO_SGEMM) {
        n->steps += d->ld[DUO_X] > 1;
        return;
    }
    n->layout[2 * d->problem.transa + d->problem.transb]++;
    n->dense += d->ld[DUO_C] == d->problem.shape[0];
    n->gaps += d->ld[DUO_C] > d->problem.shape[0];
    n->alpha_0 += d->alpha == 0.0f;
    n->beta_0 += d->problem.beta == 0.0f;
    n->beta_1 += d->problem.beta == 1.0f;
    n->beta_other += d->problem.beta != 0.0f && d->problem.beta != 1.0f;
}

static void every(const char *what, const int *number, int from, int to)
{
    for (int i = from; i < to; i++) CHECK(number[i] > 0, "%s %d never came", what, i);
}

static void every_kind(void)
{
    counts n = {.gaps = 0};
    test_case("verify_draw/every-kind");
    for (int i = 0; i < DRAWS; i++) {
        const duo_drawn d = duo_draw(test_seed(), i);
        count(&n, &d);
    }
    every("operation", n.operation, 0, DUO_OPERATIONS);
    every("math", n.math, 0, DUO_MATH_FLOAT64 + 1);
    every("class", n.shape_class, 0, DUO_SHAPE_CLASSES);
    every("place of an input", n.input, DUO_AT_PAGEABLE, DUO_AT_DEVICE + 1);
    every("layout", n.layout, 0, 4);
    CHECK(n.output[DUO_AT_PAGEABLE] > 0 && n.output[DUO_AT_PINNED] > 0 &&
              n.output[DUO_AT_DEVICE] > 0,
          "a place of the output never came");
    CHECK(n.output[DUO_AT_KEPT] == 0 && n.output[DUO_AT_STALE] == 0,
          "what is written would not stay as it was drawn");
    CHECK(n.gaps > 0 && n.dense > 0 && n.steps > 0 && n.alpha_0 > 0 && n.beta_0 > 0 &&
              n.beta_1 > 0 && n.beta_other > 0,
          "gaps %d, none %d, increments %d, alpha 0 %d, beta 0, 1, other %d, %d, %d", n.gaps,
          n.dense, n.steps, n.alpha_0, n.beta_0, n.beta_1, n.beta_other);
}

/* Arguments that the public functions take, and that do work. */
static void valid(void)
{
    for (int i = 0; i < DRAWS; i++) {
        const duo_drawn d = duo_draw(test_seed(), i);
        const duo_call call = duo_drawn_call(&d);
        char text[DUO_DRAWN_TEXT];
        test_case("verify_draw/valid/%s", duo_drawn_text(&d, text));
        for (int o = 0; o < DUO_OPERANDS; o++) {
            const duo_operand *const x = &call.operand[o];
            CHECK(x->ld >= x->rows && x->ld <= x->rows + 30, "ld of operand %d", o);
            CHECK(!duo_operand_touched(x) || x->residence == d.at[o], "place of operand %d", o);
            CHECK(!duo_operand_touched(x) || duo_drawn_floats(&d, o) >= x->rows * x->columns,
                  "operand %d has no room", o);
        }
        CHECK(d.alpha != 0.0f || d.problem.beta != 1.0f, "there is nothing to do");
        CHECK(strlen(text) < 72, "%d characters", (int)strlen(text));
    }
}

static bool same(const duo_drawn *a, const duo_drawn *b)
{
    return a->problem.operation == b->problem.operation && a->math == b->math &&
           memcmp(a->problem.shape, b->problem.shape, sizeof a->problem.shape) == 0 &&
           memcmp(a->ld, b->ld, sizeof a->ld) == 0 && memcmp(a->at, b->at, sizeof a->at) == 0 &&
           a->problem.transa == b->problem.transa && a->problem.transb == b->problem.transb &&
           a->alpha == b->alpha && a->problem.beta == b->problem.beta;
}

/* A problem can be drawn again by its number, after any other draws; other numbers and seeds give
 * others. */
static void reproducible(void)
{
    test_case("verify_draw/reproducible");
    for (int i = 0; i < 100; i++) {
        const duo_drawn first = duo_draw(7, i);
        const duo_drawn other = duo_draw(8, i), next = duo_draw(7, i + 1), again = duo_draw(7, i);
        CHECK(same(&first, &again), "number %d differs", i);
        CHECK(!same(&first, &other), "number %d is the same for another seed", i);
        CHECK(!same(&first, &next), "number %d comes twice", i);
    }
    char text[DUO_DRAWN_TEXT];
    const duo_drawn known = duo_draw(20260101, 18);
    CHECK(strcmp(duo_drawn_text(&known, text), "ssum 46239 inc 2 float64") == 0, "%s", text);
}

static void in_one_place(void)
{
    test_case("verify_draw/in-one-place");
    for (int i = 0; i < 100; i++) {
        const duo_drawn d = duo_draw(7, i), there = duo_drawn_at(&d, DUO_AT_DEVICE);
        for (int o = 0; o < DUO_OPERANDS; o++)
            CHECK(there.at[o] == (d.at[o] == DUO_AT_UNUSED ? DUO_AT_UNUSED : DUO_AT_DEVICE),
                  "operand %d", o);
    }
}

static const test_entry tests[] = {
    {"every_kind", every_kind},     {"valid", valid}, {"reproducible", reproducible},
    {"in_one_place", in_one_place}, {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "verify_draw", tests); }
