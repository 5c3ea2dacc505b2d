/*
 * bench_ladder.c - every row of an operation, from the simplest to the best, its peers, and how
 * fast its operands can be read at all.
 *
 * CPU rows are compared with OpenBLAS, GPU rows with cuBLAS; all of one problem are timed in turns.
 */
#include <stdlib.h>

#include "baselines.h"
#include "ladder.h"

/* One more call, on slot 0, whose output is then looked at. */
static double error_of(const duo_bench *b, const duo_problem *problem, const duo_exact *exact,
                       duo_line *l)
{
    if (l->contender.other_operation || l->contender.yardstick) return -1.0;
    l->trial.next = 0;
    if (!duo_trial_run(&l->trial, 1)) return -1.0;
    return duo_bench_error(b->context, problem, &b->host, exact, &l->contender);
}

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

static void compare(duo_ladder *ladder)
{
    for (int i = 0; i < ladder->count; i++) {
        duo_line *const l = &ladder->line[i];
        const duo_line *const read = measure_of(ladder, l->contender.side, true);
        const duo_line *const peer = measure_of(ladder, l->contender.side, false);
        const double seconds = l->task.median_seconds;
        l->hidden = l->contender.yardstick && read != NULL && l != read;
        if (l->task.failed) continue;
        if (read != NULL) l->read_share = read->task.median_seconds / seconds;
        if (peer != NULL && !l->contender.yardstick)
            l->times_peer = peer->task.median_seconds / seconds;
    }
}

static void measure(duo_bench *b, duo_ladder *ladder)
{
    const duo_problem *const problem = &ladder->problem;
    duo_task task[DUO_LINES];
    duo_ladder_list(b, ladder);
    duo_effort effort = duo_bench_effort(b);
    if (b->sides[DUO_SIDE_CPU]) effort.settle_seconds = duo_baseline_settle_seconds();
    for (int i = 0; i < ladder->count; i++) {
        duo_line *const l = &ladder->line[i];
        const bool open = duo_trial_open(&l->trial, &l->contender, problem);
        task[i] = (duo_task){.run = duo_trial_run, .user = &l->trial};
        if (!open) fprintf(stderr, "duoblas: out of memory\n"), exit(DUO_EXIT_FAILURE);
    }
    duo_measure(task, ladder->count, &effort);
    const duo_exact exact = duo_bench_exact(problem, &b->host);
    for (int i = 0; i < ladder->count; i++) {
        duo_line *const l = &ladder->line[i];
        l->task = task[i];
        l->error = l->task.failed ? -1.0 : error_of(b, problem, &exact, l);
        duo_trial_close(&l->trial);
    }
    compare(ladder);
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
    if (good) duo_ladder_foot(b);
    if (good && b->plot != NULL) good = duo_ladder_plot(b, ladder, problems);
    duo_bench_close(b);
    free(ladder);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
