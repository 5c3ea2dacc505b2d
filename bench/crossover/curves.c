/* curves.c - the curves of a panel (panel.h) */
#include <math.h>
#include <string.h>

#include "bench/crossover/panel.h"
#include "bench/tool/text.h"

const duo_line duo_lines[DUO_CURVES] = {
    {"CPU", "cpu", "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0"},
    {"GPU, arrays plain", "pageable", "m-3-3h6v6h-6z"},
    {"GPU, arrays pinned", "pinned", "m0-4l4 7h-8z"},
    {"GPU, arrays on the GPU", "resident", "m0-4l4 4l-4 4l-4-4z"},
};

const char *duo_curve_title(int curve) { return duo_lines[curve].title; }

/* ---- Points ---- */

static const duo_figure *figure_of(const duo_case *c, int curve)
{
    return curve == 0 ? duo_crossover_cpu(c) : duo_crossover_gpu(c, (duo_place)(curve - 1));
}

double duo_panel_value(const duo_panel *p, const duo_problem *problem, double seconds)
{
    if (p->quantity == DUO_TIME) return seconds;
    return 1e-9 / seconds *
           (p->operation == DUO_SGEMM ? duo_problem_flops(problem) : duo_problem_bytes(problem));
}

static bool in_panel(const duo_panel *p, const duo_case *c)
{
    return c->problem.operation == p->operation &&
           strcmp(c->family, duo_crossover_main_family(p->operation)) == 0;
}

static bool has_point(const duo_panel *p, const duo_case *c, int curve)
{
    const double seconds = figure_of(c, curve)->median_seconds;
    return in_panel(p, c) && seconds > 0.0 && isfinite(seconds);
}

static void find_axes(duo_panel *p)
{
    duo_axis_begin(&p->across, DUO_PANEL_LEFT, DUO_PANEL_RIGHT);
    duo_axis_begin(&p->up, DUO_PANEL_BOTTOM, DUO_PANEL_TOP);
    for (int i = 0; i < p->x->cases; i++)
        for (int curve = 0; curve < DUO_CURVES; curve++) {
            const duo_case *const c = &p->x->item[i];
            if (!has_point(p, c, curve)) continue;
            duo_axis_take(&p->across, (double)c->n);
            duo_axis_take(&p->up,
                          duo_panel_value(p, &c->problem, figure_of(c, curve)->median_seconds));
        }
    duo_axis_round(&p->up);
}

/* ---- Axes ---- */

/* "10 us": a power of ten, without zeros behind the decimal point */
static void time_text(double seconds, char text[DUO_TEXT])
{
    char whole[DUO_TEXT];
    const char *const number = duo_text_time(seconds * 1.0001, whole);
    snprintf(text, DUO_TEXT, "%.*s%s", (int)strcspn(number, ". "), number,
             number + strcspn(number, " "));
}

/* "0.01", "1000", "10 k", "1 M": a tick */
static void value_text(double n, char text[DUO_TEXT])
{
    if (n < 10000.0)
        snprintf(text, DUO_TEXT, "%.4g", n);
    else if (n < 1e6)
        snprintf(text, DUO_TEXT, "%.0f k", n * 1e-3);
    else
        snprintf(text, DUO_TEXT, "%.0f M", n * 1e-6);
}

/* Marks 1, 2 and 5 of each decade, so that a factor of 2 can be seen. */
static void draw_marks(const duo_panel *p)
{
    double mark[DUO_AXIS_MARKS];
    fprintf(p->file, "<path class=\"tick\" d=\"M0 0");
    int count = duo_axis_marks(&p->across, mark);
    for (int i = 0; i < count; i++)
        fprintf(p->file, "M%.1f %dv-4", duo_axis_at(&p->across, mark[i]), DUO_PANEL_BOTTOM);
    count = duo_axis_marks(&p->up, mark);
    for (int i = 0; i < count; i++)
        fprintf(p->file, "M%d %.1fh4", DUO_PANEL_LEFT, duo_axis_at(&p->up, mark[i]));
    fprintf(p->file, "\"/>\n");
}

