/*
 * lanes.c - chooses the clone of the reductions for this CPU.
 *
 * The choice is made at first use, without a constructor. Threads that choose at the same time make
 * the same choice, and the tables are constant, so relaxed atomics suffice.
 */
#include "cpu/lanes.h"

#include <stdbool.h>

#if defined(__x86_64__)

static bool runs_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2");
}

static bool runs_avx512_on_intel(void) { return runs_avx512() && __builtin_cpu_is("intel"); }
static bool runs_avx512_elsewhere(void) { return runs_avx512() && !__builtin_cpu_is("intel"); }

static bool runs_avx2(void) { return __builtin_cpu_supports("avx2"); }

#endif

static bool runs_always(void) { return true; }

/* Best first. */
static const struct {
    const duo_lanes *lanes;
    bool (*runs_here)(void);
} clones[] = {
#if defined(__x86_64__)
    {&duo_lanes_avx512, runs_avx512_on_intel},  /* Emerald Rapids reads MXCSR in 2 cycles */
    {&duo_lanes_avx512_sae, runs_avx512},       /* Zen 4 would take 21 cycles */
    {&duo_lanes_avx512, runs_avx512_elsewhere}, /* never the best: for tests */
    {&duo_lanes_avx2, runs_avx2},
#endif
    {&duo_lanes_portable, runs_always},
};

_Atomic(const duo_lanes *) duo_lanes_in_use;

const duo_lanes *duo_lanes_clone(int index)
{
    const int count = (int)(sizeof clones / sizeof clones[0]);
    for (int i = 0; index >= 0 && i < count; i++)
        if (clones[i].runs_here() && index-- == 0) return clones[i].lanes;
    return NULL;
}

const duo_lanes *duo_lanes_set(const duo_lanes *lanes)
{
    if (lanes == NULL) lanes = duo_lanes_clone(0);
    atomic_store_explicit(&duo_lanes_in_use, lanes, memory_order_relaxed);
    return lanes;
}
