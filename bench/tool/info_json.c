/* info_json.c - the facts of `duoblas info` for programs; docs/reference/tool.md has the keys. */
#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/tool/blas_kernels.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/algorithm.h"
#include "choice/profile.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "cpu/lanes.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"
#include "host/written.h"

/* NULL and "" become null: not known. */
static void add_text(cJSON *to, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        (void)cJSON_AddStringToObject(to, key, text);
    else
        (void)cJSON_AddNullToObject(to, key);
}

/* 0 becomes null: not known. */
static void add_number(cJSON *to, const char *key, double value)
{
    if (value > 0.0)
        (void)cJSON_AddNumberToObject(to, key, value);
    else
        (void)cJSON_AddNullToObject(to, key);
}

static void add_tool(cJSON *to)
{
    (void)cJSON_AddNumberToObject(to, "format", 1);
    add_text(to, "tool", "duoblas info");
    add_text(to, "version", DUO_VERSION_STRING);
    add_text(to, "commit", duo_tool_commit);
    add_text(to, "compiler", DUO_COMPILER);
}

static void add_cpu(cJSON *to)
{
    cJSON *const cpu = cJSON_AddObjectToObject(to, "cpu");
    add_text(cpu, "model", duo_machine_cpu());
    add_text(cpu, "id", duo_machine_cpu_id());
    add_number(cpu, "threads", duo_machine_threads());
    add_number(cpu, "quota_threads", duo_quota_cpus(""));
    add_text(cpu, "vectors", duo_lanes_current()->isa);
    add_number(cpu, "last_cache_bytes", (double)duo_machine_cache_bytes());
    const char *why = "";
    (void)cJSON_AddBoolToObject(cpu, "watches_pages", duo_written_possible(&why));
}

static void add_blas(cJSON *to)
{
    const duo_blas_library *const blas = duo_blas_library_get();
    cJSON *const object = cJSON_AddObjectToObject(to, "cpu_blas");
    add_text(object, "library", blas != NULL ? blas->path : NULL);
    add_text(object, "version", blas != NULL ? blas->config : NULL);
    add_text(object, "kernels", blas != NULL ? blas->core : NULL);
    add_text(object, "note", blas != NULL ? "" : duo_blas_library_why());
    add_text(object, "better_kernels", blas != NULL ? duo_better_kernels(blas->core) : NULL);
}

static void add_device(cJSON *list, int device)
{
    char capability[DUO_TEXT], cuda[DUO_TEXT];
    duo_device_info info = {.size = sizeof info};
    const duo_status status = duo_device_describe(device, &info);
    cJSON *const object = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(list, object);
    (void)cJSON_AddNumberToObject(object, "device", device);
    (void)cJSON_AddBoolToObject(object, "default", device == duo_info_default_device());
    add_text(object, "problem", status != DUO_OK ? duo_status_string(status) : NULL);
    if (status != DUO_OK) return;
    snprintf(capability, sizeof capability, "%d.%d", info.capability_major, info.capability_minor);
    snprintf(cuda, sizeof cuda, "%d.%d", info.driver_version / 1000,
             info.driver_version % 1000 / 10);
    add_text(object, "name", info.name);
    add_text(object, "compute_capability", capability);
    add_number(object, "multiprocessors", info.multiprocessors);
    add_number(object, "clock_khz", info.clock_khz);
    add_number(object, "memory_bytes", (double)info.memory_bytes);
    (void)cJSON_AddNumberToObject(object, "memory_free_bytes", (double)info.memory_free_bytes);
    add_number(object, "memory_clock_khz", info.memory_clock_khz);
    add_number(object, "memory_bus_bits", info.memory_bus_bits);
    add_number(object, "pcie_generation", info.pcie_generation);
    add_number(object, "pcie_width", info.pcie_width);
    add_text(object, "driver_cuda", cuda);
}

static void add_gpus(cJSON *to)
{
    const char *why;
    const int count = duo_devices(&why);
    cJSON *const list = cJSON_AddArrayToObject(to, "gpus");
    for (int device = 0; device < count; device++) add_device(list, device);
    add_text(to, "no_gpu_because", count == 0 ? why : NULL);
}

static void add_measured(cJSON *to, const duo_profile *p)
{
    cJSON *const all = cJSON_AddObjectToObject(to, "measured");
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        const duo_measured *const m = &p->measured[i];
        const char *const name = duo_operation_name((duo_operation)i);
        if (m->date[0] == '\0') {
            (void)cJSON_AddNullToObject(all, name);
            continue;
        }
        cJSON *const one = cJSON_AddObjectToObject(all, name);
        add_text(one, "effort", m->effort);
        add_text(one, "date", m->date);
        add_text(one, "commit", m->commit);
        add_number(one, "noise", m->noise);
    }
}

static void add_profile(cJSON *to)
{
    const duo_profile *const p = duo_profile_in_use();
    cJSON *const object = cJSON_AddObjectToObject(to, "profile");
    add_text(object, "in_use", p->origin);
    add_text(object, "because", duo_profile_why());
    add_text(object, "cpu", p->cpu);
    add_text(object, "cpu_id", p->cpu_id);
    add_number(object, "threads", p->threads);
    add_text(object, "blas", p->blas);
    add_text(object, "gpu", p->gpu);
    add_text(object, "date", p->date);
    add_text(object, "commit", p->commit);
    (void)cJSON_AddBoolToObject(object, "noisy", duo_profile_noise(p) > duo_quiet_error);
    add_measured(object, p);
    add_number(object, "cpu_bytes_per_second", p->cpu_bandwidth);
    add_number(object, "upload_bytes_per_second", p->upload_pageable);
    add_number(object, "upload_pinned_bytes_per_second", p->upload_pinned);
    add_number(object, "download_bytes_per_second", p->download_pageable);
    add_number(object, "download_pinned_bytes_per_second", p->download_pinned);
}

static void add_environment(cJSON *to)
{
    const duo_environment *const environment = duo_environment_get();
    cJSON *const variables = cJSON_AddObjectToObject(to, "environment");
    for (int i = 0; duo_info_variables[i] != NULL; i++) {
        const char *const value = getenv(duo_info_variables[i]);
        if (value != NULL) (void)cJSON_AddStringToObject(variables, duo_info_variables[i], value);
    }
    cJSON *const complaints = cJSON_AddArrayToObject(to, "complaints");
    for (int i = 0; i < environment->complaints; i++)
        (void)cJSON_AddItemToArray(complaints, cJSON_CreateString(environment->complaint[i]));
}

bool duo_info_json(void)
{
    cJSON *const root = cJSON_CreateObject();
    add_tool(root);
    add_cpu(root);
    add_blas(root);
    add_gpus(root);
    add_profile(root);
    add_environment(root);
    char *const text = cJSON_Print(root);
    cJSON_Delete(root);
    if (text != NULL)
        printf("%s\n", text);
    else
        fprintf(stderr, "duoblas: no memory for JSON\n");
    free(text);
    return text != NULL;
}
