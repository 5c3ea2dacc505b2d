/*
 * test_failures.c - the GPU fails, the answer does not.
 *
 * For every operation and mix of residences: the n-th call of each kind at the backend fails, n =
 * 1, 2, 3, ... until the work makes fewer; with each status, once or from then on; or the n-th
 * piece of queued work takes the device down while it runs, and leaves garbage. Each time the
 * answer must be right and the status DUO_OK. If the one current copy was on a device that is lost,
 * the status may be DUO_ERR_LOST, but never a wrong answer. All data are small integers, so that
 * sgemm is exact too. A watchdog ends the program if anything hangs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call/context.h"
#include "choice/costs.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/mishaps.h"
#include "support/places.h"
#include "support/reference_order.h"

/* ---- Scenarios: an operation on data in certain places ---- */

typedef enum way {
    ON_GPU,
    ON_CPU,
    PACKED, /* on the GPU, with A and B packed ahead by duo_prepare */
    BATCH,  /* on the GPU, as PRODUCTS products with columns of B and C each */
    PIECES, /* on the GPU, with device memory only for pieces of the vectors in host memory */
    BLOCKS, /* on the GPU, with device memory only for blocks of the matrices in host memory */
    SHORT   /* as BATCH, with device memory only for single products */
} way;

typedef struct scenario {
    const char *name;
    duo_operation operation;
    test_place a, b, c; /* of sgemm; x, y, result of the reductions */
    float beta;
    int64_t m, n, k; /* reductions: only n */
    way way;
} scenario;

enum { LD_EXTRA = 3, PRODUCTS = 7 };

/* clang-format off */
#define HOST PLACE_PAGEABLE
#define PIN  PLACE_PINNED
#define DEV  PLACE_DEVICE
#define KEPT PLACE_KEPT

