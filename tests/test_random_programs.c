/*
 * test_random_programs.c - random programs over the whole API (support/random_program.h), each in a
 * process of its own, as a lost device stays lost. Under ctest there are some dozens, with
 * DUOBLAS_TEST_LONG=0, as under sanitizers, fewer; with 1 they go on for two million calls, or for
 * DUOBLAS_TEST_CALLS. -seed is the number of the first one. A failure tells a program's number, by
 * which it runs alone:
 *
 *     DUOBLAS_CPU_BLAS=/none test_random_programs child NUMBER
 *
 * The order of work in several threads differs each time.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/remembered.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/harness.h"
#include "support/random_program.h"

enum { STEPS = 300, PROGRAMS = 40, PATIENCE_SECONDS = 120, LONG_CALLS = 2000000 };

/* ---- Reports ---- */

static program *running; /* for the alarm */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

static char *remembered(actor *a, uint64_t step) { return a->remembered[step % REMEMBERED]; }

void note(actor *a, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    a->noted++;
    vsnprintf(remembered(a, a->noted), sizeof a->remembered[0], format, arguments);
    va_end(arguments);
}

duo_status heard(actor *a, duo_status status)
{
    char *const line = remembered(a, a->noted);
    const size_t length = strlen(line);
    snprintf(line + length, sizeof a->remembered[0] - length, " -> %d", (int)status);
    a->calls++;
    return status;
}

static void tell_calls(actor *a)
{
    const uint64_t first = a->noted < REMEMBERED ? 1 : a->noted - REMEMBERED + 1;
    for (uint64_t i = first; i <= a->noted; i++)
        fprintf(stderr, "  actor %d: %s\n", a->number, remembered(a, i));
}

void wrong(actor *a, const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&telling);
    if (!atomic_exchange(&a->program->wrong, true)) {
        fprintf(stderr, "WRONG: program %" PRIu64 ", %d actors, actor %d: ", a->program->seed,
                a->program->actors, a->number);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputc('\n', stderr);
        tell_calls(a);
    }
    pthread_mutex_unlock(&telling);
}

bool judge(actor *a, duo_status status, int may, bool some_lost, const char *what)
{
    /* A device on which every wait fails counts as lost, too. */
    const int lost = duo_devices_losses();
    const bool fails = lost > 0 || atomic_load(&a->program->trouble) > 0;
    if (status == DUO_OK) return true;
    const bool allowed = status == DUO_ERR_LOST     ? (may & MAY_LOSE) != 0 && some_lost && lost > 0
                         : status == DUO_ERR_DEVICE ? (may & MAY_DEVICE) != 0 && fails
                         : status == DUO_ERR_MEMORY ? (may & MAY_MEMORY) != 0 && fails
                                                    : false;
    if (!allowed) wrong(a, "%s: %s", what, duo_status_string(status));
    return false;
}

static void bark(int number)
{
    (void)number;
    fprintf(stderr, "HANGS: program %" PRIu64 "\n", running->seed);
    for (int i = 0; i < running->actors; i++) tell_calls(&running->actor[i]);
    abort();
}

/* ---- A program ---- */

static void step(actor *a)
{
    const int64_t what = any(a, 0, 99);
    if (what < 40)
        do_call(a);
    else if (what < 50)
        do_batch(a);
    else if (what < 65)
        do_array(a);
    else if (what < 85)
        do_graph(a);
    else if (what < 91)
        do_context(a);
    else if (what < 96)
        do_event(a);
    else if (what < 99 || !one_in(a, 4))
        do_mishap(a);
    else
        do_fork(a);
}

static void *act(void *given)
{
    actor *const a = given;
    for (int i = 0; i < CONTEXTS; i++) open_context(a, &a->context[i]);
    for (int i = 0; i < ARRAYS_EACH; i++) make_array(a, &a->array[i], any_context(a));
    for (; a->steps < (uint64_t)a->program->steps && !stopped(a); a->steps++) step(a);
    if (stopped(a)) return NULL;
    for (int i = 0; i < GRAPHS; i++)
        if (a->graph[i].graph != NULL) end_graph(a, &a->graph[i]);
    for (int i = 0; i < ARRAYS_EACH; i++) end_array(a, &a->array[i]);
    for (int i = 0; i < EVENTS; i++)
        (void)judge(a, CALL(a, duo_event_destroy(a->event[i].event), "event %d: destroy", i), 0,
                    false, "event_destroy");
    for (int i = 0; i < CONTEXTS; i++) close_context(a, &a->context[i]);
    return NULL;
}

