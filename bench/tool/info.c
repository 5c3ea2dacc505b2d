/*
 * info.c - facts about this machine, as the library sees them, and advice if something is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/noise.h"
#include "bench/tool/arguments.h"
#include "bench/tool/blas_kernels.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/algorithm.h"
#include "choice/profile.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "cpu/kernels.h"
#include "cpu/lanes.h"
#include "gpu/backend/backend.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"
#include "host/written.h"

static const char doc[] = "Shows the CPU and its BLAS, the GPUs and the profile in use, and warns "
                          "of what makes them slower than they could be.";

static const duo_option options[] = {
    {"json", 0, NULL, 0, duo_parse_flag, 0, 0, 0, "The same as JSON, for programs"},
    {.name = NULL},
};

const char *const duo_info_variables[] = {
    "DUOBLAS_PATH",    "DUOBLAS_MATH",      "DUOBLAS_VERBOSE",       "DUOBLAS_PROFILE",
    "DUOBLAS_DEVICE",  "DUOBLAS_DEVICES",   "DUOBLAS_DEVICE_MEMORY", "DUOBLAS_WORKSPACE",
    "DUOBLAS_CHECK",   "DUOBLAS_ADAPT",     "DUOBLAS_REMEMBER",      "DUOBLAS_OPEN",
    "DUOBLAS_VERIFY",  "DUOBLAS_CPU_BLAS",  "DUOBLAS_WIPE",          "DUOBLAS_SUMMARY",
    "OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "CUDA_VISIBLE_DEVICES",  NULL};

int duo_info_default_device(void)
{
    const duo_environment *const environment = duo_environment_get();
    int devices = 0;
    (void)duo_device_count(&devices);
    return environment->device_by_rank && devices > 0 ? environment->device % devices
                                                      : environment->device;
}

/* ---- Sections ---- */

static void print_cpu(void)
{
    char size[DUO_TEXT];
    const int quota = duo_quota_cpus("");
    const size_t cache = duo_machine_cache_bytes();
    printf("CPU\n  model          %s, %s\n", duo_machine_cpu(), duo_machine_cpu_id());
    printf("  threads        %d", duo_machine_threads());
    if (quota > 0) printf(" (the container's quota allows %d)", quota);
    printf("\n  vectors        %s\n", duo_lanes_current()->isa);
    printf("  last cache     %s\n", cache > 0 ? duo_text_bytes((double)cache, size) : "unknown");
    const char *why = "";
    const bool watches = duo_written_possible(&why);
    printf("  watched pages  %s%s\n", watches ? "yes" : "no: ", watches ? "" : why);
}

static void print_blas(void)
{
    const duo_blas_library *const blas = duo_blas_library_get();
    printf("\nThe CPU's BLAS (sgemm_cpu_openblas, and the peer of benchmarks)\n");
    if (blas == NULL) {
        printf("  none: %s\n", duo_blas_library_why());
        if (duo_ffma_is_slow())
            printf(
                "  WARNING: this CPU has no fused multiply-add: sgemm is slow without a BLAS.\n"
                "           Remedy: apt install libopenblas0-openmp, or DUOBLAS_CPU_BLAS=FILE.\n");
        return;
    }
    printf("  library        %s\n", blas->path);
    printf("  version        %s\n", blas->config[0] != '\0' ? blas->config : "it does not say");
    printf("  kernels        %s\n", blas->core[0] != '\0' ? blas->core : "it does not say");
    printf("  threads        %d\n", duo_blas_library_threads(blas));
    if (duo_better_kernels(blas->core) != NULL)
        printf("  WARNING: its kernels are for narrower vectors than this CPU has.\n"
               "  Remedy: set OPENBLAS_CORETYPE=%s in the environment, or install a newer OpenBLAS "
               "that\n"
               "          knows this CPU (DUOBLAS_CPU_BLAS=FILE names another library).\n",
               duo_better_kernels(blas->core));
}

static void print_device(int device)
{
    char total[DUO_TEXT], left[DUO_TEXT];
    duo_device_info info = {.size = sizeof info};
    const duo_status status = duo_device_describe(device, &info);
    if (status != DUO_OK) {
        printf("  %d: %s\n", device, duo_status_string(status));
        return;
    }
    printf("  %d: %s%s\n", device, info.name,
           device == duo_info_default_device() ? " (in use by default)" : "");
    printf("     compute capability %d.%d, %d multiprocessors at up to %d MHz\n",
           info.capability_major, info.capability_minor, info.multiprocessors,
           info.clock_khz / 1000);
    printf("     memory %s, %s free, %d bits at %d MHz\n",
           duo_text_bytes((double)info.memory_bytes, total),
           duo_text_bytes((double)info.memory_free_bytes, left), info.memory_bus_bits,
           info.memory_clock_khz / 1000);
    if (info.pcie_generation > 0)
        printf("     link PCIe generation %d, %d lanes\n", info.pcie_generation, info.pcie_width);
    else
        printf("     link speed not told by the driver; `duoblas crossover' measures it\n");
    printf("     driver supports CUDA %d.%d\n", info.driver_version / 1000,
           info.driver_version % 1000 / 10);
}

