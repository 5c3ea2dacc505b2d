/* blas_on_sim.c - makes of the drop-in one that stands on the simulated device: for conformance
 * tests on machines without a GPU. */
#include "gpu/backend/devices.h"
#include "sim/sim.h"

static void __attribute__((constructor)) stand_on_sim(void)
{
    sim_reset();
    duo_backend_install(sim_backend());
}
