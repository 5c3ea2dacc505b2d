/* run_cpu.h - runs an algorithm of the CPU, with all operands brought there and results taken
 * home. */
#ifndef DUO_RUN_CPU_H
#define DUO_RUN_CPU_H

#include "call/context.h"

/* DUO_OK, DUO_DECLINED, or an error for the user. */
duo_outcome duo_run_cpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm);

/* sgemm of which the first *finished elements of C are final: what is left, as one or two calls. */
duo_outcome duo_run_cpu_rest(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm,
                             int64_t *finished);

#endif
