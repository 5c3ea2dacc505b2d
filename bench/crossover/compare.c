/* compare.c - see compare.h */
#define _GNU_SOURCE
#include "bench/crossover/compare.h"

#include <cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/benchmark.h"
#include "bench/tool/table.h"
#include "bench/tool/text.h"

/* Two runs differ if more than this share of a side's figures lie outside their noise: a second run
 * tells only what three of four figures stay within. */
static const double kFew = 0.25;

enum { MOST_BYTES = 64 << 20 };

/* ---- Runs ---- */

static char *read_text(const char *path)
{
    FILE *const file = fopen(path, "r");
    char *text = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        if (size > 0 && size < MOST_BYTES) text = malloc((size_t)size + 1);
        if (text != NULL) text[fread(text, 1, (size_t)size, file)] = '\0';
    }
    if (file != NULL) fclose(file);
    return text;
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* A string of the object; "" if it has none. */
static const char *word(const cJSON *object, const char *key)
{
    const char *const text = cJSON_GetStringValue(get(object, key));
    return text != NULL ? text : "";
}

/* A number of the object; NaN if it has none. */
static double number(const cJSON *object, const char *key)
{
    const cJSON *const item = get(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

bool duo_run_parse(duo_run *run, const char *name, const char *text)
{
    *run = (duo_run){.name = name, .json = cJSON_Parse(text)};
    const bool good = run->json != NULL && number(run->json, "format") == 1.0 &&
                      strcmp(word(run->json, "tool"), "duoblas crossover") == 0;
    if (!good) duo_run_free(run);
    return good;
}

bool duo_run_read(duo_run *run, const char *path)
{
    char *const text = read_text(path);
    const bool good = text != NULL && duo_run_parse(run, path, text);
    if (!good)
        fprintf(stderr, "duoblas: cannot compare with %s: %s\n", path,
                text == NULL ? "it cannot be read" : "it is not of `duoblas crossover --json'");
    free(text);
    return good;
}

bool duo_run_of(duo_run *run, const duo_crossover *x)
{
    char *const text = duo_crossover_json_text(x);
    *run = (duo_run){.name = "this run", .json = text != NULL ? cJSON_Parse(text) : NULL};
    free(text);
    if (run->json == NULL) fprintf(stderr, "duoblas: no memory to compare\n");
    return run->json != NULL;
}

void duo_run_free(duo_run *run)
{
    cJSON_Delete(run->json);
    run->json = NULL;
}

static double noise_of(const duo_run *run)
{
    const double error = number(get(run->json, "noise"), "error");
    return error >= 0.0 ? error : 0.0;
}

/* ---- What is compared ---- */

/* The items in lists of both runs with these values are alike; NULL: none. */
static const cJSON *find(const cJSON *list, const cJSON *like, const char *const *keys)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        bool alike = true;
        for (int i = 0; keys[i] != NULL && alike; i++)
            alike = cJSON_Compare(get(item, keys[i]), get(like, keys[i]), true);
        if (alike) return item;
    }
    return NULL;
}

/* A quotient of two values, new / old, and the factor by which it may be off. */
typedef struct ratio {
    double value, off; /* NaN: not known */
} ratio;

static bool beyond_noise(const ratio *r) { return fabs(log(r->value)) > log(r->off); }

/* The factor by which a figure may be off: by the noise of its run, by what a second run has shown
 * of its place, or by its quartiles. */
static double off_of(const duo_run *run, const cJSON *figure)
{
    const cJSON *const second = get(get(run->json, "noise"), "second_run");
    const double median = number(figure, "seconds_median");
    const double spread =
        fmax(number(figure, "seconds_high") / median, median / number(figure, "seconds_low"));
    const double seen = 1.0 + number(second, word(figure, "residence"));
    return fmax(fmax(1.0 + noise_of(run), seen), spread); /* fmax leaves NaN out */
}

/* The same for a crossing; NaN: the file is of a version that did not tell. */
static double off_of_crossing(const cJSON *crossing)
{
    const double meet = number(crossing, "meet");
    const double above = number(crossing, "meet_high") / meet;
    const double below = meet / number(crossing, "meet_low");
    return isnan(above) || isnan(below) ? (double)NAN : fmax(above, below);
}

/* ---- Heads ---- */

static void print_run(const char *which, const duo_run *run, FILE *file)
{
    char text[900];
    const cJSON *const machine = get(run->json, "machine"), *const gpu = get(machine, "gpu");
    const char *const noise = word(get(run->json, "noise"), "text");
    snprintf(text, sizeof text,
             "%.200s, %.20s, commit %.40s: %.90s, %.0f threads, %.90s; %s%.90s; %s", run->name,
             word(run->json, "date"), word(run->json, "commit"), word(machine, "cpu"),
             number(machine, "threads"), word(machine, "blas"),
             cJSON_IsTrue(get(gpu, "present")) ? "" : "predicted for ", word(gpu, "name"),
             noise[0] != '\0' ? noise : "noise not known");
    duo_text_wrap(which, text, file);
}

