/*
 * test_events.c - events: work that follows them, waits for them, and their fate when a device is
 * lost or refuses. The virtual clocks of the simulated device show that one operation follows
 * another. On a GPU, and without one, the same calls have to give the same results.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "sim/clock.h"
#include "support/child.h"
#include "support/exact.h"
#include "support/harness.h"

enum { N = 64 };

static duo_event *new_event(void)
{
    duo_event *event = NULL;
    CHECK_STATUS(DUO_OK, duo_event_create(&event));
    return event;
}

static int queried(duo_event *event)
{
    int done = -1;
    CHECK_STATUS(DUO_OK, duo_event_query(event, &done));
    return done;
}

/* A context on a device with N x N operands there, C among them. */
typedef struct worker {
    duo_context *ctx;
    float *a, *c;
} worker;

static worker new_worker(int device)
{
    float host[N * N];
    worker w = {.ctx = test_context()};
    void *memory[2] = {NULL, NULL};
    if (test_on_sim()) CHECK_STATUS(DUO_OK, duo_set_device(w.ctx, device));
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_malloc(w.ctx, sizeof host, &memory[i]));
    w.a = memory[0];
    w.c = memory[1];
    fill(host, N * N, 3);
    CHECK_STATUS(DUO_OK, duo_copy(w.ctx, w.a, host, sizeof host));
    CHECK_STATUS(DUO_OK, duo_copy(w.ctx, w.c, host, sizeof host));
    CHECK_STATUS(DUO_OK, duo_synchronize(w.ctx));
    return w;
}

static void work(const worker *w)
{
    CHECK_STATUS(DUO_OK, square(w->ctx, N, w->a, w->a, 0.0f, w->c));
}

static void end_worker(worker *w)
{
    CHECK_STATUS(DUO_OK, duo_free(w->ctx, w->a));
    CHECK_STATUS(DUO_OK, duo_free(w->ctx, w->c));
    test_context_end(w->ctx);
}

static void two_simulated_devices(void)
{
    if (!test_on_sim()) return;
    sim_set_devices(2);
    duo_backend_install(sim_backend());
}

static void check_no_leaks(void)
{
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* ---- Arguments ---- */

static void arguments(void)
{
    int done = -1;
    duo_context *const ctx = test_context(), *const dead = test_dead_context();
    CHECK_STATUS(DUO_ERR_NULL, duo_event_create(NULL));
    CHECK_STATUS(DUO_OK, duo_event_destroy(NULL));
    duo_event *const event = new_event();
    CHECK_STATUS(DUO_ERR_NULL, duo_event_query(event, NULL));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_event_record(dead, event));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_event_wait(dead, event));
    /* It was never recorded. */
    CHECK(queried(event) == 1, "not reached");
    CHECK_STATUS(DUO_OK, duo_event_wait(ctx, event));
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    /* Recorded where nothing has happened yet. */
    CHECK_STATUS(DUO_OK, duo_event_record(ctx, event));
    CHECK(queried(event) == 1, "not reached");
    CHECK_STATUS(DUO_OK, duo_event_wait(NULL, event));
    CHECK_STATUS(DUO_OK, duo_event_record(NULL, event));
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    /* It is no event any more. */
    duo_event *const none[] = {event, NULL};
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(DUO_ERR_EVENT, duo_event_record(ctx, none[i]));
        CHECK_STATUS(DUO_ERR_EVENT, duo_event_wait(ctx, none[i]));
        CHECK_STATUS(DUO_ERR_EVENT, duo_event_synchronize(none[i]));
        CHECK_STATUS(DUO_ERR_EVENT, duo_event_query(none[i], &done));
        CHECK(done == -1, "written in spite of the error");
    }
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_destroy(event));
    test_context_end(ctx);
    check_no_leaks();
}

/* ---- Order ---- */

