/*
 * test_failures.c - the GPU fails, the answer does not.
 *
 * For every operation and mix of residences: the n-th call of each kind at the backend fails, n = 1,
 * 2, 3, ... until the work no longer gets so far; with each status, once or from then on; or the
 * n-th piece of queued work takes the device down while it runs, leaving garbage. Each time the
 * answer must be right and the status DUO_OK. Only where the one current copy was on a device that
 * is lost may it be DUO_ERR_LOST, and never a wrong answer. All data are small integers, so that
 * sgemm is exact too. A watchdog ends the program if anything hangs.
 */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/places.h"
#include "support/reference_order.h"

/* ---- Watchdog ---- */

enum { PATIENCE_SECONDS = 60 };

static char now_at[200]; /* the case, where a signal handler can reach it */

static void bark(int number)
{
    static const char text[] = "watchdog: hangs in ";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)!write(STDERR_FILENO, now_at, strlen(now_at));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(3);
}

static void begin_case(const char *name)
{
    snprintf(now_at, sizeof now_at, "%s", name);
    test_case("%s", name);
    alarm(PATIENCE_SECONDS);
}

/* ---- Scenarios: an operation on data in certain places ---- */

typedef struct scenario {
    const char *name;
    duo_operation operation;
    test_place a, b, c; /* of sgemm; x, y, result of the reductions */
    float beta;
    int64_t m, n, k; /* reductions: n */
    duo_path path;
    bool prepared; /* A and B, by duo_prepare */
} scenario;

enum { LD_EXTRA = 3 };

static const scenario scenarios[] = {
    {"ssum/pageable", DUO_SSUM, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE, 0, 1, 9001, 0,
     DUO_PATH_GPU, false},
    {"ssum/large", DUO_SSUM, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE, 0, 1, 3000001, 0,
     DUO_PATH_GPU, false},
    {"sasum/pinned", DUO_SASUM, PLACE_PINNED, PLACE_PAGEABLE, PLACE_PAGEABLE, 0, 1, 9001, 0,
     DUO_PATH_GPU, false},
    {"sdot/kept+pageable", DUO_SDOT, PLACE_KEPT, PLACE_PAGEABLE, PLACE_PAGEABLE, 0, 1, 9001, 0,
     DUO_PATH_GPU, false},
    {"sdot/device+kept", DUO_SDOT, PLACE_DEVICE, PLACE_KEPT, PLACE_PAGEABLE, 0, 1, 9001, 0,
     DUO_PATH_GPU, false},
    {"sdot/device+kept/cpu", DUO_SDOT, PLACE_DEVICE, PLACE_KEPT, PLACE_PAGEABLE, 0, 1, 9001, 0,
     DUO_PATH_CPU, false},
    {"ssum/kept/result-kept", DUO_SSUM, PLACE_KEPT, PLACE_PAGEABLE, PLACE_KEPT, 0, 1, 9001, 0,
     DUO_PATH_GPU, false},
    {"ssum/pageable/result-on-device", DUO_SSUM, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_DEVICE, 0, 1,
     9001, 0, DUO_PATH_GPU, false},
    {"ssum/pageable/result-pinned", DUO_SSUM, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PINNED, 0, 1,
     9001, 0, DUO_PATH_GPU, false},
    {"sgemm/pageable/b=0", DUO_SGEMM, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE, 0, 37, 29, 17,
     DUO_PATH_GPU, false},
    {"sgemm/pageable/b=-1", DUO_SGEMM, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE, -1, 37, 29,
     17, DUO_PATH_GPU, false},
    {"sgemm/pinned/b=2", DUO_SGEMM, PLACE_PINNED, PLACE_PINNED, PLACE_PINNED, 2, 37, 29, 17,
     DUO_PATH_GPU, false},
    {"sgemm/pinned/b=0", DUO_SGEMM, PLACE_PINNED, PLACE_PINNED, PLACE_PINNED, 0, 37, 29, 17,
     DUO_PATH_GPU, false},
    /* columns long enough for the device to read and write them in place */
    {"sgemm/pinned-direct/b=2", DUO_SGEMM, PLACE_PINNED, PLACE_PINNED, PLACE_PINNED, 2, 80, 29, 17,
     DUO_PATH_GPU, false},
    {"sgemm/pinned-direct/b=0", DUO_SGEMM, PLACE_PINNED, PLACE_PINNED, PLACE_PINNED, 0, 80, 29, 17,
     DUO_PATH_GPU, false},
    {"sgemm/kept/b=0", DUO_SGEMM, PLACE_KEPT, PLACE_KEPT, PLACE_KEPT, 0, 37, 29, 17, DUO_PATH_GPU,
     false},
    {"sgemm/kept/b=1", DUO_SGEMM, PLACE_KEPT, PLACE_KEPT, PLACE_KEPT, 1, 37, 29, 17, DUO_PATH_GPU,
     false},
    {"sgemm/kept+c-pageable/b=1", DUO_SGEMM, PLACE_KEPT, PLACE_KEPT, PLACE_PAGEABLE, 1, 37, 29, 17,
     DUO_PATH_GPU, false},
    {"sgemm/device/b=1", DUO_SGEMM, PLACE_DEVICE, PLACE_DEVICE, PLACE_DEVICE, 1, 37, 29, 17,
     DUO_PATH_GPU, false},
    {"sgemm/device+c-pageable/b=1", DUO_SGEMM, PLACE_DEVICE, PLACE_PAGEABLE, PLACE_PAGEABLE, 1, 37,
     29, 17, DUO_PATH_GPU, false},
    {"sgemm/mixed/cpu", DUO_SGEMM, PLACE_DEVICE, PLACE_KEPT, PLACE_DEVICE, 1, 37, 29, 17,
     DUO_PATH_CPU, false},
    {"sgemm/prepared/b=0", DUO_SGEMM, PLACE_KEPT, PLACE_DEVICE, PLACE_PAGEABLE, 0, 37, 29, 17,
     DUO_PATH_GPU, true},
    {"sgemm/prepared/b=1", DUO_SGEMM, PLACE_DEVICE, PLACE_KEPT, PLACE_KEPT, 1, 37, 29, 17,
     DUO_PATH_GPU, true},
    /* C comes back in several pieces: the device can die between two of them */
    {"sgemm/large/b=3", DUO_SGEMM, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_PAGEABLE, 3, 1501, 1301, 2,
     DUO_PATH_GPU, false},
    {"sgemm/large/b=0", DUO_SGEMM, PLACE_PAGEABLE, PLACE_KEPT, PLACE_PAGEABLE, 0, 1501, 1301, 2,
     DUO_PATH_GPU, false},
    {"sgemm/large/kept-c/b=1", DUO_SGEMM, PLACE_PAGEABLE, PLACE_PAGEABLE, PLACE_KEPT, 1, 1501, 1301,
     2, DUO_PATH_GPU, false},
};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