static void print_gpus(void)
{
    const char *why;
    const int count = duo_devices(&why);
    printf("\nGPU\n");
    if (count == 0)
        printf("  none: %s\n  The CPU does all work.\n", why[0] ? why : "no reason given");
    for (int device = 0; device < count; device++) print_device(device);
}

/* `mark` names the machine of the rate, if it is another one. */
static void print_rate(const char *name, double bytes_per_second, const char *mark)
{
    if (bytes_per_second > 0.0)
        printf("  %-14s %.1f GB/s%s\n", name, bytes_per_second * 1e-9, mark);
}

/* Is the GPU of the profile one of this machine? */
static bool has_gpu_of(const duo_profile *p)
{
    const char *why;
    duo_device_info info = {.size = sizeof info};
    return duo_devices(&why) > 0 &&
           duo_device_describe(duo_environment_get()->device, &info) == DUO_OK &&
           strcmp(info.name, p->gpu) == 0;
}

/* Prints when the curves of each operation were measured. Others are borrowed. */
static void print_measured(const duo_profile *p)
{
    char percent[DUO_TEXT];
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        const duo_measured *const m = &p->measured[i];
        if (m->date[0] == '\0')
            printf("  %-14s borrowed\n", duo_operation_name((duo_operation)i));
        else
            printf("  %-14s %s run of %s, commit %s\n", duo_operation_name((duo_operation)i),
                   m->effort, m->date, m->commit);
        if (m->noise > 0.0)
            printf("  %-14s %s %s\n", "",
                   m->noise > duo_quiet_error ? "NOISY: figures may be off by"
                                              : "quiet: figures lie within",
                   duo_noise_percent(m->noise, percent, sizeof percent));
    }
}

static void print_profile(void)
{
    const duo_profile *const p = duo_profile_in_use();
    char link[160] = "";
    const char *const elsewhere = " (not this machine)";
    const bool other_cpu = strcmp(p->cpu_id, duo_machine_cpu_id()) != 0;
    if (!has_gpu_of(p)) snprintf(link, sizeof link, "  of an %.90s%s", p->gpu, elsewhere);
    printf("\nProfile (what each side costs)\n");
    printf("  in use         %s\n", p->origin);
    printf("  because        %s\n", duo_profile_why());
    printf("  measured on    %s, %s%s\n", p->cpu, p->cpu_id, other_cpu ? elsewhere : "");
    printf("  with           %d thread%s, %s\n", p->threads, p->threads == 1 ? "" : "s", p->blas);
    printf("  GPU part       %s%s%s\n", link[0] != '\0' ? "of an " : "", p->gpu,
           link[0] != '\0' ? elsewhere : "");
    printf("  made           %s, commit %s\n", p->date, p->commit);
    print_measured(p);
    if (duo_profile_noise(p) > duo_quiet_error)
        printf("  WARNING: calls may run where they take longer, by figures of a NOISY machine.\n"
               "           Remedy: `duoblas crossover' when it is idle.\n");
    print_rate("CPU memory", p->cpu_bandwidth, other_cpu ? elsewhere : "");
    print_rate("to GPU", p->upload_pageable, link);
    print_rate("  pinned", p->upload_pinned, link);
    print_rate("from GPU", p->download_pageable, link);
    print_rate("  pinned", p->download_pinned, link);
}

static void print_environment(void)
{
    bool any = false;
    for (int i = 0; duo_info_variables[i] != NULL; i++) {
        const char *const value = getenv(duo_info_variables[i]);
        if (value == NULL) continue;
        printf("%s  %s=%s\n", any ? "" : "\nEnvironment\n", duo_info_variables[i], value);
        any = true;
    }
}

int duo_tool_info(int argc, char **argv)
{
    bool json = false;
    duo_arguments arguments = {.doc = doc, .option = options, .into = &json};
    const int status = duo_tool_parse(&arguments, argc, argv);
    if (status != 0) return status;
    if (json) return duo_info_json() ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
    printf("DuoBLAS %s (commit %s, %s)\n\n", DUO_VERSION_STRING, duo_tool_commit, DUO_COMPILER);
    print_cpu();
    print_blas();
    print_gpus();
    print_profile();
    print_environment();
    return EXIT_SUCCESS;
}
