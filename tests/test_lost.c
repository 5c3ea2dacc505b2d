/*
 * test_lost.c - a device is lost between calls, with work in its queue, or beside another one: data
 * on the host survive, data only on the device are told to be lost, and later calls are right.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/context.h"
#include "data/checked.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/mishaps.h"
#include "support/reference_order.h"

/* Kept arrays with a current host copy survive a loss; newer device content does not. */
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

/* A queue full of work is dropped with its device; the kept arrays that only it had are lost, and
 * can be released. */
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

/* With plain operands a loss costs nothing but time: later calls return DUO_OK as well. */
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

/* ---- One of two devices is lost: work on the other loses nothing ---- */

enum { NEIGHBOUR_EDGE = 30, NEIGHBOUR_FLOATS = NEIGHBOUR_EDGE * NEIGHBOUR_EDGE };

static void square_of_ones(duo_context *ctx, float *c)
{
    float ones[NEIGHBOUR_FLOATS];
    for (int i = 0; i < NEIGHBOUR_FLOATS; i++) ones[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, NEIGHBOUR_EDGE,
                                   NEIGHBOUR_EDGE, NEIGHBOUR_EDGE, 1.0f, ones, NEIGHBOUR_EDGE, ones,
                                   NEIGHBOUR_EDGE, 0.0f, c, NEIGHBOUR_EDGE));
}

static void open_on_both(duo_context *ctx[2])
{
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(DUO_OK, duo_create(&ctx[i]));
        CHECK_STATUS(DUO_OK, duo_set_device(ctx[i], i));
        CHECK_STATUS(DUO_OK, duo_set_path(ctx[i], DUO_PATH_GPU));
    }
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
        open_on_both(ctx);
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

/* The device is lost while a pinned operand is on its way there. When the call fails, nothing reads
 * that operand any more, and neither does a queue that has ended. */
static void lost_while_sent(void)
{
    enum { BYTES = NEIGHBOUR_FLOATS * sizeof(float) };
    static float newer[NEIGHBOUR_FLOATS], there[NEIGHBOUR_FLOATS];
    begin_case("lost/while-sent");
    test_reset();
    sim_set_devices(2);
    duo_context *ctx[2] = {NULL, NULL};
    open_on_both(ctx);
    bool *const reading = &duo_context_of(ctx[0])->resources.reading_host;
    void *pinned = NULL;
    float sum = test_poison();
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx[0], BYTES, &pinned));
    for (int i = 0; i < NEIGHBOUR_FLOATS; i++) ((float *)pinned)[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_keep(ctx[0], newer, sizeof newer));
    CHECK_STATUS(DUO_OK, duo_keep(ctx[1], there, sizeof there));
    square_of_ones(ctx[0], newer);
    square_of_ones(ctx[1], there);
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_LOST, 1);
    CHECK_STATUS(DUO_ERR_LOST, duo_sdot(ctx[0], NEIGHBOUR_FLOATS, pinned, 1, newer, 1, &sum));
    CHECK(!*reading, "the pinned memory counts as being read");
    *reading = true;
    sim_fail(SIM_OPEN, 1, DUO_ERR_DEVICE, 8); /* the next call ends its queue, and gets none */
    CHECK_STATUS(DUO_ERR_DEVICE, duo_ssum(ctx[0], NEIGHBOUR_FLOATS, there, 1, &sum));
    sim_fail(SIM_OPEN, 0, DUO_OK, 0);
    CHECK(!*reading, "a queue that has ended counts as reading");
    check_sum(ctx[0], there, (float)NEIGHBOUR_EDGE * NEIGHBOUR_FLOATS);
    CHECK_STATUS(DUO_ERR_LOST, duo_release(ctx[0], newer));
    CHECK_STATUS(DUO_OK, duo_release(ctx[0], there));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx[0], pinned));
    for (int i = 0; i < 2; i++) {
        const duo_status ended = duo_destroy(ctx[i]);
        CHECK(ended == DUO_OK || (i == 0 && ended == DUO_ERR_LOST), "destroy: %d", (int)ended);
    }
    alarm(0);
}

