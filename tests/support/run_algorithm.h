/*
 * run_algorithm.h - algorithms of the tables, one by one, below the public API.
 */
#ifndef DUO_TESTS_RUN_ALGORITHM_H
#define DUO_TESTS_RUN_ALGORITHM_H

#include "choice/algorithm.h"

/* Algorithms of an operation that can be run in this mode: the CPU's in cpu mode, else the GPU's.
 * Returns how many. */
int test_algorithms(duo_operation operation, const duo_algorithm *algorithm[DUO_CANDIDATES]);

bool test_algorithm_rounds(const duo_algorithm *algorithm); /* operands to TF32? */

/* Does the algorithm take the call if no path and no lack of memory rules it out? In a math that it
 * serves, or in DUO_MATH_ACCURATE. */
bool test_algorithm_serves(const duo_algorithm *algorithm, const duo_call *call, duo_math math);
bool test_algorithm_accepts(const duo_algorithm *algorithm, const duo_call *call);

/*
 * Runs a call with operands in host memory by this very algorithm. A CPU algorithm is called
 * directly; a GPU algorithm goes through the backend in use (allocate, copy, launch, copy back). On
 * the device the operands lie `offset` floats past a 256-byte boundary between poison, which must
 * be the same afterwards; very long gaps are left out there. by_pinned: a reduction answers through
 * pinned memory, with a ticket, instead of device memory. DUO_OK, DUO_DECLINED, or a status.
 */
int test_run_algorithm(const duo_algorithm *algorithm, const duo_call *call, int64_t offset,
                       bool by_pinned);

/* Gives back the memory that test_run_algorithm keeps from call to call. The harness calls it after
 * each test. */
void test_release_arena(void);

#endif