/* Results, on every side: recorded work is done when the event is reached. */
static void results(void)
{
    float a[N * N], expected[N * N], got[N * N];
    fill(a, N * N, 3);
    multiply(N, a, a, expected);
    worker first = new_worker(0), second = new_worker(0);
    duo_event *const event = new_event();
    for (int round = 0; round < 20; round++) {
        test_case("events/results/%d", round);
        work(&first);
        CHECK_STATUS(DUO_OK, duo_event_record(first.ctx, event));
        work(&first);
        CHECK_STATUS(DUO_OK, duo_event_wait(second.ctx, event));
        work(&second);
        CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
        CHECK(queried(event) == 1, "not reached after waiting");
        CHECK_STATUS(DUO_OK, duo_copy(second.ctx, got, first.c, sizeof got));
        CHECK(same_floats(got, expected, N * N), "wrong values");
    }
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end_worker(&first);
    end_worker(&second);
    check_no_leaks();
}

/* The host waits only for the work before the event; meanwhile it can ask. */
static void the_host_waits(void)
{
    if (!test_on_sim()) return;
    sim_set_rates(55000, 55000, 390000, 10); /* a product takes 52 ms */
    worker w = new_worker(0);
    duo_event *const event = new_event();
    sim_log_reset();
    sim_hold(true);
    work(&w);
    CHECK_STATUS(DUO_OK, duo_event_record(w.ctx, event));
    work(&w);
    CHECK(queried(event) == 0, "reached, and nothing has run");
    sim_hold(false);
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    CHECK(queried(event) == 1, "not reached after waiting");
    const sim_operation *log;
    const size_t count = sim_log(&log);
    size_t product[2] = {0, 0}, products = 0;
    for (size_t i = 0; i < count; i++)
        if (log[i].kind == SIM_COMPUTE && products < 2) product[products++] = i;
    CHECK(products == 2, "%zu products", products);
    CHECK(sim_clock_host() == log[product[0]].end, "waited until %ju, the product took until %ju",
          (uintmax_t)sim_clock_host(), (uintmax_t)log[product[0]].end);
    CHECK(log[product[1]].end > log[product[0]].end, "there is no work behind the event");
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end_worker(&w);
    check_no_leaks();
}

/* Does the second context's product begin behind the first one's? */
static bool follows(bool waits, int device)
{
    sim_reset();
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    sim_set_rates(55000, 55000, 390000, 10);
    worker first = new_worker(0), second = new_worker(device);
    duo_event *const event = new_event();
    sim_log_reset();
    work(&first);
    CHECK_STATUS(DUO_OK, duo_event_record(first.ctx, event));
    work(&first);
    if (waits) CHECK_STATUS(DUO_OK, duo_event_wait(second.ctx, event));
    CHECK_STATUS(DUO_OK, duo_event_record(first.ctx, event)); /* moves no earlier wait */
    work(&second);
    const sim_operation *log, *product[3] = {NULL, NULL, NULL};
    const size_t count = sim_log(&log);
    size_t products = 0;
    for (size_t i = 0; i < count; i++)
        if (log[i].kind == SIM_COMPUTE && products < 3) product[products++] = &log[i];
    bool behind = false;
    if (CHECK(products == 3, "%zu products", products)) {
        behind = product[2]->start >= product[0]->end;
        CHECK(!waits || device == 0 || product[2]->start < product[1]->end,
              "follows more than the event");
    }
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end_worker(&first);
    end_worker(&second);
    check_no_leaks();
    return behind;
}

static void a_context_follows(void)
{
    if (!test_on_sim()) return;
    test_case("events/follows/other-device");
    CHECK(follows(true, 1), "begins too early");
    test_case("events/follows/same-device");
    CHECK(follows(true, 0), "begins too early");
    test_case("events/follows/not-asked-to");
    CHECK(!follows(false, 1), "it would have been later anyhow");
}

