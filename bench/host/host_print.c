/* host_print.c - products of host arrays as a table that people read, or as CSV. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/host/host.h"
#include "bench/tool/text.h"

/* Of one device or several: 0 is not known. */
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
    if (b->csv)
        printf("memory,n,implementation,block,rounds,seconds_median,seconds_min,gflops,times_ours,"
               "bound_seconds,percent_of_bound,error_u,side,algorithm,predicted_seconds\n");
    fflush(stdout);
}

/* What the bound allows, of what it took, in percent; 0: not known, or it is no bound of this:
 * resident data, and the CPU. */
static double share_of(const duo_host_group *g, const duo_host_line *line)
{
    const bool on_cpu = line == &g->line[DUO_OURS_LINE] && g->decision.side == DUO_SIDE_CPU;
    return line->resident || on_cpu ? 0.0
                                    : 100.0 * g->bound.seconds / line->benchmark.median_seconds;
}

static double ours_of(const duo_host_group *g, const duo_host_line *line)
{
    return line->benchmark.median_seconds / g->line[DUO_OURS_LINE].benchmark.median_seconds;
}

static void print_csv(const duo_host *h, const duo_host_group *g, const duo_host_line *line)
{
    const double seconds = line->benchmark.median_seconds;
    const bool ours = line == &g->line[DUO_OURS_LINE];
    printf("%s,%" PRId64 ",\"%s\",%d,%d,%.4e,%.4e,%.5g,%.4g,", duo_place_names[h->arrays.place],
           g->problem.shape[0], line->name, line->implementation.variant, line->benchmark.rounds,
           seconds, line->benchmark.minimum_seconds,
           1e-9 * duo_problem_flops(&g->problem) / seconds, ours_of(g, line));
    if (share_of(g, line) > 0.0)
        printf("%.4e,%.4g,", g->bound.seconds, share_of(g, line));
    else
        printf(",,");
    if (line->error >= 0.0) printf("%.4g", line->error);
    if (ours)
        printf(",%s,%s,%.4e\n", duo_text_side(g->decision.side), g->decision.algorithm,
               g->decision.predicted_seconds);
    else
        printf(",,,\n");
}

static void print_name(const duo_host_line *line)
{
    char name[DUO_TEXT];
    if (line->implementation.variant > 0)
        snprintf(name, sizeof name, "%s, block %d", line->name, line->implementation.variant);
    else
        snprintf(name, sizeof name, "%s", line->name);
    printf("  %-22s", name);
}

static void print_line(const duo_host_group *g, const duo_host_line *line)
{
    char median[DUO_TEXT], minimum[DUO_TEXT], error[16] = "-", share[16] = "-";
    const double seconds = line->benchmark.median_seconds;
    print_name(line);
    if (line->too_long) {
        printf("  left out: about %s a call\n", duo_text_seconds(line->expected_seconds, median));
        return;
    }
    if (line->benchmark.failed) {
        printf("  cannot do it\n");
        return;
    }
    if (line->error >= 0.0) snprintf(error, sizeof error, "%.3g", line->error);
    if (share_of(g, line) > 0.0) snprintf(share, sizeof share, "%.1f", share_of(g, line));
    printf(" %6d  %s  %s  %9.0f  %6.2f  %7s  %8s%s\n", line->benchmark.rounds,
           duo_text_seconds(seconds, median),
           duo_text_seconds(line->benchmark.minimum_seconds, minimum),
           1e-9 * duo_problem_flops(&g->problem) / seconds, ours_of(g, line), share, error,
           line->wrong ? "  WRONG" : "");
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

void duo_host_print(const duo_host *h, const duo_host_group *g)
{
    char shape[DUO_TEXT];
    if (!h->bench->csv)
        printf("\n%s, %s\n  %-22s %6s  %9s  %9s  %9s  %6s  %7s  %8s\n",
               duo_place_names[h->arrays.place], duo_text_shape(DUO_SGEMM, g->problem.shape, shape),
               "", "rounds", "median ", "least  ", "GFLOP/s", "x ours", "% bound", "error/u");
    for (int i = 0; i < DUO_HOST_LINES; i++) {
        const duo_host_line *const line = &g->line[i];
        if (line->name == NULL) continue;
        if (h->bench->csv && line->benchmark.rounds > 0)
            print_csv(h, g, line);
        else if (!h->bench->csv && !line->hidden)
            print_line(g, line);
    }
    if (!h->bench->csv) print_decision(g);
    fflush(stdout);
}

void duo_host_foot(const duo_host *h)
{
    if (h->bench->csv) return;
    printf(
        "\nThe host has C at the end of each call, but of \"resident\": on device %d. beta = 0.\n"
        "x ours: its time / duo_sgemm's. cuBLASXt: the best of its blocks 1024, 2048 and 4096.\n"
        "%% bound: of the bound, by the rates above and the resident product. arrival: f of A and "
        "B\n"
        "give f^2 of C, and the last 1/64 of C comes home; link: bytes up and down at the rate of\n"
        "both ways; memcpy: the bytes of plain memory, once each.\n"
        "error/u: largest |error| / |A||B| in 2^-24, of a row, a column and 64 entries, against "
        "float64.\n",
        h->device);
}