static void print_noisy(const char *which, const duo_run *run, FILE *file)
{
    char text[300];
    const cJSON *const noise = get(run->json, "noise");
    if (!cJSON_IsTrue(get(noise, "noisy"))) return;
    snprintf(text, sizeof text, "%.200s (the %s run)", word(noise, "text"), which);
    duo_text_wrap("", text, file);
}

/* ---- Crossings ---- */

static const char *place_title(const char *name)
{
    for (int place = 0; place < DUO_PLACES; place++)
        if (strcmp(name, duo_place_names[place]) == 0) return duo_place_titles[place];
    return strcmp(name, "host") == 0 ? "CPU" : "kernel";
}

static const char *crossing_word(const cJSON *crossing, char text[DUO_TEXT])
{
    if (strcmp(word(crossing, "verdict"), "from") == 0)
        return duo_text_about(number(crossing, "meet"), text);
    snprintf(text, DUO_TEXT, "%.20s", word(crossing, "verdict"));
    return text;
}

static void ratio_cells(duo_table *t, const ratio *r)
{
    double percent = 100.0 * (r->off - 1.0);
    if (percent > 9999.0) percent = 9999.0;
    duo_cell_number(t, NULL, "new/old", 8, r->value < 9.995 ? 2 : 0, r->value);
    duo_cell_number(t, NULL, "+-%", 5, percent < 9.95 ? 1 : 0, percent);
    duo_cell_word(t, NULL, "", -2, beyond_noise(r) && !t->titles ? "<-" : "");
    duo_row_end(t);
}

static void crossing_row(duo_table *t, const cJSON *old, const cJSON *new)
{
    char name[DUO_TEXT], before[DUO_TEXT], after[DUO_TEXT];
    const ratio r = {number(new, "meet") / number(old, "meet"),
                     off_of_crossing(old) * off_of_crossing(new)};
    snprintf(name, sizeof name, "%.20s, %.30s", word(new, "operation"), word(new, "family"));
    duo_cell_word(t, NULL, "", -19, name);
    duo_cell_word(t, NULL, "arrays", -10, place_title(word(new, "residence")));
    duo_cell_word(t, NULL, "old", 9, crossing_word(old, before));
    duo_cell_word(t, NULL, "new", 9, crossing_word(new, after));
    ratio_cells(t, &r);
}

static void print_crossings(const duo_run *old, const duo_run *new, FILE *file)
{
    static const char *const keys[] = {"operation", "family", "residence", "calls", NULL};
    const cJSON *item;
    duo_table table = {.form = DUO_AS_TEXT, .file = file, .titles = true, .dense = true};
    fprintf(file, "\nThe GPU is faster from n =\n");
    crossing_row(&table, NULL, NULL);
    cJSON_ArrayForEach(item, get(new->json, "crossings"))
    {
        const cJSON *const before = find(get(old->json, "crossings"), item, keys);
        if (before != NULL) crossing_row(&table, before, item);
    }
}

/* ---- Figures ---- */

/* The measured figures of one side. */
typedef struct side {
    const char *name;
    double *value; /* ratios */
    int count, beyond;
} side;

enum { MOST_FIGURES = DUO_CASES * DUO_SERIES };

static void figure_row(duo_table *t, const cJSON *c, const cJSON *figure, const ratio *r)
{
    char shape[DUO_TEXT];
    int64_t sizes[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        const cJSON *const size = cJSON_GetArrayItem(get(c, "shape"), i);
        if (cJSON_IsNumber(size)) sizes[i] = (int64_t)size->valuedouble;
    }
    const duo_operation operation =
        strcmp(word(c, "operation"), duo_operation_name(DUO_SGEMM)) == 0 ? DUO_SGEMM : DUO_SSUM;
    duo_cell_word(t, NULL, "shape", 18, duo_text_shape(operation, sizes, shape));
    duo_cell_word(t, NULL, "arrays", -10, place_title(word(figure, "residence")));
    duo_cell_word(t, NULL, "algorithm", -18, word(figure, "algorithm"));
    duo_cell_count(t, NULL, "thr", 3, (int64_t)number(figure, "threads"));
    duo_cell_seconds(t, NULL, "new", number(figure, "seconds_median"));
    ratio_cells(t, r);
}

/* The same figure of the other run. The public functions choose their algorithm themselves. */
static const cJSON *same_figure(const cJSON *figures, const cJSON *figure)
{
    static const char *const by_place[] = {"residence", NULL}, *const by_algorithm[] = {
                                                                   "residence", "algorithm",
                                                                   "threads", NULL};
    const char *const residence = word(figure, "residence");
    const bool alone = strcmp(residence, "host") == 0 || strcmp(residence, "queue") == 0;
    return find(figures, figure, alone ? by_algorithm : by_place);
}

