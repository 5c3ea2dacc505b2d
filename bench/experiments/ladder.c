/*
 * ladder.c - every row of an operation, from the simplest to the best, its peers, and how
 * fast its operands can be read at all.
 *
 * CPU rows are compared with OpenBLAS, GPU rows with cuBLAS; all of one problem are timed in turns.
 * Of a square product cuBLAS is timed in all four layouts, and the fastest is its time.
 */
#include "bench/experiments/ladder.h"

#include <math.h>
#include <stdlib.h>

#include "bench/experiments/peak.h"
#include "bench/peers/baselines.h"

/* Its side's fastest yardstick, or its side's peer; NULL: there is none that works. */
static const duo_line *measure_of(const duo_ladder *ladder, duo_side side, bool yardstick)
{
    const duo_line *best = NULL;
    for (int i = 0; i < ladder->count; i++) {
        const duo_line *const l = &ladder->line[i];
        const bool fits = yardstick ? l->contender.yardstick : l->contender.peer;
        if (fits && l->contender.side == side && !l->task.failed &&
            (best == NULL || l->task.median_seconds < best->task.median_seconds))
            best = l;
    }
    return best;
}

/* Beside the fastest one of its kind nobody needs to see it. */
static bool is_hidden(const duo_line *l, const duo_line *read, const duo_line *peer)
{
    if (l->contender.yardstick) return read != NULL && l != read;
    return l->contender.peer && peer != NULL && l != peer;
}

static void compare(const duo_bench *b, duo_ladder *ladder)
{
    const bool matrix = ladder->problem.operation == DUO_SGEMM;
    for (int i = 0; i < ladder->count; i++) {
        duo_line *const l = &ladder->line[i];
        const duo_contender *const c = &l->contender;
        const duo_line *const read = measure_of(ladder, c->side, true);
        const duo_line *const peer = measure_of(ladder, c->side, false);
        const double seconds = l->task.median_seconds;
        l->hidden = is_hidden(l, read, peer);
        if (l->task.failed) continue;
        if (read != NULL) l->read_share = read->task.median_seconds / seconds;
        if (peer != NULL && !c->yardstick) l->times_peer = peer->task.median_seconds / seconds;
        const double peak =
            matrix && c->side == DUO_SIDE_GPU ? duo_peak_flops(c->name, &b->device) : 0.0;
        if (peak > 0.0) l->peak_share = duo_problem_flops(&l->problem) / seconds / peak;
    }
}

/* ---- Errors: one more call, on slot 0, whose output is then looked at ---- */

static bool run_once(duo_line *l)
{
    l->trial.next = 0;
    return duo_trial_run(&l->trial, 1);
}

static bool has_error(const duo_bench *b, const duo_line *l)
{
    return !l->task.failed && (!l->hidden || b->reads) && !l->contender.other_operation &&
           !l->contender.yardstick;
}

static void find_reduction_errors(const duo_bench *b, duo_ladder *ladder)
{
    const duo_exact exact = duo_bench_exact(&ladder->problem, &b->host);
    for (int i = 0; i < ladder->count; i++) {
        duo_line *const l = &ladder->line[i];
        if (has_error(b, l) && run_once(l))
            l->error = duo_bench_error(b->context, &l->problem, &exact, &l->contender);
    }
}

/* Layout by layout, as each has a product of its own. */
static void find_product_errors(const duo_bench *b, duo_ladder *ladder)
{
    for (int layout = 0; layout < 4; layout++) {
        duo_product_exact exact = {0};
        for (int i = 0; i < ladder->count; i++) {
            duo_line *const l = &ladder->line[i];
            duo_product_errors errors;
            if (!has_error(b, l) || 2 * l->problem.transa + l->problem.transb != layout) continue;
            if (exact.product == NULL && !duo_bench_exact_product(b, &l->problem, &exact)) break;
            const duo_call call = duo_problem_call(&l->problem, l->contender.stock, 0);
            if (!run_once(l) ||
                !duo_product_error(b->context, &exact, &call.operand[DUO_C], &errors))
                continue;
            l->error = errors.wrong > 0 ? (double)INFINITY : errors.largest;
            l->frobenius = errors.frobenius;
        }
        duo_product_exact_close(&exact);
    }
}

static void measure(duo_bench *b, duo_ladder *ladder)
{
    const bool matrix = ladder->problem.operation == DUO_SGEMM;
    duo_task task[DUO_LINES];
    duo_ladder_list(b, ladder);
    duo_effort effort =
        matrix ? duo_bench_sustained_effort(b, &ladder->problem) : duo_bench_effort(b);
    if (b->sides[DUO_SIDE_CPU]) effort.settle_seconds = duo_baseline_settle_seconds();
    for (int i = 0; i < ladder->count; i++) {
        duo_line *const l = &ladder->line[i];
        const bool open = duo_trial_open(&l->trial, &l->contender, &l->problem);
        task[i] = (duo_task){.run = duo_trial_run, .user = &l->trial};
        l->error = -1.0;
        if (!open) fprintf(stderr, "duoblas: out of memory\n"), exit(DUO_EXIT_FAILURE);
    }
    duo_measure(task, ladder->count, &effort);
    for (int i = 0; i < ladder->count; i++) ladder->line[i].task = task[i];
    compare(b, ladder);
    if (matrix)
        find_product_errors(b, ladder);
    else
        find_reduction_errors(b, ladder);
    for (int i = 0; i < ladder->count; i++) duo_trial_close(&ladder->line[i].trial);
}

int duo_bench_ladder(duo_bench *b, const duo_problem *problem, int problems)
{
    duo_ladder *const ladder = calloc((size_t)problems, sizeof *ladder);
    bool good = ladder != NULL && duo_bench_open(b, problem, problems);
    if (good) duo_ladder_head(b);
    for (int i = 0; i < problems && good; i++) {
        ladder[i].problem = problem[i];
        measure(b, &ladder[i]);
        duo_ladder_print(b, &ladder[i]);
    }
    if (good) duo_ladder_foot(b, problem[0].operation == DUO_SGEMM);
    if (good && b->plot != NULL) good = duo_ladder_plot(b, ladder, problems);
    duo_bench_close(b);
    free(ladder);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