/* An event may be recorded anywhere, again and again; the event of an ended context stays. */
static void recorded_anew(void)
{
    two_simulated_devices();
    worker first = new_worker(0), second = new_worker(1);
    duo_event *const event = new_event();
    for (int round = 0; round < 10; round++) {
        worker *const w = round % 3 == 0 ? &first : &second;
        work(w);
        CHECK_STATUS(DUO_OK, duo_event_record(w->ctx, event));
        if (round % 2 == 0) CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    }
    CHECK_STATUS(DUO_OK, duo_event_record(second.ctx, event));
    end_worker(&second);
    CHECK(queried(event) == 1, "the context's work was waited for when it ended");
    CHECK_STATUS(DUO_OK, duo_event_wait(first.ctx, event));
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end_worker(&first);
    check_no_leaks();
}

/* ---- What goes wrong ---- */

/* A device that cannot mark a place, or follow it, is waited for. */
static void refused(void)
{
    static const struct {
        const char *name;
        sim_kind kind;
    } cases[] = {{"open", SIM_OPEN}, {"mark", SIM_MARK}, {"follow", SIM_AFTER}};
    if (!test_on_sim()) return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_case("events/refused/%s", cases[i].name);
        sim_reset();
        two_simulated_devices();
        sim_set_rates(55000, 55000, 390000, 10);
        worker first = new_worker(0), second = new_worker(1);
        duo_event *const event = new_event();
        work(&first);
        const uint64_t end = sim_clock(0);
        sim_fail(cases[i].kind, 1, DUO_ERR_DEVICE, 2); /* each is tried twice */
        CHECK_STATUS(DUO_OK, duo_event_record(first.ctx, event));
        CHECK_STATUS(DUO_OK, duo_event_wait(second.ctx, event));
        CHECK(sim_clock_host() == end, "the host did not wait");
        CHECK(queried(event) == 1, "not reached");
        CHECK_STATUS(DUO_OK, duo_event_destroy(event));
        end_worker(&first);
        end_worker(&second);
        check_no_leaks();
    }
}

/* A device that cannot be waited for now can be later. */
static void not_waited_for(void)
{
    if (!test_on_sim()) return;
    worker w = new_worker(0);
    int done = 0;
    duo_event *const event = new_event();
    work(&w);
    CHECK_STATUS(DUO_OK, duo_event_record(w.ctx, event));
    sim_fail(SIM_WAIT, 1, DUO_ERR_DEVICE, 2);
    CHECK_STATUS(DUO_ERR_DEVICE, duo_event_synchronize(event));
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    sim_fail(SIM_IDLE, 1, DUO_ERR_DEVICE, 2);
    CHECK_STATUS(DUO_ERR_DEVICE, duo_event_query(event, &done));
    CHECK(queried(event) == 1, "not reached");
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end_worker(&w);
    check_no_leaks();
}

/* Only results that were on the lost device and nowhere else are missing; any wait for them tells
 * it. */
static void device_is_lost(void)
{
    if (!test_on_sim()) return;
    for (int outputs = 0; outputs < 2; outputs++)
        for (int before = 0; before < 2; before++) {
            test_case("events/lost/%s/%s", outputs ? "outputs" : "none",
                      before ? "before" : "behind");
            sim_reset();
            two_simulated_devices();
            worker first = new_worker(0), second = new_worker(1);
            duo_event *const event = new_event();
            int done = 0;
            if (outputs) work(&first);
            if (before) sim_lose(0);
            CHECK_STATUS(DUO_OK, duo_event_record(first.ctx, event));
            if (!before) sim_lose(0);
            CHECK_STATUS(DUO_OK, duo_event_wait(second.ctx, event));
            work(&second);
            CHECK_STATUS(DUO_OK, duo_synchronize(second.ctx));
            const duo_status told = outputs ? DUO_ERR_LOST : DUO_OK;
            CHECK_STATUS(told, duo_event_query(event, &done));
            CHECK(done == 1, "a lost device is waited for");
            CHECK_STATUS(told, duo_event_synchronize(event));
            /* It may be used again. */
            CHECK_STATUS(DUO_OK, duo_event_record(second.ctx, event));
            CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
            CHECK_STATUS(DUO_OK, duo_event_destroy(event));
            end_worker(&second);
            CHECK_STATUS(told, duo_destroy(first.ctx));
        }
}