static bool is_large(const scenario *s) { return s->m * s->n > 1000000; }

/* Host images of what the operands hold at first, and of what the output must hold in the end. */
typedef struct world {
    const scenario *s;
    test_array a, b, c, expected;
    test_array work[3]; /* the arrays that the library gets; same shapes */
    void *memory[3];    /* pinned or device */
    float *address[3];
} world;

static test_place place_of(const scenario *s, int i)
{
    return i == 0 ? s->a : i == 1 ? s->b : s->c;
}

static bool takes_part(const scenario *s, int i)
{
    return i != 1 || s->operation == DUO_SGEMM || s->operation == DUO_SDOT;
}

static void make_expected(world *w)
{
    const scenario *const s = w->s;
    if (s->operation != DUO_SGEMM) {
        w->expected.data[0] = reference_order(s->operation, s->n, w->a.data, 1, w->b.data, 1);
        return;
    }
    for (int64_t j = 0; j < s->n; j++)
        for (int64_t i = 0; i < s->m; i++) {
            float *const cell = &w->expected.data[i + j * w->expected.ld];
            float sum = s->beta != 0.0f ? s->beta * *cell : 0.0f;
            for (int64_t p = 0; p < s->k; p++)
                sum += 2.0f * w->a.data[i + p * w->a.ld] * w->b.data[p + j * w->b.ld];
            *cell = sum;
        }
}

static void new_world(world *w, const scenario *s)
{
    test_rng rng = test_rng_for(s->name);
    *w = (world){.s = s};
    if (s->operation == DUO_SGEMM) {
        w->a = test_array_new(s->m, s->k, s->m + LD_EXTRA, 0);
        w->b = test_array_new(s->k, s->n, s->k, 1);
        w->c = test_array_new(s->m, s->n, s->m + LD_EXTRA, 2);
        if (s->beta != 0.0f) test_array_fill(&w->c, &rng, DATA_INTEGER);
    } else {
        w->a = test_array_new(s->n, 1, s->n, 0);
        w->b = test_array_new(s->n, 1, s->n, 1);
        w->c = test_array_new(1, 1, 1, 2);
    }
    test_array_fill(&w->a, &rng, s->operation == DUO_SGEMM ? DATA_INTEGER : DATA_WIDE);
    test_array_fill(&w->b, &rng, s->operation == DUO_SGEMM ? DATA_INTEGER : DATA_WIDE);
    w->expected = test_array_copy(&w->c);
    make_expected(w);
    w->work[0] = test_array_copy(&w->a);
    w->work[1] = test_array_copy(&w->b);
    w->work[2] = test_array_copy(&w->c);
}

static void end_world(world *w)
{
    test_array_free(&w->a);
    test_array_free(&w->b);
    test_array_free(&w->c);
    test_array_free(&w->expected);
    for (int i = 0; i < 3; i++) test_array_free(&w->work[i]);
}

/* Puts fresh operands into their places, while nothing fails. */
static void put_operands(world *w, duo_context *ctx)
{
    const test_array *const images[] = {&w->a, &w->b, &w->c};
    for (int i = 0; i < 3; i++) {
        test_array *const work = &w->work[i];
        memcpy(work->block, images[i]->block, work->block_bytes);
        w->memory[i] = NULL;
        w->address[i] = work->data;
        if (!takes_part(w->s, i)) continue;
        switch (place_of(w->s, i)) {
        case PLACE_PINNED:
            CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, work->bytes, &w->memory[i]));
            memcpy(w->memory[i], work->data, work->bytes);
            w->address[i] = w->memory[i];
            break;
        case PLACE_DEVICE:
            CHECK_STATUS(DUO_OK, duo_malloc(ctx, work->bytes, &w->memory[i]));
            CHECK_STATUS(DUO_OK, duo_copy(ctx, w->memory[i], work->data, work->bytes));
            w->address[i] = w->memory[i];
            break;
        case PLACE_KEPT:
            CHECK_STATUS(DUO_OK, duo_keep(ctx, work->data, work->bytes));
            break;
        default:
            break;
        }
        if (w->s->prepared && i < 2)
            CHECK_STATUS(DUO_OK, duo_prepare(ctx, w->address[i], work->bytes));
    }
}

