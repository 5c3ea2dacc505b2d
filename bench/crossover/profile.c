/* profile.c - makes the profile: curves from the cases, and notes on its measurements. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "host/machine.h"

static double at_least(double value, double least) { return value > least ? value : least; }

/* ---- Curves ---- */

/* Makes a curve from the measured points of a series; for sgemm only from squares. */
static void take_curve(const duo_crossover *x, int series, duo_operation operation,
                       duo_curve *curve)
{
    duo_curve taken = {0};
    for (int i = 0; i < x->cases && taken.count < DUO_CURVE_POINTS; i++) {
        const duo_case *const c = &x->item[i];
        const duo_figure *const f = &c->figure[series];
        if (c->problem.operation != operation || !duo_figure_measured(f)) continue;
        if (operation == DUO_SGEMM && strcmp(c->family, "n x n x n") != 0) continue;
        taken.size[taken.count] = (double)c->n;
        taken.seconds[taken.count++] = f->median_seconds;
    }
    /* More work never takes less time. If it seems to, the smaller size was disturbed. */
    for (int i = taken.count - 2; i >= 0; i--)
        if (taken.seconds[i] > taken.seconds[i + 1]) taken.seconds[i] = taken.seconds[i + 1];
    if (taken.count > 0) *curve = taken;
}

/* Notes when an operation was measured. If its figures come from several sessions, the profile
 * claims only facts that hold for all: the oldest date, quick if any was, the most noise. */
static void take_session(const duo_crossover *x, duo_operation operation, duo_measured *measured)
{
    const duo_session *oldest = NULL;
    bool quick = false;
    double noise = 0.0;
    for (int i = 0; i < x->cases; i++)
        for (int series = 0; series < DUO_SERIES; series++) {
            const duo_figure *const f = &x->item[i].figure[series];
            if (x->item[i].problem.operation != operation || !duo_figure_measured(f)) continue;
            const duo_session *const s = &x->session[f->session];
            if (oldest == NULL || strcmp(s->date, oldest->date) < 0) oldest = s;
            quick |= s->quick;
            noise = at_least(s->noise, noise);
        }
    if (oldest == NULL) return;
    snprintf(measured->date, sizeof measured->date, "%s", oldest->date);
    snprintf(measured->commit, sizeof measured->commit, "%s", oldest->commit);
    snprintf(measured->effort, sizeof measured->effort, "%s", quick ? "quick" : "full");
    measured->noise = noise;
}

void duo_crossover_sessions(const duo_crossover *x, duo_profile *profile)
{
    for (int operation = 0; operation < DUO_OPERATIONS; operation++)
        take_session(x, (duo_operation)operation, &profile->measured[operation]);
}

static void take_curves(const duo_crossover *x, duo_profile *profile)
{
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const duo_algorithm_table table = duo_algorithm_tables[operation];
        for (int i = 0; i < table.count; i++) {
            const duo_algorithm *const algorithm = &table.algorithm[i];
            const int id = (int)algorithm->id;
            if (algorithm->side == DUO_SIDE_CPU || x->gpu) /* GPU: series "one" is in a busy
                                                            * queue */
                take_curve(x, DUO_SERIES_ONE + id, (duo_operation)operation, &profile->curve[id]);
            if (algorithm->side == DUO_SIDE_CPU && operation != DUO_SGEMM)
                take_curve(x, DUO_SERIES_ALL + id, (duo_operation)operation, &profile->team[id]);
        }
    }
}

/* ---- The CPU ---- */

double duo_parallel_efficiency(double one_seconds, double all_seconds, int threads)
{
    return fmin(1.0, at_least(one_seconds / all_seconds / threads, 0.01));
}

