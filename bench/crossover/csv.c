/* csv.c - figures: rows of tables, and all of them as comma-separated values. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/selection.h"
#include "bench/tool/output.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

void duo_figure_row(duo_table *t, const duo_case *c, const char *where, duo_side side,
                    const duo_figure *f)
{
    char shape[DUO_TEXT];
    const int64_t *const s = c->problem.shape;
    const bool matrix = c->problem.operation == DUO_SGEMM, csv = t->form == DUO_AS_CSV;
    const double low = f->low_seconds > 0.0 ? f->low_seconds : (double)NAN;
    const double high = f->high_seconds > 0.0 ? f->high_seconds : (double)NAN;
    if (csv) {
        duo_cell_word(t, "operation", NULL, 0, duo_operation_name(c->problem.operation));
        duo_cell_count(t, "m", NULL, 0, matrix ? s[0] : 1);
        duo_cell_count(t, "n", NULL, 0, matrix ? s[1] : s[0]);
        duo_cell_count(t, "k", NULL, 0, matrix ? s[2] : 0);
    }
    duo_cell_word(t, NULL, "shape", 18, duo_text_shape(c->problem.operation, s, shape));
    duo_cell_word(t, "residence", "arrays", -10, where);
    duo_cell_word(t, "side", NULL, 0, duo_text_side(side));
    duo_cell_word(t, "algorithm", "algorithm", -18, f->algorithm);
    duo_cell_count(t, "threads", "thr", 3, f->threads);
    duo_cell_count(t, csv ? NULL : "rounds", NULL, 0, f->rounds > 0 ? f->rounds : -1);
    duo_cell_seconds(t, "seconds_median", "time", f->median_seconds);
    duo_cell_seconds(t, "seconds_min", NULL, f->minimum_seconds);
    duo_cell_seconds(t, csv ? NULL : "seconds_low", "from", low);
    duo_cell_seconds(t, csv ? NULL : "seconds_high", "to", high);
    if (csv) {
        const double seconds = 1e9 * f->median_seconds;
        duo_cell_number(t, "gflops", NULL, 0, 0, duo_problem_flops(&c->problem) / seconds);
        duo_cell_number(t, "gbytes_per_second", NULL, 0, 0,
                        duo_problem_bytes(&c->problem) / seconds);
        duo_cell_word(t, "predicted", NULL, 0, f->predicted ? "predicted" : "measured");
    }
    duo_row_end(t);
}

/* A time, measured or predicted; 0: not known. */
static void time_cell(duo_table *t, const char *title, const duo_figure *f)
{
    t->guess = f->predicted && !t->titles;
    duo_cell_seconds(t, NULL, title,
                     f->median_seconds > 0.0 ? f->median_seconds : (double)INFINITY);
}

/* "GPU 3.1x": the GPU is 3.1 times as fast. */
static void faster_cell(duo_table *t, double log_ratio)
{
    char faster[2 * DUO_TEXT] = "-", times[DUO_TEXT];
    if (!isnan(log_ratio))
        snprintf(faster, sizeof faster, "%s %sx", log_ratio < 0.0 ? "GPU" : "CPU",
                 duo_text_times(exp(fabs(log_ratio)), times));
    duo_cell_word(t, NULL, "faster", 9, faster);
}

/* Half of the rounds lie within this share of the time: of the least steady figure in the row. NaN:
 * none was measured. */
static double spread_of(const duo_case *c)
{
    double spread = (double)NAN;
    for (int place = -1; place < DUO_PLACES; place++) {
        const duo_figure *const f =
            place < 0 ? duo_crossover_cpu(c) : duo_crossover_gpu(c, (duo_place)place);
        if (!duo_figure_measured(f) || !(f->low_seconds > 0.0)) continue;
        const double above = f->high_seconds / f->median_seconds - 1.0,
                     below = 1.0 - f->low_seconds / f->median_seconds;
        spread = fmax(spread, fmax(above, below));
    }
    return spread;
}

const char *const duo_figures_marks =
    "Times are medians of one call. GPU 3.1x: the GPU is 3.1 times as fast; CPU 3.1x: the CPU is. "
    "+-%: half of the runs lay within this share of the time, in the least steady figure of the "
    "row. ~: predicted, not measured.";