static duo_status call(const world *w, duo_context *ctx)
{
    const scenario *const s = w->s;
    switch (s->operation) {
    case DUO_SGEMM:
        return duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, s->m, s->n, s->k, 2.0f,
                         w->address[0], w->a.ld, w->address[1], w->b.ld, s->beta, w->address[2],
                         w->c.ld);
    case DUO_SASUM:
        return duo_sasum(ctx, s->n, w->address[0], 1, w->address[2]);
    case DUO_SSUM:
        return duo_ssum(ctx, s->n, w->address[0], 1, w->address[2]);
    default:
        return duo_sdot(ctx, s->n, w->address[0], 1, w->address[1], 1, w->address[2]);
    }
}

/* Brings the output home, with the status of doing so. */
static duo_status take_output(world *w, duo_context *ctx)
{
    test_array *const work = &w->work[2];
    switch (place_of(w->s, 2)) {
    case PLACE_PINNED:
        memcpy(work->data, w->memory[2], work->bytes);
        return DUO_OK;
    case PLACE_DEVICE:
        return duo_copy(ctx, work->data, w->memory[2], work->bytes);
    case PLACE_KEPT:
        return duo_fetch(ctx, work->data, work->bytes);
    default:
        return DUO_OK;
    }
}

/* Gives everything back; what the device had may be lost. */
static void drop_operands(world *w, duo_context *ctx, bool may_be_lost)
{
    for (int i = 0; i < 3; i++) {
        if (!takes_part(w->s, i)) continue;
        duo_status status = DUO_OK;
        if (place_of(w->s, i) == PLACE_PINNED) status = duo_free_host(ctx, w->memory[i]);
        if (place_of(w->s, i) == PLACE_DEVICE) status = duo_free(ctx, w->memory[i]);
        if (place_of(w->s, i) == PLACE_KEPT) status = duo_release(ctx, w->work[i].data);
        CHECK(status == DUO_OK || (may_be_lost && status == DUO_ERR_LOST), "operand %d: status %d",
              i, (int)status);
    }
}

static bool on_device(const scenario *s)
{
    for (int i = 0; i < 3; i++)
        if (takes_part(s, i) && place_of(s, i) == PLACE_DEVICE) return true;
    return false;
}

static bool only_copy_on_device(const scenario *s) { return on_device(s) || s->c == PLACE_KEPT; }

/* A plain call after whatever happened: must be right. */
static void check_later_calls(duo_context *ctx, bool must_be_cpu)
{
    float x[200], sum = test_poison(), c[16], ones[16];
    for (int i = 0; i < 200; i++) x[i] = (float)(i % 7);
    for (int i = 0; i < 16; i++) ones[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 200, x, 1, &sum));
    CHECK(sum == reference_order(DUO_SSUM, 200, x, 1, NULL, 1), "%g", (double)sum);
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    if (must_be_cpu) CHECK(d.side == DUO_SIDE_CPU, "%s after a loss", d.algorithm);
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 4, 4, 4, 1.0f,
                                   ones, 4, ones, 4, 0.0f, c, 4));
    CHECK(c[0] == 4.0f && c[15] == 4.0f, "%g %g", (double)c[0], (double)c[15]);
    void *memory = NULL, *host = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof x, &memory));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, sizeof x, &host));
    if (memory != NULL && host != NULL) {
        memcpy(host, x, sizeof x);
        CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, host, sizeof x));
        sum = test_poison();
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 200, memory, 1, &sum));
        CHECK(sum == reference_order(DUO_SSUM, 200, x, 1, NULL, 1), "%g", (double)sum);
    }
    CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, host));
}

/* ---- One run ---- */

typedef struct mishap {
    sim_kind kind; /* SIM_KINDS: asynchronous, when the nth operation is carried out */
    duo_status status;
    int times; /* 1, or -1: from then on */
    bool garbage;
    bool warm; /* the context has been used before: queue and workspace are there */
} mishap;

static const char *kind_name(sim_kind kind)
{
    static const char *const names[SIM_KINDS + 1] = {
        "count", "load",   "allocate", "release", "pin",  "unpin", "classify", "open", "close",
        "copy",  "launch", "form",     "mark",    "wait", "idle",  "after",    "async"};
    return names[kind];
}

static void arm(const mishap *what, int nth)
{
    if (what->kind == SIM_KINDS)
        sim_fail_async(nth, what->garbage);
    else
        sim_fail(what->kind, nth, what->status, what->times);
}

static void disarm(const mishap *what)
{
    if (what->kind == SIM_KINDS)
        sim_fail_async(0, false);
    else
        sim_fail(what->kind, 0, DUO_OK, 0);
}

static uint64_t events(const mishap *what)
{
    if (what->kind != SIM_KINDS) return sim_count(what->kind);
    return sim_count(SIM_COPY) + sim_count(SIM_LAUNCH) + sim_count(SIM_PACK);
}