/* ---- How many are lost ---- */

static void *lose_all(void *unused)
{
    (void)unused;
    for (int d = 0; d < DUO_MOST_DEVICES; d++) duo_device_lose(d, "in turn");
    return NULL;
}

/* The first call that sees a lost device counts it, so that regions are swept before they are
 * looked at. */
static void counted_when_lost(void)
{
    enum { ROUNDS = 500 };
    int late = 0;
    begin_case("lost/counted");
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        test_reset();
        const int before = duo_devices_losses();
        if (pthread_create(&thread, NULL, lose_all, NULL) != 0) abort();
        for (int d = 0; d < DUO_MOST_DEVICES; d++) {
            while (!duo_device_lost(d)) continue;
            late += duo_devices_losses() < before + d + 1;
        }
        pthread_join(thread, NULL);
        late += duo_devices_losses() != before + DUO_MOST_DEVICES;
    }
    CHECK(late == 0, "%d of %d devices were lost and not counted", late, ROUNDS * DUO_MOST_DEVICES);
    alarm(0);
}

/* ---- Numbers of devices ---- */

/* A queue answered that a device is lost: it need not be the queue's own. */
static void which_is_lost(void)
{
    begin_case("lost/which");
    test_reset();
    sim_set_devices(3);
    CHECK(duo_device_found_lost(1) == 1, "all answer");
    sim_lose(2);
    CHECK(duo_device_found_lost(0) == 2, "another device was found");
    CHECK(duo_device_usable(0) && duo_device_usable(1) && !duo_device_usable(2), "which is lost?");
    alarm(0);
}

static void no_such_device(void)
{
    static const int numbers[] = {-1, DUO_MOST_DEVICES, DUO_MOST_DEVICES + 1};
    begin_case("lost/no such device");
    test_reset();
    const int before = duo_devices_losses();
    for (int i = 0; i < 3; i++) {
        for (int time = 0; time < 2; time++) duo_checked_device(numbers[i]);
        duo_device_lose(numbers[i], "it is not there");
        CHECK(strcmp(duo_device_why(numbers[i]), "there is no device of this number") == 0, "%s",
              duo_device_why(numbers[i]));
        CHECK(isinf(duo_device_most(numbers[i])), "%g bytes", duo_device_most(numbers[i]));
    }
    CHECK(duo_devices_losses() == before, "%d are lost", duo_devices_losses() - before);
    alarm(0);
}

static duo_status a_hundred(int *count)
{
    *count = 100;
    return DUO_OK;
}

/* A machine with more devices than the library can name. */
static void too_many_devices(void)
{
    const char *why;
    duo_backend backend = *sim_backend();
    begin_case("lost/too many devices");
    test_reset();
    backend.count = a_hundred;
    duo_backend_install(&backend);
    CHECK(duo_devices(&why) == DUO_MOST_DEVICES, "%d devices", duo_devices(&why));
    CHECK(duo_device_usable(DUO_MOST_DEVICES - 1), "the last one cannot be used");
    CHECK(!duo_device_usable(DUO_MOST_DEVICES), "one more can be used");
    duo_backend_install(sim_backend());
    alarm(0);
}

static const test_entry tests[] = {
    {"lost_without_data", lost_without_data},
    {"lost_between_calls", lost_between_calls},
    {"lost_with_work_queued", lost_with_work_queued},
    {"neighbour_lost", neighbour_lost},
    {"lost_while_sent", lost_while_sent},
    {"counted_when_lost", counted_when_lost},
    {"which_is_lost", which_is_lost},
    {"no_such_device", no_such_device},
    {"too_many_devices", too_many_devices},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    watch();
    return test_main(argc, argv, "lost", tests);
}
