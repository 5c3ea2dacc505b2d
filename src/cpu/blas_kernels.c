/* blas_kernels.c - names in builds of a BLAS (blas_kernels.h). */
#include "cpu/blas_kernels.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- Functions ---- */

bool duo_blas_function(void *library, const char *name, void *function)
{
    static const char *const forms[] = {"%s", "scipy_%s", "scipy_%s64_"};
    void *address = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && address == NULL; i++) {
        char formed[64];
        snprintf(formed, sizeof formed, forms[i], name);
        address = dlsym(library, formed);
    }
    /* dlsym returns pointers to data, which by POSIX can hold pointers to functions. */
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* ---- Kernels ---- */

const char *duo_width_name(duo_width width)
{
    static const char *const names[] = {[DUO_WIDTH_UNKNOWN] = "unknown",
                                        [DUO_SSE] = "SSE",
                                        [DUO_AVX] = "AVX",
                                        [DUO_AVX2] = "AVX2",
                                        [DUO_AVX512] = "AVX-512"};
    return names[width];
}

duo_width duo_width_of_kernels(const char *core)
{
    static const struct {
        const char *name;
        duo_width width;
    } cores[] = {
        {"Prescott", DUO_SSE},      {"Core2", DUO_SSE},
        {"Katmai", DUO_SSE},        {"Coppermine", DUO_SSE},
        {"Northwood", DUO_SSE},     {"Banias", DUO_SSE},
        {"Penryn", DUO_SSE},        {"Dunnington", DUO_SSE},
        {"Nehalem", DUO_SSE},       {"Atom", DUO_SSE},
        {"Athlon", DUO_SSE},        {"Opteron", DUO_SSE},
        {"Opteron_SSE3", DUO_SSE},  {"Barcelona", DUO_SSE},
        {"Bobcat", DUO_SSE},        {"Nano", DUO_SSE},
        {"Sandybridge", DUO_AVX},   {"Bulldozer", DUO_AVX},
        {"Piledriver", DUO_AVX},    {"Steamroller", DUO_AVX},
        {"Excavator", DUO_AVX2},    {"Haswell", DUO_AVX2},
        {"Zen", DUO_AVX2},          {"SkylakeX", DUO_AVX512},
        {"Cooperlake", DUO_AVX512}, {"SapphireRapids", DUO_AVX512},
    };
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++)
        if (strcasecmp(core, cores[i].name) == 0) return cores[i].width;
    return DUO_WIDTH_UNKNOWN;
}

duo_width duo_width_of_cpu(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return DUO_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return DUO_AVX2;
    return __builtin_cpu_supports("avx") ? DUO_AVX : DUO_SSE;
#else
    return DUO_WIDTH_UNKNOWN;
#endif
}

bool duo_kernels_suit_any_tile(const char *core)
{
    return duo_width_of_kernels(core) == DUO_AVX512;
}

const char *duo_better_kernels(const char *core, duo_width cpu)
{
    static const char *const names[] = {
        [DUO_AVX] = "Sandybridge", [DUO_AVX2] = "Haswell", [DUO_AVX512] = "SkylakeX"};
    const duo_width width = duo_width_of_kernels(core);
    return width != DUO_WIDTH_UNKNOWN && width < cpu ? names[cpu] : NULL;
}
