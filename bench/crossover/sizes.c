/* sizes.c - tables of the sizes from which the GPU is faster (sizes.h) */
#include "bench/crossover/sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const duo_sizes_titles[DUO_SIZES] = {
    [DUO_SIZES_ONE_CALL] = "Crossing points",
    [DUO_SIZES_REUSE] = "Break-even reuse",
    [DUO_SIZES_THRESHOLD] = "Offload threshold",
};

const char *const duo_sizes_texts[DUO_SIZES] = {
    [DUO_SIZES_ONE_CALL] =
        "The size n from which on one call is faster on the GPU, at every larger size measured. "
        "Between two measured sizes it is interpolated.",
    [DUO_SIZES_REUSE] =
        "Plain arrays, sent once and used N times: from this n on the GPU has done all N calls "
        "sooner than the CPU. The first call takes what a call with its transfers was measured to "
        "take, each further one what a call with its arrays on the GPU takes. Kept arrays "
        "(duo_keep) make calls so. Other N: --calls.",
    [DUO_SIZES_THRESHOLD] =
        "As GPU-BLOB defines it: the smallest size measured from which on the GPU is faster at "
        "every larger one. Transfer-Always sends and fetches in each call; Transfer-Once sends "
        "before the first of some calls and fetches after the last, here from pinned memory and "
        "computed as above. Its third kind, unified memory, is not measured.",
};

const char *const duo_sizes_marks =
    "A range: somewhere between, by the noise and by the error of predictions. never: at no size "
    "measured; always: at all of them. ~: predicted, not measured.";

/* A column in a table of sizes. */
typedef struct column {
    char title[24];
    duo_use use;
    bool measured_size; /* the smallest measured size, not the meeting of the curves */
} column;

enum { MOST_COLUMNS = 4 };

static int list_columns(const duo_crossover *x, duo_sizes which, column list[MOST_COLUMNS])
{
    static const column thresholds[MOST_COLUMNS] = {
        {"Always, plain", {DUO_PLACE_PAGEABLE, 1, 1.0}, true},
        {"Always, pinned", {DUO_PLACE_PINNED, 1, 1.0}, true},
        {"Once, 10 calls", {DUO_PLACE_PINNED, 10, 1.0}, true},
        {"Once, 100 calls", {DUO_PLACE_PINNED, 100, 1.0}, true},
    };
    int64_t calls[DUO_CALLS];
    const int numbers = duo_crossover_calls(x, calls);
    if (which == DUO_SIZES_THRESHOLD) memcpy(list, thresholds, sizeof thresholds);
    if (which == DUO_SIZES_THRESHOLD) return MOST_COLUMNS;
    for (int i = 0; i < DUO_PLACES && which == DUO_SIZES_ONE_CALL; i++) {
        list[i] = (column){.use = duo_one_call((duo_place)i)};
        snprintf(list[i].title, sizeof list[i].title, "%s", duo_place_titles[i]);
    }
    for (int i = 0; i < numbers && which == DUO_SIZES_REUSE; i++) {
        list[i] = (column){.use = {DUO_PLACE_PAGEABLE, calls[i], 1.0}};
        snprintf(list[i].title, sizeof list[i].title,
                 calls[i] == 1 ? "used once" : "%" PRId64 " times", calls[i]);
    }
    return which == DUO_SIZES_ONE_CALL ? DUO_PLACES : numbers;
}

static void size_cell(const duo_crossover *x, duo_table *t, const column *c, int width,
                      duo_operation operation, const char *family)
{
    char text[DUO_TEXT];
    const duo_ends ends = duo_crossover_ends(x, operation, family, c->use);
    const duo_crossing *const at = &ends.crossing;
    const char *shown = duo_ends_text(&ends, text);
    if (c->measured_size) shown = duo_crossing_text(at, text);
    if (c->measured_size && (at->verdict == DUO_WINS_FROM || at->verdict == DUO_WINS_ALWAYS)) {
        snprintf(text, sizeof text, "%" PRId64, at->n);
        shown = text;
    }
    t->guess = at->predicted && !t->titles;
    duo_cell_word(t, NULL, c->title, width, shown);
}

/* Four columns of numbers leave only room for the operation on a terminal. */
static void size_row(const duo_crossover *x, duo_table *t, const column *columns, int count,
                     duo_operation operation, const char *family)
{
    char title[DUO_TEXT];
    const bool narrow = t->form == DUO_AS_TEXT && count > DUO_PLACES;
    snprintf(title, sizeof title, narrow ? "%s" : "%s, %s", duo_operation_name(operation), family);
    duo_cell_word(t, NULL, t->form == DUO_AS_TEXT ? "" : "operation, shape", narrow ? -6 : -17,
                  title);
    for (int i = 0; i < count; i++)
        size_cell(x, t, &columns[i], narrow ? 17 : 18, operation, family);
    duo_row_end(t);
}

void duo_sizes_table(const duo_crossover *x, duo_sizes which, bool full, duo_table *t)
{
    column columns[MOST_COLUMNS];
    const int count = list_columns(x, which, columns);
    t->titles = true;
    t->dense = true;
    size_row(x, t, columns, count, DUO_SGEMM, duo_crossover_main_family(DUO_SGEMM));
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const char *family[DUO_CASES];
        const int families = duo_crossover_families(x, (duo_operation)operation, family);
        for (int i = 0; i < (full || families == 0 ? families : 1); i++)
            size_row(x, t, columns, count, (duo_operation)operation, family[i]);
    }
    duo_table_close(t);
}
