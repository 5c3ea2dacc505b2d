/* kernels.h - the arithmetic of the simulated device. */
#ifndef DUO_TESTS_SIM_KERNELS_H
#define DUO_TESTS_SIM_KERNELS_H

#include "sim/worker.h"

void sim_run_sgemm(const work *w);
void sim_run_reduction(const work *w, const duo_call *call);

#endif
