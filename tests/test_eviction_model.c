/*
 * test_eviction_model.c - random calls on kept arrays that do not all fit on the device, against
 * plain loops over the right values.
 *
 * Each sequence has a device of 1 to 64 MB, some arrays that together are one to three times as
 * large, and blocks of device memory that come and go. On a real GPU the cap DUOBLAS_DEVICE_MEMORY
 * makes it small, in one child process for each size. Under ctest there are a hundred sequences;
 * DUOBLAS_TEST_LONG=1 makes thousands. With DUOBLAS_CHECK nothing may be reported, as every change
 * is told.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/data.h"
#include "support/exact.h"
#include "support/harness.h"

enum { MOST_ARRAYS = 10, CONTEXTS = 2, STEPS = 60, EDGE = 12, LARGEST_VALUE = 1 << 10 };
enum { SEQUENCES = 100, LONG_SEQUENCES = 4000, CHECKED_SEQUENCES = 30, CAPS = 7 };

typedef struct array {
    float *x, *truth;
    int64_t count;
    bool kept;
} array;

typedef struct model {
    test_rng rng;
    duo_context *ctx[CONTEXTS];
    array array[MOST_ARRAYS];
    int arrays;
    void *block; /* of duo_malloc, or NULL */
    bool wrong;
} model;

static int64_t any(model *w, int64_t low, int64_t high) { return test_between(&w->rng, low, high); }
static duo_context *any_context(model *w) { return w->ctx[any(w, 0, CONTEXTS - 1)]; }
static array *any_array(model *w) { return &w->array[any(w, 0, w->arrays - 1)]; }

static void expect(model *w, bool ok, const char *what)
{
    if (!ok) w->wrong = !CHECK(ok, "%s", what);
}

static void ok(model *w, duo_status status, const char *what) { expect(w, status == DUO_OK, what); }

/* A part, often the whole array: a part for a reduction is sent and kept with the whole array. */
static void any_part(model *w, const array *a, int64_t *from, int64_t *count)
{
    const bool all = any(w, 0, 1) == 0;
    *from = all ? 0 : any(w, 0, a->count - 1);
    *count = all ? a->count : any(w, 1, a->count - *from);
}

static void do_reduce(model *w)
{
    const array *const a = any_array(w);
    int64_t from, n, sum = 0, magnitude = 0;
    any_part(w, a, &from, &n);
    for (int64_t i = from; i < from + n; i++) {
        sum += (int64_t)a->truth[i];
        magnitude += llabs((int64_t)a->truth[i]);
    }
    if (magnitude > 1 << 24) return;
    float got = test_poison();
    if (any(w, 0, 1) == 0) {
        ok(w, duo_ssum(any_context(w), n, a->x + from, 1, &got), "ssum");
        expect(w, got == (float)sum, "a wrong sum");
    } else {
        ok(w, duo_sasum(any_context(w), n, a->x + from, 1, &got), "sasum");
        expect(w, got == (float)magnitude, "a wrong sum of magnitudes");
    }
}

/* A block of EDGE columns, ld apart, somewhere in an array. */
typedef struct block {
    array *of;
    int64_t at, ld;
} block;

static block any_block(model *w)
{
    block b = {.of = any_array(w), .ld = EDGE + any(w, 0, 2)};
    b.at = any(w, 0, b.of->count - b.ld * EDGE);
    return b;
}

static float *truth_of(const block *b, int64_t i, int64_t j)
{
    return &b->of->truth[b->at + i + j * b->ld];
}

static bool meet(const block *p, const block *q)
{
    return p->of == q->of && p->at < q->at + q->ld * EDGE && q->at < p->at + p->ld * EDGE;
}

static void do_sgemm(model *w)
{
    const block a = any_block(w), b = any_block(w), c = any_block(w);
    if (meet(&c, &a) || meet(&c, &b)) return;
    float alpha = (float)any(w, -1, 1), beta = (float)any(w, -1, 1);
    float cells[EDGE * EDGE];
    for (int round = 0; round < 2; round++) {
        bool fits = true;
        for (int64_t j = 0; j < EDGE; j++)
            for (int64_t i = 0; i < EDGE; i++) {
                float cell = 0.0f;
                for (int64_t p = 0; p < EDGE; p++)
                    cell += *truth_of(&a, i, p) * *truth_of(&b, p, j);
                cell = alpha * cell + beta * *truth_of(&c, i, j);
                fits = fits && fabsf(cell) <= LARGEST_VALUE;
                cells[i + j * EDGE] = cell;
            }
        if (fits) break;
        alpha = beta = 0.0f; /* the numbers have grown too large: clear C instead */
    }
    ok(w,
       duo_sgemm(any_context(w), DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, alpha,
                 a.of->x + a.at, a.ld, b.of->x + b.at, b.ld, beta, c.of->x + c.at, c.ld),
       "sgemm");
    for (int64_t j = 0; j < EDGE; j++)
        for (int64_t i = 0; i < EDGE; i++) *truth_of(&c, i, j) = cells[i + j * EDGE];
}

