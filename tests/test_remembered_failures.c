/*
 * test_remembered_failures.c - factors that come again (duo_set_remember) while calls of the
 * backend or allocations fail, or the device is lost: every product is right all the same.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/remembered.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/failing_memory.h"
#include "support/harness.h"
#include "support/mishaps.h"
#include "support/remembering.h"

/* A has some blocks, and is no whole number of them. */
enum { ROWS = 96, STEPS = 60, COLUMNS = 4, FLOATS = ROWS * STEPS };

/* Two contexts of a device: each follows the other's work on the copy of A. */
typedef struct world {
    duo_context *ctx[2];
    float *a, *b, c[ROWS * COLUMNS];
    product p;
    test_rng seed;
} world;

static void begin(world *w, duo_remember how)
{
    test_reset();
    *w = (world){.seed = test_rng_for("remembered")};
    for (int i = 0; i < 2; i++) w->ctx[i] = remembering_by(how);
    w->a = remembering_map(FLOATS * sizeof(float));
    w->b = remembering_map(STEPS * COLUMNS * sizeof(float));
    remembering_fill(w->a, FLOATS, &w->seed);
    remembering_fill(w->b, STEPS * COLUMNS, &w->seed);
    w->p = (product){false, false, ROWS, COLUMNS, STEPS, w->a, ROWS, w->b, STEPS};
}

static void end(world *w)
{
    const bool gone = !duo_device_usable(0);
    for (int i = 0; i < 2; i++) check_later_calls(w->ctx[i], gone);
    duo_remembered_forget(0, UINTPTR_MAX);
    munmap(w->a, FLOATS * sizeof(float));
    munmap(w->b, STEPS * COLUMNS * sizeof(float));
    for (int i = 0; i < 2; i++) {
        const duo_status ended = duo_destroy(w->ctx[i]);
        CHECK(ended == DUO_OK || (gone && ended == DUO_ERR_LOST), "destroy: %d", (int)ended);
    }
    if (!gone) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

/* Sent, sent to a copy, then found: an element changes from call to call. The last two of many
 * calls find watched pages. */
static void multiply_often(world *w, int calls)
{
    for (int call = 0; call < calls; call++) {
        const int64_t wrong = remembering_multiply(w->ctx[call % 2], &w->p, w->c, ROWS);
        CHECK(wrong == 0, "%jd elements are wrong in call %d", (intmax_t)wrong, call);
        if (call < 10) w->a[test_random(&w->seed) % FLOATS] += 1.0f;
    }
}

/* ---- The backend ---- */

static bool fails(const mishap *what, duo_remember how, int nth)
{
    const sim_kind counted = what->kind == SIM_KINDS ? SIM_COPY : what->kind;
    world w;
    begin(&w, how);
    const uint64_t before = sim_count(counted);
    mishap_arm(what, nth);
    multiply_often(&w, how == DUO_REMEMBER_PAGES ? 14 : 6);
    const bool reached = sim_count(counted) - before >= (uint64_t)nth;
    mishap_disarm(what);
    end(&w);
    return reached;
}

static void every_nth(const mishap *what, duo_remember how)
{
    bool reached = true;
    for (int nth = 1; reached && nth < 80; nth++) {
        char name[120], text[80];
        snprintf(name, sizeof name, "%s/%s", how == DUO_REMEMBER_PAGES ? "pages" : "bytes",
                 mishap_name(what, nth, text));
        begin_case(name);
        reached = fails(what, how, nth);
    }
}

static void backend_fails(void)
{
    static const sim_kind kinds[] = {SIM_ALLOCATE, SIM_PIN,   SIM_COPY,     SIM_LAUNCH, SIM_MARK,
                                     SIM_WAIT,     SIM_AFTER, SIM_CLASSIFY, SIM_KINDS};
    static const mishap rows[] = {{.status = DUO_ERR_MEMORY, .times = -1},
                                  {.status = DUO_ERR_DEVICE, .times = 2},
                                  {.status = DUO_ERR_LOST, .times = 1}};
    const size_t least = duo_remembered_least;
    duo_remembered_least = 1024;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int row = 0; row < 3; row++) {
            mishap what = rows[row];
            what.kind = kinds[i];
            if (what.kind == SIM_KINDS && what.status != DUO_ERR_LOST) continue;
            every_nth(&what, DUO_REMEMBER_BYTES);
            if (row == 1 || what.kind == SIM_KINDS) every_nth(&what, DUO_REMEMBER_PAGES);
        }
    duo_remembered_least = least;
    alarm(0);
}

/* ---- The heap ---- */

/* The tags of a copy take memory, and so does the note of an array. */
static void heap_is_empty(void)
{
    const size_t least = duo_remembered_least;
    if (!fail_memory_at(0)) {
        test_skip("a sanitizer has a heap of its own");
        return;
    }
    duo_remembered_least = 1024;
    for (int call = 0; call < 4; call++)
        for (int nth = 1; nth <= 8; nth++) {
            world w;
            test_case("heap/call %d, allocation %d", call, nth);
            begin(&w, DUO_REMEMBER_BYTES);
            for (int i = 0; i < 6; i++) {
                if (i == call) (void)fail_memory_at(nth);
                const int64_t wrong = remembering_multiply(w.ctx[i % 2], &w.p, w.c, ROWS);
                (void)fail_memory_at(0);
                CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
            }
            end(&w);
        }
    duo_remembered_least = least;
}

/* ---- Two devices ---- */

/* An array that came again on one device comes on another: it gets its copy there. */
static void on_another_device(void)
{
    const size_t least = duo_remembered_least;
    world w;
    test_case("another device");
    duo_remembered_least = 1024;
    begin(&w, DUO_REMEMBER_BYTES);
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    for (int turn = 0; turn < 4; turn++) {
        const int device = turn % 2;
        CHECK_STATUS(DUO_OK, duo_set_device(w.ctx[0], device));
        for (int call = 0; call < 3; call++)
            CHECK(remembering_multiply(w.ctx[0], &w.p, w.c, ROWS) == 0, "wrong elements on %d",
                  device);
        CHECK(remembering_residence(w.ctx[0], 0) == DUO_AT_REMEMBERED, "not remembered on %d",
              device);
        const duo_region *const r = duo_residency_remembered((uintptr_t)w.a, (uintptr_t)w.a + 1);
        CHECK(r != NULL && r->device == device, "its copy is not on %d", device);
    }
    duo_remembered_least = least;
    end(&w);
}

static const test_entry tests[] = {
    {"backend_fails", backend_fails},
    {"heap_is_empty", heap_is_empty},
    {"on_another_device", on_another_device},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    watch();
    return test_main(argc, argv, "remembered_failures", tests);
}