static const scenario scenarios[] = {
    /* name                            operation  a     b     c   beta     m        n   k  way */
    {"ssum/pageable",                  DUO_SSUM,  HOST, HOST, HOST,  0,    0,    9001,  0, ON_GPU},
    {"ssum/large",                     DUO_SSUM,  HOST, HOST, HOST,  0,    0,  260001,  0, ON_GPU},
    {"sasum/pinned",                   DUO_SASUM, PIN,  HOST, HOST,  0,    0,    9001,  0, ON_GPU},
    {"sdot/kept+pageable",             DUO_SDOT,  KEPT, HOST, HOST,  0,    0,    9001,  0, ON_GPU},
    {"sdot/device+kept",               DUO_SDOT,  DEV,  KEPT, HOST,  0,    0,    9001,  0, ON_GPU},
    {"sdot/device+kept/cpu",           DUO_SDOT,  DEV,  KEPT, HOST,  0,    0,    9001,  0, ON_CPU},
    {"ssum/kept/result-kept",          DUO_SSUM,  KEPT, HOST, KEPT,  0,    0,    9001,  0, ON_GPU},
    {"ssum/pageable/result-on-device", DUO_SSUM,  HOST, HOST, DEV,   0,    0,    9001,  0, ON_GPU},
    {"ssum/pageable/result-pinned",    DUO_SSUM,  HOST, HOST, PIN,   0,    0,    9001,  0, ON_GPU},
    {"ssum/streamed",                  DUO_SSUM,  HOST, HOST, HOST,  0,    0,  170001,  0, PIECES},
    {"sasum/streamed/pinned",          DUO_SASUM, PIN,  HOST, HOST,  0,    0,  170001,  0, PIECES},
    {"sdot/streamed/device+pageable",  DUO_SDOT,  DEV,  HOST, HOST,  0,    0,  170001,  0, PIECES},
    {"sdot/streamed/kept+pinned",      DUO_SDOT,  KEPT, PIN,  HOST,  0,    0,  170001,  0, PIECES},
    {"ssum/streamed/result-kept",      DUO_SSUM,  HOST, HOST, KEPT,  0,    0,  170001,  0, PIECES},
    {"sdot/streamed/result-on-device", DUO_SDOT,  HOST, PIN,  DEV,   0,    0,  170001,  0, PIECES},
    {"sgemm/pageable/b=0",             DUO_SGEMM, HOST, HOST, HOST,  0,   37,      29, 17, ON_GPU},
    {"sgemm/pageable/b=-1",            DUO_SGEMM, HOST, HOST, HOST, -1,   37,      29, 17, ON_GPU},
    {"sgemm/pinned/b=2",               DUO_SGEMM, PIN,  PIN,  PIN,   2,   37,      29, 17, ON_GPU},
    {"sgemm/pinned/b=0",               DUO_SGEMM, PIN,  PIN,  PIN,   0,   37,      29, 17, ON_GPU},
    /* columns so long that the device reads and writes them in place */
    {"sgemm/pinned-direct/b=2",        DUO_SGEMM, PIN,  PIN,  PIN,   2,   80,      29, 17, ON_GPU},
    {"sgemm/pinned-direct/b=0",        DUO_SGEMM, PIN,  PIN,  PIN,   0,   80,      29, 17, ON_GPU},
    {"sgemm/kept/b=0",                 DUO_SGEMM, KEPT, KEPT, KEPT,  0,   37,      29, 17, ON_GPU},
    {"sgemm/kept/b=1",                 DUO_SGEMM, KEPT, KEPT, KEPT,  1,   37,      29, 17, ON_GPU},
    {"sgemm/kept+c-pageable/b=1",      DUO_SGEMM, KEPT, KEPT, HOST,  1,   37,      29, 17, ON_GPU},
    {"sgemm/device/b=1",               DUO_SGEMM, DEV,  DEV,  DEV,   1,   37,      29, 17, ON_GPU},
    {"sgemm/device+c-pageable/b=1",    DUO_SGEMM, DEV,  HOST, HOST,  1,   37,      29, 17, ON_GPU},
    {"sgemm/mixed/cpu",                DUO_SGEMM, DEV,  KEPT, DEV,   1,   37,      29, 17, ON_CPU},
    {"sgemm/prepared/b=0",             DUO_SGEMM, KEPT, DEV,  HOST,  0,   37,      29, 17, PACKED},
    {"sgemm/prepared/b=1",             DUO_SGEMM, DEV,  KEPT, KEPT,  1,   37,      29, 17, PACKED},
    {"batch/pageable/b=0",             DUO_SGEMM, HOST, HOST, HOST,  0,   37,      28, 17, BATCH},
    {"batch/pageable/b=2",             DUO_SGEMM, HOST, HOST, HOST,  2,   37,      28, 17, BATCH},
    {"batch/pinned-direct/b=0",        DUO_SGEMM, PIN,  PIN,  PIN,   0,   80,      28, 17, BATCH},
    {"batch/pinned-direct/b=2",        DUO_SGEMM, PIN,  PIN,  PIN,   2,   80,      28, 17, BATCH},
    {"batch/device+kept/b=-1",         DUO_SGEMM, DEV,  KEPT, HOST, -1,   37,      28, 17, BATCH},
    {"batch/kept-c/b=1",               DUO_SGEMM, HOST, DEV,  KEPT,  1,   37,      28, 17, BATCH},
    /* C comes back in pieces, which end within products: the device can die between two of them */
    {"batch/large/b=3",                DUO_SGEMM, HOST, HOST, HOST,  3,  520,     504,  2, BATCH},
    {"batch/short/b=0",                DUO_SGEMM, HOST, HOST, HOST,  0,  110,     140,  8, SHORT},
    {"batch/short/b=2",                DUO_SGEMM, HOST, HOST, HOST,  2,  110,     140,  8, SHORT},
    {"batch/short/pinned/b=0",         DUO_SGEMM, PIN,  PIN,  PIN,   0,  110,     140,  8, SHORT},
    {"batch/short/pinned/b=2",         DUO_SGEMM, PIN,  HOST, PIN,   2,  110,     140,  8, SHORT},
    {"batch/short/c-on-device/b=2",    DUO_SGEMM, HOST, HOST, DEV,   2,   12,     700, 40, SHORT},
    {"batch/short/kept-c/b=1",         DUO_SGEMM, HOST, HOST, KEPT,  1,   12,     700, 40, SHORT},
    {"sgemm/large/b=3",                DUO_SGEMM, HOST, HOST, HOST,  3,  521,     501,  2, ON_GPU},
    {"sgemm/large/b=0",                DUO_SGEMM, HOST, KEPT, HOST,  0,  521,     501,  2, ON_GPU},
    {"sgemm/large/kept-c/b=1",         DUO_SGEMM, HOST, HOST, KEPT,  1,  521,     501,  2, ON_GPU},
    /* C in many tiles: the device can fail when some are at home, or have been computed */
    {"sgemm/blocks/b=0",               DUO_SGEMM, HOST, HOST, HOST,  0,  300,     280,  8, BLOCKS},
    {"sgemm/blocks/b=2",               DUO_SGEMM, HOST, HOST, HOST,  2,  300,     280,  8, BLOCKS},
    {"sgemm/blocks/pinned/b=0",        DUO_SGEMM, PIN,  PIN,  PIN,   0,  300,     280,  8, BLOCKS},
    {"sgemm/blocks/pinned/b=2",        DUO_SGEMM, PIN,  HOST, PIN,   2,  300,     280,  8, BLOCKS},
    {"sgemm/blocks/kept-a/b=2",        DUO_SGEMM, KEPT, HOST, HOST,  2,  300,     280,  8, BLOCKS},
    {"sgemm/blocks/c-on-device/b=2",   DUO_SGEMM, HOST, PIN,  DEV,   2, 1000,      40, 40, BLOCKS},
    {"sgemm/blocks/kept-c/b=1",        DUO_SGEMM, HOST, HOST, KEPT,  1, 1000,      40, 40, BLOCKS},
    {"sgemm/deep/b=2",                 DUO_SGEMM, HOST, PIN,  HOST,  2,    8,   8, 12000, BLOCKS},
    {"sgemm/deep/c-on-device/b=2",     DUO_SGEMM, HOST, HOST, DEV,   2,    8,   8, 12000, BLOCKS},
};
/* clang-format on */
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* Which scenarios a sweep takes. */
typedef enum group { SMALL, LARGE, STREAMED } group;

