/*
 * algorithm.h - the dispatch table: the calls that each algorithm accepts, and their costs here.
 *
 * The cheapest algorithm that serves the context's math and accepts the call runs. If it cannot go
 * on, and has written nothing yet, it declines, and the next cheapest runs. For every math one CPU
 * algorithm accepts every call and never declines.
 */
#ifndef DUO_ALGORITHM_H
#define DUO_ALGORITHM_H

#include "algorithms.h"
#include "call.h"
#include "choice/costs.h"

/* The maths that an algorithm serves, a bit for each. */
enum {
    DUO_SERVES_FLOAT32 = 1 << DUO_MATH_ACCURATE | 1 << DUO_MATH_IEEE | 1 << DUO_MATH_TF32,
    /* It keeps the bounds of float32, but not the order of summation of DUO_MATH_IEEE. */
    DUO_SERVES_ACCURATE = 1 << DUO_MATH_ACCURATE | 1 << DUO_MATH_TF32,
    DUO_SERVES_TF32 = 1 << DUO_MATH_TF32, /* rounds its operands: only on request */
    DUO_SERVES_FLOAT64 = 1 << DUO_MATH_FLOAT64
};

typedef struct duo_algorithm {
    duo_algorithm_id id;
    const char *name;
    duo_side side;
    unsigned maths; /* DUO_SERVES_... */
    duo_accepts accepts;
    duo_cost cost;
    /* CPU: runs the call, with all operands in host memory. GPU: NULL; the backend launches the
     * algorithm by its id. */
    duo_outcome (*run)(const duo_call *call);
} duo_algorithm;

/* The algorithms of one operation, in the order of the list. */
typedef struct duo_algorithm_table {
    const duo_algorithm *algorithm;
    int count;
} duo_algorithm_table;

extern const duo_algorithm_table duo_algorithm_tables[DUO_OPERATIONS];

const duo_algorithm *duo_algorithm_of(duo_algorithm_id id);

/* The cost of the call's work. With alpha = 0 nothing is multiplied: the cost of scaling C. */
double duo_algorithm_seconds(const duo_algorithm *algorithm, const duo_call *call,
                             const duo_conditions *conditions, int *threads);

/* The number of sgemm's algorithms, as a constant. */
#define DUO_ALGORITHM_IS_SGEMM(operation, side, maths, name) +(DUO_##operation == DUO_SGEMM)
enum { DUO_SGEMM_ALGORITHMS = 0 DUO_ALGORITHM_LIST(DUO_ALGORITHM_IS_SGEMM) };
#undef DUO_ALGORITHM_IS_SGEMM

static inline bool duo_algorithm_serves(const duo_algorithm *algorithm, duo_math math)
{
    return (algorithm->maths >> math & 1u) != 0;
}

#endif
