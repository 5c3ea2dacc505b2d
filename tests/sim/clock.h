/*
 * clock.h - the virtual time of the simulated devices, and the log of operations and their times.
 * With it a test can assert that two operations overlap, or that one follows the other. The speed
 * of the test's machine does not matter.
 *
 * Each queue has a clock, and the host has one; integer nanoseconds, 0 after sim_reset. An
 * operation (a copy or launch) is given its time when it is queued: it starts when the host has
 * queued it, when the work before it in its queue and all other work that it waits for are done,
 * and when the engines that it needs are free (engine.h). A device has five engines: one for copies
 * up, one down, one out to and one in from other devices, and one for all launches. An operation's
 * duration follows from its size and the rates.
 *
 * The host's clock advances to the end of work when the host waits for it in wait_mark, finish,
 * copy_now, release or close, or when passed or idle says that it is done. It stands still while
 * the host computes. All threads of the host have one clock.
 *
 * So times depend on the calls and their order, never on the speed of the workers; but the order
 * may depend on the answers of passed and idle, which depend on the workers.
 */
#ifndef DUO_TESTS_SIM_CLOCK_H
#define DUO_TESTS_SIM_CLOCK_H

#include "data/plan.h"
#include "sim/sim.h"

/* Bytes per microsecond of one device up, down and to a linked device; and floating-point
 * operations per microsecond (sgemm: 2 m n k). All > 0. After reset: 55000, 55000, 390000 and
 * 50000000, as an H100 has. Without a link a copy to another device takes the source's engine down
 * and the target's engine up, at the lower of their rates. */
void sim_set_rates(uint64_t up, uint64_t down, uint64_t across, uint64_t flops);

/* Bytes per microsecond of reductions, packing and copies within a device. */
enum { SIM_RATE_WITHIN = 2000000 };

uint64_t sim_clock_host(void);
uint64_t sim_clock(int device); /* when all work of the device's open queues is done */

/* Seconds below which no schedule of the plan can end, at the rates. The simulated host takes no
 * time, so memory counts as pinned. */
double sim_clock_bound(const duo_plan *plan);

/* ---- The log ---- */

typedef enum sim_operation_kind {
    SIM_UP,     /* a copy from the host to a device */
    SIM_DOWN,   /* ... from a device to the host */
    SIM_ACROSS, /* ... from a device to another */
    SIM_WITHIN, /* ... within a device; packing, too */
    SIM_COMPUTE /* a launch */
} sim_operation_kind;

typedef struct sim_span {
    const char *low, *high; /* [low, high), the bytes between runs too; both NULL: none */
} sim_span;

typedef struct sim_operation {
    sim_operation_kind kind;
    int device, other;   /* the queue's; other: SIM_ACROSS's second one, else -1 */
    int queue;           /* queues are counted from 0 in the order of opening since sim_reset */
    uint64_t start, end; /* [start, end) */
    uint64_t bytes;      /* moved by a copy; 0 for a launch */
    int64_t m, n, k;     /* of a launch */
    sim_span written, read[DUO_OPERANDS]; /* device or host; a copy reads read[0] */
} sim_operation;

/* Empties the log, and logs the work queued from now on, until sim_reset. The clocks go on. */
void sim_log_reset(void);

/* The operations since then, in the order of queueing; *log stays until the next is queued. */
size_t sim_log(const sim_operation **log);

/* Do they share time? An operation without duration shares none. */
static inline bool sim_overlap(const sim_operation *a, const sim_operation *b)
{
    return a->start < b->end && b->start < a->end;
}

/* Do they share bytes (or those between runs)? */
static inline bool sim_span_meets(sim_span a, sim_span b)
{
    return a.low < b.high && b.low < a.high;
}

#endif