/* The context that follows is lost, and not the one that was recorded. */
static void follower_is_lost(void)
{
    if (!test_on_sim()) return;
    two_simulated_devices();
    worker first = new_worker(0), second = new_worker(1);
    duo_event *const event = new_event();
    work(&first);
    CHECK_STATUS(DUO_OK, duo_event_record(first.ctx, event));
    sim_lose(1);
    CHECK_STATUS(DUO_OK, duo_event_wait(second.ctx, event));
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    CHECK(duo_device_usable(0), "the wrong device counts as lost");
    CHECK(!duo_device_usable(1), "the lost device counts as usable");
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    CHECK_STATUS(DUO_OK, duo_destroy(second.ctx));
    end_worker(&first);
}

/* ---- Several threads, and processes ---- */

typedef struct shared {
    duo_event *event;
    atomic_bool end;
} shared;

static void *follow_and_ask(void *argument)
{
    shared *const s = argument;
    duo_context *const ctx = test_context();
    float x[N], sum = 0.0f;
    for (int i = 0; i < N; i++) x[i] = 1.0f;
    while (!atomic_load(&s->end)) {
        (void)queried(s->event);
        CHECK_STATUS(DUO_OK, duo_event_wait(ctx, s->event));
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &sum));
        CHECK(sum == (float)N, "sum %g", (double)sum);
        CHECK_STATUS(DUO_OK, duo_event_synchronize(s->event));
    }
    test_context_end(ctx);
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 3, ROUNDS = 40 };
    two_simulated_devices();
    worker w = new_worker(0), other = new_worker(1);
    shared s = {.event = new_event()};
    pthread_t thread[THREADS];
    if (test_on_sim()) sim_set_delay(100);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, follow_and_ask, &s) == 0, "no thread");
    for (int round = 0; round < ROUNDS; round++) {
        worker *const now = round % 4 == 3 ? &other : &w;
        work(now);
        CHECK_STATUS(DUO_OK, duo_event_record(now->ctx, s.event));
    }
    atomic_store(&s.end, true);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    CHECK_STATUS(DUO_OK, duo_event_synchronize(s.event));
    if (test_on_sim()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_event_destroy(s.event));
    end_worker(&w);
    end_worker(&other);
    check_no_leaks();
}

/* A child process has no device to wait for. */
static void after_a_fork(void)
{
    worker w = new_worker(0);
    duo_event *const event = new_event();
    work(&w);
    CHECK_STATUS(DUO_OK, duo_event_record(w.ctx, event));
    const pid_t child = fork();
    if (child == 0) {
        int done = 0;
        const bool good =
            duo_event_query(event, &done) == DUO_OK && done == 1 &&
            duo_event_wait(NULL, event) == DUO_OK && duo_event_record(NULL, event) == DUO_OK &&
            duo_event_synchronize(event) == DUO_OK && duo_event_destroy(event) == DUO_OK;
        _exit(good ? 0 : 1);
    }
    CHECK(test_child_wait((int)child, 30) == 0, "the child's events are wrong");
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    end_worker(&w);
    check_no_leaks();
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"arguments", arguments},
                                       {"results", results},
                                       {"the_host_waits", the_host_waits},
                                       {"a_context_follows", a_context_follows},
                                       {"recorded_anew", recorded_anew},
                                       {"refused", refused},
                                       {"not_waited_for", not_waited_for},
                                       {"device_is_lost", device_is_lost},
                                       {"follower_is_lost", follower_is_lost},
                                       {"threads", threads},
                                       {"after_a_fork", after_a_fork},
                                       {NULL, NULL}};
    return test_main(argc, argv, "events", tests);
}
