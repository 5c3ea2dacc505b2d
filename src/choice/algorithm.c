/* algorithm.c - the dispatch table, made from the list of all algorithms. */
#include "choice/algorithm.h"

#include "cpu/kernels.h"

#define RUN_CPU(name) duo_##name
#define RUN_GPU(name) NULL
#define ENTRY(operation, side, maths, name)                                                        \
    [DUO_##name] = {DUO_##name,           #name,                                                   \
                    DUO_SIDE_##side,      DUO_SERVES_##maths,                                      \
                    duo_##name##_accepts, duo_##name##_cost,                                       \
                    RUN_##side(name)},
static const duo_algorithm algorithms[DUO_ALGORITHMS] = {DUO_ALGORITHM_LIST(ENTRY)};
#undef ENTRY

/* An operation's algorithms are neighbours in the list: its table is a part of `algorithms`. */
#define IS_SASUM(operation, side, maths, name) +(DUO_##operation == DUO_SASUM)
#define IS_SSUM(operation, side, maths, name)  +(DUO_##operation == DUO_SSUM)
#define IS_SDOT(operation, side, maths, name)  +(DUO_##operation == DUO_SDOT)
enum {
    SGEMM_FIRST = 0,
    SASUM_FIRST = SGEMM_FIRST + DUO_SGEMM_ALGORITHMS,
    SSUM_FIRST = SASUM_FIRST DUO_ALGORITHM_LIST(IS_SASUM),
    SDOT_FIRST = SSUM_FIRST DUO_ALGORITHM_LIST(IS_SSUM),
    SDOT_END = SDOT_FIRST DUO_ALGORITHM_LIST(IS_SDOT)
};
_Static_assert((int)SDOT_END == (int)DUO_ALGORITHMS, "every operation of the list has a table");
_Static_assert(DUO_SGEMM_ALGORITHMS <= DUO_CANDIDATES, "a decision has room for every candidate");

enum { SGEMM_END = SASUM_FIRST, SASUM_END = SSUM_FIRST, SSUM_END = SDOT_FIRST };
#define IN_ITS_TABLE(operation, side, maths, name)                                                 \
    _Static_assert((int)DUO_##name >= (int)operation##_FIRST &&                                    \
                       (int)DUO_##name < (int)operation##_END,                                     \
                   "an operation's algorithms are neighbours in the list");
DUO_ALGORITHM_LIST(IN_ITS_TABLE)
#undef IN_ITS_TABLE

const duo_algorithm_table duo_algorithm_tables[DUO_OPERATIONS] = {
    [DUO_SGEMM] = {algorithms + SGEMM_FIRST, SGEMM_END - SGEMM_FIRST},
    [DUO_SASUM] = {algorithms + SASUM_FIRST, SASUM_END - SASUM_FIRST},
    [DUO_SSUM] = {algorithms + SSUM_FIRST, SSUM_END - SSUM_FIRST},
    [DUO_SDOT] = {algorithms + SDOT_FIRST, SDOT_END - SDOT_FIRST},
};

const duo_algorithm *duo_algorithm_of(duo_algorithm_id id) { return &algorithms[id]; }

double duo_algorithm_seconds(const duo_algorithm *algorithm, const duo_call *call,
                             const duo_conditions *conditions, int *threads)
{
    if (call->operation != DUO_SGEMM || call->alpha != 0.0f)
        return algorithm->cost(call, conditions, threads);
    duo_call scaling = *call;
    duo_call_set_sizes(&scaling, call->m, call->n, 0);
    return algorithm->cost(&scaling, conditions, threads);
}
