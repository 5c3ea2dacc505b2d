/*
 * kernels.h - the CPU's algorithms, each in the file of its name.
 *
 * All operands are in host memory. An algorithm returns DUO_OK, or DUO_DECLINED with nothing
 * written.
 */
#ifndef DUO_CPU_KERNELS_H
#define DUO_CPU_KERNELS_H

#include "algorithms.h"
#include "call.h"

#define DUO_DECLARE_CPU(name) duo_outcome duo_##name(const duo_call *call);
#define DUO_DECLARE_GPU(name)
#define DUO_DECLARE(operation, side, maths, name) DUO_DECLARE_##side(name)
DUO_ALGORITHM_LIST(DUO_DECLARE)
#undef DUO_DECLARE
#undef DUO_DECLARE_GPU
#undef DUO_DECLARE_CPU

#endif
