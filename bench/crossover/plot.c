/* plot.c - the curves of all operations as one SVG picture. */
#include "bench/crossover/crossover.h"
#include "bench/crossover/html.h"
#include "bench/crossover/panel.h"
#include "bench/tool/output.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

/* If the machine was noisy, a line about it comes first. */
enum { MARGIN = 16, LINE = 18, HEAD = 132, FOOT = 24, WIDTH = 2 * MARGIN + 2 * DUO_PANEL_WIDTH };

static void draw_text(const char *style, int left, int top, const char *text, FILE *file)
{
    fprintf(file, "<text class=\"%s\" x=\"%d\" y=\"%d\">", style, left, top);
    duo_html_text(text, file);
    fprintf(file, "</text>\n");
}

static void draw_legend(const duo_crossover *x, int top, FILE *file)
{
    for (int curve = 0; curve < DUO_CURVES; curve++) {
        const int left = MARGIN + curve * 215;
        duo_curves_sample(curve, false, left, top, file);
        draw_text("soft", left + 36, top + 10, duo_curve_title(curve), file);
    }
    draw_text("soft", MARGIN, top + 32,
              duo_crossover_distrusted(x)
                  ? "Dotted: predicted, not measured. Wide bar: quartiles."
                  : "Dotted, ~: predicted, not measured. Wide bar: quartiles. Ring: from there on "
                    "the GPU is faster; the size stands above the curves.",
              file);
}

static void draw_head(const duo_crossover *x, int top, FILE *file)
{
    char text[512];
    if (top > 0) draw_text("title", MARGIN, 22, duo_noise_text(&x->noise, text, sizeof text), file);
    draw_text("title", MARGIN, top + 22, "From what size on is the GPU faster?", file);
    snprintf(text, sizeof text, "CPU: %s, %d thread%s; %s", x->cpu, x->threads,
             x->threads == 1 ? "" : "s", x->cpu_blas);
    draw_text("soft", MARGIN, top + 40, text, file);
    snprintf(text, sizeof text, "GPU: %s%s", x->gpu_name,
             x->gpu ? "" : ", which is not here: its times are predicted");
    draw_text("soft", MARGIN, top + 56, text, file);
    draw_legend(x, top + 74, file);
}

bool duo_crossover_plot(const duo_crossover *x, const char *path)
{
    duo_output output;
    char text[256], date[DUO_TEXT];
    int rows = 0;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) rows += x->wanted[operation];
    if (!duo_output_open(&output, path)) return false;
    FILE *const file = output.file;
    const int begin = x->noise.looks > 0 && x->noise.noisy ? LINE : 0;
    const int height = begin + HEAD + rows * DUO_PANEL_HEIGHT + FOOT;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\">\n<title>From what size on is the GPU "
            "faster?</title>\n<style>\n%s</style>\n<rect width=\"100%%\" height=\"100%%\" "
            "style=\"fill:var(--paper)\"/>\n",
            WIDTH, height, WIDTH, height, duo_style_curves);
    draw_head(x, begin, file);
    double top = begin + HEAD;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        if (!x->wanted[operation]) continue;
        duo_curves_panel(x, (duo_operation)operation, DUO_TIME, MARGIN, top, file);
        duo_curves_panel(x, (duo_operation)operation, DUO_SPEED, MARGIN + DUO_PANEL_WIDTH, top,
                         file);
        top += DUO_PANEL_HEIGHT;
    }
    snprintf(text, sizeof text, "duoblas crossover " DUO_VERSION_STRING ", commit %s, %s",
             duo_tool_commit, duo_text_date(date));
    draw_text("soft", MARGIN, height - 10, text, file);
    fprintf(file, "</svg>\n");
    return duo_output_close(&output, true);
}
