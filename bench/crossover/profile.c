/*
 * profile.c - the profile: curves from the cases, and what sharing work among threads costs.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/measure/benchmark.h"
#include "bench/measure/statistics.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "host/machine.h"
#include "host/team.h"

enum { MOST_TEAMS = 12, FORKS = 4096, LEAST_FORKS = 16 };

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

/* A piece of work so long that no thread does two of them where all threads come. */
static const double kPieceSeconds = 5e-6;

static void take_a_while(void *job, int64_t piece)
{
    (void)job;
    (void)piece;
    const double begin = duo_now_seconds();
    while (duo_now_seconds() - begin < kPieceSeconds) continue;
}

/*
 * Seconds that sharing work among threads costs, beside the work. As many pieces as threads take as
 * long as one piece; what they take beyond it is the cost. Each run is timed by itself. Where a
 * thread had to wait for a processor another one did its piece as well, and the run took twice as
 * long: that is the neighbours' doing, and such a run does not count.
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

/* What t threads cost, fitted by a + b*t. */
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

/* ---- The whole ---- */

static void forget_gpu_algorithms(duo_profile *profile)
{
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const duo_algorithm_table table = duo_algorithm_tables[operation];
        for (int i = 0; i < table.count; i++)
            if (table.algorithm[i].side == DUO_SIDE_GPU)
                profile->curve[table.algorithm[i].id].count = 0;
    }
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

void duo_crossover_profile(const duo_crossover *x, duo_profile *profile)
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
    duo_crossover_corrections(x, profile);
    if (!x->gpu) return;
    snprintf(profile->gpu, sizeof profile->gpu, "%s", x->gpu_name);
    snprintf(profile->driver, sizeof profile->driver, "%s", x->driver);
    duo_crossover_link(x, profile);
}
