/*
 * profile.c - the profile: curves from the cases, and the few rates that need a
 * measurement of their own.
 */
#include <math.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/implementation.h"
#include "bench/measure/statistics.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "gpu/backend/devices.h"
#include "host/machine.h"
#include "host/team.h"

static const double kLinkBytes = 256.0 * 1024 * 1024;
enum { SMALL = 1024, MOST_TEAMS = 12, FORKS = 4096, LEAST_FORKS = 16 };

static duo_effort effort_of(const duo_crossover *x)
{
    return x->quick ? (duo_effort){.sample_seconds = 0.002, .rounds = 5, .budget_seconds = 0.2}
                    : (duo_effort){.sample_seconds = 0.01, .rounds = 9, .budget_seconds = 1.0};
}

static double at_least(double value, double least) { return value > least ? value : least; }

/* ---- Curves ---- */

/* The measured points of an algorithm, on one thread or in a busy queue; squares alone for
 * sgemm. */
static void take_curve(const duo_crossover *x, const duo_algorithm *algorithm,
                       duo_operation operation, duo_curve *curve)
{
    duo_curve taken = {0};
    for (int i = 0; i < x->cases && taken.count < DUO_CURVE_POINTS; i++) {
        const duo_case *const c = &x->item[i];
        const duo_figure *const f = &c->figure[DUO_SERIES_ONE + (int)algorithm->id];
        if (c->problem.operation != operation || f->median_seconds <= 0.0 || f->predicted) continue;
        if (operation == DUO_SGEMM && strcmp(c->family, "n x n x n") != 0) continue;
        taken.size[taken.count] = (double)c->n;
        taken.seconds[taken.count++] = f->median_seconds;
    }
    /* More work never takes less time: where it seems to, somebody disturbed the smaller size. */
    for (int i = taken.count - 2; i >= 0; i--)
        if (taken.seconds[i] > taken.seconds[i + 1]) taken.seconds[i] = taken.seconds[i + 1];
    if (taken.count > 0) *curve = taken;
}

static void take_curves(const duo_crossover *x, duo_profile *profile)
{
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const duo_algorithm_table table = duo_algorithm_tables[operation];
        for (int i = 0; i < table.count; i++) {
            const duo_algorithm *const algorithm = &table.algorithm[i];
            duo_curve *const curve = &profile->curve[algorithm->id];
            if (algorithm->side == DUO_SIDE_CPU || x->gpu)
                take_curve(x, algorithm, (duo_operation)operation, curve);
        }
    }
}

/* ---- The CPU ---- */

/* So long a piece of work that nobody does two where all threads come. */
static const double kPieceSeconds = 5e-6;

static void take_a_while(void *job, int64_t piece)
{
    (void)job;
    (void)piece;
    const double begin = duo_now_seconds();
    while (duo_now_seconds() - begin < kPieceSeconds) continue;
}

/*
 * Seconds that sharing out takes, beside the work: a piece for each thread takes as long as one,
 * and what is beyond that. Each is timed alone, and the quick ones count; where a thread of the
 * team had to wait for a processor, another did its piece as well, and that tells of the
 * neighbours.
 */
static double fork_and_join(int threads, double most_seconds)
{
    double sample[FORKS];
    int count = 0, together = 0;
    const double began = duo_now_seconds();
    while (count < FORKS && (count < LEAST_FORKS || duo_now_seconds() - began < most_seconds)) {
        const double begin = duo_now_seconds();
        duo_team_run(take_a_while, NULL, threads, threads);
        sample[count++] = duo_now_seconds() - begin - kPieceSeconds;
    }
    for (int i = 0; i < count; i++)
        if (sample[i] < 0.9 * kPieceSeconds) sample[together++] = sample[i];
    if (together == 0) together = count;
    return at_least(duo_low_quantile(sample, together), 0.0);
}

/* Start and join of a team of t threads, fitted by a + b*t. */
static void measure_forks(const duo_crossover *x, duo_profile *profile)
{
    int team[MOST_TEAMS], teams = 0;
    for (int t = 2; t < x->threads && teams < MOST_TEAMS - 1; t *= 2) team[teams++] = t;
    if (x->threads > 1) team[teams++] = x->threads;
    double t1 = 0.0, t2 = 0.0, s1 = 0.0, ts = 0.0;
    for (int i = 0; i < teams; i++) {
        const double t = team[i], s = fork_and_join(team[i], x->quick ? 0.02 : 0.1);
        t1 += t;
        t2 += t * t;
        s1 += s;
        ts += t * s;
    }
    if (teams == 0) return; /* one thread never forks: what the profile in use has will do */
    const double spread = teams * t2 - t1 * t1;
    double slope = spread > 0.0 ? (teams * ts - t1 * s1) / spread : 0.0;
    if (slope < 0.0) slope = 0.0;
    profile->fork_seconds_per_thread = slope;
    profile->fork_seconds = at_least((s1 - slope * t1) / teams, 0.0);
}