/* Twice the call under test, the nth event of which goes wrong. False: it never came so far. */
static bool run(world *w, const mishap *what, int nth)
{
    const scenario *const s = w->s;
    const bool loses = what->kind == SIM_KINDS || what->status == DUO_ERR_LOST;
    /* Where even the CPU needs the device to get at the data, a device that refuses for good leaves
     * no way to it; but there is one without pinned memory, and one without marks. */
    const bool refuses = what->times < 0 && what->kind != SIM_PIN && what->kind != SIM_MARK;
    const bool may_fail = (loses || refuses) && only_copy_on_device(s);
    duo_context *ctx = NULL;
    test_reset();
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    if (what->warm) {
        put_operands(w, ctx);
        CHECK_STATUS(DUO_OK, call(w, ctx));
        drop_operands(w, ctx, false);
    }
    put_operands(w, ctx);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, s->path));

    arm(what, nth);
    const uint64_t before = events(what);
    duo_status status = call(w, ctx);
    if (status == DUO_OK) status = duo_synchronize(ctx);
    if (status == DUO_OK) status = take_output(w, ctx);
    const bool reached = events(what) - before >= (uint64_t)nth;
    disarm(what);

    const bool lost = status == DUO_ERR_LOST;
    CHECK(status == DUO_OK || (may_fail && reached), "status %d (%s)", (int)status,
          duo_status_string(status));
    if (loses) CHECK(status == DUO_OK || lost, "status %d after a loss", (int)status);
    test_array *const out = &w->work[2];
    if (status == DUO_OK) CHECK(test_array_equal(out, &w->expected), "the answer is wrong");
    CHECK(test_array_intact(&w->work[0]) && test_array_intact(&w->work[1]), "inputs were changed");
    CHECK(test_array_equal(&w->work[0], &w->a) && test_array_equal(&w->work[1], &w->b),
          "inputs were changed");
    if (place_of(s, 2) == PLACE_PAGEABLE) CHECK(test_array_intact(out), "gaps were changed");

    /* Afterwards everything works: on the CPU if the device is lost, else as before. The library
     * also gives up a device that it cannot wait for. */
    const bool gone = (loses && reached) || !duo_device_usable(0);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    check_later_calls(ctx, gone);
    drop_operands(w, ctx, gone);
    if (!gone) {
        /* The device still works: the same call again, on it. */
        put_operands(w, ctx);
        CHECK_STATUS(DUO_OK, call(w, ctx));
        CHECK_STATUS(DUO_OK, take_output(w, ctx));
        CHECK(test_array_equal(out, &w->expected), "the next answer is wrong");
        drop_operands(w, ctx, false);
    }
    const duo_status ended = duo_destroy(ctx);
    CHECK(ended == DUO_OK || (gone && ended == DUO_ERR_LOST), "destroy: %d", (int)ended);
    if (!(loses && reached)) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    return reached;
}

/* ---- Every failure of a kind ---- */

static void every_nth(const mishap *what, bool large)
{
    static const char *const how[] = {"once", "from-then-on"};
    for (int i = 0; i < SCENARIOS; i++) {
        if (is_large(&scenarios[i]) != large) continue;
        world w;
        new_world(&w, &scenarios[i]);
        for (int nth = 1; nth < 1000; nth++) {
            char name[200];
            snprintf(name, sizeof name, "%s/%s-%d=%d/%s%s%s", scenarios[i].name,
                     kind_name(what->kind), nth, (int)what->status, how[what->times < 0],
                     what->garbage ? "/garbage" : "", what->warm ? "/warm" : "");
            begin_case(name);
            if (!run(&w, what, nth)) break;
        }
        end_world(&w);
    }
    alarm(0);
}

static void each_status(sim_kind kind)
{
    static const duo_status statuses[] = {DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_LOST};
    for (int i = 0; i < 3; i++)
        for (int ever = 0; ever < 2; ever++)
            for (int warm = 0; warm < 2; warm++) {
                const mishap what = {
                    .kind = kind, .status = statuses[i], .times = ever ? -1 : 1, .warm = warm != 0};
                every_nth(&what, false);
                /* once more with large operands where it matters where the pieces fall */
                if (kind == SIM_COPY || kind == SIM_WAIT || kind == SIM_MARK)
                    if (warm != 0 && ever == 0) every_nth(&what, true);
                if (kind == SIM_PIN && warm == 0 && ever != 0 && i == 0) every_nth(&what, true);
            }
}

static void fail_open(void) { each_status(SIM_OPEN); }
static void fail_allocate(void) { each_status(SIM_ALLOCATE); }
static void fail_pin(void) { each_status(SIM_PIN); }
static void fail_copy(void) { each_status(SIM_COPY); }
static void fail_launch(void) { each_status(SIM_LAUNCH); }
static void fail_pack(void) { each_status(SIM_PACK); }
static void fail_mark(void) { each_status(SIM_MARK); }
static void fail_wait(void) { each_status(SIM_WAIT); }
static void fail_idle(void) { each_status(SIM_IDLE); }
static void fail_classify(void) { each_status(SIM_CLASSIFY); }

static void fail_while_running(void)
{
    for (int garbage = 0; garbage < 2; garbage++)
        for (int warm = 0; warm < 2; warm++) {
            const mishap what = {.kind = SIM_KINDS,
                                 .status = DUO_ERR_LOST,
                                 .times = 1,
                                 .garbage = garbage != 0,
                                 .warm = warm != 0};
            every_nth(&what, false);
            if (warm != 0) every_nth(&what, true);
        }
}

/* ---- Lost between calls ---- */

