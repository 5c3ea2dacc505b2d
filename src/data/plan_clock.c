/*
 * plan_clock.c - the seconds that a plan's steps take (plan_clock.h), and the least that any plan
 * takes.
 *
 * Each queue of each device has a clock. The host has one, too: it copies pageable memory to and
 * from pinned stages, one piece after the other. A step begins when its queue is free and the steps
 * that it follows are done.
 */
#include "data/plan_clock.h"

#include <math.h>

/* Bytes of pageable memory that may be in stages, copied but not yet sent. */
static const double kStages = 32e6;

/*
 * Seconds of the host to queue a step, to begin and end a piece of kPieceBytes, and a panel of
 * pageable memory; kStep: seconds before a SEND or a step of the compute queue begins. Fitted, with
 * the rates below, to an H100: plans of cubes of 1024 to 16384 take 0.9 to 1.1 times the clock's
 * seconds from pinned memory, 0.9 to 1.2 times from pageable.
 */
static const double kQueueing = 5e-6, kPiece = 6e-6, kPieceBytes = 8e6, kPanel = 4e-5;
static const double kStep = 5e-6;

/*
 * The link's rate for a panel that the device reads across the runs of pinned memory, relative to
 * one range. Narrow panels of many runs are slow to read. Here runs are up to 32 KiB apart: the
 * rate depends on the panel's part of the operand (H100, 4096 and 8192 rows).
 */
static double across_runs(double panel, double all)
{
    if (panel * 6.0 >= all) return 1.0;
    return panel * 12.0 >= all ? 0.8 : 0.55;
}

/* Runs farther apart: the rate depends on the length of a run (two H100s, 16384 and 32768 rows,
 * multiprocessors busy). */
static double far_apart(double run_bytes)
{
    return run_bytes < 8192.0 ? 0.62 : run_bytes < 20480.0 ? 0.75 : 0.95;
}

typedef struct clocks {
    double up, compute, down, peer; /* when all work queued so far is done */
    double bytes;                   /* over the device's link, both ways */
    double late;                    /* delay of the next SEND, caused by fetches meanwhile */
    double to_come;                 /* bytes that are still to be sent */
} clocks;

/* A tile of pageable C that has been fetched to stages waits for the host. */
typedef struct arrival {
    double at, bytes;
} arrival;

enum { MOST_WAITING = 64 };

typedef struct timing {
    const duo_plan_problem *of;
    clocks device[DUO_PLAN_DEVICES];
    double host;
    arrival waiting[MOST_WAITING]; /* a ring */
    int first, count;
} timing;

static double bytes_of(const duo_step *s, int operand)
{
    const double rows = operand == DUO_B ? (double)s->n : (double)s->m;
    return 4.0 * (double)s->products * rows * (operand == DUO_C ? (double)s->n : (double)s->k);
}

static double copied(double bytes, double rate)
{
    return ceil(bytes / kPieceBytes) * kPiece + bytes / rate;
}

static void unpack_one(timing *t)
{
    const arrival *const a = &t->waiting[t->first];
    t->host = fmax(t->host, a->at) + copied(a->bytes, t->of->host_down);
    t->first = (t->first + 1) % MOST_WAITING;
    t->count--;
}

/* When the step's queue may begin with it, apart from the general rules. */
static double free_at(const duo_plan *plan, const duo_step *s, double queue)
{
    return s->follows < 0 ? queue : fmax(queue, plan->step[s->follows].end);
}

/* The link's rate for a tile of C with runs far apart, relative to one range: runs of 4 KiB are
 * written at 33 GB/s instead of 55. */
static double home_rate(const duo_plan_problem *of, const duo_step *s)
{
    const double run = 4.0 * (double)s->m, pitch = 4.0 * (double)of->pitch[DUO_C];
    return pitch > 32768.0 && run < 8192.0 ? 0.6 : 1.0;
}

static double rate_of(const duo_plan_problem *of, const duo_step *s, int operand)
{
    const double pitch = 4.0 * (double)of->pitch[operand];
    if (of->pitch[operand] == 0) return 1.0;
    const double extent = (double)(operand == DUO_B ? s->n : s->m);
    if (pitch > 32768.0) return far_apart(4.0 * extent);
    /* Parts of whole pages, in runs of eight pages each: 0.85 of the rate, on an H100. */
    const bool in_step = pitch == 32768.0 && fmod(4.0 * extent, 4096.0) == 0.0;
    return across_runs(extent, (double)(operand == DUO_B ? of->n : of->m)) * (in_step ? 0.85 : 1.0);
}

static void send(timing *t, const duo_plan *plan, duo_step *s)
{
    const duo_plan_problem *const of = t->of;
    clocks *const c = &t->device[s->device];
    const double bytes = bytes_of(s, s->operand);
    s->begin = fmax(t->host, free_at(plan, s, c->up)) + kStep + c->late;
    c->late = 0.0;
    c->to_come -= bytes;
    c->bytes += bytes;
    if (of->pinned[s->operand]) {
        c->up = s->end = s->begin + bytes / (of->up * rate_of(of, s, s->operand));
        return;
    }
    while (t->count > 0 && t->waiting[t->first].at <= t->host) unpack_one(t);
    t->host = fmax(t->host, s->begin - kStages / of->up);
    s->begin = fmax(s->begin, t->host);
    t->host += copied(bytes, of->host_up) + kPanel;
    c->up = s->end = fmax(s->begin + bytes / of->up, t->host);
}

