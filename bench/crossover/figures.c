/* figures.c - see figures.h */
#define _GNU_SOURCE
#include "bench/crossover/figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tool/arguments.h"
#include "bench/tool/output.h"
#include "bench/tool/profile_write.h"
#include "choice/profile.h"
#include "choice/profile_files.h"

enum { LINE = 512, COLUMNS = 14, MOST_LINES = DUO_CASES * DUO_SERIES };

/* ---- Series ---- */

static const char *algorithm_named(const char *name)
{
    for (int id = 0; id < DUO_ALGORITHMS; id++)
        if (strcmp(name, duo_algorithm_name((duo_algorithm_id)id)) == 0)
            return duo_algorithm_name((duo_algorithm_id)id);
    return NULL;
}

static void series_name(int series, char text[64])
{
    if (series >= DUO_SERIES_GPU)
        snprintf(text, 64, "gpu:%s", duo_place_names[series - DUO_SERIES_GPU]);
    else if (series >= DUO_SERIES_ALL)
        snprintf(text, 64, "all:%s",
                 duo_algorithm_name((duo_algorithm_id)(series - DUO_SERIES_ALL)));
    else
        snprintf(text, 64, "one:%s", duo_algorithm_name((duo_algorithm_id)series));
}

/* The series with this name; -1: there is none. */
static int series_named(const char *name)
{
    char text[64];
    for (int series = 0; series < DUO_SERIES; series++) {
        series_name(series, text);
        if (strcmp(text, name) == 0) return series;
    }
    return -1;
}

static bool is_stale(int series, const duo_figures_difference *d)
{
    if (d->all) return true;
    if (series >= DUO_SERIES_GPU) return d->gpu || d->threads;
    const bool all = series >= DUO_SERIES_ALL;
    const duo_algorithm_id id =
        (duo_algorithm_id)(all ? series - DUO_SERIES_ALL : series - DUO_SERIES_ONE);
    if (duo_algorithm_of(id)->side == DUO_SIDE_GPU) return d->gpu;
    return (all && d->threads) || (id == DUO_sgemm_cpu_openblas && d->blas);
}

/* ---- A line ---- */

typedef struct line {
    duo_operation operation;
    const char *family; /* within the text of the line */
    int64_t n;
    int series;
    duo_figure figure;
    duo_session session;
} line;

static bool read_seconds(const char *text, double *seconds)
{
    char *end;
    *seconds = strtod(text, &end);
    return end != text && *end == '\0' && *seconds > 0.0 && *seconds < 1e6;
}

static bool read_noise(const char *text, double *noise)
{
    char *end;
    *noise = strtod(text, &end);
    return end != text && *end == '\0' && *noise >= 0.0 && *noise <= DUO_NOISE_MOST;
}

static bool read_times(char *const column[COLUMNS], duo_figure *f)
{
    return read_seconds(column[6], &f->median_seconds) &&
           read_seconds(column[7], &f->minimum_seconds) &&
           read_seconds(column[8], &f->low_seconds) && read_seconds(column[9], &f->high_seconds) &&
           f->minimum_seconds <= f->low_seconds && f->low_seconds <= f->high_seconds;
}

/* Cuts the line at its commas. */
static bool read_line(char *text, line *l)
{
    char *column[COLUMNS];
    int64_t threads;
    int count = 0;
    char *rest = text;
    while (count < COLUMNS && rest != NULL) column[count++] = strsep(&rest, ",");
    if (count < COLUMNS || rest != NULL) return false;
    *l = (line){.operation = duo_tool_operation(column[0]),
                .family = column[1],
                .series = series_named(column[3]),
                .figure.algorithm = algorithm_named(column[4]),
                .session.quick = strcmp(column[10], "quick") == 0};
    snprintf(l->session.date, sizeof l->session.date, "%s", column[11]);
    snprintf(l->session.commit, sizeof l->session.commit, "%s", column[12]);
    const bool good =
        l->operation != DUO_OPERATIONS && l->series >= 0 && l->figure.algorithm != NULL &&
        duo_tool_number(column[2], 1, INT64_C(1) << 40, &l->n) &&
        duo_tool_number(column[5], 0, 1 << 20, &threads) &&
        (l->session.quick || strcmp(column[10], "full") == 0) && l->session.date[0] != '\0' &&
        read_noise(column[13], &l->session.noise) && read_times(column, &l->figure);
    if (good) l->figure.threads = (int)threads;
    return good;
}

/* ---- Reading ---- */

/* The number of a session; a new one is added. -1: there are too many. */
static int session_of(duo_crossover *x, const duo_session *s)
{
    for (int i = 1; i < x->sessions; i++)
        if (strcmp(x->session[i].date, s->date) == 0 &&
            strcmp(x->session[i].commit, s->commit) == 0 && x->session[i].quick == s->quick &&
            x->session[i].noise == s->noise)
            return i;
    if (x->sessions == DUO_SESSIONS) return -1;
    x->session[x->sessions] = *s;
    return x->sessions++;
}

