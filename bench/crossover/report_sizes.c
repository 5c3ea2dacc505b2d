/* report_sizes.c - the page's tables of the sizes from which the GPU is faster */
#include "bench/crossover/html.h"

/* A column in a table of sizes. */
typedef struct column {
    const char *title;
    duo_use use;
    bool measured_size; /* the smallest measured size, not the meeting of the curves */
} column;

static void size_cell(const duo_crossing *c, bool measured_size, FILE *file)
{
    char text[DUO_TEXT];
    const char *shown = duo_crossing_text(c, text);
    if (measured_size && (c->verdict == DUO_WINS_FROM || c->verdict == DUO_WINS_ALWAYS))
        snprintf(text, sizeof text, "%lld", (long long)c->n), shown = text;
    duo_html_cell(shown, c->predicted, file);
}

static void size_row(const duo_crossover *x, duo_operation operation, const char *family,
                     const column *columns, FILE *file)
{
    char title[DUO_TEXT];
    snprintf(title, sizeof title, "%s, %s", duo_operation_name(operation), family);
    duo_html_row_begin(title, file);
    for (; columns->title != NULL; columns++) {
        const duo_crossing c = duo_crossover_find_use(x, operation, family, columns->use);
        size_cell(&c, columns->measured_size, file);
    }
    duo_html_row_end(file);
}

static void size_table(const duo_crossover *x, const column *columns, FILE *file)
{
    enum { MOST_COLUMNS = 8 };
    const char *titles[MOST_COLUMNS + 2] = {"operation, shape"};
    for (int i = 0; columns[i].title != NULL; i++) titles[i + 1] = columns[i].title;
    duo_html_table_begin(titles, file);
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const char *family[DUO_CASES];
        const int families = duo_crossover_families(x, (duo_operation)operation, family);
        for (int i = 0; i < families; i++)
            size_row(x, (duo_operation)operation, family[i], columns, file);
    }
    duo_html_table_end(file);
}

static void crossings(const duo_crossover *x, FILE *file)
{
    static const column columns[] = {
        {"plain", {DUO_PLACE_PAGEABLE, 1, 1.0}, false},
        {"pinned", {DUO_PLACE_PINNED, 1, 1.0}, false},
        {"on the GPU", {DUO_PLACE_DEVICE, 1, 1.0}, false},
        {NULL, {DUO_PLACE_DEVICE, 1, 1.0}, false},
    };
    duo_html_element("h2", "Crossing points", file);
    duo_html_element("p",
                     "The size n from which on one call is faster on the GPU, at every larger size "
                     "measured. Between two measured sizes it is interpolated. never: at no size; "
                     "always: at all of them; ~: rests on predicted figures.",
                     file);
    size_table(x, columns, file);
}

static void reuse(const duo_crossover *x, FILE *file)
{
    static const column columns[] = {
        {"used once", {DUO_PLACE_PAGEABLE, 1, 1.0}, false},
        {"10 times", {DUO_PLACE_PAGEABLE, 10, 1.0}, false},
        {"100 times", {DUO_PLACE_PAGEABLE, 100, 1.0}, false},
        {"1000 times", {DUO_PLACE_PAGEABLE, 1000, 1.0}, false},
        {NULL, {DUO_PLACE_PAGEABLE, 1, 1.0}, false},
    };
    duo_html_element("h2", "Break-even reuse", file);
    duo_html_element("p",
                     "Plain arrays, sent once and used N times: from this n on the "
                     "GPU has done all N calls sooner than the CPU. The first call takes what a "
                     "call with its transfers was measured to take, each further one what a call "
                     "with its arrays on the GPU takes. duo_keep makes calls so.",
                     file);
    size_table(x, columns, file);
}

static void offload_threshold(const duo_crossover *x, FILE *file)
{
    static const column columns[] = {
        {"Always, plain", {DUO_PLACE_PAGEABLE, 1, 1.0}, true},
        {"Always, pinned", {DUO_PLACE_PINNED, 1, 1.0}, true},
        {"Once, 10 calls", {DUO_PLACE_PINNED, 10, 1.0}, true},
        {"Once, 100 calls", {DUO_PLACE_PINNED, 100, 1.0}, true},
        {NULL, {DUO_PLACE_PINNED, 1, 1.0}, true},
    };
    duo_html_element("h2", "Offload threshold", file);
    duo_html_element("p",
                     "As GPU-BLOB defines it: the smallest size measured from which on the GPU is "
                     "faster at every larger one. Transfer-Always sends and fetches in each call; "
                     "Transfer-Once sends before the first of some calls and fetches after the "
                     "last, here from pinned memory and computed as above. Its third kind, unified "
                     "memory, is not measured.",
                     file);
    size_table(x, columns, file);
}

void duo_report_sizes(const duo_crossover *x, FILE *file)
{
    crossings(x, file);
    reuse(x, file);
    offload_threshold(x, file);
}