static void check_array(model *w, const array *a)
{
    expect(w, same_floats(a->x, a->truth, a->count), "a fetched array is wrong");
}

static void do_keep_or_release(model *w)
{
    array *const a = any_array(w);
    if (a->kept) {
        ok(w, duo_release(any_context(w), a->x), "release");
        check_array(w, a);
    } else {
        ok(w, duo_keep(any_context(w), a->x, (size_t)a->count * sizeof(float)), "keep");
    }
    a->kept = !a->kept;
}

static void do_fetch(model *w)
{
    const array *const a = any_array(w);
    ok(w, duo_fetch(any_context(w), a->x + any(w, 0, a->count - 1), sizeof(float)), "fetch");
    check_array(w, a);
}

static void do_change(model *w)
{
    array *const a = any_array(w);
    int64_t from, n;
    any_part(w, a, &from, &n);
    ok(w, duo_fetch(any_context(w), a->x, sizeof(float)), "fetch");
    check_array(w, a);
    fill(a->truth + from, n, any(w, 0, 99));
    memcpy(a->x + from, a->truth + from, (size_t)n * sizeof(float));
    ok(w, duo_changed(any_context(w), a->x + from, (size_t)n * sizeof(float)), "changed");
}

static void do_copy(model *w)
{
    const array *const source = any_array(w), *const target = any_array(w);
    if (source == target) return;
    int64_t from, n;
    any_part(w, source, &from, &n);
    if (n > target->count) n = target->count;
    const int64_t to = any(w, 0, target->count - n);
    ok(w, duo_copy(any_context(w), target->x + to, source->x + from, (size_t)n * sizeof(float)),
       "copy");
    memcpy(target->truth + to, source->truth + from, (size_t)n * sizeof(float));
}

static void do_prepare(model *w)
{
    const array *const a = any_array(w);
    if (!a->kept) return;
    const size_t bytes = any(w, 0, 3) == 0 ? 0 : (size_t)a->count * sizeof(float);
    ok(w, duo_prepare(any_context(w), a->x, bytes), "prepare");
}

/* Device memory of the program's own, filled and looked at as a whole. */
static void do_block(model *w, int64_t most)
{
    if (w->block != NULL) {
        ok(w, duo_free(any_context(w), w->block), "free");
        w->block = NULL;
        return;
    }
    const int64_t n = any(w, 1, most);
    float *const values = new_floats(n), *const got = new_floats(n);
    fill(values, n, n);
    ok(w, duo_malloc(any_context(w), (size_t)n * sizeof(float), &w->block), "malloc");
    ok(w, duo_copy(any_context(w), w->block, values, (size_t)n * sizeof(float)), "copy there");
    ok(w, duo_copy(any_context(w), got, w->block, (size_t)n * sizeof(float)), "copy back");
    expect(w, same_floats(got, values, n), "a block of device memory is wrong");
    free(values);
    free(got);
}

static void do_policy(model *w)
{
    duo_context *const ctx = any_context(w);
    const int64_t what = any(w, 0, 5);
    if (what == 0)
        ok(w, duo_set_path(ctx, DUO_PATH_CPU), "path");
    else if (what == 1)
        ok(w, duo_trim(ctx), "trim");
    else
        ok(w, duo_set_path(ctx, what == 2 ? DUO_PATH_AUTO : DUO_PATH_GPU), "path");
}

static void step(model *w, int64_t most)
{
    const int64_t what = any(w, 0, 99);
    if (what < 34)
        do_reduce(w);
    else if (what < 68)
        do_sgemm(w);
    else if (what < 76)
        do_change(w);
    else if (what < 82)
        do_copy(w);
    else if (what < 87)
        do_keep_or_release(w);
    else if (what < 91)
        do_fetch(w);
    else if (what < 94)
        do_prepare(w);
    else if (what < 97)
        do_block(w, most);
    else
        do_policy(w);
}

static uint64_t evictions; /* told of in this process */

static void hear(void *user, const char *line)
{
    (void)user;
    evictions += strstr(line, ": evicted ") != NULL;
}

