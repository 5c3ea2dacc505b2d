/*
 * test_report.c - the outputs of a crossover for people: terminal, HTML, SVG, Markdown. The figures
 * are an H100's, as published.
 */
#define _GNU_SOURCE
#include <cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "choice/profile_in_use.h"
#include "support/crossover_csv.h"
#include "support/folder.h"
#include "support/harness.h"
#include "support/shown.h"

static const char *printed(const duo_crossover *x, bool full)
{
    FILE *const file = fmemopen(test_shown, sizeof test_shown, "w");
    duo_crossover_print(x, full, file);
    fclose(file);
    return test_shown;
}

/* Are the GPU's figures predicted? */
static void set_predicted(duo_crossover *x, bool predicted)
{
    for (int i = 0; i < x->cases; i++)
        for (int place = 0; place < DUO_PLACES; place++)
            x->item[i].figure[DUO_SERIES_GPU + place].predicted = predicted;
}

/* The same machine without its GPU: the GPU's figures are then predicted. */
static duo_crossover *without_gpu(void)
{
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return NULL;
    x->gpu = false;
    x->why = "it was taken out";
    set_predicted(x, true);
    duo_crossover_outlook(x);
    return x;
}

/* ---- Terminal ---- */

static void terminal(void)
{
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    static const char verdict[] =
        "A product of 1000 x 1000 takes 1.67 ms on this CPU, and on the GPU, if its\n"
        "matrices stay there, 18.3 us: the GPU is 91 times as fast.\n"
        "With plain matrices, sent in each call: 543 us: the GPU is 3.1 times as fast.\n"
        "From n = 344 on, sgemm of plain arrays is faster on this GPU; if they stay\n"
        "there, from n = 108 on.\n"
        "sasum, ssum and sdot of plain arrays are never faster on this GPU; if they stay\n"
        "there, from n = ";
    test_case("terminal/verdict");
    CHECK(strncmp(printed(x, false), verdict, strlen(verdict)) == 0, "it begins %.400s",
          test_shown);
    test_shown_lines(test_shown, 106);
    test_contains(test_shown, "     16  9.61 ns  12.7 us CPU 1300x ");
    test_contains(test_shown, "   1000  1.67 ms   543 us  GPU 3.1x ");
    CHECK(strstr(test_shown, " 0.0x") == NULL && strstr(test_shown, " ~1") == NULL,
          "no ratio of 0, no guess");

    test_case("terminal/full");
    for (int i = 0; i < x->cases; i++)
        for (int series = 0; series < DUO_SERIES; series++)
            x->item[i].figure[series].low_seconds = x->item[i].figure[series].high_seconds =
                x->item[i].figure[series].median_seconds;
    test_shown_lines(printed(x, true), 2000);
    test_contains(test_shown, "  8192 x 8192 x 16 plain      sgemm_gpu_");
    test_contains(test_shown, "sgemm, 16 x n x n");
    free(x);
}

static void terminal_predicted(void)
{
    duo_crossover *const x = without_gpu();
    if (x == NULL) return;
    test_case("terminal/no-gpu");
    test_shown_lines(printed(x, false), 116);
    static const char best[] =
        "A product of 1000 x 1000 takes 1.67 ms on this CPU, and on an H100, ";
    CHECK(strncmp(test_shown, best, strlen(best)) == 0, "it begins %.80s", test_shown);
    test_contains(test_shown, " us (predicted): the GPU is ");
    test_contains(
        test_shown,
        "\nPredicted: on an H100 or an H200, sgemm of plain arrays is faster from some n\n"
        "between ");
    test_contains(test_shown, " on; if they stay there, from some n between ");
    test_contains(test_shown,
                  "\nPredicted: on an H100 or an H200, sasum, ssum and sdot of plain arrays are");
    test_contains(test_shown, "There is no GPU here.");
    test_contains(test_shown, "0.6 to 1.8 times");
    test_contains(test_shown, "GPU   none: it was taken out");
    test_contains(test_shown, "\nsgemm, n x n x n         ~29");

    test_case("terminal/part-predicted");
    x->gpu = true;
    x->outlooks = 0;
    printed(x, false);
    test_contains(test_shown,
                  "\nOn this GPU, sgemm of plain arrays is faster from some n between ");

    test_case("terminal/own-profile"); /* it is told alone */
    x->gpu = false;
    x->gpu_profile = duo_profile_built_in("h200");
    duo_crossover_outlook(x);
    printed(x, false);
    test_contains(test_shown, "\nPredicted: on the NVIDIA H200 of ");
    test_contains(test_shown, "\nPredicted: on an H100 or an H200, sgemm ");
    free(x);
}

