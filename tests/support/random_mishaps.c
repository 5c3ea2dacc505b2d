/* random_mishaps.c - mishaps in random programs (random_program.h), and forks. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/sim.h"
#include "support/child.h"
#include "support/random_program.h"
#include "support/sanitizers.h"

void call_off(actor *a)
{
    if (a->program->mood == FAILING) sim_set_pinned(UINT64_MAX);
    for (int kind = 0; kind < SIM_KINDS; kind++) sim_fail((sim_kind)kind, 0, DUO_OK, 0);
}

/* A random kind of backend calls that may fail without a loss, and may be tried again. */
static sim_kind any_kind(actor *a)
{
    for (;;) {
        const sim_kind kind = (sim_kind)any(a, 0, SIM_KINDS - 1);
        const bool gives_back = kind == SIM_RELEASE || kind == SIM_UNPIN || kind == SIM_CLOSE;
        if (kind != SIM_COUNT && !gives_back) return kind;
    }
}

static void fail(actor *a)
{
    const sim_kind kind = any_kind(a);
    const duo_status status = one_in(a, 2) ? DUO_ERR_MEMORY : DUO_ERR_DEVICE;
    const int nth = (int)any(a, 1, 15), times = (int)any(a, 1, 3);
    atomic_fetch_add(&a->program->trouble, 1);
    note(a, "call %d of kind %d is to fail %d times: %s", nth, (int)kind, times,
         duo_status_string(status));
    sim_fail(kind, nth, status, times);
}

static void lose(actor *a)
{
    const int nth = (int)any(a, 1, 15), device = (int)any(a, 0, DEVICES - 1);
    atomic_fetch_add(&a->program->trouble, 1);
    if (one_in(a, 3)) {
        note(a, "device %d is lost", device);
        sim_lose(device);
    } else if (one_in(a, 2)) {
        const sim_kind kind = any_kind(a);
        note(a, "call %d of kind %d is to lose its device", nth, (int)kind);
        sim_fail(kind, nth, DUO_ERR_LOST, 1);
    } else {
        const bool garbage = one_in(a, 2);
        note(a, "operation %d is to lose its device%s", nth, garbage ? ", with garbage" : "");
        sim_fail_async(nth, garbage);
    }
}

void do_mishap(actor *a)
{
    if (a->program->mood == FAILING || (a->program->mood == LOSING && one_in(a, 4))) fail(a);
    if (a->program->mood == LOSING && a->steps > (uint64_t)a->program->steps / 4 && one_in(a, 4))
        lose(a);
    if (one_in(a, 8)) sim_give_again();
}

/* ---- Forks ---- */

static void tell_where(int number)
{
    void *frame[40];
    (void)number;
    backtrace_symbols_fd(frame, backtrace(frame, 40), STDERR_FILENO);
    _exit(99);
}

static int live_on_as_child(actor *a, const bool *may_lose)
{
    int wrong_ones = 0;
    signal(SIGALRM, tell_where);
    alarm(20);
    for (int i = 0; i < ARRAYS_EACH; i++) {
        const array *const v = &a->array[i];
        float sum = test_poison(), expected = 0.0f;
        for (int64_t j = 0; j < v->count; j++) expected += v->truth[j];
        const duo_status status = duo_ssum(any_context(a)->ctx, v->count, v->x, 1, &sum);
        const bool right =
            status == DUO_OK ? sum == expected : status == DUO_ERR_LOST && may_lose[i];
        if (!right)
            fprintf(stderr, "in a child: array %p (place %d, kept %d): %s, %g, expected %g\n",
                    (void *)v->x, (int)v->place, is_kept(v), duo_status_string(status), (double)sum,
                    (double)expected);
        wrong_ones += !right;
    }
    for (int i = 0; i < CONTEXTS; i++)
        wrong_ones += a->context[i].ctx != NULL && duo_destroy(a->context[i].ctx) != DUO_OK;
    return wrong_ones + sim_violations();
}

void do_fork(actor *a)
{
    if (UNDER_TSAN || (UNDER_SANITIZER && a->program->actors > 1) || a->program->input != NULL)
        return;
    bool may_lose[ARRAYS_EACH]; /* a child cannot ask the simulated device */
    for (int i = 0; i < ARRAYS_EACH; i++) may_lose[i] = on_device_alone(&a->array[i]);
    note(a, "fork");
    const pid_t child = fork();
    if (child == 0) _exit(live_on_as_child(a, may_lose));
    const int ended = child > 0 ? test_child_wait(child, 30) : 0;
    if (ended != 0 && !(UNDER_SANITIZER && ended == -2)) wrong(a, "a forked child: %d", ended);
}