/* Kept arrays whose host copy is current survive a loss; newer device content does not. */
static void lost_between_calls(void)
{
    enum { N = 5000, E = 20 };
    float *const x = malloc(N * sizeof *x);
    float a[E * E], c[E * E], d[E * E], sum = 0.0f;
    if (x == NULL) abort();
    for (int i = 0; i < N; i++) x[i] = (float)(i % 11 - 4);
    for (int i = 0; i < E * E; i++) {
        a[i] = 1.0f;
        c[i] = d[i] = 5.0f;
    }
    begin_case("lost/between-calls");
    duo_context *ctx = NULL, *other = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_create(&other));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    CHECK_STATUS(DUO_OK, duo_set_path(other, DUO_PATH_GPU));
    void *memory = NULL, *pinned = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * sizeof *x, &memory));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, N * sizeof *x, &pinned));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, x, N * sizeof *x));
    memcpy(pinned, x, N * sizeof *x);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, N * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, sizeof c));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, d, sizeof d));
    const float expected = reference_order(DUO_SSUM, N, x, 1, NULL, 1);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &sum));
    CHECK_STATUS(DUO_OK, duo_ssum(other, N, x, 1, &sum));
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, E, E,
                                       1.0f, a, E, a, E, 0.0f, i == 0 ? c : d, E));
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, d, sizeof d));
    sim_lose(0);

    begin_case("lost/kept-and-current");
    for (int i = 0; i < 2; i++) {
        sum = test_poison();
        CHECK_STATUS(DUO_OK, duo_ssum(i == 0 ? ctx : other, N, x, 1, &sum));
        CHECK(sum == expected, "%g", (double)sum);
        sum = test_poison();
        CHECK_STATUS(DUO_OK, duo_ssum(i == 0 ? ctx : other, N, pinned, 1, &sum));
        CHECK(sum == expected, "%g", (double)sum);
        CHECK_STATUS(DUO_OK, duo_ssum(i == 0 ? ctx : other, E * E, d, 1, &sum));
        CHECK(sum == (float)(E * E * E), "%g", (double)sum);
    }
    CHECK_STATUS(DUO_OK, duo_fetch(ctx, x, N * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x, N * sizeof *x));
    begin_case("lost/the-only-copy");
    sum = test_poison();
    CHECK_STATUS(DUO_ERR_LOST, duo_ssum(ctx, N, memory, 1, &sum));
    CHECK_STATUS(DUO_ERR_LOST, duo_ssum(ctx, E * E, c, 1, &sum));
    CHECK_STATUS(DUO_ERR_LOST, duo_ssum(other, 3, c, 1, &sum));
    CHECK(test_is_poison(sum), "the result was touched");
    CHECK_STATUS(DUO_ERR_LOST, duo_fetch(ctx, c, 4));
    CHECK_STATUS(DUO_ERR_LOST, duo_copy(ctx, a, c, 4));
    CHECK_STATUS(DUO_ERR_LOST, duo_copy(ctx, a, memory, 4));
    CHECK_STATUS(DUO_ERR_LOST, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, E, E,
                                         1.0f, a, E, a, E, 1.0f, c, E));
    begin_case("lost/written-anew");
    /* The program fills the array again: then it is as good as new. */
    for (int i = 0; i < E * E; i++) c[i] = 2.0f;
    CHECK_STATUS(DUO_OK, duo_changed(ctx, c, sizeof c));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, E * E, c, 1, &sum));
    CHECK(sum == (float)(2 * E * E), "%g", (double)sum);
    begin_case("lost/later-calls");
    check_later_calls(ctx, true);
    check_later_calls(other, true);
    int count = 0;
    CHECK_STATUS(DUO_OK, duo_device_count(&count));
    duo_status status = duo_release(ctx, c);
    CHECK(status == DUO_OK, "%d", (int)status);
    CHECK_STATUS(DUO_OK, duo_release(ctx, d));
    CHECK_STATUS(DUO_OK, duo_release(other, x));
    CHECK_STATUS(DUO_OK, duo_free(other, memory));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, pinned));
    for (int i = 0; i < 2; i++) {
        status = duo_destroy(i == 0 ? ctx : other);
        CHECK(status == DUO_OK || status == DUO_ERR_LOST, "%d", (int)status);
    }
    begin_case("lost/new-context");
    duo_context *late = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&late));
    CHECK_STATUS(DUO_OK, duo_set_path(late, DUO_PATH_GPU));
    check_later_calls(late, true);
    CHECK_STATUS(DUO_OK, duo_synchronize(late));
    CHECK_STATUS(DUO_OK, duo_destroy(late));
    alarm(0);
    free(x);
}

/* Forgetting arrays that are lost, and a queue full of work that is dropped. */
static void lost_with_work_queued(void)
{
    enum { E = 24 };
    float a[E * E], c[E * E];
    for (int i = 0; i < E * E; i++) a[i] = c[i] = 1.0f;
    for (int held = 0; held < 2; held++) {
        begin_case(held ? "lost/while-held" : "lost/while-busy");
        test_reset();
        duo_context *ctx = NULL;
        CHECK_STATUS(DUO_OK, duo_create(&ctx));
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
        CHECK_STATUS(DUO_OK, duo_keep(ctx, a, sizeof a));
        CHECK_STATUS(DUO_OK, duo_keep(ctx, c, sizeof c));
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, E, E,
                                       1.0f, a, E, a, E, 0.0f, c, E));
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
        if (held) sim_hold(true);
        for (int i = 0; i < 20; i++)
            CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, E, E,
                                           1.0f, a, E, a, E, 1.0f, c, E));
        sim_lose(0);
        sim_hold(false);
        CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(ctx));
        CHECK_STATUS(DUO_ERR_LOST, duo_fetch(ctx, c, sizeof c));
        CHECK_STATUS(DUO_OK, duo_fetch(ctx, a, sizeof a));
        check_later_calls(ctx, true);
        CHECK_STATUS(DUO_ERR_LOST, duo_release(ctx, c));
        CHECK_STATUS(DUO_OK, duo_release(ctx, a));
        CHECK_STATUS(DUO_ERR_RANGE, duo_release(ctx, c));
        const duo_status status = duo_destroy(ctx);
        CHECK(status == DUO_OK || status == DUO_ERR_LOST, "%d", (int)status);
    }
    alarm(0);
}

/* Loss with plain operands costs nothing but time: no verb afterwards complains either. */
static void lost_without_data(void)
{
    enum { N = 20000 };
    float *const x = malloc(N * sizeof *x), sum = test_poison();
    if (x == NULL) abort();
    for (int i = 0; i < N; i++) x[i] = (float)(i % 13);
    float total = sum;
    begin_case("lost/without-data");
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &total));
    sim_fail_async(1, true);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &total));
    CHECK(total == reference_order(DUO_SSUM, N, x, 1, NULL, 1), "%g", (double)total);
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.side == DUO_SIDE_CPU && d.note[0] != '\0', "%s, note \"%s\"", d.algorithm, d.note);
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    alarm(0);
    free(x);
}

