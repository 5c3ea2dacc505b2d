/*
 * test_several_failures.c - one of the devices that share a product fails, the answer does not.
 *
 * The n-th call of each kind at the backend fails, n = 1, 2, 3, ... until the product makes fewer;
 * so every operation on every device fails once. It fails with each status, once or from then on;
 * or the n-th piece of queued work takes its device down while it runs, so that the others go on
 * with their copies from it; or a device is lost at a random moment. Each time the product must be
 * right and the status DUO_OK, and the devices that are left compute the next one.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "sim/clock.h"
#include "support/harness.h"
#include "support/made_machine.h"
#include "support/many_devices.h"
#include "support/mishaps.h"

typedef struct scenario {
    const char *name;
    test_place place;
    float beta;
    int64_t m, n, k;
    uint64_t memory; /* of each device; 0: plenty */
    bool links, large;
} scenario;

static const scenario scenarios[] = {
    {"pageable/b=0", PLACE_PAGEABLE, 0.0f, 520, 400, 3, 0, true, false},
    {"pageable/b=-1", PLACE_PAGEABLE, -1.0f, 520, 400, 3, 0, true, false},
    {"pinned/b=0", PLACE_PINNED, 0.0f, 520, 400, 3, 0, true, false},
    {"pinned/b=2", PLACE_PINNED, 2.0f, 520, 400, 3, 0, true, false},
    {"no-links/b=1", PLACE_PAGEABLE, 1.0f, 520, 400, 3, 0, false, false},
    {"panels/pageable/b=-1", PLACE_PAGEABLE, -1.0f, 1500, 1600, 3, 0, true, true},
    {"panels/pinned/b=0", PLACE_PINNED, 0.0f, 1500, 1600, 3, 0, true, true},
    {"blocks/b=-1", PLACE_PAGEABLE, -1.0f, 1500, 512, 75, 3500000, true, true},
};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0], DEVICES = 2 };

static int points; /* runs in which something failed */

static uint64_t events(const mishap *what)
{
    if (what->kind != SIM_KINDS) return sim_count(what->kind);
    return sim_count(SIM_COPY) + sim_count(SIM_LAUNCH) + sim_count(SIM_PACK);
}

static int usable(void) { return duo_device_usable(0) + duo_device_usable(1); }

static duo_context *begin(const scenario *s)
{
    test_reset();
    sim_set_devices(DEVICES);
    sim_set_links(s->links);
    if (s->memory > 0) sim_set_memory(s->memory);
    arithmetic_is_slow(DUO_sgemm_gpu_naive);
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_devices(ctx, NULL, 0));
    return ctx;
}

static unsigned usable_devices(void)
{
    return (duo_device_usable(0) ? 1u : 0u) | (duo_device_usable(1) ? 2u : 0u);
}

/* Another call: on all devices that are left, or on the CPU if none is. It may find out that one is
 * lost. */
static void check_next(many_product *p, duo_context *ctx)
{
    const unsigned before = usable_devices();
    many_put(p, ctx);
    sim_log_reset();
    CHECK_STATUS(DUO_OK, many_call(p, ctx));
    const unsigned computed = many_computed(), left = usable_devices();
    CHECK((computed & left) == left && (computed & ~before) == 0, "devices %x computed of %x, %x",
          computed, before, left);
    check_side(ctx, left != 0 ? DUO_SIDE_GPU : DUO_SIDE_CPU);
    many_take(p, ctx);
    many_check(p);
}

/* False: the call makes fewer. */
static bool run(const scenario *s, many_product *p, const mishap *what, int nth)
{
    duo_context *const ctx = begin(s);
    if (what->warm) check_next(p, ctx);
    many_put(p, ctx);
    mishap_arm(what, nth);
    const uint64_t before = events(what);
    CHECK_STATUS(DUO_OK, many_call(p, ctx));
    const bool reached = events(what) - before >= (uint64_t)nth;
    mishap_disarm(what);
    const bool loses = what->kind == SIM_KINDS || what->status == DUO_ERR_LOST;
    /* The right one of two devices is given up, and no other. */
    if (!reached) CHECK(usable() == DEVICES, "%d are left", usable());
    if (reached && loses && what->times == 1) CHECK(usable() == 1, "%d are left", usable());
    many_take(p, ctx);
    many_check(p);
    check_next(p, ctx);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    if (usable() == DEVICES) CHECK(sim_leaks() == 0, "%d things are alive", sim_leaks());
    points += reached;
    return reached;
}

static many_product product_of(const scenario *s)
{
    many_product p = {.place = s->place, .beta = s->beta, .m = s->m, .n = s->n, .k = s->k};
    test_rng rng = test_rng_for(s->name);
    many_new(&p, &rng);
    return p;
}

