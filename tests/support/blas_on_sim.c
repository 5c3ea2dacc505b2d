/* blas_on_sim.c - puts the drop-in, or the tool, on the simulated device: for tests on machines
 * without a GPU. */
#include <stdlib.h>

#include "data/remembered.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"

static void __attribute__((constructor)) stand_on_sim(void)
{
    const char *const least = getenv("DUOBLAS_TEST_REMEMBERED_LEAST");
    if (least != NULL) duo_remembered_least = strtoul(least, NULL, 10);
    sim_reset();
    duo_backend_install(sim_backend());
}