static void restore(duo_crossover *x, const line *l)
{
    const int session = session_of(x, &l->session);
    duo_case *const c = session > 0 ? duo_crossover_add(x, l->operation, l->family, l->n) : NULL;
    if (c == NULL) return;
    c->figure[l->series] = l->figure;
    c->figure[l->series].session = session;
    x->kept++;
}

static bool keep_for_writing(duo_crossover *x, const char *text)
{
    const size_t used = x->unwanted != NULL ? strlen(x->unwanted) : 0;
    char *const longer = realloc(x->unwanted, used + strlen(text) + 2);
    if (longer == NULL) return false;
    sprintf(longer + used, "%s\n", text);
    x->unwanted = longer;
    return true;
}

static void take_line(duo_crossover *x, bool update, const char *text, const line *l,
                      const duo_figures_difference *d)
{
    const bool noisy = l->session.noise > duo_quiet_error && !x->ignore_noise;
    if (noisy || is_stale(l->series, d)) return;
    if (x->wanted[l->operation] && !l->session.quick) x->full_before++;
    if (!x->wanted[l->operation])
        (void)keep_for_writing(x, text);
    else if (update && (x->quick || !l->session.quick))
        restore(x, l);
}

/* Reads all lines. False: line *number is not understood. */
static bool read_lines(duo_crossover *x, bool update, FILE *file, int *number)
{
    duo_figures_head ours, theirs = {0};
    char text[LINE], copy[LINE];
    line l;
    duo_figures_difference d = {.all = true};
    duo_figures_head_of(x, &ours);
    for (*number = 1; fgets(text, sizeof text, file) != NULL; ++*number) {
        const size_t length = strcspn(text, "\n");
        if (text[length] == '\0' || *number > MOST_LINES) return false; /* cut, or too many lines */
        text[length] = '\0';
        if (duo_figures_head_read(text, &theirs)) {
            d = duo_figures_compare(&ours, &theirs);
            continue;
        }
        if (*number == DUO_FIGURES_HEAD + 1) continue; /* names of columns */
        if (d.all) continue;
        memcpy(copy, text, length + 1);
        if (!read_line(copy, &l)) return false;
        take_line(x, update, text, &l, &d);
    }
    return true;
}

static void forget(duo_crossover *x)
{
    free(x->unwanted);
    x->unwanted = NULL;
    x->kept = 0;
    x->sessions = 1;
    for (int i = 0; i < x->cases; i++) memset(x->item[i].figure, 0, sizeof x->item[i].figure);
}

bool duo_figures_read(duo_crossover *x, bool update, const char *path, char *why, size_t why_size)
{
    int number;
    FILE *const file = fopen(path, "r");
    if (file == NULL) return true;
    const bool good = read_lines(x, update, file, &number);
    fclose(file);
    if (good) return true;
    snprintf(why, why_size, "line %d is not understood", number);
    forget(x);
    return false;
}

/* ---- Writing ---- */

static void write_figure(const duo_crossover *x, const duo_case *c, int series, FILE *file)
{
    const duo_figure *const f = &c->figure[series];
    char name[64];
    if (!(f->median_seconds > 0.0) || !(f->low_seconds > 0.0) || f->predicted) return;
    const duo_session *const s = &x->session[f->session];
    series_name(series, name);
    fprintf(file, "%s,%s,%" PRId64 ",%s,%s,%d,%.9g,%.9g,%.9g,%.9g,%s,%s,%s,%.9g\n",
            duo_operation_name(c->problem.operation), c->family, c->n, name, f->algorithm,
            f->threads, f->median_seconds, f->minimum_seconds, f->low_seconds, f->high_seconds,
            s->quick ? "quick" : "full", s->date, s->commit, s->noise);
}

bool duo_figures_write(const duo_crossover *x, const char *path)
{
    duo_output output;
    duo_figures_head h;
    (void)duo_profile_make_folders(path); /* failure was checked for before */
    if (!duo_output_open(&output, path)) return false;
    duo_figures_head_of(x, &h);
    duo_figures_head_print(&h, output.file);
    fprintf(output.file, "operation,family,n,series,algorithm,threads,median,minimum,low,high,"
                         "effort,date,commit,noise\n");
    for (int i = 0; i < x->cases; i++)
        for (int series = 0; series < DUO_SERIES; series++)
            write_figure(x, &x->item[i], series, output.file);
    if (x->unwanted != NULL) fputs(x->unwanted, output.file);
    return duo_output_close(&output, true);
}
