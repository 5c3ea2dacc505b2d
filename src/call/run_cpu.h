/* run_cpu.h - runs an algorithm of the CPU: operands are brought to host memory, and what it wrote
 * goes where it belongs. */
#ifndef DUO_RUN_CPU_H
#define DUO_RUN_CPU_H

#include "call/context.h"

/* DUO_OK, DUO_DECLINED, or an error for the user. */
duo_outcome duo_run_cpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm);

/*
 * Finishes a sgemm of which the first *finished elements of C, in order of columns, are final: the
 * rest of one column, then all whole columns. *finished grows with what has been done. Outcomes as
 * of duo_run_cpu.
 */
duo_outcome duo_run_cpu_rest(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                             int64_t *finished);

#endif