/* Sets bandwidth and efficiency of all threads, from the largest measured sizes. */
static void take_parallel(const duo_crossover *x, duo_profile *profile)
{
    double bytes = 2.0 * (double)duo_machine_cache_bytes(), edge = 0.0;
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        const duo_figure *const cpu = duo_crossover_cpu(c);
        if (!duo_figure_measured(cpu)) continue;
        if (c->problem.operation != DUO_SGEMM) {
            if (duo_problem_bytes(&c->problem) < bytes) continue;
            bytes = duo_problem_bytes(&c->problem);
            profile->cpu_bandwidth = bytes / cpu->median_seconds;
            continue;
        }
        const duo_figure *const one = &c->figure[DUO_SERIES_ONE + (int)DUO_sgemm_cpu_ffma];
        const duo_figure *const all = &c->figure[DUO_SERIES_ALL + (int)DUO_sgemm_cpu_ffma];
        if (strcmp(c->family, "n x n x n") != 0 || (double)c->n < edge ||
            !duo_figure_measured(one) || !duo_figure_measured(all))
            continue;
        edge = (double)c->n;
        profile->sgemm_efficiency =
            duo_parallel_efficiency(one->median_seconds, all->median_seconds, x->threads);
    }
}

/* ---- The whole ---- */

static void forget_gpu(duo_profile *profile)
{
    static const duo_profile without = {.gpu = "none", .driver = "none"};
    duo_profile_borrow_gpu(profile, &without);
}

/* Forgets the dates of operations without curves: they were not measured. */
static void forget_dates(duo_profile *profile)
{
    bool any[DUO_OPERATIONS] = {false};
    for (int id = 0; id < DUO_ALGORITHMS; id++)
        any[duo_algorithm_operation((duo_algorithm_id)id)] |= profile->curve[id].count > 0;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++)
        if (!any[operation]) profile->measured[operation] = (duo_measured){.date = ""};
}

/* Begins with the profile measured here before. Only entries for this number of threads and this
 * GPU stay, with their dates. */
static void begin_profile(const duo_crossover *x, duo_profile *profile)
{
    const duo_profile *const before = duo_profile_measured();
    *profile = before != NULL ? *before : (duo_profile){.origin = ""};
    if (profile->threads != x->threads) {
        profile->cpu_bandwidth = profile->sgemm_efficiency = 0.0;
        for (int i = 0; i < DUO_CORRECTED; i++)
            profile->correction[i][DUO_CORRECTED_ALL_THREADS].measured = false;
        memset(profile->team, 0, sizeof profile->team);
    }
    if (!x->gpu || strcmp(profile->gpu, x->gpu_name) != 0) forget_gpu(profile);
    forget_dates(profile);
    profile->fork_seconds = duo_profile_in_use()->fork_seconds;
    profile->fork_seconds_per_thread = duo_profile_in_use()->fork_seconds_per_thread;
}

void duo_crossover_profile(const duo_crossover *x, duo_profile *profile)
{
    char date[DUO_TEXT];
    begin_profile(x, profile);
    snprintf(profile->origin, sizeof profile->origin, "this run");
    snprintf(profile->version, sizeof profile->version, "%s", DUO_VERSION_STRING);
    snprintf(profile->cpu, sizeof profile->cpu, "%s", duo_machine_cpu());
    snprintf(profile->cpu_id, sizeof profile->cpu_id, "%s", duo_machine_cpu_id());
    snprintf(profile->blas, sizeof profile->blas, "%s", duo_blas_library_name());
    snprintf(profile->date, sizeof profile->date, "%.20s", duo_text_date(date));
    snprintf(profile->commit, sizeof profile->commit, "%.40s", duo_tool_commit);
    profile->threads = x->threads;
    take_curves(x, profile);
    duo_crossover_forks(x, profile);
    take_parallel(x, profile);
    if (x->gpu) {
        snprintf(profile->gpu, sizeof profile->gpu, "%s", x->gpu_name);
        snprintf(profile->driver, sizeof profile->driver, "%s", x->driver);
        duo_crossover_link(x, profile);
    }
    duo_crossover_corrections(x, profile); /* last: it takes the rest of the time */
}
