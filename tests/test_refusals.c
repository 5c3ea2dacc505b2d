/*
 * test_refusals.c - a device that refuses: when it is first asked, when memory is taken and copied,
 * when one queue is to follow another, or for a while; calls find another way or say so, and
 * nothing is lost.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/mishaps.h"
#include "support/reference_order.h"

/* Calls of the backend that are made only at the start fail. */
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

/* duo_malloc, duo_malloc_host, duo_copy and the functions for kept arrays when the device
 * refuses. */
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

/* ---- For a while ---- */

/*
 * For a while the device refuses every call of one kind. Data that only the device has are not lost
 * by that: each function that needs them says that it failed, and succeeds afterwards, unless the
 * device had to be given up.
 */
typedef enum verb { FETCH, RELEASE, COPY, SUM_KEPT, SUM_DEVICE, SYNCHRONIZE, VERBS } verb;

typedef struct hostage {
    float *kept, *home; /* HOSTAGE_FLOATS each; the newest content of kept is on the device */
    void *memory;       /* as many floats, on the device */
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

static const test_entry tests[] = {
    {"fail_at_the_start", fail_at_the_start},
    {"fail_memory", fail_memory},
    {"fail_after", fail_after},
    {"refused_for_now", refused_for_now},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    watch();
    return test_main(argc, argv, "refusals", tests);
}