/* ---- Around the operations ---- */

/* What is only asked of the backend at the start. */
static void fail_at_the_start(void)
{
    float x[300], sum;
    for (int i = 0; i < 300; i++) x[i] = (float)i;
    static const sim_kind kinds[] = {SIM_COUNT, SIM_OPEN, SIM_LOAD, SIM_PIN, SIM_ALLOCATE};
    static const duo_status statuses[] = {DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_LOST};
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < 3; i++)
            for (int ever = 0; ever < 2; ever++) {
                char name[100];
                snprintf(name, sizeof name, "start/%s=%d/%d", kind_name(kinds[k]), (int)statuses[i],
                         ever);
                begin_case(name);
                test_reset();
                sim_fail(kinds[k], 1, statuses[i], ever ? -1 : 1);
                duo_context *ctx = NULL;
                CHECK_STATUS(DUO_OK, duo_create(&ctx));
                CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
                CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
                sum = test_poison();
                CHECK_STATUS(DUO_OK, duo_ssum(ctx, 300, x, 1, &sum));
                CHECK(sum == 44850.0f, "%g", (double)sum);
                check_later_calls(ctx, false);
                CHECK_STATUS(DUO_OK, duo_trim(ctx));
                const duo_status status = duo_destroy(ctx);
                CHECK(status == DUO_OK || status == DUO_ERR_LOST, "%d", (int)status);
                sim_fail(kinds[k], 0, DUO_OK, 0);
            }
    alarm(0);
}

/* duo_malloc, duo_malloc_host, duo_copy and the verbs when the device refuses. */
static void fail_memory(void)
{
    enum { N = 3000 };
    static const sim_kind kinds[] = {SIM_ALLOCATE, SIM_PIN, SIM_COPY, SIM_WAIT, SIM_MARK, SIM_OPEN};
    static const duo_status statuses[] = {DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_LOST};
    float x[N], y[N];
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 3; i++)
            for (int nth = 1; nth <= 8; nth++) {
                char name[100];
                snprintf(name, sizeof name, "memory/%s-%d=%d", kind_name(kinds[k]), nth,
                         (int)statuses[i]);
                begin_case(name);
                test_reset();
                for (int j = 0; j < N; j++) x[j] = (float)(j % 100);
                memset(y, 0, sizeof y);
                duo_context *ctx = NULL;
                CHECK_STATUS(DUO_OK, duo_create(&ctx));
                CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
                sim_fail(kinds[k], nth, statuses[i], 1);
                void *memory = NULL, *host = NULL;
                const duo_status got = duo_malloc(ctx, sizeof x, &memory);
                CHECK(got == DUO_OK, "duo_malloc: %d", (int)got);
                CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, sizeof x, &host));
                CHECK_STATUS(DUO_OK, duo_keep(ctx, x, sizeof x));
                bool fine = true;
                if (host != NULL) memcpy(host, x, sizeof x);
                duo_status status = duo_copy(ctx, memory, host, sizeof x);
                fine = fine && status == DUO_OK;
                status = duo_copy(ctx, y, memory, sizeof x);
                fine = fine && status == DUO_OK;
                if (fine) CHECK(memcmp(x, y, sizeof x) == 0, "wrong bytes");
                status = duo_copy(ctx, memory, x, sizeof x);
                float sum = test_poison();
                if (status == DUO_OK) status = duo_ssum(ctx, N, memory, 1, &sum);
                if (status == DUO_OK)
                    CHECK(sum == reference_order(DUO_SSUM, N, x, 1, NULL, 1), "%g", (double)sum);
                CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &sum));
                CHECK(sum == reference_order(DUO_SSUM, N, x, 1, NULL, 1), "%g", (double)sum);
                CHECK_STATUS(DUO_OK, duo_changed(ctx, x, sizeof x));
                CHECK_STATUS(DUO_OK, duo_fetch(ctx, x, sizeof x));
                CHECK_STATUS(DUO_OK, duo_release(ctx, x));
                CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
                CHECK_STATUS(DUO_OK, duo_free_host(ctx, host));
                sim_fail(kinds[k], 0, DUO_OK, 0);
                status = duo_destroy(ctx);
                CHECK(status == DUO_OK || status == DUO_ERR_LOST, "%d", (int)status);
                if (statuses[i] != DUO_ERR_LOST)
                    CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
            }
    alarm(0);
}

/*
 * The way to a device refuses for a while: what is there alone is not lost by that. Each verb that wants
 * it says so, and succeeds afterwards, unless the device had to be given up.
 */
typedef enum verb { FETCH, RELEASE, COPY, SUM_KEPT, SUM_DEVICE, SYNCHRONIZE, VERBS } verb;

typedef struct hostage {
    float *kept, *home; /* EDGE * EDGE; the kept one's newest content is on the device */
    void *memory;       /* so many, on the device */
} hostage;

enum { HOSTAGE_EDGE = 40, HOSTAGE_FLOATS = HOSTAGE_EDGE * HOSTAGE_EDGE };

static duo_status do_verb(verb what, duo_context *ctx, const hostage *h)
{
    const size_t bytes = HOSTAGE_FLOATS * sizeof(float);
    float sum = 0.0f;
    duo_status status;
    switch (what) {
    case FETCH:
        return duo_fetch(ctx, h->kept, bytes);
    case RELEASE:
        return duo_release(ctx, h->kept);
    case COPY:
        return duo_copy(ctx, h->home, h->memory, bytes);
    case SYNCHRONIZE:
        return duo_synchronize(ctx);
    default:
        status = duo_ssum(ctx, HOSTAGE_FLOATS, what == SUM_KEPT ? h->kept : h->memory, 1, &sum);
        if (status == DUO_OK) CHECK(sum == (float)HOSTAGE_EDGE * HOSTAGE_FLOATS, "%g", (double)sum);
        return status;
    }
}

