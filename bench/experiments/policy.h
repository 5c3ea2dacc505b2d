/* policy.h - which algorithms an experiment times, and which of them the library would choose. */
#ifndef DUO_POLICY_H
#define DUO_POLICY_H

#include "bench/experiments/setup.h"
#include "choice/select.h"

/* Does it serve the math of --math? Without that: more than TF32, which nobody gets unasked? */
bool duo_bench_wants(const duo_bench *bench, const duo_algorithm *algorithm);

/* The conditions under which an algorithm takes a call, if --math lets it. False: under none. */
bool duo_bench_conditions(const duo_bench *bench, const duo_algorithm *algorithm,
                          const duo_call *call, duo_conditions *conditions);

/* The algorithms of a side that take the call, cheapest first, in the math of --math or else the
 * default's; returns how many. */
int duo_bench_choose(const duo_bench *bench, const duo_call *call, duo_side side,
                     duo_choice chosen[DUO_CANDIDATES]);

#endif