/* Bandwidth and efficiency of all threads, from the largest sizes that were measured. */
static void take_parallel(const duo_crossover *x, duo_profile *profile)
{
    double bytes = 2.0 * (double)duo_machine_cache_bytes(), edge = 0.0;
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        const duo_figure *const cpu = duo_crossover_cpu(c);
        if (cpu->median_seconds <= 0.0 || cpu->predicted) continue;
        if (c->problem.operation != DUO_SGEMM) {
            if (duo_problem_bytes(&c->problem) < bytes) continue;
            bytes = duo_problem_bytes(&c->problem);
            profile->cpu_bandwidth = bytes / cpu->median_seconds;
            continue;
        }
        const duo_figure *const one = &c->figure[DUO_SERIES_ONE + (int)DUO_sgemm_cpu_openblas];
        const duo_figure *const all = &c->figure[DUO_SERIES_ALL + (int)DUO_sgemm_cpu_openblas];
        if (strcmp(c->family, "n x n x n") != 0 || (double)c->n < edge || one->predicted ||
            all->predicted || one->median_seconds <= 0.0 || all->median_seconds <= 0.0)
            continue;
        edge = (double)c->n;
        profile->sgemm_efficiency =
            at_least(one->median_seconds / all->median_seconds / x->threads, 0.01);
    }
}

/* ---- The link ---- */

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
    /* All stocks hold the same numbers: copying them about changes none. */
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
 * Fixed costs, as differences between whole calls on a small array: resident less the kernel in a
 * busy queue is the way of a result to the host; pageable less resident is one transfer.
 */
static void measure_fixed_costs(duo_crossover *x, duo_profile *profile)
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

static void forget_gpu_algorithms(duo_profile *profile)
{
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const duo_algorithm_table table = duo_algorithm_tables[operation];
        for (int i = 0; i < table.count; i++)
            if (table.algorithm[i].side == DUO_SIDE_GPU)
                profile->curve[table.algorithm[i].id].count = 0;
    }
}

/* Figures that serve where one cannot be measured. */
static void begin_link(duo_profile *profile)
{
    const duo_profile *const from = duo_profile_in_use();
    profile->upload_pageable = from->upload_pageable;
    profile->upload_pinned = from->upload_pinned;
    profile->download_pageable = from->download_pageable;
    profile->download_pinned = from->download_pinned;
    profile->copy_seconds = from->copy_seconds;
    profile->round_trip_seconds = from->round_trip_seconds;
    profile->query_seconds = from->query_seconds;
}

/* What was measured here before, with as many threads and this GPU, stays as it was; nothing else
 * is this machine's. */
static void begin_profile(const duo_crossover *x, duo_profile *profile)
{
    const duo_profile *const before = duo_profile_measured();
    *profile = (duo_profile){.gpu = "none", .driver = "none"};
    if (before != NULL) *profile = *before;
    if (profile->threads != x->threads) profile->cpu_bandwidth = profile->sgemm_efficiency = 0.0;
    if (x->gpu && strcmp(profile->gpu, x->gpu_name) != 0) forget_gpu_algorithms(profile);
    profile->fork_seconds = duo_profile_in_use()->fork_seconds;
    profile->fork_seconds_per_thread = duo_profile_in_use()->fork_seconds_per_thread;
}

void duo_crossover_profile(duo_crossover *x, duo_profile *profile)
{
    char date[DUO_TEXT];
    begin_profile(x, profile);
    snprintf(profile->origin, sizeof profile->origin, "this run");
    snprintf(profile->version, sizeof profile->version, "%d.%d.%d", DUO_VERSION_MAJOR,
             DUO_VERSION_MINOR, DUO_VERSION_PATCH);
    snprintf(profile->cpu, sizeof profile->cpu, "%s", duo_machine_cpu());
    snprintf(profile->cpu_id, sizeof profile->cpu_id, "%s", duo_machine_cpu_id());
    snprintf(profile->blas, sizeof profile->blas, "%s", duo_blas_library_name());
    snprintf(profile->date, sizeof profile->date, "%.20s", duo_text_date(date));
    snprintf(profile->commit, sizeof profile->commit, "%.40s", duo_tool_commit);
    profile->threads = x->threads;
    take_curves(x, profile);
    measure_forks(x, profile);
    take_parallel(x, profile);
    if (!x->gpu) return;
    snprintf(profile->gpu, sizeof profile->gpu, "%s", x->gpu_name);
    snprintf(profile->driver, sizeof profile->driver, "%s", x->driver);
    begin_link(profile);
    measure_rates(x, profile);
    measure_fixed_costs(x, profile);
}
