/*
 * test_streamed_failures.c - products that are streamed to pinned memory, in more tiles
 * than there are marks, or on two devices: every call of the backend fails once, and the result is
 * right.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/context.h"
#include "choice/profile_in_use.h"
#include "data/stream_parts.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/many_devices.h"
#include "support/mishaps.h"

enum { KINDS = 9 };

static const sim_kind kinds[KINDS] = {SIM_AFTER, SIM_COPY, SIM_MARK,     SIM_WAIT, SIM_LAUNCH,
                                      SIM_LINK,  SIM_IDLE, SIM_ALLOCATE, SIM_OPEN};

/* Twice, as most calls are tried twice; or the device is lost. */
static const mishap rows[] = {{.status = DUO_ERR_DEVICE, .times = 2},
                              {.status = DUO_ERR_MEMORY, .times = -1},
                              {.status = DUO_ERR_LOST, .times = 1}};

typedef bool (*fails)(const mishap *what, int nth);

/* Through the first `most` kinds: each of the first calls, then one of more and more. */
static void sweep(const char *name, fails run, int most)
{
    for (int kind = 0; kind < most; kind++)
        for (int row = 0; row < 3; row++) {
            mishap what = rows[row];
            bool reached = true;
            what.kind = kinds[kind];
            for (int nth = 1; reached && nth < 400; nth += 1 + nth / 8) {
                char text[160], how[80];
                snprintf(text, sizeof text, "%s/%s", name, mishap_name(&what, nth, how));
                begin_case(text);
                reached = run(&what, nth);
            }
        }
    alarm(0);
}

/* ---- Many tiles ---- */

/* A batch: each product is a tile, which the device itself writes to pinned memory. */
enum { EDGE = 64, DEPTH = 4, PRODUCTS = DUO_STEP_MARKS + 12, SIZE = EDGE * EDGE };

typedef struct operands {
    duo_context *ctx;
    float *a, *b, *c;
} operands;

static bool pageable; /* are A and B in memory that is not pinned? */

static float *new_floats(duo_context *ctx, size_t floats, float value, bool pins)
{
    void *memory = NULL;
    if (pins)
        CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, floats * sizeof(float), &memory));
    else
        memory = malloc(floats * sizeof(float));
    if (memory == NULL) abort();
    float *const x = memory;
    for (size_t i = 0; i < floats; i++) x[i] = value;
    return x;
}

static void give_back(duo_context *ctx, float *x, bool pins)
{
    if (pins)
        CHECK_STATUS(DUO_OK, duo_free_host(ctx, x));
    else
        free(x);
}

static void multiply(const operands *o)
{
    int wrong = 0;
    memset(o->c, 0, (size_t)PRODUCTS * SIZE * sizeof(float));
    CHECK_STATUS(DUO_OK,
                 duo_sgemm_strided_batched(o->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE,
                                           EDGE, DEPTH, 1.0f, o->a, EDGE, EDGE * DEPTH, o->b, DEPTH,
                                           EDGE * DEPTH, 0.0f, o->c, EDGE, SIZE, PRODUCTS));
    for (int i = 0; i < PRODUCTS * SIZE; i++) wrong += !(o->c[i] == 3.0f * DEPTH);
    CHECK(wrong == 0, "%d elements are wrong", wrong);
}

static bool tiles_fail(const mishap *what, int nth)
{
    operands o;
    test_reset();
    sim_set_memory(48 << 10);
    duo_backend_install(sim_backend());
    o.ctx = test_context();
    o.a = new_floats(o.ctx, PRODUCTS * EDGE * DEPTH, 1.0f, !pageable);
    o.b = new_floats(o.ctx, PRODUCTS * EDGE * DEPTH, 3.0f, !pageable);
    o.c = new_floats(o.ctx, PRODUCTS * SIZE, 0.0f, true);
    const uint64_t before = sim_count(what->kind);
    mishap_arm(what, nth);
    multiply(&o);
    const bool reached = sim_count(what->kind) - before >= (uint64_t)nth;
    mishap_disarm(what);
    const duo_plan *const plan = &duo_context_of(o.ctx)->resources.plan;
    if (!reached) CHECK(plan->ran && plan->count >= 4 * PRODUCTS, "%d steps", plan->count);
    const bool gone = !duo_device_usable(0);
    check_later_calls(o.ctx, gone);
    multiply(&o);
    give_back(o.ctx, o.a, !pageable);
    give_back(o.ctx, o.b, !pageable);
    give_back(o.ctx, o.c, true);
    CHECK_STATUS(DUO_OK, duo_destroy(o.ctx));
    if (!gone) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
    return reached;
}

static void many_tiles(void)
{
    pageable = false;
    sweep("tiles", tiles_fail, KINDS);
    pageable = true;
    sweep("tiles/pageable", tiles_fail, 2);
}

/* ---- Two devices ---- */

static many_product shared;

static bool devices_fail(const mishap *what, int nth)
{
    test_reset();
    sim_set_devices(2);
    arithmetic_is_slow(DUO_sgemm_gpu_naive);
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_devices(ctx, NULL, 0));
    many_put(&shared, ctx);
    const uint64_t before = sim_count(what->kind);
    mishap_arm(what, nth);
    CHECK_STATUS(DUO_OK, many_call(&shared, ctx));
    const bool reached = sim_count(what->kind) - before >= (uint64_t)nth;
    mishap_disarm(what);
    many_take(&shared, ctx);
    many_check(&shared);
    if (what->status == DUO_ERR_LOST && reached)
        CHECK(duo_device_usable(0) != duo_device_usable(1), "not one device is lost");
    many_put(&shared, ctx);
    CHECK_STATUS(DUO_OK, many_call(&shared, ctx));
    many_take(&shared, ctx);
    many_check(&shared);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
    return reached;
}

static void two_devices(void)
{
    static const test_place places[] = {PLACE_PINNED, PLACE_PAGEABLE};
    for (int i = 0; i < 2; i++) {
        test_rng rng = test_rng_for("streamed_failures");
        shared = (many_product){.place = places[i], .beta = 2.0f, .m = 300, .n = 260, .k = 3};
        many_new(&shared, &rng);
        sweep(i == 0 ? "devices/pinned" : "devices/pageable", devices_fail, KINDS);
        many_end(&shared);
    }
    duo_profile_reset();
}

static const test_entry tests[] = {
    {"many_tiles", many_tiles},
    {"two_devices", two_devices},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    watch();
    return test_main(argc, argv, "streamed_failures", tests);
}
