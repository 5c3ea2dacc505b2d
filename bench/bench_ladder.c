/*
 * bench_ladder.c - every row of an operation, from the simplest to the best, its peers, and how fast
 * its operands can be read at all.
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
static const duo_line *measure_of(const duo_line *list, int count, duo_side side, bool yardstick)
{
    const duo_line *best = NULL;
    for (int i = 0; i < count; i++) {
        const duo_contender *const c = &list[i].contender;
        if (c->side == side && (yardstick ? c->yardstick : c->peer) && !list[i].task.failed &&
            (best == NULL || list[i].task.median_seconds < best->task.median_seconds))
            best = &list[i];
    }
    return best;
}

static void compare(duo_line *list, int count)
{
    for (int i = 0; i < count; i++) {
        duo_line *const l = &list[i];
        const duo_line *const read = measure_of(list, count, l->contender.side, true);
        const duo_line *const peer = measure_of(list, count, l->contender.side, false);
        const double seconds = l->task.median_seconds;
        l->hidden = l->contender.yardstick && read != NULL && l != read;
        if (l->task.failed) continue;
        if (read != NULL) l->read_share = read->task.median_seconds / seconds;
        if (peer != NULL && !l->contender.yardstick)
            l->times_peer = peer->task.median_seconds / seconds;
    }
}

static void measure_problem(duo_bench *b, const duo_problem *problem)
{
    duo_line list[DUO_LINES];
    duo_task task[DUO_LINES];
    const int count = duo_ladder_list(b, problem, list);
    duo_effort effort = duo_bench_effort(b);
    if (b->sides[DUO_SIDE_CPU]) effort.settle_seconds = duo_baseline_settle_seconds();
    for (int i = 0; i < count; i++) {
        const bool open = duo_trial_open(&list[i].trial, &list[i].contender, problem);
        task[i] = (duo_task){.run = duo_trial_run, .user = &list[i].trial};
        if (!open) fprintf(stderr, "duoblas: out of memory\n"), exit(DUO_EXIT_FAILURE);
    }
    duo_measure(task, count, &effort);
    const duo_exact exact = duo_bench_exact(problem, &b->host);
    for (int i = 0; i < count; i++) {
        list[i].task = task[i];
        list[i].error = task[i].failed ? -1.0 : error_of(b, problem, &exact, &list[i]);
    }
    compare(list, count);
    duo_ladder_print(b, problem, list, count);
    for (int i = 0; i < count; i++) duo_trial_close(&list[i].trial);
}

int duo_bench_ladder(duo_bench *b, const duo_problem *problem, int problems)
{
    if (!duo_bench_open(b, problem, problems)) {
        duo_bench_close(b);
        return DUO_EXIT_FAILURE;
    }
    duo_ladder_head(b);
    for (int i = 0; i < problems; i++) measure_problem(b, &problem[i]);
    duo_ladder_foot(b);
    duo_bench_close(b);
    return EXIT_SUCCESS;
}