static void refuse_for_now(verb what, sim_kind kind, duo_status how, duo_context *maker,
                           duo_context *ctx, hostage *h)
{
    const size_t bytes = HOSTAGE_FLOATS * sizeof(float);
    for (int i = 0; i < HOSTAGE_FLOATS; i++) h->home[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_keep(maker, h->kept, bytes));
    CHECK_STATUS(DUO_OK, duo_malloc(maker, bytes, &h->memory));
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(DUO_OK,
                     duo_sgemm(maker, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, HOSTAGE_EDGE,
                               HOSTAGE_EDGE, HOSTAGE_EDGE, 1.0f, h->home, HOSTAGE_EDGE, h->home,
                               HOSTAGE_EDGE, 0.0f, i == 0 ? h->kept : h->memory, HOSTAGE_EDGE));
    sim_fail(kind, 1, how, -1);
    duo_status status = do_verb(what, ctx, h);
    const bool there = duo_device_usable(0);
    CHECK(status != DUO_ERR_LOST || !there, "the device is there, and it says lost");
    CHECK(status == DUO_OK || kind != SIM_PIN, "%d: there is a way without pinned memory", status);
    sim_fail(kind, 0, DUO_OK, 0);
    if (there && status != DUO_OK) CHECK_STATUS(DUO_OK, do_verb(what, ctx, h));
    if (what != RELEASE) {
        status = duo_release(ctx, h->kept);
        CHECK(status == DUO_OK || !there, "release: %d", (int)status);
    }
    if (there) CHECK(h->kept[0] == (float)HOSTAGE_EDGE, "%g was fetched", (double)h->kept[0]);
    CHECK_STATUS(DUO_OK, duo_free(ctx, h->memory));
}

static void refused_for_now(void)
{
    static const sim_kind kinds[] = {SIM_PIN, SIM_OPEN, SIM_COPY, SIM_MARK, SIM_WAIT, SIM_AFTER};
    static const duo_status statuses[] = {DUO_ERR_MEMORY, DUO_ERR_DEVICE};
    static float kept[HOSTAGE_FLOATS], home[HOSTAGE_FLOATS];
    for (int what = 0; what < VERBS; what++)
        for (int k = 0; k < 6; k++)
            for (int i = 0; i < 4; i++) {
                char name[100];
                snprintf(name, sizeof name, "refused/verb-%d/%s=%d/%s", what, kind_name(kinds[k]),
                         (int)statuses[i / 2], i % 2 ? "new" : "same");
                begin_case(name);
                test_reset();
                duo_context *maker = NULL, *later = NULL;
                hostage h = {.kept = kept, .home = home};
                CHECK_STATUS(DUO_OK, duo_create(&maker));
                CHECK_STATUS(DUO_OK, duo_create(&later));
                CHECK_STATUS(DUO_OK, duo_set_path(maker, DUO_PATH_GPU));
                CHECK_STATUS(DUO_OK, duo_set_path(later, DUO_PATH_CPU));
                refuse_for_now((verb)what, kinds[k], statuses[i / 2], maker, i % 2 ? later : maker,
                               &h);
                const duo_status ends[] = {duo_destroy(maker), duo_destroy(later)};
                for (int e = 0; e < 2; e++)
                    CHECK(ends[e] == DUO_OK || !duo_device_usable(0), "destroy: %d", (int)ends[e]);
            }
    alarm(0);
}

/* Of two devices one is lost: whoever works on the other, or only passes by, loses nothing. */

enum { NEIGHBOUR_EDGE = 30, NEIGHBOUR_FLOATS = NEIGHBOUR_EDGE * NEIGHBOUR_EDGE };

static void square_of_ones(duo_context *ctx, float *c)
{
    float ones[NEIGHBOUR_FLOATS];
    for (int i = 0; i < NEIGHBOUR_FLOATS; i++) ones[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, NEIGHBOUR_EDGE,
                                   NEIGHBOUR_EDGE, NEIGHBOUR_EDGE, 1.0f, ones, NEIGHBOUR_EDGE, ones,
                                   NEIGHBOUR_EDGE, 0.0f, c, NEIGHBOUR_EDGE));
}

static void check_sum(duo_context *ctx, const float *x, float want)
{
    float sum = test_poison();
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, NEIGHBOUR_FLOATS, x, 1, &sum));
    CHECK(sum == want, "%g, not %g", (double)sum, (double)want);
}

