/* shapes_random.c - see shapes_random.h */
#include "bench/experiments/shapes_random.h"

#include "bench/measure/random_shape.h"
#include "gpu/backend/devices.h"

/* Some 0.1 s of a large GPU, and of a CPU with two threads. */
static const double kMostFlopsOfGpu = 5e12, kMostFlopsOfCpu = 1e10;

void duo_shapes_draw(const duo_bench *bench, duo_problem *problem)
{
    const char *why;
    const bool gpu = bench->sides[DUO_SIDE_GPU] && duo_devices(&why) > 0;
    const double most = gpu ? kMostFlopsOfGpu : kMostFlopsOfCpu;
    uint64_t random = bench->seed;
    for (int i = 0; i < bench->random; i++) {
        do problem[i] = duo_random_product(&random, (duo_shape_class)(i % DUO_SGEMM_CLASSES));
        while (duo_problem_flops(&problem[i]) > most);
    }
}
