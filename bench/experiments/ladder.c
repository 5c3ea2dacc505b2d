/*
 * ladder.c - every algorithm of an operation, from the simplest to the best; its peers; and the
 * speed of only reading its operands.
 *
 * CPU algorithms are compared with OpenBLAS, GPU algorithms with cuBLAS; all implementations of a
 * problem are timed by turns. For a square product cuBLAS is timed in all four layouts, and the
 * fastest counts.
 */
#include "bench/experiments/ladder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/experiments.h"
#include "bench/experiments/setup.h"
#include "bench/peers/openblas.h"
#include "bench/tool/arguments.h"
#include "bench/tool/tool.h"

/* The side's fastest bare read or fastest peer; NULL: none works. */
static const duo_measurement *measure_of(const duo_ladder *ladder, duo_side side, bool bare_read)
{
    const duo_measurement *best = NULL;
    for (int i = 0; i < ladder->count; i++) {
        const duo_measurement *const m = &ladder->measurement[i];
        const bool fits = bare_read ? m->implementation.bare_read : m->implementation.peer;
        if (fits && m->implementation.side == side && !m->benchmark.failed &&
            (best == NULL || m->benchmark.median_seconds < best->benchmark.median_seconds))
            best = m;
    }
    return best;
}

/* Is it a bare read or a peer, but not the fastest of its kind? */
static bool is_hidden(const duo_measurement *m, const duo_measurement *read,
                      const duo_measurement *peer)
{
    if (m->implementation.bare_read) return read != NULL && m != read;
    return m->implementation.peer && peer != NULL && m != peer;
}

static void compare(const duo_bench *b, duo_ladder *ladder)
{
    const bool matrix = ladder->problem.operation == DUO_SGEMM;
    for (int i = 0; i < ladder->count; i++) {
        duo_measurement *const m = &ladder->measurement[i];
        const duo_implementation *const c = &m->implementation;
        const duo_measurement *const read = measure_of(ladder, c->side, true);
        const duo_measurement *const peer = measure_of(ladder, c->side, false);
        const double seconds = m->benchmark.median_seconds;
        m->hidden = is_hidden(m, read, peer);
        if (m->benchmark.failed) continue;
        if (read != NULL) m->read_share = read->benchmark.median_seconds / seconds;
        if (peer != NULL && !c->bare_read) m->times_peer = peer->benchmark.median_seconds / seconds;
        const double peak =
            matrix && c->side == DUO_SIDE_GPU ? duo_peak_flops(c->algorithm, &b->device) : 0.0;
        if (peak > 0.0) m->peak_share = duo_problem_flops(&m->problem) / seconds / peak;
    }
}

/* ---- Errors: one more call, on slot 0, and a check of its output ---- */

static bool has_error(const duo_bench *b, const duo_measurement *m)
{
    return !m->benchmark.failed && (!m->hidden || b->reads) && !m->implementation.other_operation &&
           !m->implementation.bare_read;
}

static void find_reduction_errors(const duo_bench *b, duo_ladder *ladder)
{
    const duo_exact exact = duo_bench_exact(&ladder->problem, &b->host);
    for (int i = 0; i < ladder->count; i++) {
        duo_measurement *const m = &ladder->measurement[i];
        const duo_call call = duo_problem_call(&m->problem, m->implementation.stock, 0);
        if (has_error(b, m) && duo_bench_spoil(b, &m->implementation, &call) &&
            duo_benchmark_call_once(&m->benchmark))
            m->error = duo_bench_error(b->context, &m->problem, &exact, &m->implementation);
    }
}

/* Finds the errors layout by layout, as each layout has its own product. */
static void find_product_errors(const duo_bench *b, duo_ladder *ladder)
{
    for (int layout = 0; layout < 4; layout++) {
        duo_product_exact exact = {0};
        for (int i = 0; i < ladder->count; i++) {
            duo_measurement *const m = &ladder->measurement[i];
            duo_product_errors errors;
            if (!has_error(b, m) || 2 * m->problem.transa + m->problem.transb != layout) continue;
            if (exact.product == NULL && !duo_bench_exact_product(b, &m->problem, &exact)) break;
            const duo_call call = duo_problem_call(&m->problem, m->implementation.stock, 0);
            if (!duo_bench_spoil(b, &m->implementation, &call) ||
                !duo_benchmark_call_once(&m->benchmark) ||
                !duo_product_error(b->context, &exact, &call.operand[DUO_C], &errors))
                continue;
            m->error = errors.wrong > 0 ? (double)INFINITY : errors.largest;
            m->frobenius = errors.frobenius;
        }
        duo_product_exact_close(&exact);
    }
}

static void measure(duo_bench *b, duo_ladder *ladder)
{
    const bool matrix = ladder->problem.operation == DUO_SGEMM;
    duo_benchmark benchmark[DUO_MEASUREMENTS];
    duo_ladder_list(b, ladder);
    duo_effort effort =
        matrix ? duo_bench_sustained_effort(b, &ladder->problem) : duo_bench_effort(b);
    if (b->sides[DUO_SIDE_CPU]) effort.settle_seconds = duo_peer_settle_seconds();
    for (int i = 0; i < ladder->count; i++) {
        duo_measurement *const m = &ladder->measurement[i];
        m->error = -1.0;
        if (!duo_benchmark_open(&benchmark[i], &m->implementation, &m->problem)) {
            fprintf(stderr, "duoblas: out of memory\n");
            exit(DUO_EXIT_FAILURE);
        }
    }
    duo_measure(benchmark, ladder->count, &effort);
    for (int i = 0; i < ladder->count; i++) ladder->measurement[i].benchmark = benchmark[i];
    compare(b, ladder);
    if (matrix)
        find_product_errors(b, ladder);
    else
        find_reduction_errors(b, ladder);
    for (int i = 0; i < ladder->count; i++) duo_benchmark_close(&ladder->measurement[i].benchmark);
}

/* The given problems, or the usual ones. */
static int problems_of(duo_bench *b, duo_problem problem[DUO_MOST_PROBLEMS])
{
    static const int64_t edges[] = {256, 1000, 2048}, lengths[] = {1 << 12, 1 << 20, 1 << 24};
    const duo_operation operation = duo_tool_operation(b->experiment->name);
    if (b->sizes + b->shapes == 0) {
        b->sizes = 3;
        memcpy(b->size, operation == DUO_SGEMM ? edges : lengths, sizeof edges);
    }
    return duo_bench_problems(b, operation, problem);
}

int duo_bench_ladder(duo_bench *b)
{
    duo_problem problem[DUO_MOST_PROBLEMS];
    const int problems = problems_of(b, problem);
    duo_ladder *const ladder = calloc((size_t)problems, sizeof *ladder);
    bool good = ladder != NULL && duo_bench_open(b, problem, problems);
    if (good) duo_ladder_head(b);
    for (int i = 0; i < problems && good; i++) {
        ladder[i].problem = problem[i];
        measure(b, &ladder[i]);
        duo_ladder_print(b, &ladder[i], i == 0);
    }
    if (good) duo_ladder_foot(b, problem[0].operation == DUO_SGEMM);
    if (good && b->plot != NULL) good = duo_ladder_plot(b, ladder, problems);
    duo_bench_close(b);
    free(ladder);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
