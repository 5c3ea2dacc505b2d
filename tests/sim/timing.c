/* timing.c - the clocks of the simulated devices; see clock.h and timing.h. */
#include "sim/timing.h"

#include "data/plan_clock.h"
#include "sim/engine.h"
#include "sim/memory.h"

#include <string.h>

typedef enum engine_kind { UP, DOWN, OUT, IN, COMPUTE, ENGINES } engine_kind;

typedef struct rates {
    uint64_t up, down, across, flops;
} rates;

static const rates usual = {55000, 55000, 390000, 50000000};

static struct {
    sim_engine engine[SIM_DEVICES][ENGINES];
    rates rates; /* all 0: the usual rates */
    uint64_t host;
} timing;

static rates rates_now(void) { return timing.rates.up > 0 ? timing.rates : usual; }

static uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- What an operation needs ---- */

typedef struct needs {
    sim_engine *first, *second; /* needed at the same time; second may be NULL */
    uint64_t duration;
} needs;

/* Nanoseconds that an amount takes at a rate per microsecond, rounded up. */
static uint64_t nanoseconds(uint64_t amount, uint64_t rate)
{
    return amount / rate * 1000 + (amount % rate * 1000 + rate - 1) / rate;
}

static needs needs_of_copy(const work *w, const sim_operation *o)
{
    const rates r = rates_now();
    const int to = sim_device_of(w->dst), from = sim_device_of(w->src);
    /* A copy from pinned to pinned memory takes the queue's device. */
    sim_engine *const up = &timing.engine[to < 0 ? o->device : to][UP];
    switch (o->kind) {
    case SIM_UP:
        return (needs){up, NULL, nanoseconds(o->bytes, r.up)};
    case SIM_DOWN:
        return (needs){&timing.engine[from][DOWN], NULL, nanoseconds(o->bytes, r.down)};
    case SIM_ACROSS:
        if (sim.linked[o->device][o->other])
            return (needs){&timing.engine[from][OUT], &timing.engine[to][IN],
                           nanoseconds(o->bytes, r.across)};
        return (needs){&timing.engine[from][DOWN], up,
                       nanoseconds(o->bytes, r.up < r.down ? r.up : r.down)};
    default:
        return (needs){&timing.engine[to][COMPUTE], NULL, nanoseconds(o->bytes, SIM_RATE_WITHIN)};
    }
}

static needs needs_of_launch(const work *w, const sim_operation *o)
{
    uint64_t duration =
        nanoseconds(2 * (uint64_t)o->m * (uint64_t)o->n * (uint64_t)o->k, rates_now().flops);
    if (w->call.operation != DUO_SGEMM) {
        double bytes = 0.0;
        for (int i = 0; i < DUO_RESULT; i++)
            if (w->call.operand[i].read) bytes += duo_operand_bytes(&w->call.operand[i]);
        duration = nanoseconds((uint64_t)bytes, SIM_RATE_WITHIN);
    }
    return (needs){&timing.engine[o->device][COMPUTE], NULL, duration};
}

/* ---- The clocks ---- */

void sim_timing_queued(duo_queue *queue, const work *w)
{
    sim_operation o = sim_log_entry(queue, w);
    const needs n = w->kind == WORK_COPY ? needs_of_copy(w, &o) : needs_of_launch(w, &o);
    o.start = sim_engine_fit(n.first, later_of(queue->clock, timing.host), n.duration);
    if (n.second != NULL) { /* until both are free at one time */
        uint64_t before;
        do {
            before = o.start;
            o.start = sim_engine_fit(n.second, o.start, n.duration);
            o.start = sim_engine_fit(n.first, o.start, n.duration);
        } while (o.start != before);
        sim_engine_take(n.second, o.start, n.duration);
    }
    sim_engine_take(n.first, o.start, n.duration);
    o.end = queue->clock = o.start + n.duration;
    sim_log_add(&o);
}

void sim_timing_follow(duo_queue *later, uint64_t time)
{
    later->clock = later_of(later->clock, time);
}

void sim_timing_waited(uint64_t time) { timing.host = later_of(timing.host, time); }

uint64_t sim_timing_here(const duo_queue *queue) { return later_of(queue->clock, timing.host); }

uint64_t sim_timing_end(int device)
{
    uint64_t end = 0;
    for (const duo_queue *q = sim.queues; q != NULL; q = q->next)
        if (q->device == device) end = later_of(end, q->clock);
    return end;
}

void sim_timing_reset(void)
{
    memset(timing.engine, 0, sizeof timing.engine);
    timing.rates = (rates){0, 0, 0, 0};
    timing.host = 0;
    for (duo_queue *q = sim.queues; q != NULL; q = q->next) {
        q->clock = 0;
        for (int i = 0; i < DUO_MARKS; i++) q->mark[i].clock = 0;
    }
}

/* ---- For tests ---- */

void sim_set_rates(uint64_t up, uint64_t down, uint64_t across, uint64_t flops)
{
    pthread_mutex_lock(&sim_lock);
    timing.rates = (rates){up, down, across, flops};
    pthread_mutex_unlock(&sim_lock);
}

uint64_t sim_clock_host(void)
{
    pthread_mutex_lock(&sim_lock);
    const uint64_t time = timing.host;
    pthread_mutex_unlock(&sim_lock);
    return time;
}

uint64_t sim_clock(int device)
{
    pthread_mutex_lock(&sim_lock);
    const uint64_t time = sim_timing_end(device);
    pthread_mutex_unlock(&sim_lock);
    return time;
}

/* ---- The bound of a plan ---- */

static double multiply_seconds(const duo_plan_problem *of, int64_t m, int64_t n, int64_t k)
{
    (void)of;
    return 2e-6 * (double)m * (double)n * (double)k / (double)rates_now().flops;
}

double sim_clock_bound(const duo_plan *plan)
{
    const rates r = rates_now();
    duo_plan here = *plan;
    here.of.up = 1e6 * (double)r.up;
    here.of.down = 1e6 * (double)r.down;
    here.of.both = here.of.up + here.of.down;
    here.of.multiply = multiply_seconds;
    for (int i = 0; i < DUO_OPERANDS; i++) here.of.pinned[i] = true;
    return duo_plan_bound(&here);
}
