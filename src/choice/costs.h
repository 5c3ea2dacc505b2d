/*
 * costs.h - what each algorithm accepts, and how long it would take under given conditions.
 *
 * C that is always built, so that predictions work without CUDA: sgemm_cpu_costs.c,
 * sgemm_gpu_costs.c, reduce_costs.c.
 */
#ifndef DUO_COSTS_H
#define DUO_COSTS_H

#include "algorithms.h"
#include "call.h"
#include "choice/profile.h"

/* The conditions under which a call is made: the context's policy, and what the machine has now. */
typedef struct duo_conditions {
    const duo_profile *profile;
    duo_path path;
    duo_math math;
    int threads;                /* most CPU threads for this call, >= 1 */
    bool gpu;                   /* usable, or not looked at yet */
    double device_memory_bytes; /* most that workspace on the device may take */
    /* Of the device; 0: not looked at yet. */
    int capability; /* 10 * major + minor */
    int multiprocessors;
} duo_conditions;

/* Can it do this call? */
typedef bool (*duo_accepts)(const duo_call *call, const duo_conditions *conditions);
/* Seconds expected for the work itself, without transfers (select.c adds them); *threads: CPU
 * threads that it would use, 0 on the GPU. */
typedef double (*duo_cost)(const duo_call *call, const duo_conditions *conditions, int *threads);

#define DUO_ALGORITHM_COSTS(operation, side, maths, name)                                          \
    bool duo_##name##_accepts(const duo_call *call, const duo_conditions *conditions);             \
    double duo_##name##_cost(const duo_call *call, const duo_conditions *conditions, int *threads);
DUO_ALGORITHM_LIST(DUO_ALGORITHM_COSTS)
#undef DUO_ALGORITHM_COSTS

#endif
