/* blas_on_sim.c - makes of the drop-in, or of the tool, one that stands on the simulated device:
 * for tests on machines without a GPU. */
#include "gpu/backend/devices.h"
#include "sim/sim.h"

static void __attribute__((constructor)) stand_on_sim(void)
{
    sim_reset();
    duo_backend_install(sim_backend());
}