/* The example's words: on arrays that stay on the GPU the CPU may win, or nothing may be known. */
static void terminal_resident(void)
{
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    duo_case *example = NULL;
    for (int i = 0; i < x->cases; i++)
        if (x->item[i].problem.operation == DUO_SGEMM && x->item[i].n == 1000 &&
            strcmp(x->item[i].family, duo_crossover_main_family(DUO_SGEMM)) == 0)
            example = &x->item[i];
    test_case("terminal/resident");
    if (!CHECK(example != NULL, "no product of 1000")) return;
    duo_figure *const resident = &example->figure[DUO_SERIES_GPU + DUO_PLACE_DEVICE];
    resident->median_seconds = 2.0 * duo_crossover_cpu(example)->median_seconds;
    resident->predicted = true;
    printed(x, false);
    test_contains(test_shown, " 3.34 ms (predicted): the CPU is 1.2 to 3.6 times as fast.\n");
    resident->median_seconds = 0.0;
    CHECK(strstr(printed(x, false), "and on the GPU") == NULL, "nothing is known");
    x->wanted[DUO_SGEMM] = false;
    CHECK(strstr(printed(x, false), "sgemm: C = A B") == NULL, "there is no sgemm");
    free(x);
}

/* Operations that answer differently are told apart. */
static void terminal_groups(void)
{
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    for (int i = 0; i < x->cases; i++) {
        duo_figure *const f = &x->item[i].figure[DUO_SERIES_GPU];
        if (x->item[i].problem.operation == DUO_SASUM) f->median_seconds = 1e-5;
        if (x->item[i].problem.operation == DUO_SDOT) f->median_seconds = 1e-10;
    }
    test_case("terminal/groups");
    printed(x, false);
    test_contains(test_shown, "From n = 1.71 M on, sasum of plain arrays is faster on this GPU;");
    test_contains(test_shown, "\nssum of plain arrays is never faster on this GPU;");
    test_contains(test_shown, "\nAt all sizes sdot of plain arrays is faster on this GPU");

    test_case("terminal/two-sizes");
    for (int i = 0; i < x->cases; i++)
        if (x->item[i].problem.operation != DUO_SGEMM)
            x->item[i].figure[DUO_SERIES_GPU].median_seconds =
                x->item[i].problem.operation == DUO_SDOT ? 1e-4 : 1e-5;
    printed(x, false);
    test_contains(test_shown, "From n = 1.71 M (sasum) to ");
    test_contains(test_shown, " (sdot) on, sasum, ssum and sdot of plain");

    test_case("terminal/never");
    for (int i = 0; i < x->cases; i++)
        for (int place = 0; place < DUO_PLACES; place++)
            x->item[i].figure[DUO_SERIES_GPU + place].median_seconds = 100.0;
    printed(x, false);
    test_contains(
        test_shown,
        "\nsgemm of plain arrays is never faster on this GPU, even if they stay there.\n");

    test_case("terminal/always");
    for (int i = 0; i < x->cases; i++)
        for (int place = 0; place < DUO_PLACES; place++)
            x->item[i].figure[DUO_SERIES_GPU + place].median_seconds = 1e-10;
    test_contains(printed(x, false),
                  "\nAt all sizes sgemm of plain arrays is faster on this GPU.\n");
    free(x);
}

/* Runs and quartiles are in the tables that come without an option; so is the number of calls. */
static void terminal_spread(void)
{
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    for (int i = 0; i < x->cases; i++)
        for (int series = 0; series < DUO_SERIES; series++) {
            duo_figure *const f = &x->item[i].figure[series];
            f->low_seconds = 0.98 * f->median_seconds;
            f->high_seconds = 1.05 * f->median_seconds;
            f->rounds = x->item[i].n > 1000 ? 5 : 15;
        }
    test_case("terminal/spread");
    test_shown_lines(printed(x, false), 106);
    test_contains(test_shown, "\nsgemm, C = A*B, m x n x k: n x n x n; 5 to 15 runs each\n");
    test_contains(test_shown, "GPU 3.1x   261 us  GPU 6.4x  18.3 us   GPU 91x  5.0\n");
    test_case("terminal/calls"); /* as the page's */
    test_contains(test_shown, "used once          10 times         100 times        1000 times\n");
    test_contains(
        test_shown,
        "\nsgemm                344               145               113               109\n");
    x->calls[0] = 50;
    printed(x, false);
    test_contains(test_shown, "           50 times\nsgemm, n x n x n ");
    free(x);
}

