/*
 * plot.c - the crossover curves as a picture, drawn by gnuplot.
 *
 * One panel per operation: seconds against size, both logarithmic; the CPU and the GPU by where the
 * operands are. Predicted curves are dashed. An arrow stands where the GPU starts to win for good.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/tool/picture.h"
#include "bench/tool/text.h"
#include "host/machine.h"

static const char square[] = "n x n x n";

enum { CURVES = 1 + DUO_PLACES };

/* Colours that the colour-blind can tell apart; grey for what everybody has. */
static const struct {
    const char *name, *colour, *mark;
} style[CURVES] = {
    {"CPU", "#404040", "7"},
    {"GPU, pageable host arrays", "#D55E00", "5"},
    {"GPU, pinned host arrays", "#E69F00", "9"},
    {"GPU, resident arrays", "#0072B2", "11"},
};

static const duo_figure *figure_of(const duo_case *c, int curve)
{
    return curve == 0 ? duo_crossover_cpu(c) : &c->figure[DUO_SERIES_GPU + curve - 1];
}

static bool in_panel(const duo_case *c, duo_operation operation)
{
    return c->problem.operation == operation &&
           (operation != DUO_SGEMM || strcmp(c->family, square) == 0);
}

static bool has_point(const duo_case *c, int curve, bool predicted)
{
    const duo_figure *const f = figure_of(c, curve);
    return f->median_seconds > 0.0 && isfinite(f->median_seconds) && f->predicted == predicted;
}

/* A data block $d<operation>_<curve>_<predicted>; a predicted tail starts at the last measured
 * point, so that the line is whole. Returns how many points. */
static int send_block(const duo_crossover *x, duo_operation operation, int curve, bool predicted,
                      FILE *file)
{
    int points = 0;
    const duo_case *before = NULL;
    fprintf(file, "$d%d_%d_%d << EOD\n", (int)operation, curve, predicted);
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        if (!in_panel(c, operation)) continue;
        if (has_point(c, curve, predicted)) {
            if (predicted && points == 0 && before != NULL)
                fprintf(file, "%" PRId64 " %.5e\n", before->n,
                        figure_of(before, curve)->median_seconds);
            fprintf(file, "%" PRId64 " %.5e\n", c->n, figure_of(c, curve)->median_seconds);
            points++;
        }
        before = has_point(c, curve, false) ? c : NULL;
    }
    fprintf(file, "EOD\n");
    return points;
}

static void send_arrow(const duo_crossover *x, duo_operation operation, int curve, FILE *file)
{
    const char *const family = operation == DUO_SGEMM ? square : "n";
    const duo_crossing c = duo_crossover_find(x, operation, family, (duo_place)(curve - 1));
    char text[DUO_TEXT];
    if (c.verdict != DUO_WINS_FROM) return;
    fprintf(file,
            "set arrow from %.6g, graph 0 to %.6g, graph 1 nohead lc rgb '%s' lw 1 dt 3 back\n"
            "set label '%s' at %.6g, graph %.2f tc rgb '%s' offset 0.4,0 font ',9'\n",
            c.between, c.between, style[curve].colour, duo_text_about(c.between, text), c.between,
            0.02 + 0.05 * (double)curve, style[curve].colour);
}

static void send_panel(const duo_crossover *x, duo_operation operation, bool with_key, FILE *file)
{
    int points[CURVES][2];
    for (int curve = 0; curve < CURVES; curve++)
        for (int predicted = 0; predicted < 2; predicted++)
            points[curve][predicted] = send_block(x, operation, curve, predicted == 1, file);
    fprintf(file, "unset arrow\nunset label\n");
    for (int curve = 1; curve < CURVES; curve++) send_arrow(x, operation, curve, file);
    fprintf(file, "set title '%s' font ',12'\nset xlabel '%s'\n", duo_operation_name(operation),
            operation == DUO_SGEMM ? "n (A, B and C are n x n)" : "n (elements)");
    fprintf(file, "%s\n", operation == DUO_SGEMM ? "set format x '%.0f'" : "set format x '2^{%L}'");
    fprintf(file, with_key ? "set key top left Left reverse samplen 2 spacing 1.1 font ',9'\n"
                           : "unset key\n");
    fprintf(file, "plot ");
    bool first = true;
    for (int curve = 0; curve < CURVES; curve++)
        for (int predicted = 0; predicted < 2; predicted++) {
            if (points[curve][predicted] == 0) continue;
            const bool named = predicted == 0 || points[curve][0] == 0;
            fprintf(file, "%s$d%d_%d_%d using 1:2 with linespoints lc rgb '%s' lw 2 pt %s ps 0.5%s",
                    first ? "" : ", ", (int)operation, curve, predicted, style[curve].colour,
                    style[curve].mark, predicted ? " dt 2" : "");
            if (named)
                fprintf(file, " title '%s%s'", style[curve].name, predicted ? " (predicted)" : "");
            else
                fprintf(file, " notitle");
            first = false;
        }
    fprintf(file, first ? "NaN notitle\n" : "\n");
}

bool duo_crossover_plot(const duo_crossover *x, const char *path)
{
    int panels = 0;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) panels += x->wanted[operation];
    const int columns = panels > 1 ? 2 : 1, rows = (panels + columns - 1) / columns;
    duo_picture picture;
    if (!duo_picture_open(&picture, path, columns == 2 ? 1100 : 700, 90 + 400 * rows)) return false;
    FILE *const file = picture.gnuplot;
    fprintf(file, "set multiplot layout %d,%d title 'DuoBLAS crossover: ", rows, columns);
    duo_picture_text(&picture, duo_machine_cpu());
    fprintf(file, ", %d thread%s, and ", x->threads, x->threads == 1 ? "" : "s");
    duo_picture_text(&picture, x->gpu_name);
    fprintf(file, x->gpu ? "" : " (GPU predicted, not measured)");
    fprintf(file, "' font ',13'\nset logscale x 2\nset logscale y\nset grid lc rgb '#dddddd' lt 1\n"
                  "set border 3 lc rgb '#808080'\nset tics nomirror out scale 0.5\n"
                  "set ylabel 'time of one call'\n"
                  "set ytics ('1 ns' 1e-9, '10 ns' 1e-8, '100 ns' 1e-7, '1 us' 1e-6, '10 us' 1e-5, "
                  "'100 us' 1e-4, '1 ms' 1e-3, '10 ms' 1e-2, '100 ms' 1e-1, '1 s' 1, '10 s' 10, "
                  "'100 s' 100)\n");
    bool with_key = true;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        if (!x->wanted[operation]) continue;
        send_panel(x, (duo_operation)operation, with_key, file);
        with_key = false;
    }
    fprintf(file, "unset multiplot\n");
    return duo_picture_close(&picture);
}