static void every_nth(const mishap *what, bool large)
{
    for (int i = 0; i < SCENARIOS; i++) {
        if (scenarios[i].large != large) continue;
        many_product p = product_of(&scenarios[i]);
        /* Work that dies while it runs leaves most to find out, so nearly every point is tried. */
        const bool dies = what->kind == SIM_KINDS;
        const int stride = dies ? (large ? 23 : 1) : large ? 41 : 13;
        for (int nth = 1; nth < 1000; nth = mishap_after(nth, 3, stride)) {
            char name[200], how[80];
            if (!mishap_covers(what, i, nth)) continue;
            snprintf(name, sizeof name, "%s/%s", scenarios[i].name, mishap_name(what, nth, how));
            begin_case(name);
            if (!run(&scenarios[i], &p, what, nth)) break;
        }
        many_end(&p);
    }
    alarm(0);
}

static void sweep(const mishap *what)
{
    const sim_kind kind = what->kind;
    const bool runs = kind == SIM_KINDS;
    const bool matters = kind == SIM_COPY || kind == SIM_AFTER || kind == SIM_WAIT;
    mishap large = *what;
    large.warm = true;
    large.row = -1;
    every_nth(what, false);
    if (runs ? what->warm : matters && what->status == DUO_ERR_LOST && what->times > 0)
        every_nth(&large, true);
}

static void fail_open(void) { each_mishap(SIM_OPEN, sweep); }
static void fail_link(void) { each_mishap(SIM_LINK, sweep); }
static void fail_allocate(void) { each_mishap(SIM_ALLOCATE, sweep); }
static void fail_pin(void) { each_mishap(SIM_PIN, sweep); }
static void fail_copy(void) { each_mishap(SIM_COPY, sweep); }
static void fail_launch(void) { each_mishap(SIM_LAUNCH, sweep); }
static void fail_pack(void) { each_mishap(SIM_PACK, sweep); }
static void fail_mark(void) { each_mishap(SIM_MARK, sweep); }
static void fail_wait(void) { each_mishap(SIM_WAIT, sweep); }
static void fail_idle(void) { each_mishap(SIM_IDLE, sweep); }
static void fail_after(void) { each_mishap(SIM_AFTER, sweep); }
static void fail_while_running(void) { each_mishap(SIM_KINDS, sweep); }

/* ---- At any moment ---- */

typedef struct shot {
    int device, microseconds;
} shot;

static void *shoot(void *argument)
{
    const shot *const s = argument;
    nanosleep(&(struct timespec){0, 1000L * s->microseconds}, NULL);
    sim_lose(s->device);
    return NULL;
}

static void at_any_moment(void)
{
    test_rng rng = test_rng_for("several_failures/moments");
    for (int i = 0; i < SCENARIOS; i++) {
        many_product p = product_of(&scenarios[i]);
        for (int time = 0; time < test_amount(6, 8, 40); time++) {
            shot s = {.device = (int)test_between(&rng, 0, 1),
                      .microseconds = (int)test_between(&rng, 0, 8000)};
            char name[100];
            snprintf(name, sizeof name, "%s/device-%d-after-%d-us", scenarios[i].name, s.device,
                     s.microseconds);
            begin_case(name);
            duo_context *const ctx = begin(&scenarios[i]);
            sim_set_delay((int)test_between(&rng, 0, 1) * 200);
            many_put(&p, ctx);
            pthread_t thread;
            CHECK(pthread_create(&thread, NULL, shoot, &s) == 0, "no thread");
            CHECK_STATUS(DUO_OK, many_call(&p, ctx));
            pthread_join(thread, NULL);
            many_take(&p, ctx);
            many_check(&p);
            CHECK(duo_device_usable(1 - s.device), "the other device was given up");
            check_next(&p, ctx);
            CHECK_STATUS(DUO_OK, duo_destroy(ctx));
            points++;
        }
        many_end(&p);
    }
    alarm(0);
}

/* ---- Between calls ---- */

/* The first device is lost with a result on it, and the second takes its place. */
static void first_is_lost(void)
{
    many_product p = product_of(&scenarios[0]);
    begin_case("the first device is lost");
    duo_context *const ctx = begin(&scenarios[0]);
    many_put(&p, ctx);
    void *c = NULL, *again = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, p.c.bytes, &c));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, p.m, p.n, p.k,
                                   1.0f, p.a.data, p.a.ld, p.b.data, p.b.ld, 0.0f, c, p.c.ld));
    sim_lose(0);
    check_next(&p, ctx); /* finds out */
    CHECK(!duo_device_usable(0) && duo_device_usable(1), "the wrong one is lost");
    CHECK_STATUS(DUO_ERR_LOST, duo_synchronize(ctx)); /* told once */
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 4096, &again));
    CHECK(sim_is_device(again), "not on the other device");
    CHECK_STATUS(DUO_OK, duo_free(ctx, again));
    CHECK(duo_free(ctx, c) != DUO_ERR_RANGE, "what was lost cannot be given back");
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    many_end(&p);
    alarm(0);
}