static void share(timing *t, duo_step *s)
{
    clocks *const c = &t->device[s->device];
    s->begin = fmax(fmax(t->host, c->peer), t->device[s->source].up) + kStep;
    c->peer = s->end = s->begin + bytes_of(s, s->operand) / t->of->peer;
}

static void fetch(timing *t, duo_step *s)
{
    const duo_plan_problem *const of = t->of;
    clocks *const c = &t->device[s->device];
    const double bytes = bytes_of(s, DUO_C);
    c->bytes += bytes;
    s->begin = fmax(c->down, c->compute) + of->copy_seconds;
    /* While the link works both ways, each is slower. */
    const bool both_ways = c->up + c->to_come / of->up > s->begin;
    const double part = both_ways ? fmin(of->both / (of->up + of->down), 1.0) : 1.0;
    const double rate = part * of->down * (of->pinned[DUO_C] ? home_rate(of, s) : 1.0);
    c->down = s->end = s->begin + bytes / rate;
    c->late += (1.0 - part) * (s->end - s->begin);
    if (of->pinned[DUO_C]) return;
    if (t->count == MOST_WAITING) unpack_one(t);
    t->waiting[(t->first + t->count++) % MOST_WAITING] = (arrival){c->down, bytes};
}

static void compute(timing *t, const duo_plan *plan, duo_step *s)
{
    const duo_plan_problem *const of = t->of;
    clocks *const c = &t->device[s->device];
    s->begin = fmax(t->host, free_at(plan, s, fmax(c->compute, fmax(c->up, c->peer)))) + kStep;
    const double rows = s->operand == DUO_B ? (double)s->n : (double)s->m;
    c->compute = s->end =
        s->begin + (s->kind == DUO_STEP_PACK ? of->pack(of, s->operand, rows * (double)s->k)
                                             : of->multiply(of, s->m, s->n * s->products, s->k));
}

double duo_plan_seconds(duo_plan *plan)
{
    const duo_plan_problem *const of = &plan->of;
    timing t = {.of = of};
    for (int i = 0; i < plan->count; i++)
        if (plan->step[i].kind == DUO_STEP_SEND)
            t.device[plan->step[i].device].to_come +=
                bytes_of(&plan->step[i], plan->step[i].operand);
    for (int i = 0; i < plan->count; i++) {
        duo_step *const s = &plan->step[i];
        t.host += kQueueing;
        switch (s->kind) {
        case DUO_STEP_SEND:
            send(&t, plan, s);
            break;
        case DUO_STEP_SHARE:
            share(&t, s);
            break;
        case DUO_STEP_FETCH:
            fetch(&t, s);
            break;
        case DUO_STEP_PACK:
        case DUO_STEP_MULTIPLY:
            compute(&t, plan, s);
            break;
        }
    }
    while (t.count > 0) unpack_one(&t);
    double end = t.host;
    for (int d = 0; d < of->devices; d++) {
        const clocks *const c = &t.device[d];
        end = fmax(end, fmax(c->up, fmax(c->peer, fmax(c->compute, c->down))));
        end = fmax(end, c->bytes / of->both);
    }
    return end + of->copy_seconds;
}

double duo_plan_bound(const duo_plan *plan)
{
    const duo_plan_problem *const of = &plan->of;
    const int64_t count = of->products > 0 ? of->products : 1;
    const double products = (double)count;
    const double elements[DUO_OPERANDS] = {
        (double)of->m * (double)of->k * (of->shared[DUO_A] ? 1.0 : products),
        (double)of->n * (double)of->k * (of->shared[DUO_B] ? 1.0 : products),
        (double)of->m * (double)of->n * products};
    double up = 0.0, down = 0.0, host = 0.0;
    double inputs = 0.0; /* seconds until all of A and B are there, if they go first */
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const double times = i == DUO_A && of->peer <= 0.0 ? of->devices : 1.0;
        if (of->sent[i]) up += times * 4.0 * elements[i];
        if (of->sent[i] && !of->pinned[i]) host += times * 4.0 * elements[i] / of->host_up;
        if (i == DUO_B) inputs = fmax(up / of->up / of->devices, host);
    }
    if (of->fetched) down = 4.0 * elements[DUO_C];
    if (of->fetched && !of->pinned[DUO_C]) host += down / of->host_down;
    const double link = fmax(fmax(up / of->up, down / of->down), (up + down) / of->both);
    /* Pageable operands arrive as fast as the host copies them. */
    const double arrives = fmax(up / of->up / of->devices, host);
    double share = 1.0 / of->devices;
    for (int d = 0; d < of->devices; d++) share = fmax(share, of->share[d]);
    const double work = of->multiply(of, of->m, of->n * count, of->k) * share;
    /* A part f of A and of B gives f^2 of C: until f = inputs / (2 * work) the device waits for the
     * link. */
    const double waits = plan->held && of->sent[DUO_A] && of->sent[DUO_B] && 2.0 * work > inputs
                             ? inputs * inputs / (4.0 * work)
                             : 0.0;
    return fmax(fmax(link / of->devices, host), fmax(arrives, work + waits));
}