/* ---- Markup ---- */

/* Does every element end, and in the right order? */
static void check_markup(const char *page)
{
    char open[64][16];
    int depth = 0;
    for (const char *at = strchr(page, '<'); at != NULL; at = strchr(at + 1, '<')) {
        char name[16] = "";
        const bool end = at[1] == '/';
        sscanf(at + 1 + end, "%15[a-z0-9]", name);
        const char *const close = strchr(at, '>');
        if (!CHECK(close != NULL, "no > behind %.20s", at)) return;
        if (at[1] == '!' || strcmp(name, "meta") == 0 || close[-1] == '/') continue;
        if (!end && CHECK(depth < 64, "too deep")) {
            strcpy(open[depth++], name);
        } else if (!CHECK(depth > 0 && strcmp(open[--depth], name) == 0, "</%s> at %.40s", name,
                          at))
            return;
    }
    CHECK(depth == 0, "<%s> has no end", depth > 0 ? open[depth - 1] : "");
}

static void page(void)
{
    char path[600];
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    x->item[20].figure[DUO_SERIES_GPU].predicted = true;
    x->item[19].figure[DUO_SERIES_GPU].low_seconds = 5e-6;
    x->item[19].figure[DUO_SERIES_GPU].high_seconds = 6e-6;
    snprintf(x->cpu, sizeof x->cpu, "A <b>bold</b> & \"quoted\" CPU");
    test_folder_begin();
    snprintf(path, sizeof path, "%s/report.html", test_folder());
    test_case("report/markup");
    CHECK(duo_crossover_report(x, path), "written");
    check_markup(test_read_back(path));
    test_case("report/self-contained");
    CHECK(strstr(test_shown, "<script") == NULL && strstr(test_shown, "<link") == NULL &&
              strstr(test_shown, "src=") == NULL && strstr(test_shown, "url(") == NULL,
          "it needs something else");
    test_case("report/what");
    test_contains(test_shown, "<li>From n = 344 on, sgemm of plain arrays is faster");
    test_contains(test_shown, "A &lt;b&gt;bold&lt;/b&gt; &amp; ");
    test_contains(test_shown, "Cooperlake");
    test_contains(test_shown, ">plain: from 344</text>");
    test_contains(test_shown, ">pinned: never</text>");
    test_contains(test_shown, "class=\"spread\"");
    /* 344, and by ten uses or more from fewer on; the size measured is 384. */
    test_contains(test_shown, "<td>344</td><td>145</td><td>113</td><td>109</td></tr>");
    test_contains(test_shown, "<td>384</td><td>384</td>");
    test_contains(test_shown, "prefers-color-scheme:dark");
    test_case("report/reachable"); /* by keyboard, and for those who do not see the picture */
    test_contains(test_shown, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"");
    test_contains(test_shown,
                  "aria-label=\"Time of sgemm against size; the GPU is faster, plain: from 344, ");
    test_folder_end();
    free(x);
}

static void picture(void)
{
    char path[600];
    duo_crossover *const x = without_gpu();
    if (x == NULL) return;
    test_folder_begin();
    snprintf(path, sizeof path, "%s/crossover.svg", test_folder());
    test_case("plot/markup");
    CHECK(duo_crossover_plot(x, path), "written");
    check_markup(test_read_back(path));
    test_contains(test_shown, "which is not here: its times are predicted");
    test_contains(test_shown, ">plain: ~29");
    CHECK(strstr(test_shown, "nan") == NULL && strstr(test_shown, "inf") == NULL,
          "a number is none");
    test_folder_end();
    free(x);
}

/* ---- Markdown ---- */