static group group_of(const scenario *s)
{
    if (s->way == BLOCKS || s->way == SHORT) return STREAMED;
    return s->n > 200000 || s->m * s->n > 200000 ? LARGE : SMALL;
}

/* Host images of the operands at first, and of the right output. */
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
        if (w->s->way == PACKED && i < 2)
            CHECK_STATUS(DUO_OK, duo_prepare(ctx, w->address[i], work->bytes));
    }
}

static duo_status batch(const world *w, duo_context *ctx)
{
    const scenario *const s = w->s;
    const int64_t n = s->n / PRODUCTS;
    return duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, s->m, n, s->k,
                                     2.0f, w->address[0], w->a.ld, 0, w->address[1], w->b.ld,
                                     n * w->b.ld, s->beta, w->address[2], w->c.ld, n * w->c.ld,
                                     PRODUCTS);
}

static duo_status call(const world *w, duo_context *ctx)
{
    const scenario *const s = w->s;
    if (s->way == BATCH || s->way == SHORT) return batch(w, ctx);
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

/* Gives everything back; data on the device may be lost. */
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

/* Leaves room for two of the shortest pieces, or for a little more than the matrices in host memory
 * (which are sent and packed, twice), or for three products in host memory, beside the operands
 * that have a place on the device. */
static void shrink_device(const world *w)
{
    uint64_t bytes = w->s->way == PIECES ? 2 * sizeof(float) * DUO_LEAST_PIECE + 4096 : 4096;
    for (int i = 0; i < 3; i++)
        if (place_of(w->s, i) == PLACE_DEVICE || place_of(w->s, i) == PLACE_KEPT)
            bytes += w->work[i].bytes;
        else if (w->s->way == BLOCKS)
            bytes += w->work[i].bytes + w->work[i].bytes / 20;
        else if (w->s->way == SHORT)
            bytes += i == DUO_A ? w->work[i].bytes : w->work[i].bytes * 16 / (5 * PRODUCTS);
    sim_set_memory(bytes);
}

/* The last call was done in several blocks, or pieces. */
static void check_blocks(duo_context *ctx)
{
    const duo_plan *const plan = &duo_context_of(ctx)->resources.plan;
    duo_decision d = {.size = sizeof d};
    int products = 0;
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    for (int i = 0; i < plan->count; i++) products += plan->step[i].kind == DUO_STEP_MULTIPLY;
    CHECK(d.side == DUO_SIDE_GPU && plan->ran && !plan->held && products > 1, "%s, %d products",
          d.algorithm, products);
}

/* ---- One run ---- */

/* The simulated device does the products of a batch one by one. */
static uint64_t events(const scenario *s, const mishap *what)
{
    const uint64_t works = s->way == BATCH ? PRODUCTS : 1;
    if (what->kind != SIM_KINDS) return sim_count(what->kind);
    return sim_count(SIM_COPY) + sim_count(SIM_LAUNCH) * works + sim_count(SIM_PACK);
}

/* Twice the call under test; its nth event goes wrong. False: it has fewer events. */
static bool run(world *w, const mishap *what, int nth)
{
    const scenario *const s = w->s;
    const bool loses = what->kind == SIM_KINDS || what->status == DUO_ERR_LOST;
    /* If even the CPU needs the device to get at the data, a device that refuses for good leaves no
     * way to them; but there is a way without pinned memory, and one without marks. */
    const bool refuses = what->times < 0 && what->kind != SIM_PIN && what->kind != SIM_MARK;
    const bool may_fail = (loses || refuses) && only_copy_on_device(s);
    duo_context *ctx = NULL;
    test_reset();
    if (s->way == PIECES || group_of(s) == STREAMED) shrink_device(w);
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    if (what->warm) {
        put_operands(w, ctx);
        CHECK_STATUS(DUO_OK, call(w, ctx));
        drop_operands(w, ctx, false);
    }
    put_operands(w, ctx);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, s->way == ON_CPU ? DUO_PATH_CPU : DUO_PATH_GPU));

    mishap_arm(what, nth);
    const uint64_t before = events(s, what);
    duo_status status = call(w, ctx);
    if (status == DUO_OK) status = duo_synchronize(ctx);
    if (status == DUO_OK) status = take_output(w, ctx);
    const bool reached = events(s, what) - before >= (uint64_t)nth;
    mishap_disarm(what);

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
        const uint64_t launches = sim_count(SIM_LAUNCH);
        CHECK_STATUS(DUO_OK, call(w, ctx));
        if (s->way == BATCH) CHECK(sim_count(SIM_LAUNCH) == launches + 1, "product by product");
        if (group_of(s) == STREAMED) check_blocks(ctx);
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

