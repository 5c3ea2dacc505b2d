/* host_print.c - prints products of host arrays as a table for people, or as CSV. */
#include <math.h>
#include <stdio.h>

#include "bench/host/host.h"
#include "bench/tool/table.h"
#include "bench/tool/text.h"

/* Prints the rates of one or several devices; 0: not known. */
static void print_rates(const char *mark, const char *who, double up, double down, double both)
{
    printf("%s  %-28s %8.1f %8.1f %8.1f\n", mark, who, 1e-9 * up, 1e-9 * down, 1e-9 * both);
}

void duo_host_head(const duo_host *h)
{
    const duo_bench *const b = h->bench;
    const char *const mark = b->csv ? "# " : "";
    char who[DUO_TEXT];
    duo_bench_head(b);
    if (h->xt_why != NULL) printf("%scuBLASXt: %s\n", mark, h->xt_why);
    if (h->devices > 0)
        printf("%s\n%s%-30s %8s %8s %8s\n", b->csv ? "#" : "", mark, "GB/s", "up", "down", "both");
    snprintf(who, sizeof who, "pinned memory, device %d", h->device);
    if (h->devices > 0) print_rates(mark, who, h->one.up, h->one.down, h->one.both);
    snprintf(who, sizeof who, "pinned memory, %d devices", h->devices);
    if (h->devices > 1) print_rates(mark, who, h->all.up, h->all.down, h->all.both);
    printf("%smemcpy, %d thread%s: %.1f GB/s from plain into pinned memory, %.1f back\n", mark,
           b->threads, b->threads == 1 ? "" : "s", 1e-9 * h->one.in, 1e-9 * h->one.out);
    fflush(stdout);
}

/* The bound's time as a percentage of the line's; 0: not known, or no bound applies (resident data,
 * the CPU). */
static double share_of(const duo_host_group *g, const duo_host_line *line)
{
    const bool on_cpu = line == &g->line[DUO_OURS_LINE] && g->decision.side == DUO_SIDE_CPU;
    return line->resident || on_cpu ? 0.0
                                    : 100.0 * g->bound.seconds / line->benchmark.median_seconds;
}

static const char *name_of(const duo_host_line *line, char text[DUO_TEXT])
{
    snprintf(text, DUO_TEXT, "%.40s", line->name != NULL ? line->name : "");
    if (line->implementation.variant > 0)
        snprintf(text, DUO_TEXT, "%.40s, block %d", line->name, line->implementation.variant);
    return text;
}

static const char *note_of(const duo_host_line *line, char text[2 * DUO_TEXT])
{
    char seconds[DUO_TEXT];
    if (line->wrong) return "WRONG";
    if (line->benchmark.failed) return "cannot do it";
    if (!line->too_long) return NULL;
    snprintf(text, 2 * DUO_TEXT, "left out: about %s a call",
             duo_text_time(line->expected_seconds, seconds));
    return text;
}

static void print_row(duo_table *t, const char *memory, const duo_host_group *g,
                      const duo_host_line *line)
{
    char name[DUO_TEXT], note[2 * DUO_TEXT];
    const bool measured = line->benchmark.rounds > 0 && !line->benchmark.failed;
    const bool ours = line == &g->line[DUO_OURS_LINE];
    const double seconds = measured ? line->benchmark.median_seconds : (double)NAN;
    const double share = measured ? share_of(g, line) : 0.0;
    duo_cell_word(t, "memory", NULL, 0, memory);
    duo_cell_count(t, "n", NULL, 0, g->problem.shape[0]);
    duo_cell_word(t, "implementation", NULL, 0, line->name);
    duo_cell_count(t, "block", NULL, 0, line->implementation.variant);
    duo_cell_word(t, NULL, "", -22, name_of(line, name));
    duo_cell_count(t, "rounds", "rounds", 6, line->benchmark.rounds);
    duo_cell_seconds(t, "seconds_median", "median", seconds);
    duo_cell_seconds(t, "seconds_min", "least",
                     measured ? line->benchmark.minimum_seconds : (double)NAN);
    duo_cell_number(t, "gflops", "GFLOP/s", 9, 0, 1e-9 * duo_problem_flops(&g->problem) / seconds);
    duo_cell_number(t, "times_ours", "x ours", 6, 2,
                    seconds / g->line[DUO_OURS_LINE].benchmark.median_seconds);
    duo_cell_seconds(t, "bound_seconds", NULL, share > 0.0 ? g->bound.seconds : (double)NAN);
    duo_cell_number(t, "percent_of_bound", "% bound", 7, 1, share > 0.0 ? share : (double)NAN);
    duo_cell_number(t, "error_u", "error/u", 8, -1, line->error < 0.0 ? (double)NAN : line->error);
    duo_cell_word(t, "side", NULL, 0, ours ? duo_text_side(g->decision.side) : NULL);
    duo_cell_word(t, "algorithm", NULL, 0, ours ? g->decision.algorithm : NULL);
    duo_cell_seconds(t, "predicted_seconds", NULL,
                     ours ? g->decision.predicted_seconds : (double)NAN);
    duo_cell_word(t, NULL, "", 0, note_of(line, note));
    duo_row_end(t);
}

static void print_decision(const duo_host_group *g)
{
    const duo_decision *const d = &g->decision;
    char seconds[4][DUO_TEXT];
    printf("  duo_sgemm ran %s, predicted %s%s%s\n",
           d->algorithm != NULL ? d->algorithm : "nothing",
           duo_text_seconds(d->predicted_seconds, seconds[0]), d->note[0] != '\0' ? "; " : "",
           d->note);
    if (g->bound.seconds <= 0.0) return;
    printf("  bound %s: arrival %s, link %s", duo_text_seconds(g->bound.seconds, seconds[0]),
           duo_text_seconds(g->bound.arrival, seconds[1]),
           duo_text_seconds(g->bound.link, seconds[2]));
    if (g->bound.copies > 0.0) printf(", memcpy %s", duo_text_seconds(g->bound.copies, seconds[3]));
    printf("\n");
}

void duo_host_print(const duo_host *h, const duo_host_group *g, bool first)
{
    char shape[DUO_TEXT];
    const bool csv = h->bench->csv;
    const char *const memory = duo_place_names[h->arrays.place];
    duo_table table = duo_table_open(csv);
    if (!csv)
        printf("\n%s, %s\n", duo_place_titles[h->arrays.place],
               duo_text_shape(DUO_SGEMM, g->problem.shape, shape));
    if (!csv || first) print_row(&table, memory, g, &g->line[DUO_OURS_LINE]);
    table.titles = false;
    for (int i = 0; i < DUO_HOST_LINES; i++) {
        const duo_host_line *const line = &g->line[i];
        if (line->name != NULL && (csv ? line->benchmark.rounds > 0 : !line->hidden))
            print_row(&table, memory, g, line);
    }
    if (!csv) print_decision(g);
    fflush(stdout);
}

void duo_host_foot(const duo_host *h)
{
    if (h->bench->csv) return;
    printf(
        "\nThe host has C at the end of each call, but of \"on the GPU\": on device %d. beta = 0.\n"
        "x ours: its time / duo_sgemm's. cuBLASXt: the best of its blocks 1024, 2048 and 4096.\n"
        "%% bound: of the bound, by the rates above and the product on the GPU. arrival: f of A\n"
        "and B give f^2 of C, and the last 1/64 of C comes home; link: bytes up and down at the "
        "rate\nof both ways; memcpy: the bytes of plain memory, once each.\n"
        "error/u: largest |error| / |A||B| in 2^-24, of a row, a column and 64 entries, against "
        "float64.\n",
        h->device);
}
