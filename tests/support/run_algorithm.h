/*
 * run_algorithm.h - algorithms of the tables, one by one, below the public API.
 */
#ifndef DUO_TESTS_RUN_ALGORITHM_H
#define DUO_TESTS_RUN_ALGORITHM_H

#include "choice/algorithm.h"

/* Rows of an operation that can be run in this mode: CPU rows in cpu mode, GPU rows otherwise. */
int test_rows(duo_operation operation, const duo_algorithm *row[DUO_CANDIDATES]);

/* Does the row round its operands to TF32? */
bool test_row_rounds(const duo_algorithm *row);

/* Does the row take the call, on a conditions where everything is allowed? */
bool test_row_accepts(const duo_algorithm *row, const duo_call *call);

/*
 * Runs a call whose operands are in host memory on this very row: a CPU row directly, a GPU row
 * through the backend in use (allocate, copy, launch, copy back). On the device, the operand lies
 * `offset` floats past a 256-byte boundary between poison, which must be the same afterwards; very
 * long gaps are left out there. by_slot: a reduction answers through the slot instead of device
 * memory. DUO_OK, DUO_DECLINED, or a status.
 */
int test_run_row(const duo_algorithm *row, const duo_call *call, int64_t offset, bool by_slot);

/* Gives back the memory that test_run_row keeps from call to call; the harness does after each test. */
void test_release_arena(void);

#endif