/* The second device is lost when it has nothing of the context any more. So no data are lost with
 * it, though it was the last to use the stages that now send a kept array to the first device. */
static void second_is_lost(void)
{
    enum { FLOATS = 300000 }; /* in all stages */
    static float x[FLOATS];
    float sum = test_poison();
    many_product p = product_of(&scenarios[0]);
    begin_case("the second device is lost behind its work");
    duo_context *const ctx = begin(&scenarios[0]);
    check_next(&p, ctx);
    sim_lose(1);
    for (int i = 0; i < FLOATS; i++) x[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, FLOATS, x, 1, &sum));
    CHECK(sum == FLOATS, "%g", (double)sum);
    check_side(ctx, DUO_SIDE_GPU);
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    many_end(&p);
    alarm(0);
}

/* The second of three devices is lost: the third moves up to its place. */
static void middle_is_lost(void)
{
    static const unsigned computed[] = {7, 7, 5, 5};
    begin_case("the second device is lost");
    test_reset();
    sim_set_devices(3);
    arithmetic_is_slow(DUO_sgemm_gpu_naive);
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_devices(ctx, NULL, 0));
    many_product wide = {.beta = 1.0f, .m = 260, .n = 800, .k = 4};
    test_rng rng = test_rng_for("middle");
    many_new(&wide, &rng);
    for (int i = 0; i < 4; i++) {
        many_put(&wide, ctx);
        sim_log_reset();
        CHECK_STATUS(DUO_OK, many_call(&wide, ctx));
        CHECK((many_computed() & 5) == 5 && (many_computed() & ~computed[i]) == 0, "call %d: %x", i,
              many_computed());
        many_take(&wide, ctx);
        many_check(&wide);
        if (i == 0) sim_lose(1); /* the next call finds out */
    }
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    many_end(&wide);
    alarm(0);
}

static void end(void)
{
    printf("several failures: %d points\n", points);
    duo_profile_reset();
}

/* duo_warm_up cannot load the kernels of the second device: calls go on with what there is. */
static void fail_load(void)
{
    static const duo_status statuses[] = {DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_LOST};
    for (int i = 0; i < 3; i++)
        for (int nth = 1; nth <= 2; nth++) {
            float x[100], sum = 0.0f;
            test_case("warm-up/load-%d=%d", nth, (int)statuses[i]);
            test_reset();
            sim_set_devices(DEVICES);
            for (int e = 0; e < 100; e++) x[e] = 2.0f;
            duo_context *const ctx = test_context();
            CHECK_STATUS(DUO_OK, duo_set_devices(ctx, (const int[]){0, 1}, 2));
            sim_fail(SIM_LOAD, nth, statuses[i], 1);
            CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
            sim_fail(SIM_LOAD, 0, DUO_OK, 0);
            if (statuses[i] != DUO_ERR_LOST) /* or something else has found the loss, too */
                test_contains(duo_error_detail(ctx), "load the kernels");
            CHECK_STATUS(DUO_OK, duo_ssum(ctx, 100, x, 1, &sum));
            CHECK(sum == 200.0f, "%g", (double)sum);
            CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
            (void)duo_destroy(ctx);
            CHECK(sim_violations() == 0, "%d violations", sim_violations());
        }
}

static const test_entry tests[] = {{"fail_load", fail_load},
                                   {"fail_open", fail_open},
                                   {"fail_link", fail_link},
                                   {"fail_allocate", fail_allocate},
                                   {"fail_pin", fail_pin},
                                   {"fail_copy", fail_copy},
                                   {"fail_launch", fail_launch},
                                   {"fail_pack", fail_pack},
                                   {"fail_mark", fail_mark},
                                   {"fail_wait", fail_wait},
                                   {"fail_idle", fail_idle},
                                   {"fail_after", fail_after},
                                   {"fail_while_running", fail_while_running},
                                   {"at_any_moment", at_any_moment},
                                   {"first_is_lost", first_is_lost},
                                   {"second_is_lost", second_is_lost},
                                   {"middle_is_lost", middle_is_lost},
                                   {"end", end},
                                   {NULL, NULL}};

int main(int argc, char **argv)
{
    watch();
    return test_main(argc, argv, "several_failures", tests);
}
