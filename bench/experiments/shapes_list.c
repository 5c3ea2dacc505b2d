/*
 * shapes_list.c - sixty shapes of sgemm: squares, primes, tall, wide, deep and flat products, and
 * layers of neural networks. None takes long on a large GPU.
 */
#include "bench/experiments/shapes.h"

#include "bench/measure/problem.h"
#include "gpu/backend/devices.h"

const int64_t duo_shapes[DUO_SHAPES][3] = {
    /* squares: powers of two, round numbers, just off, primes */
    {64, 64, 64},
    {100, 100, 100},
    {128, 128, 128},
    {256, 256, 256},
    {512, 512, 512},
    {997, 997, 997},
    {1000, 1000, 1000},
    {1024, 1024, 1024},
    {1536, 1536, 1536},
    {2003, 2003, 2003},
    {2048, 2048, 2048},
    {3000, 3000, 3000},
    {4092, 4092, 4092},
    {4096, 4096, 4096},
    {8192, 8192, 8192},
    /* no size is a multiple of another */
    {63, 65, 67},
    {127, 131, 4093},
    {509, 1021, 2039},
    {1023, 1025, 1027},
    {2047, 2049, 1023},
    {3001, 1999, 997},
    {4095, 33, 4097},
    /* flat: k small */
    {1024, 1024, 64},
    {2048, 2048, 1},
    {4096, 4096, 8},
    {4096, 4096, 16},
    {4096, 4096, 64},
    {8192, 8192, 128},
    {100000, 8, 64},
    {8, 100000, 64},
    /* deep: k large */
    {1, 1, 1048576},
    {32, 32, 1048576},
    {64, 64, 65536},
    {100, 100, 100000},
    {128, 128, 16384},
    {256, 256, 32768},
    {512, 512, 4096},
    {768, 768, 12288},
    /* tall and wide */
    {1, 4096, 4096},
    {4096, 1, 4096},
    {2, 30000, 1000},
    {16384, 16, 4096},
    {16, 16384, 4096},
    {8192, 32, 8192},
    {32, 8192, 8192},
    {65536, 64, 64},
    {64, 65536, 64},
    {1024, 64, 1024},
    {128, 2048, 1024},
    /* layers: tokens x features, classes, convolutions as products */
    {2048, 768, 768},
    {2048, 3072, 768},
    {2048, 768, 3072},
    {512, 50257, 768},
    {128, 4096, 11008},
    {256, 11008, 4096},
    {8192, 1024, 1024},
    {64, 1000, 2048},
    {3136, 64, 576},
    {12544, 256, 64},
    {49, 512, 4608},
};

/* ---- Random ones ---- */

/* Limits of random products: about 0.1 s on a large GPU, and on a CPU with two threads. */
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
