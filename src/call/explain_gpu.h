/* explain_gpu.h - what a GPU that is not open would do, and what remembered factors have spared. */
#ifndef DUO_EXPLAIN_GPU_H
#define DUO_EXPLAIN_GPU_H

#include "call/last.h"

/* Fills in the fields gpu to spared_seconds, for a complete `last` with an algorithm that ran.
 * no_gpu: as for duo_explain_reason. */
void duo_explain_gpu(const duo_last *last, const char *no_gpu, duo_decision *decision);

#endif
