/*
 * test_coherence_failures.c - kept arrays that are newer on one device, while a context of another
 * device reads and writes them: every call of the backend fails once. What returns DUO_OK is right.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/exact.h"
#include "support/harness.h"
#include "support/mishaps.h"

/* Two kept arrays, one behind the other. */
enum { EDGE = 20, FLOATS = EDGE * EDGE, ALL = 2 * FLOATS, PART = 33 };

typedef struct world {
    duo_context *ctx[2]; /* of device i */
    float x[ALL], factor[FLOATS];
    float expected[ALL]; /* the newest bytes */
    float plain[ALL];
    float result;
} world;

typedef duo_status (*step)(world *w);

/* Device 1 makes both arrays anew. */
static duo_status make_both(world *w)
{
    duo_status status = DUO_OK;
    for (int i = 0; i < 2 && status == DUO_OK; i++) {
        status = square(w->ctx[1], EDGE, w->factor, w->factor, 0.0f, w->x + i * FLOATS);
        if (status == DUO_OK) multiply(EDGE, w->factor, w->factor, w->expected + i * FLOATS);
    }
    return status;
}

/* The host changes a part of the first; device 1 has newer bytes around it. */
static duo_status change_part(world *w)
{
    for (int i = 0; i < PART; i++) w->x[50 + i] = w->expected[50 + i] = (float)i;
    return duo_changed(w->ctx[0], w->x + 50, PART * sizeof(float));
}

/* Parts of both. */
static duo_status change_across(world *w)
{
    for (int i = FLOATS - PART; i < FLOATS + PART; i++) w->x[i] = w->expected[i] = (float)i;
    return duo_changed(w->ctx[0], w->x + FLOATS - PART, 2 * PART * sizeof(float));
}

static duo_status read_both(world *w)
{
    const duo_status status = duo_copy(w->ctx[0], w->plain, w->x, sizeof w->x);
    if (status == DUO_OK) CHECK(same_floats(w->plain, w->expected, ALL), "wrong bytes were read");
    return status;
}

/* Over the end of the first. */
static duo_status write_across(world *w)
{
    fill(w->plain, ALL, 3);
    const duo_status status =
        duo_copy(w->ctx[0], w->x + FLOATS - 100, w->plain, 200 * sizeof(float));
    if (status == DUO_OK) memcpy(w->expected + FLOATS - 100, w->plain, 200 * sizeof(float));
    return status;
}

/* The first array moves to device 0. */
static duo_status sum_first(world *w)
{
    w->result = test_poison();
    const duo_status status = duo_ssum(w->ctx[0], FLOATS, w->x, 1, &w->result);
    if (status == DUO_OK) CHECK(w->result == sum_of(w->expected, FLOATS), "%g", (double)w->result);
    return status;
}

/* A result within the second, which device 1 has newer. */
static duo_status sum_into_second(world *w)
{
    const duo_status status = duo_ssum(w->ctx[0], FLOATS, w->factor, 1, w->x + FLOATS + 7);
    if (status == DUO_OK) w->expected[FLOATS + 7] = sum_of(w->factor, FLOATS);
    return status;
}

/* The product lies in both arrays. */
static duo_status multiply_across(world *w)
{
    float *const c = w->x + FLOATS / 2;
    const duo_status status = square(w->ctx[0], EDGE, w->factor, w->factor, 0.0f, c);
    if (status == DUO_OK) multiply(EDGE, w->factor, w->factor, w->expected + FLOATS / 2);
    return status;
}

static const step steps[] = {make_both,       change_across,   read_both, make_both, change_part,
                             read_both,       sum_into_second, read_both, make_both, write_across,
                             make_both,       sum_first,       make_both, read_both, make_both,
                             multiply_across, read_both};

enum { STEPS = sizeof steps / sizeof steps[0] };

static duo_status do_steps(world *w)
{
    duo_status status = DUO_OK;
    for (int i = 0; i < STEPS && status == DUO_OK; i++) status = steps[i](w);
    return status;
}

static void keep_both(world *w)
{
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(DUO_OK, duo_keep(w->ctx[0], w->x + i * FLOATS, FLOATS * sizeof(float)));
}