/* Every row of a table has as many cells as its titles. */
static void check_tables(const char *markdown)
{
    int cells = 0, tables = 0;
    for (const char *line = markdown; *line != '\0';) {
        const int length = (int)strcspn(line, "\n");
        int bars = 0;
        for (int i = 0; i < length; i++) bars += line[i] == '|';
        CHECK(bars == 0 || cells == 0 || bars == cells, "%d, not %d: %.*s", bars, cells, length,
              line);
        tables += cells == 0 && bars > 0;
        cells = bars;
        line += length + (line[length] == '\n');
    }
    CHECK(tables == 2 + DUO_OPERATIONS, "%d tables", tables);
}

static void markdown(void)
{
    char path[600];
    duo_crossover *const x = without_gpu();
    if (x == NULL) return;
    test_folder_begin();
    snprintf(path, sizeof path, "%s/crossover.md", test_folder());
    test_case("markdown/tables");
    CHECK(duo_crossover_markdown(x, path), "written");
    check_tables(test_read_back(path));
    test_contains(test_shown, "\n* A product of 1000 x 1000 takes 1.67 ms on this CPU");
    test_contains(test_shown,
                  "\n| operation, shape | plain | pinned | on the GPU |\n|---|---:|---:|---:|\n");
    test_contains(test_shown, "\n| 1000 x 1000 x 1000 | 1.67 ms | ~543 us | GPU 3.1x |");
    test_folder_end();
    free(x);
}

/* The texts of a panel lie within it, on any machine: the widest there are, at the widest font. */
static void panel_fits(void)
{
    static const double widest = 8.6; /* of a digit or letter of 14 px, in the panel's units */
    char path[600];
    duo_crossover *const x = without_gpu();
    if (x == NULL) return;
    x->noise = (duo_noise){.looks = 9, .noisy = true, .error = 8.0};
    x->ignore_noise = true; /* else no sizes are told */
    test_folder_begin();
    snprintf(path, sizeof path, "%s/crossover.html", test_folder());
    test_case("plot/fits");
    CHECK(duo_crossover_report(x, path), "written");
    test_read_back(path);
    for (const char *at = test_shown; (at = strstr(at, "<text ")) != NULL; at++) {
        double left = 0.0;
        const char *const close = strchr(at, '>'), *const place = strstr(at, " x=\"");
        const double width = widest * (double)strcspn(close + 1, "<");
        CHECK(place != NULL && sscanf(place, " x=\"%lf", &left) == 1, "no place: %.60s", at);
        const char *const anchor = strstr(at, "text-anchor=\"");
        const char kind = anchor != NULL && anchor < close ? anchor[13] : 's';
        left -= kind == 'e' ? width : kind == 'm' ? 0.5 * width : 0.0;
        CHECK(left > -4.0 && left + width < 445.0, "%.0f to %.0f: %.90s", left, left + width, at);
    }
    test_folder_end();
    free(x);
}

/* ---- Noise ---- */

static const char noisy[] =
    "NOISY: 2 other processes were running; figures may be off by more than 900 %. Do not believe "
    "them: there is no verdict.";