static int points; /* failures that calls have met */

static void every_nth(const mishap *what, group of)
{
    for (int i = 0; i < SCENARIOS; i++) {
        if (group_of(&scenarios[i]) != of) continue;
        world w;
        new_world(&w, &scenarios[i]);
        /* The machine's speed decides how often a streamed product asks whether a mark has
         * passed. */
        const int most = what->kind == SIM_IDLE ? 12 : 1000;
        const int stride = of == STREAMED ? 11 : 1;
        for (int nth = 1; nth < most; nth = mishap_after(nth, 3, stride)) {
            char name[200], how[80];
            if (!mishap_covers(what, i, nth)) continue;
            snprintf(name, sizeof name, "%s/%s", scenarios[i].name, mishap_name(what, nth, how));
            begin_case(name);
            if (!run(&w, what, nth)) break;
            points++;
        }
        end_world(&w);
    }
    alarm(0);
}

static void sweep(const mishap *what)
{
    const sim_kind kind = what->kind;
    /* A new context has most to allocate, a warm one is soonest in the middle. */
    const bool makes = kind == SIM_OPEN || kind == SIM_ALLOCATE || kind == SIM_PIN;
    const bool cuts = kind == SIM_COPY || kind == SIM_WAIT || kind == SIM_MARK;
    const bool runs = kind == SIM_KINDS;
    mishap streamed = *what, large = *what;
    streamed.warm = runs ? what->warm : !makes && what->times > 0;
    streamed.row = large.row = -1;
    large.warm = true;
    every_nth(what, SMALL);
    every_nth(&streamed, STREAMED);
    /* once more with large operands, if the cuts between pieces matter */
    if ((cuts && what->times > 0) || (runs && what->warm)) every_nth(&large, LARGE);
}

static void fail_pin(void)
{
    const mishap no_stages = {.kind = SIM_PIN, .status = DUO_ERR_MEMORY, .times = -1, .row = -1};
    each_mishap(SIM_PIN, sweep);
    every_nth(&no_stages, LARGE);
}

static void fail_open(void) { each_mishap(SIM_OPEN, sweep); }
static void fail_allocate(void) { each_mishap(SIM_ALLOCATE, sweep); }
static void fail_copy(void) { each_mishap(SIM_COPY, sweep); }
static void fail_launch(void) { each_mishap(SIM_LAUNCH, sweep); }
static void fail_pack(void) { each_mishap(SIM_PACK, sweep); }
static void fail_mark(void) { each_mishap(SIM_MARK, sweep); }
static void fail_wait(void) { each_mishap(SIM_WAIT, sweep); }
static void fail_idle(void) { each_mishap(SIM_IDLE, sweep); }
static void fail_after(void) { each_mishap(SIM_AFTER, sweep); }
static void fail_classify(void) { each_mishap(SIM_CLASSIFY, sweep); }
static void fail_while_running(void) { each_mishap(SIM_KINDS, sweep); }

static const test_entry tests[] = {
    {"fail_open", fail_open},
    {"fail_allocate", fail_allocate},
    {"fail_pin", fail_pin},
    {"fail_copy", fail_copy},
    {"fail_launch", fail_launch},
    {"fail_pack", fail_pack},
    {"fail_mark", fail_mark},
    {"fail_wait", fail_wait},
    {"fail_idle", fail_idle},
    {"fail_after", fail_after},
    {"fail_classify", fail_classify},
    {"fail_while_running", fail_while_running},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    watch();
    const int status = test_main(argc, argv, "failures", tests);
    printf("%d points of failure\n", points);
    return status;
}
