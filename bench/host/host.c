/*
 * host.c - runs `duoblas bench host`: rates first, then group by group. A group's lines are timed
 * by turns, checked and printed.
 */
#include "bench/host/host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/experiments.h"
#include "bench/peers/cublas.h"
#include "bench/reference/product_error.h"
#include "bench/tool/tool.h"
#include "data/plan.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"

/* A short call is repeated for this time, after a warm-up of the same time. */
static const double kSampleSeconds = 0.005;
/* The least time for each line of a group: enough for five rounds of most. */
static const double kLeastBudget = 1.5;
/* From this size on a quick run makes three rounds. */
enum { LONG_EDGE = 16384 };

static bool open_machine(duo_host *h, const duo_problem *problem, int problems)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    duo_bench *const b = h->bench;
    const char *why;
    for (int i = 0; i < problems; i++)
        if (!duo_problem_fits(&problem[i])) return duo_bench_open(b, &problem[i], 1);
    if (!duo_bench_open(b, &small, 1)) return false;
    const int there = b->gpu ? duo_devices(&why) : 0;
    if (b->devices > 1 && there < b->devices) {
        fprintf(stderr, "duoblas: of the %d devices wanted there %s %d\n", b->devices,
                there == 1 ? "is" : "are", there);
        return false;
    }
    h->devices = b->gpu ? b->devices : 0;
    h->device = b->devices > 1 ? 0 : duo_environment_get()->device;
    h->xt_why = !b->gpu          ? "no GPU"
                : h->device != 0 ? "it is only used on device 0"
                                 : duo_peer_cublasxt_open(b->devices);
    if (duo_create(&h->context) != DUO_OK) return false;
    int first[DUO_PLAN_DEVICES];
    for (int i = 0; i < DUO_PLAN_DEVICES; i++) first[i] = i;
    if (h->devices > 1 && duo_set_devices(h->context, first, h->devices) != DUO_OK) return false;
    return duo_warm_up(h->context) == DUO_OK;
}

static void measure_rates(duo_host *h)
{
    const duo_effort effort = {.sample_seconds = 4.0 * kSampleSeconds,
                               .warm_seconds = 4.0 * kSampleSeconds,
                               .rounds = h->bench->quick ? 5 : 9,
                               .budget_seconds = 2.0};
    (void)duo_rates_of_copies(h->bench->threads, &effort, &h->one);
    if (h->devices > 0) (void)duo_rates_of_link(h->device, 1, &effort, &h->one);
    h->all = h->one;
    if (h->devices > 1) (void)duo_rates_of_link(h->device, h->devices, &effort, &h->all);
}

/* ---- A group ---- */

static int rounds_of(const duo_bench *b, const duo_problem *problem)
{
    if (b->rounds > 0) return b->rounds;
    return !b->quick ? 9 : problem->shape[0] < LONG_EDGE ? 5 : 3;
}

/* Seconds for each line, if this group gets `share` of the remaining time. A part of it goes to
 * data and checks. */
static double budget_of(const duo_host *h, double share)
{
    const double left = h->begin + h->seconds - duo_now_seconds();
    return fmax(kLeastBudget, 0.6 * left * share / DUO_HOST_LINES);
}

static void measure_lines(const duo_host *h, duo_host_group *g, double budget)
{
    duo_benchmark benchmark[DUO_HOST_LINES];
    duo_host_line *of[DUO_HOST_LINES];
    int count = 0;
    const duo_effort effort = {.sample_seconds = kSampleSeconds,
                               .warm_seconds = kSampleSeconds,
                               .rounds = rounds_of(h->bench, &g->problem),
                               .budget_seconds = budget};
    for (int i = 0; i < DUO_HOST_LINES; i++) {
        duo_host_line *const line = &g->line[i];
        line->too_long = i != DUO_OURS_LINE && line->expected_seconds > 2.0 * budget;
        if (line->name == NULL || line->too_long) continue;
        of[count] = line;
        benchmark[count++] = line->benchmark;
    }
    duo_measure(benchmark, count, &effort);
    for (int i = 0; i < count; i++) of[i]->benchmark = benchmark[i];
}

/* Checks a line that writes C in host memory: makes one more call, and looks at C. */
static void check(duo_host *h, duo_host_line *line, const duo_product_sample *sample)
{
    if (line->name == NULL || line->resident || line->too_long || line->benchmark.failed) return;
    duo_product_sample_spoil(sample);
    const bool called = duo_host_run(line, 1);
    const duo_sample_error error = duo_product_sample_error(sample);
    line->error = error.largest;
    line->wrong = !called || !error.right;
    h->wrong = h->wrong || line->wrong;
}

