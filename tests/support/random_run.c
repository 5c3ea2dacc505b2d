/* random_run.c - how a random program (random_program.h) runs, and what it reports. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/random_program.h"

/* ---- Reports ---- */

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

static char *remembered(actor *a, uint64_t step) { return a->remembered[step % REMEMBERED]; }
static const char *told(const actor *a, uint64_t step) { return a->remembered[step % REMEMBERED]; }

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

static void tell_calls(const actor *a)
{
    const uint64_t first = a->noted < REMEMBERED ? 1 : a->noted - REMEMBERED + 1;
    for (uint64_t i = first; i <= a->noted; i++)
        fprintf(stderr, "  actor %d: %s\n", a->number, told(a, i));
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
    const bool lost = any_lost();
    const bool fails = lost || atomic_load(&a->program->trouble) > 0;
    if (status == DUO_OK) return true;
    const bool allowed = status == DUO_ERR_LOST     ? (may & MAY_LOSE) != 0 && some_lost && lost
                         : status == DUO_ERR_DEVICE ? (may & MAY_DEVICE) != 0 && fails
                         : status == DUO_ERR_MEMORY ? (may & MAY_MEMORY) != 0 && fails
                                                    : false;
    if (!allowed) wrong(a, "%s: %s", what, duo_status_string(status));
    return false;
}

void tell_hang(const program *p)
{
    fprintf(stderr, "HANGS: program %" PRIu64 "\n", p->seed);
    for (int i = 0; i < p->actors; i++) tell_calls(&p->actor[i]);
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

/* Is all of a fuzzer's input used? */
static bool used_up(const program *p) { return p->input != NULL && p->left == 0; }

static void *act(void *given)
{
    actor *const a = given;
    for (int i = 0; i < CONTEXTS; i++) open_context(a, &a->context[i]);
    for (int i = 0; i < ARRAYS_EACH; i++) make_array(a, &a->array[i], any_context(a));
    for (; a->steps < (uint64_t)a->program->steps && !stopped(a) && !used_up(a->program);
         a->steps++)
        step(a);
    if (stopped(a)) return NULL;
    for (int i = 0; i < GRAPHS; i++)
        if (a->graph[i].graph != NULL) end_graph(a, &a->graph[i]);
    for (int i = 0; i < ARRAYS_EACH; i++) end_array(a, &a->array[i]);
    for (int i = 0; i < EVENTS; i++)
        (void)judge(a, CALL(a, duo_event_destroy(a->event[i].event), "event %d: destroy", i), 0,
                    false, "event_destroy");
    for (int i = 0; i < CONTEXTS; i++) close_context(a, &a->context[i]);
    if (a->program->defaults)
        (void)judge(a, CALL(a, duo_trim(NULL), "trim the default context"), 0, false, "trim");
    return NULL;
}

/* The devices of a program, with little memory. */
static void simulate(program *p, actor *first)
{
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
}

static void begin_program(program *p, actor *first, uint64_t seed)
{
    p->seed = seed;
    first->rng = (test_rng){seed * 0x9e3779b97f4a7c15u};
    p->mood = one_in(first, 2) ? LOSING : (mood)any(first, CALM, FAILING);
    p->actors = (int)any(first, 1, p->most_actors);
    /* A thread's default context lives on, and would miss its lost device. */
    p->defaults = one_in(first, 4) && !p->followed && p->input == NULL;
    p->keeps = one_in(first, 2);
    p->devices = DEVICES;
    if (p->real) {
        p->mood = CALM;
        if (duo_device_count(&p->devices) != DUO_OK) abort();
        if (p->devices > DEVICES) p->devices = DEVICES;
    } else {
        simulate(p, first);
    }
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
    if (p->real) return;
    if (sim_violations() > 0) wrong(a, "%d violations of the backend's contract", sim_violations());
    /* A default context stays for another thread or program, and lost memory stays allocated. */
    if (!p->defaults && !p->followed && !any_lost() && sim_leaks() > 0)
        wrong(a, "%d things are still alive", sim_leaks());
}

uint64_t run_random_program(program *p, uint64_t seed)
{
    static actor nobody; /* makes what all share */
    uint64_t calls = 0;
    memset(&nobody, 0, sizeof nobody);
    nobody.program = p;
    nobody.number = -1;
    begin_program(p, &nobody, seed);
    share(&nobody, p);
    for (int i = 1; i < p->actors; i++)
        if (pthread_create(&p->actor[i].thread, NULL, act, &p->actor[i]) != 0) abort();
    act(&p->actor[0]);
    for (int i = 1; i < p->actors; i++) pthread_join(p->actor[i].thread, NULL);
    if (!atomic_load(&p->wrong)) end_program(&nobody, p);
    for (int i = 0; i < p->actors; i++) calls += p->actor[i].calls;
    return calls;
}
