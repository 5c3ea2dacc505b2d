/* blas_kernels.c - see blas_kernels.h */
#include "bench/tool/blas_kernels.h"

#include <stddef.h>
#include <strings.h>

typedef enum width { UNKNOWN, SSE, AVX, AVX2, AVX512 } width;

static width width_of_kernels(const char *core)
{
    static const struct {
        const char *name;
        width width;
    } cores[] = {
        {"Prescott", SSE},      {"Core2", SSE},
        {"Katmai", SSE},        {"Coppermine", SSE},
        {"Northwood", SSE},     {"Banias", SSE},
        {"Penryn", SSE},        {"Dunnington", SSE},
        {"Nehalem", SSE},       {"Atom", SSE},
        {"Athlon", SSE},        {"Opteron", SSE},
        {"Opteron_SSE3", SSE},  {"Barcelona", SSE},
        {"Bobcat", SSE},        {"Nano", SSE},
        {"Sandybridge", AVX},   {"Bulldozer", AVX},
        {"Piledriver", AVX},    {"Steamroller", AVX},
        {"Excavator", AVX2},    {"Haswell", AVX2},
        {"Zen", AVX2},          {"SkylakeX", AVX512},
        {"Cooperlake", AVX512}, {"SapphireRapids", AVX512},
    };
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++)
        if (strcasecmp(core, cores[i].name) == 0) return cores[i].width;
    return UNKNOWN;
}

static width width_of_cpu(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return AVX2;
    return __builtin_cpu_supports("avx") ? AVX : SSE;
#else
    return UNKNOWN;
#endif
}

const char *duo_better_kernels(const char *core)
{
    static const char *const names[] = {
        [AVX] = "Sandybridge", [AVX2] = "Haswell", [AVX512] = "SkylakeX"};
    const width kernels = width_of_kernels(core), cpu = width_of_cpu();
    return kernels != UNKNOWN && kernels < cpu ? names[cpu] : NULL;
}