/* Hides all block sizes of cuBLASXt but the best. */
static void hide_blocks(duo_host_group *g)
{
    duo_host_line *best = NULL;
    for (int i = 0; i < DUO_HOST_LINES; i++) {
        duo_host_line *const line = &g->line[i];
        if (line->name == NULL || line->implementation.variant == 0 || line->wrong) continue;
        line->hidden = true;
        if (line->benchmark.rounds > 0 &&
            (best == NULL || line->benchmark.median_seconds < best->benchmark.median_seconds))
            best = line;
        else if (best == NULL && line == &g->line[DUO_HOST_LINES - 1])
            best = line; /* none was measured: one line says so */
    }
    if (best != NULL) best->hidden = false;
}

static bool measure(duo_host *h, duo_host_group *g, const duo_host_group *before, double share)
{
    duo_product_sample sample;
    const bool pageable = h->arrays.place == DUO_PLACE_PAGEABLE;
    g->host = duo_arrays_call(&h->arrays, &g->problem);
    g->decision = (duo_decision){.size = sizeof g->decision};
    if (!duo_product_sample_open(&sample, &g->host, 1, h->bench->seed)) return false;
    duo_host_open_device(h, g);
    duo_host_list(h, g, before);
    measure_lines(h, g, budget_of(h, share));
    for (int i = DUO_HOST_LINES - 1; i >= 0; i--) check(h, &g->line[i], &sample);
    (void)duo_explain_last(h->context, &g->decision); /* ours was checked last */
    hide_blocks(g);
    const double resident = g->line[DUO_RESIDENT_LINE].benchmark.median_seconds;
    if (h->devices > 0)
        g->bound = duo_host_bound_of(&g->problem, resident / h->devices, &h->all, pageable);
    duo_host_close_device(h, g);
    duo_product_sample_close(&sample);
    duo_host_print(h, g, h->groups++ == 0);
    return true;
}

/* ---- All of them ---- */

/* The groups share the time by these weights: calls grow with n^3, data with n^2. */
static double weight_of(const duo_problem *problem)
{
    return (double)problem->shape[0] * (double)problem->shape[1];
}

static bool measure_all(duo_host *h, const duo_problem *problem, int problems)
{
    static const duo_place places[] = {DUO_PLACE_PINNED, DUO_PLACE_PAGEABLE};
    duo_host_group group[2];
    double weight = 0.0;
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < problems; i++)
            if (h->bench->memory < 0 || h->bench->memory == (int)places[p])
                weight += weight_of(&problem[i]);
    for (int p = 0; p < 2; p++) {
        if (h->bench->memory >= 0 && h->bench->memory != (int)places[p]) continue;
        bool good =
            duo_arrays_open(&h->arrays, h->context, places[p], problem, problems, h->bench->seed);
        for (int i = 0; i < problems && good; i++) {
            group[i % 2] = (duo_host_group){.problem = problem[i]};
            const double part = weight_of(&problem[i]);
            good = measure(h, &group[i % 2], i > 0 ? &group[(i + 1) % 2] : NULL, part / weight);
            weight -= part;
        }
        duo_arrays_close(&h->arrays);
        if (!good) fprintf(stderr, "duoblas: out of memory\n");
        if (!good) return false;
    }
    return true;
}

int duo_bench_host(duo_bench *b)
{
    static const int64_t usual[] = {512, 1024, 2048, 4096, 8192, 16384};
    duo_problem problem[DUO_MOST_PROBLEMS];
    if (b->sizes == 0) {
        b->sizes = sizeof usual / sizeof usual[0];
        memcpy(b->size, usual, sizeof usual);
    }
    if (b->devices == 0) b->devices = 1;
    const int problems = duo_bench_problems(b, DUO_SGEMM, problem);
    duo_host h = {.bench = b,
                  .begin = duo_now_seconds(),
                  .seconds = b->max_seconds > 0 ? b->max_seconds : 120.0};
    bool good = open_machine(&h, problem, problems);
    if (good) {
        measure_rates(&h);
        duo_host_head(&h);
        good = measure_all(&h, problem, problems);
        duo_host_foot(&h);
    }
    if (h.wrong) fprintf(stderr, "duoblas: a result is wrong\n");
    if (h.context != NULL) (void)duo_destroy(h.context);
    duo_bench_close(b);
    return good && !h.wrong ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
