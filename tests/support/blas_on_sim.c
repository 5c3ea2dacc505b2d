/* blas_on_sim.c - puts the drop-in, or the tool, on the simulated device: for tests on machines
 * without a GPU. */
#include "gpu/backend/devices.h"
#include "sim/sim.h"

static void __attribute__((constructor)) stand_on_sim(void)
{
    sim_reset();
    duo_backend_install(sim_backend());
}