static void run_sequence(const char *label, double memory_bytes)
{
    static model w;
    w = (model){.rng = test_rng_for(label)};
    test_case("%s/%.0f bytes", label, memory_bytes);
    for (int i = 0; i < CONTEXTS; i++) {
        CHECK_STATUS(DUO_OK, duo_create(&w.ctx[i]));
        CHECK_STATUS(DUO_OK, duo_set_path(w.ctx[i], DUO_PATH_GPU));
        CHECK_STATUS(DUO_OK, duo_set_log(w.ctx[i], hear, NULL));
    }
    w.arrays = (int)any(&w, 3, MOST_ARRAYS);
    const double total = memory_bytes / sizeof(float) * (double)any(&w, 10, 30) / 10.0;
    const int64_t most = (int64_t)(2.0 * total / w.arrays);
    for (int i = 0; i < w.arrays; i++) {
        array *const a = &w.array[i];
        *a = (array){.count = any(&w, 1000, most), .kept = any(&w, 0, 9) > 0};
        a->x = new_floats(a->count);
        a->truth = new_floats(a->count);
        fill(a->x, a->count, i);
        fill(a->truth, a->count, i);
        if (a->kept)
            CHECK_STATUS(DUO_OK, duo_keep(w.ctx[0], a->x, (size_t)a->count * sizeof(float)));
    }
    for (int i = 0; i < STEPS && !w.wrong; i++) step(&w, most);
    for (int i = 0; i < w.arrays; i++) {
        array *const a = &w.array[i];
        if (a->kept) CHECK_STATUS(DUO_OK, duo_release(w.ctx[0], a->x));
        CHECK(w.wrong || same_floats(a->x, a->truth, a->count), "wrong at the end");
        free(a->x);
        free(a->truth);
    }
    if (w.block != NULL) CHECK_STATUS(DUO_OK, duo_free(w.ctx[0], w.block));
    CHECK(duo_device_copies(0) == 0.0, "%g bytes of copies", duo_device_copies(0));
    for (int i = 0; i < CONTEXTS; i++) test_context_end(w.ctx[i]);
}

/* Sequences from `first` on; on the simulated device each has a memory of its own size. */
static void run_sequences(int first, int count, double memory_bytes, bool sim)
{
    for (int i = first; i < first + count; i++) {
        double bytes = memory_bytes;
        char label[40];
        snprintf(label, sizeof label, "eviction/%d", i);
        if (sim) {
            test_rng rng = test_rng_for(label);
            /* The small ones are as good as the large ones, and take less time. */
            bytes = ldexp(1e6 + (double)test_between(&rng, 0, 999999),
                          (int)(test_between(&rng, 0, 5) * test_between(&rng, 0, 5)) / 5);
            sim_reset();
            sim_set_memory((uint64_t)bytes);
            duo_backend_install(sim_backend());
            if (test_between(&rng, 0, 3) == 0) sim_set_delay(40);
        }
        run_sequence(label, bytes);
        if (!sim) continue;
        sim_set_delay(0);
        CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
        CHECK(sim_violations() == 0, "%d violations of the backend's contract", sim_violations());
    }
}

static int sequences(void) { return test_amount(SEQUENCES / 10, SEQUENCES, LONG_SEQUENCES); }

/* In a child: with a cap, on a real GPU ("cap BYTES"); or with DUOBLAS_CHECK ("check"). */
static int in_child(void)
{
    const char *const cap = getenv("DUOBLAS_DEVICE_MEMORY"), *const count = getenv("SEQUENCES");
    const bool sim = cap == NULL;
    const char *why;
    if (!sim) (void)duo_devices(&why);
    const double bytes = sim ? 0.0 : strtod(cap, NULL);
    run_sequences((int)(bytes / 1e6) * 100, atoi(count), bytes, sim);
    printf("%ju evictions", (uintmax_t)evictions);
    return 0;
}

static void check_child(const char *task, const char *setting, int count)
{
    char number[32];
    test_child child;
    uintmax_t evicted = 0;
    snprintf(number, sizeof number, "SEQUENCES=%d", count);
    test_child_run(task, (const char *const[]){setting, number, NULL}, 800, &child);
    /* Failed checks of the child, and reports of DUOBLAS_CHECK, are on its stderr. */
    const bool right = strstr(child.err, "FAILED") == NULL && strstr(child.err, "check:") == NULL;
    CHECK(child.exit_status == 0 && right, "exit %d: %.400s", child.exit_status, child.err);
    CHECK(sscanf(child.out, "%ju", &evicted) == 1 && evicted > (uintmax_t)count / 4,
          "%ju evictions", evicted);
}

static void model_random(void)
{
    if (test_on_sim()) {
        run_sequences(0, sequences(), 0.0, true);
        CHECK(evictions > (uint64_t)sequences(), "%ju evictions", (uintmax_t)evictions);
        printf("    %d sequences, %ju evictions\n", sequences(), (uintmax_t)evictions);
        return;
    }
    for (int i = 0; i < CAPS; i++) {
        char cap[64];
        snprintf(cap, sizeof cap, "DUOBLAS_DEVICE_MEMORY=%d", 1000000 << i);
        test_case("eviction/cap/%s", cap);
        check_child("cap", cap, sequences() / CAPS + 1);
    }
}

static void model_checked(void)
{
    test_case("eviction/checked");
    if (test_on_sim())
        check_child("check", "DUOBLAS_CHECK=1", CHECKED_SEQUENCES);
    else
        test_skip("needs the simulated device");
}

static const test_entry tests[] = {
    {"model_random", model_random},
    {"model_checked", model_checked},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return in_child();
    return test_main(argc, argv, "eviction_model", tests);
}
