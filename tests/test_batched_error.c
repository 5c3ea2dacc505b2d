/*
 * test_batched_error.c - the check of `duoblas bench batched`: right batches of all layouts pass
 * it, and a batch with one wrong element does not.
 */
#include <math.h>

#include "bench/batched/batched.h"
#include "bench/measure/problem.h"
#include "support/harness.h"

enum { BATCHES = 40, FLOATS = 1 << 17 };

static const duo_bench bench = {.random = 1, .seed = 3, .threads = 2};

static bool small(const duo_batch_problem *p)
{
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (p->count * duo_batch_problem_stride(p, i) > FLOATS) return false;
    return true;
}

/* Batches of few products, so that one of them is most of the work. */
static duo_batch_problem next_small(uint64_t *random)
{
    duo_batch_problem p;
    do {
        p = duo_random_batch(random);
        p.count = 2 + p.count % 9;
    } while (!small(&p));
    return p;
}

static duo_buffers open_buffers(void)
{
    duo_buffers buffers;
    CHECK(duo_buffers_open(&buffers, &bench, DUO_SIDE_CPU, DUO_BATCHED_BUFFERS, FLOATS) &&
              duo_buffers_spoil(&buffers, DUO_BATCHED_NANS),
          "no memory");
    return buffers;
}

static bool is_right(const duo_batched *b)
{
    double error = NAN;
    const bool right = duo_batched_check(b, &error);
    if (right) CHECK(error >= 0.0 && error <= (double)b->call.k + 3.0, "error %g", error);
    return right;
}

/* Done by our own strided way. */
static void do_batch(const duo_batched *b)
{
    duo_batched_way way[DUO_BATCHED_WAYS];
    CHECK(duo_batched_ways(b, way) >= 1, "no way");
    CHECK(duo_batched_prepare(b) && duo_batched_run(&way[0], 1), "not done");
}

/* One element of the first, a middle or the last product is wrong. */
static void spoil_one(const duo_batched *b, int64_t product, uint64_t *random)
{
    const duo_operand *const c = &b->call.operand[DUO_C];
    const int64_t row = duo_random_below(random, c->rows);
    const int64_t column = duo_random_below(random, c->columns);
    float *const at = c->address + product * b->strides.stride[DUO_C] + row + column * c->ld;
    const float right = *at, k = (float)b->call.k;
    const float bound = ((k + 3.0f) * k + 2.0f) * 0x1p-24f; /* no element is larger than 1 */
    const float wrong[] = {NAN, INFINITY, right + 2.0f * bound, right - 2.0f * bound};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        *at = wrong[i];
        CHECK(!is_right(b), "%g for %g", (double)wrong[i], (double)right);
    }
    *at = right;
    CHECK(is_right(b), "wrong after all");
}

static void elements(void)
{
    uint64_t random = test_seed();
    duo_buffers buffers = open_buffers();
    for (int i = 0; i < BATCHES; i++) {
        const duo_batch_problem p = next_small(&random);
        duo_batched b;
        test_case("batched_error/elements/%d", i);
        CHECK(duo_batched_open(&b, &bench, &buffers, &p), "no memory");
        do_batch(&b);
        if (CHECK(is_right(&b), "a right batch is refused")) {
            spoil_one(&b, 0, &random);
            spoil_one(&b, (p.count - 1) / 2, &random);
            spoil_one(&b, p.count - 1, &random);
        }
        duo_batched_close(&b);
    }
    duo_buffers_close(&buffers);
}

/* A check of arguments other than those that were used. */
static void arguments(void)
{
    duo_batch_problem p = {
        .product = {.operation = DUO_SGEMM, .shape = {9, 9, 9}, .beta = 0.5f, .gap = {1, 2, 3}},
        .count = 6,
        .gap = {3, 2, 1}};
    duo_buffers buffers = open_buffers();
    duo_batched b;
    CHECK(duo_batched_open(&b, &bench, &buffers, &p), "no memory");
    test_case("batched_error/arguments");
    CHECK(duo_batched_prepare(&b) && !is_right(&b), "nothing was done");
    do_batch(&b);
    CHECK(is_right(&b), "a right batch is refused");
    const duo_call right = b.call;
    duo_call *const c = &b.call;
    for (int what = 0; what < 8; what++) {
        c->transa ^= what == 0;
        c->transb ^= what == 1;
        c->beta += what == 2 ? 0.5f : 0.0f;
        c->alpha += what == 3 ? 0.5f : 0.0f;
        c->operand[DUO_A].ld += what == 4;
        c->operand[DUO_B].ld += what == 5;
        c->operand[DUO_C].ld += what == 6;
        b.strides.stride[DUO_B] += what == 7;
        CHECK(!is_right(&b), "argument %d does not matter", what);
        *c = right;
    }
    duo_batched_close(&b);
    duo_buffers_close(&buffers);
}

static const test_entry tests[] = {
    {"elements", elements},
    {"arguments", arguments},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "batched_error", tests); }
