/* run_cpu.h - runs an algorithm of the CPU: operands are brought to host memory, and what it wrote
 * goes where it belongs. */
#ifndef DUO_RUN_CPU_H
#define DUO_RUN_CPU_H

#include "call/context.h"

/* DUO_OK, DUO_DECLINED, or an error for the user. */
duo_outcome duo_run_cpu(duo_context *ctx, const duo_call *call, const duo_algorithm *algorithm);

#endif