static void neighbour_lost(void)
{
    const float all = (float)NEIGHBOUR_EDGE * NEIGHBOUR_FLOATS;
    static float product[NEIGHBOUR_FLOATS], more[NEIGHBOUR_FLOATS], x[NEIGHBOUR_FLOATS];
    for (int noticed = 0; noticed < 2; noticed++) {
        char name[100];
        snprintf(name, sizeof name, "neighbour/%s", noticed ? "noticed" : "unnoticed");
        begin_case(name);
        test_reset();
        sim_set_devices(2);
        duo_context *ctx[2] = {NULL, NULL};
        for (int i = 0; i < 2; i++) {
            CHECK_STATUS(DUO_OK, duo_create(&ctx[i]));
            CHECK_STATUS(DUO_OK, duo_set_device(ctx[i], i));
            CHECK_STATUS(DUO_OK, duo_set_path(ctx[i], DUO_PATH_GPU));
        }
        for (int i = 0; i < NEIGHBOUR_FLOATS; i++) x[i] = 2.0f;
        CHECK_STATUS(DUO_OK, duo_keep(ctx[0], x, sizeof x));
        CHECK_STATUS(DUO_OK, duo_keep(ctx[1], product, sizeof product));
        CHECK_STATUS(DUO_OK, duo_keep(ctx[1], more, sizeof more));
        check_sum(ctx[0], x, 2.0f * NEIGHBOUR_FLOATS); /* last used by device 0, and there */
        square_of_ones(ctx[1], product);
        CHECK_STATUS(DUO_OK,
                     duo_fetch(ctx[0], product, sizeof product)); /* last used by device 0 */
        square_of_ones(ctx[1], more);
        sim_lose(0);
        if (noticed) CHECK_STATUS(DUO_OK, duo_warm_up(ctx[0]));

        check_sum(ctx[1], product, all);
        check_sum(ctx[1], x, 2.0f * NEIGHBOUR_FLOATS);
        CHECK(duo_device_usable(1), "the device that works counts as lost");
        /* A part of it is written on the host, while the rest is newer on the device. */
        more[0] = 5.0f;
        CHECK_STATUS(DUO_OK, duo_changed(ctx[0], more, sizeof more[0]));
        CHECK_STATUS(DUO_OK, duo_fetch(ctx[0], more, sizeof more));
        CHECK(more[0] == 5.0f && more[1] == (float)NEIGHBOUR_EDGE, "%g, %g", (double)more[0],
              (double)more[1]);
        square_of_ones(ctx[1], more);
        check_sum(ctx[0], more, all); /* on the CPU */
        CHECK(!duo_device_usable(0) && duo_device_usable(1), "which is lost?");
        square_of_ones(ctx[1], product);
        CHECK_STATUS(DUO_OK, duo_release(ctx[0], product));
        CHECK(product[3] == (float)NEIGHBOUR_EDGE, "%g", (double)product[3]);
        CHECK_STATUS(DUO_OK, duo_release(ctx[0], more));
        CHECK_STATUS(DUO_OK, duo_release(ctx[1], x));
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx[1]));
        for (int i = 0; i < 2; i++) {
            const duo_status ended = duo_destroy(ctx[i]);
            CHECK(ended == DUO_OK || (i == 0 && ended == DUO_ERR_LOST), "destroy: %d", (int)ended);
        }
    }
    alarm(0);
}

/* Following another queue fails: the data it wrote must not be read too early. */
static void fail_after(void)
{
    enum { E = 30 };
    static const duo_status statuses[] = {DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_LOST};
    float a[E * E], c[E * E];
    for (int i = 0; i < 3; i++)
        for (int ever = 0; ever < 2; ever++) {
            char name[100];
            snprintf(name, sizeof name, "after=%d/%d", (int)statuses[i], ever);
            begin_case(name);
            test_reset();
            duo_context *one = NULL, *two = NULL;
            CHECK_STATUS(DUO_OK, duo_create(&one));
            CHECK_STATUS(DUO_OK, duo_create(&two));
            CHECK_STATUS(DUO_OK, duo_set_path(one, DUO_PATH_GPU));
            CHECK_STATUS(DUO_OK, duo_set_path(two, DUO_PATH_GPU));
            for (int j = 0; j < E * E; j++) a[j] = 1.0f;
            CHECK_STATUS(DUO_OK, duo_keep(one, c, sizeof c));
            sim_set_delay(2000);
            CHECK_STATUS(DUO_OK, duo_sgemm(one, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, E, E,
                                           1.0f, a, E, a, E, 0.0f, c, E));
            sim_fail(SIM_AFTER, 1, statuses[i], ever ? -1 : 1);
            float sum = test_poison();
            const duo_status status = duo_ssum(two, E * E, c, 1, &sum);
            if (status == DUO_OK)
                CHECK(sum == (float)(E * E * E), "%g", (double)sum);
            else
                CHECK(ever || statuses[i] == DUO_ERR_LOST, "status %d", (int)status);
            sim_fail(SIM_AFTER, 0, DUO_OK, 0);
            sim_set_delay(0);
            const duo_status released = duo_release(one, c);
            CHECK(released == DUO_OK || statuses[i] == DUO_ERR_LOST, "%d", (int)released);
            if (released == DUO_OK) CHECK(c[0] == E && c[E * E - 1] == E, "wrong values");
            CHECK(duo_destroy(one) == DUO_OK || statuses[i] == DUO_ERR_LOST, "destroy");
            CHECK(duo_destroy(two) == DUO_OK || statuses[i] == DUO_ERR_LOST, "destroy");
        }
    alarm(0);
}

static const test_entry tests[] = {
    {"fail_at_the_start", fail_at_the_start},
    {"fail_memory", fail_memory},
    {"fail_after", fail_after},
    {"refused_for_now", refused_for_now},
    {"neighbour_lost", neighbour_lost},
    {"lost_without_data", lost_without_data},
    {"lost_between_calls", lost_between_calls},
    {"lost_with_work_queued", lost_with_work_queued},
    {"fail_open", fail_open},
    {"fail_allocate", fail_allocate},
    {"fail_pin", fail_pin},
    {"fail_copy", fail_copy},
    {"fail_launch", fail_launch},
    {"fail_pack", fail_pack},
    {"fail_mark", fail_mark},
    {"fail_wait", fail_wait},
    {"fail_idle", fail_idle},
    {"fail_classify", fail_classify},
    {"fail_while_running", fail_while_running},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    signal(SIGALRM, bark);
    return test_main(argc, argv, "failures", tests);
}