static void begin_program(program *p, actor *first, uint64_t seed)
{
    p->seed = seed;
    first->rng = (test_rng){seed * 0x9e3779b97f4a7c15u};
    p->mood = one_in(first, 2) ? LOSING : (mood)any(first, CALM, FAILING);
    p->actors = (int)any(first, 1, MOST_ACTORS);
    p->steps = STEPS;
    p->defaults = one_in(first, 4);
    p->keeps = one_in(first, 2);
    sim_reset();
    sim_set_devices(DEVICES);
    sim_set_memory((uint64_t)any(first, 15, p->keeps ? 20 + 20 * p->actors : 200) * 1000);
    if (p->mood == FAILING && one_in(first, 2)) {
        sim_set_pinned((uint64_t)any(first, 10, 200) * 1000);
        p->trouble = 1;
    }
    sim_set_links(one_in(first, 2));
    if (one_in(first, 3)) sim_set_delay((int)any(first, 1, 40));
    duo_backend_install(sim_backend());
    for (int i = 0; i < p->actors; i++) {
        p->actor[i].program = p;
        p->actor[i].number = i;
        p->actor[i].rng.state = test_random(&first->rng);
    }
}

/* Arrays that all read: plain, pinned or on a device, or kept. */
static void share(actor *a, program *p)
{
    for (int i = 0; i < CONTEXTS; i++) open_context(a, &a->context[i]);
    for (int i = 0; i < SHARED_ARRAYS; i++) {
        array *const v = &p->shared[i];
        make_array(a, v, &a->context[1]);
        v->shared = true;
        if (v->place != PLAIN || is_kept(v) || one_in(a, 3)) continue;
        v->kept_to = v->count;
        (void)judge(a, duo_keep(a->context[1].ctx, v->x, (size_t)v->count * sizeof(float)), 0,
                    false, "keep");
    }
}

static void end_program(actor *a, program *p)
{
    call_off(a);
    for (int i = 0; i < SHARED_ARRAYS; i++) end_array(a, &p->shared[i]);
    for (int i = 0; i < CONTEXTS; i++) close_context(a, &a->context[i]);
    if (sim_violations() > 0) wrong(a, "%d violations of the backend's contract", sim_violations());
    /* A default context stays for another thread, and lost memory stays allocated. */
    if (!p->defaults && duo_devices_losses() == 0 && sim_leaks() > 0)
        wrong(a, "%d things are still alive", sim_leaks());
}

static int run_program(uint64_t seed)
{
    static program p;
    static actor first = {.program = &p, .number = -1};
    uint64_t calls = 0;
    running = &p;
    signal(SIGALRM, bark);
    alarm(PATIENCE_SECONDS - 10);
    begin_program(&p, &first, seed);
    share(&first, &p);
    for (int i = 1; i < p.actors; i++)
        if (pthread_create(&p.actor[i].thread, NULL, act, &p.actor[i]) != 0) abort();
    act(&p.actor[0]);
    for (int i = 1; i < p.actors; i++) pthread_join(p.actor[i].thread, NULL);
    if (!atomic_load(&p.wrong)) end_program(&first, &p);
    for (int i = 0; i < p.actors; i++) calls += p.actor[i].calls;
    printf("%" PRIu64 " calls, %s\n", calls, atomic_load(&p.wrong) ? "WRONG" : "right");
    fflush(stdout);
    if (atomic_load(&p.wrong)) _exit(1); /* other threads may go on */
    return 0;
}

/* ---- All ---- */

static uint64_t number_in(const char *name, uint64_t otherwise)
{
    const char *const text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void random_programs(void)
{
    const char *const archer = getenv("OMP_TOOL_LIBRARIES");
    const bool longer = test_amount(0, 0, 1) == 1;
    const int programs = test_amount(PROGRAMS / 4, PROGRAMS, PROGRAMS);
    const uint64_t most = number_in("DUOBLAS_TEST_CALLS", LONG_CALLS);
    uint64_t calls = 0, first = test_seed();
    int count = 0, failed = 0;
    char tool[400];
    snprintf(tool, sizeof tool, "OMP_TOOL_LIBRARIES%s%s", archer != NULL ? "=" : "",
             archer != NULL ? archer : "");
    /* The plain loops are as good as a BLAS here, and a process begins sooner without. */
    const char *const settings[] = {"DUOBLAS_CPU_BLAS=/none", tool, NULL};
    for (; longer ? calls < most : count < programs; count++) {
        static test_child child;
        char seed[24];
        uintmax_t made = 0;
        snprintf(seed, sizeof seed, "%" PRIu64, first + (uint64_t)count);
        test_case("random_programs/child %s", seed);
        test_child_run(seed, settings, PATIENCE_SECONDS, &child);
        const bool right = child.exit_status == 0 && sscanf(child.out, "%ju", &made) == 1;
        CHECK(right, "exit %d", child.exit_status);
        if (!right) fprintf(stderr, "%s\n", child.err);
        calls += made;
        failed += !right;
        if (longer && count % 50 == 49)
            fprintf(stderr, "%d programs, %" PRIu64 " calls, %d failed\n", count + 1, calls,
                    failed);
    }
    printf("    %d programs, %" PRIu64 " calls, %d failed\n", count, calls, failed);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"random_programs", random_programs}, {NULL, NULL}};
    const char *const task = test_child_task(argc, argv);
    duo_remembered_least = 1024;
    if (task != NULL) return run_program(strtoull(task, NULL, 10));
    return test_main(argc, argv, "random_programs", tests);
}
