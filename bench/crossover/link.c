/* link.c - measures transfers between host and GPU, for the profile. */
#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/implementation.h"
#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"

static const double kLinkBytes = 256.0 * 1024 * 1024;
enum { SMALL = 1024 };

static duo_effort effort_of(const duo_crossover *x)
{
    return x->quick ? (duo_effort){.sample_seconds = 0.002, .rounds = 5, .budget_seconds = 0.2}
                    : (duo_effort){.sample_seconds = 0.01, .rounds = 9, .budget_seconds = 1.0};
}

static double at_least(double value, double least) { return value > least ? value : least; }

/* Sets defaults for figures that cannot be measured. */
static void begin(duo_profile *profile)
{
    const duo_profile *const from = duo_profile_in_use();
    profile->upload_pageable = from->upload_pageable;
    profile->upload_pinned = from->upload_pinned;
    profile->download_pageable = from->download_pageable;
    profile->download_pinned = from->download_pinned;
    profile->copy_seconds = from->copy_seconds;
    profile->round_trip_seconds = from->round_trip_seconds;
    profile->query_seconds = from->query_seconds;
    profile->open_seconds = from->open_seconds;
}

typedef struct transfer {
    duo_context *context;
    float *to;
    const float *from;
    size_t bytes;
} transfer;

static bool copy_and_wait(void *user, int64_t calls)
{
    const transfer *const t = user;
    for (int64_t i = 0; i < calls; i++)
        if (duo_copy(t->context, t->to, t->from, t->bytes) != DUO_OK ||
            duo_synchronize(t->context) != DUO_OK)
            return false;
    return true;
}

static void measure_rates(const duo_crossover *x, duo_profile *profile)
{
    float *const device = x->stock[DUO_PLACE_DEVICE].input;
    float *const pageable = x->stock[DUO_PLACE_PAGEABLE].input;
    float *const pinned = x->stock[DUO_PLACE_PINNED].input;
    size_t bytes = 4 * x->stock[DUO_PLACE_DEVICE].input_floats;
    if ((double)bytes > kLinkBytes) bytes = (size_t)kLinkBytes;
    /* All stocks hold the same numbers, so copies between them change nothing. */
    transfer way[] = {{x->context, device, pageable, bytes},
                      {x->context, device, pinned, bytes},
                      {x->context, pageable, device, bytes},
                      {x->context, pinned, device, bytes}};
    double *const rate[] = {&profile->upload_pageable, &profile->upload_pinned,
                            &profile->download_pageable, &profile->download_pinned};
    duo_benchmark benchmark[4];
    const duo_effort effort = effort_of(x);
    for (int i = 0; i < 4; i++)
        benchmark[i] = (duo_benchmark){.run = copy_and_wait, .user = &way[i]};
    duo_measure(benchmark, 4, &effort);
    for (int i = 0; i < 4; i++)
        if (!benchmark[i].failed) *rate[i] = (double)bytes / benchmark[i].median_seconds;
}

static bool ask_driver(void *user, int64_t calls)
{
    duo_memory memory;
    for (int64_t i = 0; i < calls; i++)
        if (duo_backend_current()->classify(user, &memory) != DUO_OK) return false;
    return true;
}

/*
 * Measures fixed costs as differences between calls on a small array. A resident call minus the
 * kernel in a busy queue gives the way of a result to the host. A pageable call minus a resident
 * one gives one transfer.
 */
static void measure_fixed_costs(const duo_crossover *x, duo_profile *profile)
{
    const duo_problem small = {.operation = DUO_SSUM, .shape = {SMALL, 1, 1}};
    const duo_algorithm_table table = duo_algorithm_tables[DUO_SSUM];
    const duo_algorithm *algorithm = NULL;
    for (int i = 0; i < table.count; i++)
        if (table.algorithm[i].side == DUO_SIDE_GPU &&
            duo_algorithm_serves(&table.algorithm[i], DUO_CROSSOVER_MATH))
            algorithm = &table.algorithm[i];
    if (algorithm == NULL) return;
    const duo_implementation implementation[] = {
        duo_gpu_implementation(algorithm, x->queue, &x->stock[DUO_PLACE_DEVICE], false),
        duo_api_implementation(x->context, &x->stock[DUO_PLACE_DEVICE], false),
        duo_api_implementation(x->context, &x->stock[DUO_PLACE_PAGEABLE], false),
    };
    enum { QUEUE, RESIDENT, PAGEABLE, CALLS, QUERY = CALLS, BENCHMARKS };
    duo_benchmark benchmark[BENCHMARKS] = {{0}};
    bool good = true;
    for (int i = 0; i < CALLS && good; i++)
        good = duo_benchmark_open(&benchmark[i], &implementation[i], &small);
    benchmark[QUERY] =
        (duo_benchmark){.run = ask_driver, .user = x->stock[DUO_PLACE_PAGEABLE].input};
    const duo_effort effort = effort_of(x);
    if (good) duo_measure(benchmark, BENCHMARKS, &effort);
    for (int i = 0; i < CALLS; i++) duo_benchmark_close(&benchmark[i]);
    if (!good) return;
    if (!benchmark[RESIDENT].failed && !benchmark[QUEUE].failed)
        profile->round_trip_seconds =
            at_least(benchmark[RESIDENT].median_seconds - benchmark[QUEUE].median_seconds, 1e-7);
    if (!benchmark[RESIDENT].failed && !benchmark[PAGEABLE].failed)
        profile->copy_seconds =
            at_least(benchmark[PAGEABLE].median_seconds - benchmark[RESIDENT].median_seconds -
                         4.0 * SMALL / profile->upload_pageable,
                     1e-7);
    if (!benchmark[QUERY].failed) profile->query_seconds = benchmark[QUERY].median_seconds;
}

void duo_crossover_link(const duo_crossover *x, duo_profile *profile)
{
    begin(profile);
    measure_rates(x, profile);
    measure_fixed_costs(x, profile);
    if (x->open_seconds > 0.0) profile->open_seconds = x->open_seconds;
}