static uint64_t events(const mishap *what)
{
    if (what->kind != SIM_KINDS) return sim_count(what->kind);
    return sim_count(SIM_COPY) + sim_count(SIM_LAUNCH) + sim_count(SIM_PACK);
}

static bool fails(const mishap *what, int nth)
{
    world w = {.result = 0.0f};
    test_reset();
    sim_set_devices(2);
    for (int i = 0; i < 2; i++) {
        w.ctx[i] = test_context();
        CHECK_STATUS(DUO_OK, duo_set_device(w.ctx[i], i));
    }
    fill(w.factor, FLOATS, nth);
    keep_both(&w);
    const uint64_t before = events(what);
    mishap_arm(what, nth);
    duo_status status = do_steps(&w);
    const bool reached = events(what) - before >= (uint64_t)nth;
    mishap_disarm(what);
    const bool gone = !duo_device_usable(0) || !duo_device_usable(1);
    CHECK(status == DUO_OK || reached, "status %d", (int)status);
    if (what->status == DUO_ERR_LOST)
        CHECK(status == DUO_OK || status == DUO_ERR_LOST, "status %d after a loss", (int)status);
    for (int i = 0; i < 2; i++) {
        status = duo_release(w.ctx[i], w.x + i * FLOATS);
        CHECK(status == DUO_OK || (gone && status == DUO_ERR_LOST), "release: %d", (int)status);
    }
    keep_both(&w);
    CHECK_STATUS(DUO_OK, duo_changed(w.ctx[0], w.x, sizeof w.x));
    if (!gone) CHECK_STATUS(DUO_OK, do_steps(&w));
    for (int i = 0; i < 2; i++) {
        check_later_calls(w.ctx[i], !duo_device_usable(i));
        CHECK_STATUS(DUO_OK, duo_release(w.ctx[i], w.x + i * FLOATS));
    }
    for (int i = 0; i < 2; i++) {
        status = duo_destroy(w.ctx[i]);
        CHECK(status == DUO_OK || (gone && status == DUO_ERR_LOST), "destroy: %d", (int)status);
    }
    if (!gone) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
    return reached;
}

static void every_call_fails(void)
{
    static const sim_kind kinds[] = {SIM_ALLOCATE, SIM_PIN,   SIM_COPY, SIM_LAUNCH, SIM_MARK,
                                     SIM_WAIT,     SIM_AFTER, SIM_OPEN, SIM_IDLE,   SIM_KINDS};
    static const mishap rows[] = {{.status = DUO_ERR_DEVICE, .times = 2},
                                  {.status = DUO_ERR_MEMORY, .times = 4},
                                  {.status = DUO_ERR_LOST, .times = 1}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
        for (int row = 0; row < 3; row++) {
            mishap what = rows[row];
            bool reached = true;
            what.kind = kinds[kind];
            if (what.kind == SIM_KINDS && what.status != DUO_ERR_LOST) continue;
            for (int nth = 1; reached && nth < 200; nth++) {
                char name[120], how[80];
                snprintf(name, sizeof name, "coherence/%s", mishap_name(&what, nth, how));
                begin_case(name);
                reached = fails(&what, nth);
            }
        }
    alarm(0);
}

/* The kept bytes end within the result, which the GPU computes and the host stores. */
static void result_over_the_end(void)
{
    float x[FLOATS], sum = test_poison();
    test_reset();
    test_case("coherence/result over the end");
    duo_context *const ctx = test_context();
    fill(x, FLOATS, 1);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, sizeof x - 2));
    check_sum(ctx, x, FLOATS - 1, sum_of(x, FLOATS - 1));
    for (int i = 1; i < 4; i++) {
        x[i] += 1.0f;
        CHECK_STATUS(DUO_OK, duo_changed(ctx, x + i, sizeof *x));
        const float expected = sum_of(x, FLOATS - 1);
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, FLOATS - 1, x, 1, x + FLOATS - 1));
        CHECK(x[FLOATS - 1] == expected, "%g", (double)x[FLOATS - 1]);
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, FLOATS, x, 1, &sum));
        CHECK(sum == 2.0f * expected, "%g", (double)sum);
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    end_without_leaks(ctx);
}

static const test_entry tests[] = {
    {"every_call_fails", every_call_fails},
    {"result_over_the_end", result_over_the_end},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    watch();
    return test_main(argc, argv, "coherence_failures", tests);
}
