/* peak.c - see peak.h */
#include "bench/experiments/peak.h"

#include <string.h>

/* FP32 lanes of a multiprocessor; CUDA C++ Programming Guide, "Arithmetic Instructions". */
static int lanes(int capability) { return capability == 75 || capability == 80 ? 64 : 128; }

/*
 * TFLOP/s of one multiprocessor's tensor cores, dense, float32 sums of 16-bit products, and
 * float64: data sheets of A100 (108 multiprocessors), H100 SXM (132) and B200 (148). 0: not known,
 * or different among the devices of one capability.
 */
static const struct {
    int capability;
    double sixteen_bit, float64;
} sheet[] = {
    {80, 312.0 / 108, 19.5 / 108},
    {90, 989.4 / 132, 66.9 / 132},
    {100, 2250.0 / 148, 0.0},
};

/* Rows that work on tensor cores, and how many of their products make one of float32's. */
static const struct {
    const char *algorithm;
    int products; /* 0: one of float64 */
} tensor_rows[] = {
    {"sgemm_gpu_bf16x6", 6}, {"sgemm_gpu_fp16x3", 3}, {"sgemm_gpu_fp16x1", 1},
    {"sgemm_gpu_mma", 3},    {"sgemm_gpu_f64", 0},
};

static double tensor_peak(int products, int capability)
{
    for (size_t i = 0; i < sizeof sheet / sizeof sheet[0]; i++)
        if (sheet[i].capability == capability)
            return 1e12 * (products > 0 ? sheet[i].sixteen_bit / products : sheet[i].float64);
    return 0.0;
}

double duo_peak_flops(const char *row, const duo_device_info *device)
{
    const int capability = 10 * device->capability_major + device->capability_minor;
    for (size_t i = 0; i < sizeof tensor_rows / sizeof tensor_rows[0]; i++)
        if (strcmp(row, tensor_rows[i].algorithm) == 0)
            return device->multiprocessors * tensor_peak(tensor_rows[i].products, capability);
    return 2e3 * lanes(capability) * device->multiprocessors * (double)device->clock_khz;
}
