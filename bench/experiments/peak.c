/* peak.c - the peak rate of a product on a GPU (ladder.h) */
#include "bench/experiments/ladder.h"

#include "gpu/split/schemes.h"

/* ---- The units of each algorithm ---- */

/* The number of 16-bit products on tensor cores for one float32 product. If an algorithm for
 * ACCURATE or TF32 has no line here, this does not compile. */
enum {
#define PRODUCTS_OF_SCHEME(name, planes, products, stage_k, cluster)                               \
    PRODUCTS_sgemm_gpu_##name = (products),
    DUO_SCHEME_LIST(PRODUCTS_OF_SCHEME)
#undef PRODUCTS_OF_SCHEME
        PRODUCTS_sgemm_gpu_mma = PRODUCTS_sgemm_gpu_fp16x3,
    PRODUCTS_sgemm_cpu_openblas = 1 /* not asked for: it runs on no GPU */
};

typedef enum unit { FP32_LANES, TENSOR_16_BIT, TENSOR_FLOAT64 } unit;

typedef struct work {
    unit unit;
    int products;
} work;

#define WORK_FLOAT32(name)                                                                         \
    {                                                                                              \
        FP32_LANES, 1                                                                              \
    }
#define WORK_ACCURATE(name)                                                                        \
    {                                                                                              \
        TENSOR_16_BIT, PRODUCTS_##name                                                             \
    }
#define WORK_TF32(name)                                                                            \
    {                                                                                              \
        TENSOR_16_BIT, PRODUCTS_##name                                                             \
    }
#define WORK_FLOAT64(name)                                                                         \
    {                                                                                              \
        TENSOR_FLOAT64, 1                                                                          \
    }
#define WORK(operation, side, maths, name) [DUO_##name] = WORK_##maths(name),
static const work works[DUO_ALGORITHMS] = {DUO_ALGORITHM_LIST(WORK)};
#undef WORK

/* ---- The units of each device ---- */

/* FP32 lanes of a multiprocessor (CUDA C++ Programming Guide, "Arithmetic Instructions"). */
static int lanes(int capability) { return capability == 75 || capability == 80 ? 64 : 128; }

/*
 * TFLOP/s of one multiprocessor's tensor cores, dense: 16-bit products with float32 sums, and
 * float64. From data sheets of A100 (108 multiprocessors), H100 SXM (132) and B200 (148). 0: not
 * known, or devices of one capability differ.
 */
static const struct {
    int capability;
    double sixteen_bit, float64;
} sheet[] = {
    {80, 312.0 / 108, 19.5 / 108},
    {90, 989.4 / 132, 66.9 / 132},
    {100, 2250.0 / 148, 0.0},
};

static double tensor_peak(const work *w, int capability)
{
    for (size_t i = 0; i < sizeof sheet / sizeof sheet[0]; i++)
        if (sheet[i].capability == capability)
            return 1e12 * (w->unit == TENSOR_FLOAT64 ? sheet[i].float64 : sheet[i].sixteen_bit) /
                   w->products;
    return 0.0;
}

double duo_peak_flops(const duo_algorithm *algorithm, const duo_device_info *device)
{
    const int capability = 10 * device->capability_major + device->capability_minor;
    const work *const w = algorithm != NULL ? &works[algorithm->id] : NULL;
    if (w != NULL && w->unit != FP32_LANES)
        return device->multiprocessors * tensor_peak(w, capability);
    return 2e3 * lanes(capability) * device->multiprocessors * (double)device->clock_khz;
}