/* The least number of runs of a figure; 0: not known. *most: the largest. */
static int runs_of(const duo_crossover *x, duo_operation operation, const char *family, int *most)
{
    int least = 0;
    *most = 0;
    for (int i = 0; i < x->cases; i++)
        for (int series = 0; series < DUO_SERIES; series++) {
            const duo_case *const c = &x->item[i];
            const int rounds = c->figure[series].rounds;
            if (c->problem.operation != operation || strcmp(c->family, family) != 0 || rounds == 0)
                continue;
            if (least == 0 || rounds < least) least = rounds;
            if (rounds > *most) *most = rounds;
        }
    return least;
}

const char *duo_runs_text(const duo_crossover *x, duo_operation operation, const char *family,
                          char text[DUO_TEXT])
{
    int most;
    const int least = runs_of(x, operation, family, &most);
    text[0] = '\0';
    if (least > 0 && least < most) snprintf(text, DUO_TEXT, "; %d to %d runs each", least, most);
    if (least > 0 && least == most)
        snprintf(text, DUO_TEXT, "; %d run%s each", least, least == 1 ? "" : "s");
    return text;
}

void duo_case_row(duo_table *t, const duo_case *c)
{
    char size[DUO_TEXT];
    const bool page = t->form != DUO_AS_TEXT, matrix = c->problem.operation == DUO_SGEMM;
    duo_text_about((double)c->n, size);
    if (matrix) snprintf(size, sizeof size, "%" PRId64, c->n);
    if (page) duo_text_shape(c->problem.operation, c->problem.shape, size);
    duo_cell_word(t, NULL, page ? "shape" : "n", 7, size);
    time_cell(t, "CPU", duo_crossover_cpu(c));
    for (int place = 0; place < DUO_PLACES; place++) {
        time_cell(t, page ? duo_place_titles[place] : "GPU",
                  duo_crossover_gpu(c, (duo_place)place));
        faster_cell(t, duo_crossover_log_ratio(c, (duo_place)place));
    }
    const double percent = 100.0 * spread_of(c);
    duo_cell_number(t, NULL, page ? "spread, %" : "+-%", 4, percent < 9.95 ? 1 : 0, percent);
    duo_row_end(t);
}

static void print_row(void *table, const duo_case *c, const char *residence, duo_side side,
                      const duo_figure *f)
{
    duo_figure_row(table, c, residence, side, f);
}

bool duo_crossover_csv(const duo_crossover *x, const char *path)
{
    duo_output output;
    char date[DUO_TEXT], noise[160];
    if (!duo_output_open(&output, path)) return false;
    FILE *const file = output.file;
    fprintf(file,
            "# tool: duoblas crossover %s\n# commit: %s\n# compiler: %s\n# date: %s\n"
            "# cpu: %s\n# threads: %d\n# blas: %s\n",
            DUO_VERSION_STRING, duo_tool_commit, DUO_COMPILER, duo_text_date(date), x->cpu,
            x->threads, x->cpu_blas);
    duo_text_blas_warning("# ", file);
    if (x->noise.looks > 0)
        fprintf(file, "# noise: %s\n", duo_noise_text(&x->noise, noise, sizeof noise));
    if (x->gpu)
        fprintf(file, "# gpu: %s\n# driver: CUDA %s\n# clocks: core %d MHz, memory %d MHz (most)\n",
                x->gpu_name, x->driver, x->device_info.clock_khz / 1000,
                x->device_info.memory_clock_khz / 1000);
    else
        fprintf(file, "# gpu: none (%s); predicted for %s by profile %s\n", x->why, x->assumed->gpu,
                x->assumed->origin);
    fprintf(file,
            "# warm-up: at least one call of each; medians of interleaved rounds\n"
            "# cache: %s\n# data: uniform in (-1, 1), seed %" PRIu64 "\n"
            "# residence: host = CPU algorithms; pageable = plain arrays and pinned = pinned ones, "
            "both "
            "with all transfers; resident = on the GPU; queue = the kernel alone in a busy queue\n",
            x->cold ? "cold (data rotate)" : "warm (same data every call)", x->seed);
    duo_table table = {.form = DUO_AS_CSV, .file = file, .titles = true};
    duo_figure_row(&table, &(duo_case){.n = 0}, NULL, DUO_SIDE_CPU, &(duo_figure){.threads = 0});
    for (int i = 0; i < x->cases; i++) duo_series_each(&x->item[i], print_row, &table);
    return duo_output_close(&output, true);
}
