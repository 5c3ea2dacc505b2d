/*
 * costs.h - the calls that each algorithm accepts, and how long they would take.
 *
 * Defined in sgemm_cpu_costs.c, sgemm_gpu_costs.c, sgemm_gpu_thin_costs.c, sgemm_gpu_wgmma_costs.c
 * and reduce_costs.c: C code that is always built, so that a GPU's time can be predicted without
 * CUDA.
 */
#ifndef DUO_COSTS_H
#define DUO_COSTS_H

#include "algorithms.h"
#include "call.h"
#include "choice/profile.h"
#include "data/plan.h"

typedef struct duo_ratios duo_ratios; /* ratios.h */

/* The conditions of a call: the context's policy, and the state of the machine. */
typedef struct duo_conditions {
    const duo_profile *profile;
    const duo_ratios *ratios; /* what was learned (ratios.h); NULL: only the profile counts */
    duo_path path;
    duo_math math;
    int threads;                /* most CPU threads for this call, >= 1 */
    bool gpu;                   /* the device is usable, or was not looked at yet */
    bool gpu_unseen;            /* it was not looked at yet: nobody knows whether it is there */
    bool recorded;              /* the program captures the context's stream: calls are recorded */
    double device_memory_bytes; /* most that operands which are sent may take on the device */
    int capability;             /* of the device, 10 * major + minor; 0: not looked at yet */
    int multiprocessors;        /* of the device; 0: not looked at yet */
    double memory_rate;         /* the same: bytes a second */

    /* The context's usable devices: a streamed product may use the first ones. */
    int devices;                    /* 0 counts as 1 */
    double speed[DUO_PLAN_DEVICES]; /* relative to each other, in any unit */
    bool linked;                    /* as far as is known they reach each other's memory */
} duo_conditions;

/* Can the algorithm do this call? */
typedef bool (*duo_accepts)(const duo_call *call, const duo_conditions *conditions);
/* Seconds that the algorithm is expected to take, without transfers (select.c adds them).
 * *threads: the CPU threads that it would use; 0 on the GPU. */
typedef double (*duo_cost)(const duo_call *call, const duo_conditions *conditions, int *threads);

/* Seconds of an algorithm on all threads that have work, without corrections: a correction is
 * measured against this. */
double duo_sgemm_cpu_uncorrected(duo_corrected algorithm, const duo_call *call,
                                 const duo_conditions *conditions);

/* The least elements, a power of two, that a piece has where a reduction sends a vector in pieces:
 * on the device it needs no more memory than that (call/route_pieces.c). */
enum { DUO_LEAST_PIECE = 1 << 16 };

/* Elements that memory moves for one element of this vector, if it moves lines of `line`
 * elements. */
static inline double duo_stride_factor(const duo_operand *o, double line)
{
    const double step = o->ld < 0 ? -(double)o->ld : (double)o->ld;
    if (!o->read || o->columns <= 1 || step <= 1.0) return 1.0;
    return step < line ? step : line;
}

/* Does the cost of this algorithm of sgemm count whole waves of tiles? */
bool duo_sgemm_counts_waves(duo_algorithm_id id);

/* Every algorithm has duo_NAME_accepts and duo_NAME_cost. */
#define DUO_ALGORITHM_COSTS(operation, side, maths, name)                                          \
    bool duo_##name##_accepts(const duo_call *call, const duo_conditions *conditions);             \
    double duo_##name##_cost(const duo_call *call, const duo_conditions *conditions, int *threads);
DUO_ALGORITHM_LIST(DUO_ALGORITHM_COSTS)
#undef DUO_ALGORITHM_COSTS

#endif
