/* guides.c - draws into a panel the sizes from which the GPU wins: a line of text for each place,
 * above the curves so that it covers nothing. */
#include <math.h>

#include "bench/crossover/panel.h"
#include "bench/tool/text.h"

static duo_crossing crossing_of(const duo_panel *p, int curve)
{
    return duo_crossover_find(p->x, p->operation, duo_crossover_main_family(p->operation),
                              (duo_place)(curve - 1));
}

/* The crossing's position on the axis; without one, the right end. */
static double across_of(const duo_panel *p, const duo_crossing *c)
{
    return c->verdict == DUO_WINS_FROM ? duo_axis_at(&p->across, c->between) : DUO_PANEL_RIGHT;
}

static bool in_right_half(const duo_panel *p, const duo_crossing *c)
{
    return across_of(p, c) > (DUO_PANEL_LEFT + DUO_PANEL_RIGHT) / 2.0;
}

/* Are all crossings in the right half, with texts left of their guides? */
static bool all_in_right_half(const duo_panel *p)
{
    bool all = true;
    for (int curve = 1; curve < DUO_CURVES; curve++) {
        const duo_crossing c = crossing_of(p, curve);
        all = all && in_right_half(p, &c);
    }
    return all;
}

/*
 * The baseline of a curve's text. No guide may go through a text below its own. So texts without a
 * guide come first; then the others, from left to right if texts stand right of their guides, else
 * from right to left.
 */
static int line_of(const duo_panel *p, int curve)
{
    double order[DUO_CURVES];
    int line = 0;
    const bool leftward = all_in_right_half(p);
    for (int i = 1; i < DUO_CURVES; i++) {
        const duo_crossing c = crossing_of(p, i);
        const double across = across_of(p, &c);
        order[i] = c.verdict != DUO_WINS_FROM ? -(double)INFINITY : leftward ? -across : across;
    }
    for (int i = 1; i < DUO_CURVES; i++)
        line += order[i] < order[curve] || (order[i] <= order[curve] && i < curve);
    return DUO_PANEL_TOP - 41 + 15 * line;
}

static void draw_meeting(const duo_panel *p, int curve)
{
    const duo_crossing c = crossing_of(p, curve);
    if (c.verdict != DUO_WINS_FROM) return;
    duo_problem problem = {.operation = p->operation, .shape = {(int64_t)c.between, 1, 1}};
    if (p->operation == DUO_SGEMM) problem.shape[1] = problem.shape[2] = problem.shape[0];
    const double across = across_of(p, &c);
    const double up = duo_axis_at(&p->up, duo_panel_value(p, &problem, c.seconds));
    fprintf(p->file,
            "<g class=\"%s\"><path class=\"guide\" d=\"M%.1f %dV%.1f\"/><circle class=\"meet\" "
            "cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/></g>\n",
            duo_lines[curve].name, across, line_of(p, curve) - 9, up, across, up);
}

static void draw_name(const duo_panel *p, int curve)
{
    char size[DUO_TEXT];
    const duo_crossing c = crossing_of(p, curve);
    if (c.verdict == DUO_WINS_UNKNOWN) return;
    const bool from = c.verdict == DUO_WINS_FROM;
    const double across = across_of(p, &c);
    const bool right = in_right_half(p, &c);
    fprintf(p->file,
            "<g class=\"%s\"><text class=\"name\" x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s: "
            "%s%s%s</text></g>\n",
            duo_lines[curve].name, across + (right ? -5.0 : 5.0), line_of(p, curve),
            right ? "end" : "start", duo_place_titles[curve - 1], from ? "from " : "",
            duo_crossing_text(&c, size), c.predicted ? " (predicted)" : "");
}

void duo_panel_guides(const duo_panel *p)
{
    for (int curve = 1; curve < DUO_CURVES; curve++) draw_meeting(p, curve);
    for (int curve = 1; curve < DUO_CURVES; curve++) draw_name(p, curve);
}