/* The noise is told first in every output, and there is no verdict. */
static void noise(void)
{
    char path[600], lines[300] = "";
    duo_crossover *const x = without_gpu();
    if (x == NULL) return;
    x->noise = (duo_noise){.looks = 9, .processors = 2, .threads = 2, .waited = 0.95, .running = 2};
    duo_noise_judge(&x->noise);
    x->assumed = duo_profile_built_in("h100");
    test_folder_begin();
    snprintf(path, sizeof path, "%s/noisy", test_folder());

    test_case("noise/terminal");
    printed(x, false);
    memcpy(lines, test_shown, sizeof lines - 1);
    for (char *at = lines; (at = strchr(at, '\n')) != NULL;) *at = ' ';
    test_shown_first(lines, "", noisy);
    CHECK(strstr(test_shown, "Predicted") == NULL &&
              strstr(test_shown, "There is no GPU here.") == NULL &&
              strstr(test_shown, "faster from n =") == NULL,
          "a verdict: %.400s", test_shown);
    test_shown_lines(test_shown, 116);
    test_case("noise/page");
    CHECK(duo_crossover_report(x, path), "written");
    check_markup(test_read_back(path));
    test_shown_first(test_shown, "<ul class=\"verdict\">\n<li>", noisy);
    CHECK(strstr(test_shown, "<li>Predicted") == NULL && strstr(test_shown, "is faster") == NULL &&
              strstr(test_shown, "<circle") == NULL && strstr(test_shown, "Crossing") == NULL,
          "a verdict");
    test_contains(test_shown, "<div class=\"noisy\">\n<ul class=\"verdict\">");
    test_case("noise/plot");
    CHECK(duo_crossover_plot(x, path), "written");
    check_markup(test_read_back(path));
    test_shown_first(test_shown, "y=\"22\">", "NOISY: 2 other processes were running;");
    CHECK(strstr(test_shown, "<circle") == NULL, "a verdict");
    test_case("noise/csv");
    CHECK(duo_crossover_csv(x, path), "written");
    test_contains(test_read_back(path), "\n# noise: NOISY: 2 other processes were running;");
    test_case("noise/json");
    CHECK(duo_crossover_json(x, path), "written");
    cJSON *const json = cJSON_Parse(test_read_back(path));
    const cJSON *const verdict = cJSON_GetObjectItem(json, "verdict");
    CHECK(cJSON_GetArraySize(verdict) == 1, "%d sentences", cJSON_GetArraySize(verdict));
    test_shown_first(cJSON_GetStringValue(cJSON_GetArrayItem(verdict, 0)), "", noisy);
    const cJSON *const found = cJSON_GetObjectItem(json, "noise");
    CHECK(cJSON_IsTrue(cJSON_GetObjectItem(found, "noisy")), "JSON says that it is not noisy");
    cJSON_Delete(json);

    test_case("noise/ignored");
    x->ignore_noise = true;
    printed(x, false);
    test_shown_first(test_shown, "", "NOISY: 2 other processes were running;");
    test_contains(test_shown, "\nPredicted: on an H100 or an H200, sgemm of plain ");
    CHECK(strstr(test_shown, "Do not believe") == NULL, "and believed all the same");
    test_folder_end();
    free(x);
}

/* "the GPU is A to B times as fast": the quotient of A and B in the first sentence. */
static double width_of_example(const duo_crossover *x)
{
    double low = 0.0, high = 0.0;
    duo_sentences sentences;
    duo_crossover_verdict(x, &sentences);
    const char *const at = strstr(sentences.text[0], "the GPU is ");
    CHECK(at != NULL && sscanf(at, "the GPU is %lf to %lf times", &low, &high) == 2, "%s",
          sentences.text[0]);
    return high / low;
}

/* The noise is in the ranges that are told, not beside them. */
static void noise_in_ranges(void)
{
    duo_crossover *const x = without_gpu();
    if (x == NULL) return;
    test_case("noise/range/predicted");
    const double alone = width_of_example(x);
    x->noise = (duo_noise){.looks = 9, .processors = 2, .threads = 2, .figures_spread = 0.09};
    duo_noise_judge(&x->noise);
    const double with = width_of_example(x);
    CHECK(alone > 2.5 && with > 1.1 * alone, "the ends of the range are as %g, with noise %g",
          alone, with);
    test_contains(printed(x, false), "may be off by 9 %");
    test_case("noise/range/measured");
    x->gpu = true;
    x->outlooks = 0;
    set_predicted(x, false);
    test_contains(printed(x, false), ": the GPU is 2.8 to 3.3 times as\nfast.\n");
    test_case("noise/range/either"); /* the noise hides which side is faster */
    x->noise = (duo_noise){.looks = 9, .noisy = true, .error = 8.0};
    x->ignore_noise = true;
    test_contains(printed(x, false), "the GPU may be up to 28");
    x->ignore_noise = false;
    test_case("noise/range/nothing-measured");
    x->noise = (duo_noise){.noisy = true, .error = DUO_NOISE_MOST};
    test_contains(printed(x, false), "543 us: the GPU is 3.1 times as fast.\n");
    free(x);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"terminal", terminal},
                                       {"terminal_predicted", terminal_predicted},
                                       {"terminal_resident", terminal_resident},
                                       {"terminal_groups", terminal_groups},
                                       {"terminal_spread", terminal_spread},
                                       {"page", page},
                                       {"picture", picture},
                                       {"panel_fits", panel_fits},
                                       {"markdown", markdown},
                                       {"noise", noise},
                                       {"noise_in_ranges", noise_in_ranges},
                                       {NULL, NULL}};
    return test_main(argc, argv, "report", tests);
}
