/*
 * ladder_plot.c - plots rates against sizes: one panel for each side, one line for each algorithm
 * and peer.
 *
 * Each of our algorithms is one line, with any number of threads. All bare reads of a side are one
 * line: the fastest at each size.
 */
#include <stdio.h>
#include <string.h>

#include "bench/experiments/ladder.h"
#include "bench/tool/output.h"
#include "host/machine.h"

/* Colours that colour-blind readers can tell apart, and marks; grey for the reads. */
static const struct {
    const char *colour;
    int mark;
} style[] = {
    {"#D55E00", 7}, {"#0072B2", 5}, {"#009E73", 9}, {"#CC79A7", 11}, {"#E69F00", 13},
    {"#56B4E9", 4}, {"#7F4F24", 6}, {"#000000", 8}, {"#882255", 3},  {"#999933", 2},
};
enum { STYLES = sizeof style / sizeof style[0] };

/* Do two lines belong to one curve? */
static bool same_curve(const duo_implementation *a, const duo_implementation *b)
{
    if (a->side != b->side || a->bare_read != b->bare_read) return false;
    if (a->bare_read) return true;
    return strcmp(a->name, b->name) == 0 && (a->algorithm != NULL || a->threads == b->threads);
}

static bool drawn(const duo_measurement *m) { return !m->benchmark.failed && !m->hidden; }

/* Finds the curves of a side, and one implementation for each. Returns how many. */
static int find_curves(const duo_ladder *ladder, int ladders, duo_side side,
                       const duo_implementation *curve[DUO_MEASUREMENTS])
{
    int count = 0;
    for (int i = 0; i < ladders; i++)
        for (int j = 0; j < ladder[i].count; j++) {
            const duo_implementation *const c = &ladder[i].measurement[j].implementation;
            int k = 0;
            if (c->side != side || !drawn(&ladder[i].measurement[j])) continue;
            while (k < count && !same_curve(curve[k], c)) k++;
            if (k == count && count < DUO_MEASUREMENTS) curve[count++] = c;
        }
    return count;
}

static double rate_of(const duo_problem *problem, const duo_measurement *m)
{
    const double amount =
        problem->operation == DUO_SGEMM ? duo_problem_flops(problem) : duo_problem_bytes(problem);
    return amount / m->benchmark.median_seconds * 1e-9;
}

static void send_block(const duo_ladder *ladder, int ladders, const duo_implementation *curve,
                       int block, FILE *file)
{
    fprintf(file, "$d%d_%d << EOD\n", (int)curve->side, block);
    for (int i = 0; i < ladders; i++)
        for (int j = 0; j < ladder[i].count; j++) {
            const duo_measurement *const m = &ladder[i].measurement[j];
            if (drawn(m) && same_curve(curve, &m->implementation))
                fprintf(file, "%.17g %.5e\n", duo_problem_size(&ladder[i].problem),
                        rate_of(&ladder[i].problem, m));
        }
    fprintf(file, "EOD\n");
}

static void send_curve(const duo_implementation *c, int block, const char *separator, FILE *file)
{
    fprintf(file, "%s$d%d_%d using 1:2 with linespoints ", separator, (int)c->side, block);
    if (c->bare_read)
        fprintf(file, "lc rgb '#909090' lw 2 dt 2 pt 0 title 'read'");
    else
        fprintf(file, "lc rgb '%s' lw %d pt %d ps 0.5 title '%s", style[block % STYLES].colour,
                c->algorithm != NULL ? 3 : 2, style[block % STYLES].mark, c->name);
    if (!c->bare_read && c->algorithm == NULL && c->threads > 0)
        fprintf(file, ", %d thread%s", c->threads, c->threads == 1 ? "" : "s");
    if (!c->bare_read) fprintf(file, "'");
}

static void send_panel(const duo_ladder *ladder, int ladders, duo_side side, duo_picture *picture,
                       const char *machine)
{
    const duo_implementation *curve[DUO_MEASUREMENTS];
    const int count = find_curves(ladder, ladders, side, curve);
    FILE *const file = picture->gnuplot;
    for (int i = 0; i < count; i++) send_block(ladder, ladders, curve[i], i, file);
    fprintf(file, "set title '%s on %s: ", duo_operation_name(ladder[0].problem.operation),
            side == DUO_SIDE_CPU ? "CPU" : "GPU");
    duo_picture_text(picture, machine);
    fprintf(file, "' font ',12'\nplot ");
    for (int i = 0; i < count; i++) send_curve(curve[i], i, i == 0 ? "" : ", ", file);
    fprintf(file, "\n");
}

bool duo_ladder_plot(const duo_bench *b, const duo_ladder *ladder, int ladders)
{
    const duo_implementation *curve[DUO_MEASUREMENTS];
    int panels = 0;
    bool has[2];
    for (int side = 0; side < 2; side++)
        panels += has[side] = find_curves(ladder, ladders, (duo_side)side, curve) > 0;
    if (panels == 0) {
        fprintf(stderr, "duoblas: nothing was measured that could be drawn\n");
        return false;
    }
    const bool matrix = ladder[0].problem.operation == DUO_SGEMM;
    duo_picture picture;
    if (!duo_picture_open(&picture, b->plot, 660 * panels, 520)) return false;
    fprintf(picture.gnuplot,
            "set multiplot layout 1,%d\nset logscale x 2\nset logscale y\n"
            "set grid lc rgb '#dddddd' lt 1\nset border 3 lc rgb '#808080'\n"
            "set tics nomirror out scale 0.5\nset key bottom right samplen 2 noenhanced font ',9'\n"
            "set xlabel 'n%s%s'\nset ylabel '%s'\nset format y '%%g'\nset format x '%s'\n",
            panels, b->cold ? ", caches cold" : "",
            b->wait ? ", the host waits for each call on the GPU" : "", matrix ? "GFLOP/s" : "GB/s",
            matrix ? "%.0f" : "2^{%L}");
    if (has[DUO_SIDE_CPU]) send_panel(ladder, ladders, DUO_SIDE_CPU, &picture, duo_machine_cpu());
    if (has[DUO_SIDE_GPU]) send_panel(ladder, ladders, DUO_SIDE_GPU, &picture, b->device.name);
    fprintf(picture.gnuplot, "unset multiplot\n");
    return duo_picture_close(&picture);
}