static void draw_axes(const duo_panel *p)
{
    double tick[DUO_TICKS];
    char text[DUO_TEXT];
    int count = duo_axis_ticks(&p->across, tick);
    for (int i = 0; i < count; i++) {
        const double at = duo_axis_at(&p->across, tick[i]);
        const bool last = at > DUO_PANEL_RIGHT - 10.0; /* its text would leave the panel */
        value_text(tick[i], text);
        fprintf(p->file,
                "<path class=\"grid\" d=\"M%.1f %dV%d\"/><text class=\"soft\" x=\"%.1f\" y=\"%d\" "
                "text-anchor=\"%s\">%s</text>\n",
                at, DUO_PANEL_TOP, DUO_PANEL_BOTTOM, last ? DUO_PANEL_WIDTH - 2.0 : at,
                DUO_PANEL_BOTTOM + 16, last ? "end" : "middle", text);
    }
    count = duo_axis_ticks(&p->up, tick);
    for (int i = 0; i < count; i++) {
        const double at = duo_axis_at(&p->up, tick[i]);
        if (p->quantity == DUO_TIME)
            time_text(tick[i], text);
        else
            value_text(tick[i], text);
        fprintf(p->file,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text class=\"soft\" x=\"%d\" y=\"%.1f\" "
                "text-anchor=\"end\">%s</text>\n",
                DUO_PANEL_LEFT, at, DUO_PANEL_RIGHT, DUO_PANEL_LEFT - 6, at + 4.0, text);
    }
    fprintf(p->file,
            "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n"
            "<text class=\"title\" x=\"4\" y=\"14\">%s: %s</text>\n",
            (DUO_PANEL_LEFT + DUO_PANEL_RIGHT) / 2, DUO_PANEL_BOTTOM + 34,
            p->operation == DUO_SGEMM ? "n (A, B and C are n x n)" : "n (elements of a vector)",
            duo_operation_name(p->operation),
            p->quantity == DUO_TIME     ? "time of one call"
            : p->operation == DUO_SGEMM ? "speed, GFLOP/s"
                                        : "speed, GB/s of operands");
}

/* ---- Curves ---- */

/* Draws the pieces of a line between two measured neighbours, or all other pieces. */
static void draw_line(const duo_panel *p, int curve, bool predicted)
{
    const duo_case *before = NULL;
    fprintf(p->file, "<path class=\"curve%s\" d=\"M0 0", predicted ? " predicted" : "");
    for (int i = 0; i < p->x->cases; i++) {
        const duo_case *const c = &p->x->item[i];
        if (!has_point(p, c, curve)) continue;
        const duo_figure *const f = figure_of(c, curve);
        if (before != NULL && (f->predicted || figure_of(before, curve)->predicted) == predicted)
            fprintf(p->file, "M%.1f %.1fL%.1f %.1f", duo_axis_at(&p->across, (double)before->n),
                    duo_axis_at(&p->up, duo_panel_value(p, &before->problem,
                                                        figure_of(before, curve)->median_seconds)),
                    duo_axis_at(&p->across, (double)c->n),
                    duo_axis_at(&p->up, duo_panel_value(p, &c->problem, f->median_seconds)));
        before = c;
    }
    fprintf(p->file, "\"/>\n");
}

static void draw_points(const duo_panel *p, int curve)
{
    for (int i = 0; i < p->x->cases; i++) {
        const duo_case *const c = &p->x->item[i];
        if (!has_point(p, c, curve)) continue;
        const duo_figure *const f = figure_of(c, curve);
        const double across = duo_axis_at(&p->across, (double)c->n);
        if (f->low_seconds > 0.0 && f->high_seconds > 0.0)
            fprintf(p->file, "<path class=\"spread\" d=\"M%.1f %.1fV%.1f\"/>", across,
                    duo_axis_at(&p->up, duo_panel_value(p, &c->problem, f->low_seconds)),
                    duo_axis_at(&p->up, duo_panel_value(p, &c->problem, f->high_seconds)));
        fprintf(p->file, "<path class=\"mark\" d=\"M%.1f %.1f%s\"/>\n", across,
                duo_axis_at(&p->up, duo_panel_value(p, &c->problem, f->median_seconds)),
                duo_lines[curve].mark);
    }
}

/* ---- The whole ---- */

void duo_curves_sample(int curve, bool predicted, double left, double top, FILE *file)
{
    fprintf(file,
            "<g class=\"%s\"><path class=\"curve%s\" d=\"M%.1f %.1fh30\"/><path class=\"mark\" "
            "d=\"M%.1f %.1f%s\"/></g>",
            duo_lines[curve].name, predicted ? " predicted" : "", left, top + 6.0, left + 15.0,
            top + 6.0, duo_lines[curve].mark);
}

void duo_curves_panel(const duo_crossover *x, duo_operation operation, duo_quantity quantity,
                      double left, double top, FILE *file)
{
    duo_panel p = {.x = x, .operation = operation, .quantity = quantity, .file = file};
    find_axes(&p);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" x=\"%.0f\" y=\"%.0f\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s of %s against "
            "size",
            left, top, DUO_PANEL_WIDTH, DUO_PANEL_HEIGHT, DUO_PANEL_WIDTH, DUO_PANEL_HEIGHT,
            quantity == DUO_TIME ? "Time" : "Speed", duo_operation_name(operation));
    duo_panel_label(&p);
    fprintf(file, "\">\n");
    draw_axes(&p);
    draw_marks(&p);
    for (int curve = 0; curve < DUO_CURVES; curve++) {
        fprintf(file, "<g class=\"%s\">\n", duo_lines[curve].name);
        draw_line(&p, curve, false);
        draw_line(&p, curve, true);
        draw_points(&p, curve);
        fprintf(file, "</g>\n");
    }
    duo_panel_guides(&p);
    fprintf(file, "</svg>\n");
}
