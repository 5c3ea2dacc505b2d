/* guides.c - draws into a panel the sizes from which the GPU wins: rings on the curves, guides from
 * them down to the axis, and a line of text for each place above the curves, which covers nothing
 * and fits any size. A noisy machine's are a verdict, and left out. */
#include <string.h>

#include "bench/crossover/panel.h"
#include "bench/tool/text.h"

static duo_ends ends_of(const duo_panel *p, int curve)
{
    return duo_crossover_ends(p->x, p->operation, duo_crossover_main_family(p->operation),
                              duo_one_call((duo_place)(curve - 1)));
}

static void draw_meeting(const duo_panel *p, int curve)
{
    const duo_crossing c = ends_of(p, curve).crossing;
    if (c.verdict != DUO_WINS_FROM) return;
    duo_problem problem = {.operation = p->operation, .shape = {(int64_t)c.between, 1, 1}};
    if (p->operation == DUO_SGEMM) problem.shape[1] = problem.shape[2] = problem.shape[0];
    const double across = duo_axis_at(&p->across, c.between);
    const double up = duo_axis_at(&p->up, duo_panel_value(p, &problem, c.seconds));
    fprintf(p->file,
            "<g class=\"%s\"><path class=\"guide\" d=\"M%.1f %dV%.1f\"/><circle class=\"meet\" "
            "cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/></g>\n",
            duo_lines[curve].name, across, DUO_PANEL_BOTTOM, up, across, up);
}

/* "plain: from 344", "pinned: ~210 to 560", "on the GPU: never"; "" if nothing is known */
static const char *name_of(const duo_panel *p, int curve, char text[2 * DUO_TEXT])
{
    char size[DUO_TEXT];
    const duo_ends ends = ends_of(p, curve);
    const char *const shown = duo_ends_text(&ends, size);
    const bool from = shown[0] >= '0' && shown[0] <= '9' && strstr(shown, " to ") == NULL;
    text[0] = '\0';
    if (ends.crossing.verdict != DUO_WINS_UNKNOWN)
        snprintf(text, 2 * DUO_TEXT, "%s: %s%s%s", duo_place_titles[curve - 1], from ? "from " : "",
                 ends.crossing.predicted ? "~" : "", shown);
    return text;
}

void duo_panel_label(const duo_panel *p)
{
    char text[2 * DUO_TEXT];
    if (duo_crossover_distrusted(p->x)) return;
    fprintf(p->file, "; the GPU is faster");
    for (int curve = 1; curve < DUO_CURVES; curve++)
        fprintf(p->file, ", %s", name_of(p, curve, text));
}

static void draw_name(const duo_panel *p, int curve)
{
    char text[2 * DUO_TEXT];
    if (name_of(p, curve, text)[0] == '\0') return;
    const int line = DUO_PANEL_TOP - 53 + 15 * curve;
    fprintf(p->file,
            "<g class=\"%s\"><path class=\"mark\" d=\"M%d %d%s\"/><text class=\"name\" x=\"%d\" "
            "y=\"%d\">%s</text></g>\n",
            duo_lines[curve].name, DUO_PANEL_LEFT + 5, line - 4, duo_lines[curve].mark,
            DUO_PANEL_LEFT + 14, line, text);
}

void duo_panel_guides(const duo_panel *p)
{
    if (duo_crossover_distrusted(p->x)) return;
    for (int curve = 1; curve < DUO_CURVES; curve++) draw_meeting(p, curve);
    for (int curve = 1; curve < DUO_CURVES && p->quantity == DUO_TIME; curve++) draw_name(p, curve);
}
