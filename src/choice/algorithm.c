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

/* The list goes operation by operation: an operation's algorithms are neighbours in it. */
#define IS_SASUM(operation, side, maths, name) +(DUO_##operation == DUO_SASUM)
#define IS_SSUM(operation, side, maths, name)  +(DUO_##operation == DUO_SSUM)
#define IS_SDOT(operation, side, maths, name)  +(DUO_##operation == DUO_SDOT)
enum {
    SASUM_FIRST = DUO_SGEMM_ALGORITHMS,
    SSUM_FIRST = SASUM_FIRST DUO_ALGORITHM_LIST(IS_SASUM),
    SDOT_FIRST = SSUM_FIRST DUO_ALGORITHM_LIST(IS_SSUM),
    SDOT_END = SDOT_FIRST DUO_ALGORITHM_LIST(IS_SDOT)
};
_Static_assert((int)SDOT_END == (int)DUO_ALGORITHMS, "every operation of the list has a table");
_Static_assert(DUO_SGEMM_ALGORITHMS <= DUO_CANDIDATES, "a decision has room for every candidate");

const duo_algorithm_table duo_algorithm_tables[DUO_OPERATIONS] = {
    [DUO_SGEMM] = {algorithms, SASUM_FIRST},
    [DUO_SASUM] = {algorithms + SASUM_FIRST, SSUM_FIRST - SASUM_FIRST},
    [DUO_SSUM] = {algorithms + SSUM_FIRST, SDOT_FIRST - SSUM_FIRST},
    [DUO_SDOT] = {algorithms + SDOT_FIRST, SDOT_END - SDOT_FIRST},
};