/* Compares the figures of a case that are measured in both runs. */
static void compare_case(const duo_run *old, const duo_run *new, const cJSON *before,
                         const cJSON *c, side sides[2], bool full, duo_table *t)
{
    const cJSON *figure;
    cJSON_ArrayForEach(figure, get(c, "figures"))
    {
        const cJSON *const was = same_figure(get(before, "figures"), figure);
        if (was == NULL || !cJSON_IsFalse(get(was, "predicted")) ||
            !cJSON_IsFalse(get(figure, "predicted")))
            continue;
        const ratio r = {number(figure, "seconds_median") / number(was, "seconds_median"),
                         off_of(old, was) * off_of(new, figure)};
        side *const s = &sides[strcmp(word(figure, "side"), "gpu") == 0];
        if (!(r.value > 0.0) || s->count == MOST_FIGURES) continue;
        s->value[s->count++] = r.value;
        s->beyond += beyond_noise(&r);
        if (!full && !beyond_noise(&r)) continue;
        if (t->titles) fprintf(t->file, "\n%s\n", word(c, "operation"));
        if (t->titles) figure_row(t, NULL, NULL, &r);
        figure_row(t, c, figure, &r);
    }
}

/* Says whether the figures of a side differ by more than the noise. */
static void print_side(const side *s, FILE *file)
{
    char text[300];
    if (s->count == 0) return;
    const double middle = duo_median(s->value, s->count);
    const bool differ = (double)s->beyond > kFew * (double)s->count;
    snprintf(text, sizeof text,
             "%s: %s. The new run takes %.2f times as long in the middle of %d figures; %d of them "
             "differ by more than their noise.",
             s->name, differ ? "the runs differ by more than the noise" : "no difference but noise",
             middle, s->count, s->beyond);
    duo_text_wrap("", text, file);
}

static void compare_all(const duo_run *old, const duo_run *new, side sides[2], bool full,
                        FILE *table_to)
{
    static const char *const keys[] = {"operation", "family", "n", NULL};
    const cJSON *c;
    const char *operation = "";
    duo_table table = {.form = DUO_AS_TEXT, .file = table_to, .dense = true};
    cJSON_ArrayForEach(c, get(new->json, "cases"))
    {
        const cJSON *const before = find(get(old->json, "cases"), c, keys);
        if (before == NULL) continue;
        if (strcmp(operation, word(c, "operation")) != 0) {
            operation = word(c, "operation");
            table.titles = true;
        }
        compare_case(old, new, before, c, sides, full, &table);
    }
}

/* ---- One time ---- */

static const cJSON *case_of(const duo_run *run, const duo_case *c)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, get(run->json, "cases"))
    {
        if (number(item, "n") == (double)c->n && strcmp(word(item, "family"), c->family) == 0 &&
            strcmp(word(item, "operation"), duo_operation_name(c->problem.operation)) == 0)
            return item;
    }
    return NULL;
}

bool duo_run_noisy(const duo_run *run)
{
    return !cJSON_IsFalse(get(get(run->json, "noise"), "noisy"));
}

double duo_run_seconds(const duo_run *run, const duo_case *c, const duo_figure *like,
                       const char *place)
{
    const cJSON *figure;
    cJSON_ArrayForEach(figure, get(case_of(run, c), "figures"))
    {
        if (strcmp(word(figure, "residence"), place != NULL ? place : "host") == 0 &&
            cJSON_IsFalse(get(figure, "predicted")) &&
            (place != NULL || (strcmp(word(figure, "algorithm"), like->algorithm) == 0 &&
                               number(figure, "threads") == (double)like->threads)))
            return number(figure, "seconds_median");
    }
    return (double)NAN;
}

/* ---- Two runs side by side ---- */

void duo_compare_print(const duo_run *old, const duo_run *new, bool full, FILE *file)
{
    char *tables = NULL;
    size_t size = 0;
    double *const values = malloc(2 * MOST_FIGURES * sizeof *values);
    FILE *const memory = open_memstream(&tables, &size);
    if (values != NULL && memory != NULL) {
        side sides[2] = {{.name = "CPU", .value = values},
                         {.name = "GPU", .value = values + MOST_FIGURES}};
        compare_all(old, new, sides, full, memory);
        fflush(memory);
        print_noisy("old", old, file);
        print_noisy("new", new, file);
        for (int i = 0; i < 2; i++) print_side(&sides[i], file);
        if (sides[0].count + sides[1].count == 0)
            fprintf(file, "The runs have no measured figure in common.\n");
        fputc('\n', file);
        print_run("Old   ", old, file);
        print_run("New   ", new, file);
        print_crossings(old, new, file);
        fputs(tables, file);
        fputc('\n', file);
        if (!full)
            duo_text_wrap(
                "", "Shown are figures that differ by more than their noise; all: --full.", file);
        duo_text_wrap("",
                      "new/old above 1: the new run takes longer, or its GPU pays later. +-%: the "
                      "quotient may be off by so much, by the noise and the quartiles of both "
                      "runs. <-: it differs from 1 by more. -: not known.",
                      file);
    }
    if (memory != NULL) fclose(memory);
    free(tables);
    free(values);
}
