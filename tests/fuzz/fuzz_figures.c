/*
 * fuzz_figures.c - the reader of kept figures (CSV) against any lines, behind the head of this
 * machine. What is taken is sound; written and read again it is the same. A refused file leaves
 * nothing behind.
 */
#define _GNU_SOURCE
#include "bench/crossover/figures.c"

#include "fuzz/fuzz.h"

static const char columns[] = "names of columns\n";

static void begin(duo_crossover *x)
{
    static duo_crossover planned; /* to plan takes longer than to read */
    if (planned.sessions == 0) {
        planned.sessions = 1;
        planned.threads = 2;
        planned.wanted[DUO_SGEMM] = planned.wanted[DUO_SASUM] = true;
        snprintf(planned.session[0].date, sizeof planned.session[0].date, "today");
        duo_crossover_plan(&planned);
    }
    *x = planned;
}

/* The text behind a head, which is to be freed. */
static char *behind_head(const duo_crossover *x, const char *lines, size_t *size)
{
    char *text = NULL;
    duo_figures_head h;
    FILE *const file = open_memstream(&text, size);
    require(file != NULL, "memory");
    duo_figures_head_of(x, &h);
    duo_figures_head_print(&h, file);
    fprintf(file, "%s%s", columns, lines);
    require(fclose(file) == 0, "memory");
    return text;
}

static bool read_text(duo_crossover *x, char *text, size_t size)
{
    int number = 0;
    FILE *const file = fmemopen(text, size, "r");
    require(file != NULL, "memory");
    const bool good = read_lines(x, true, file, &number);
    fclose(file);
    return good;
}

/* The figures as lines, which are to be freed. */
static char *written(const duo_crossover *x)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const file = open_memstream(&text, &size);
    require(file != NULL, "memory");
    for (int i = 0; i < x->cases; i++)
        for (int series = 0; series < DUO_SERIES; series++)
            write_figure(x, &x->item[i], series, file);
    require(fclose(file) == 0, "memory");
    return text;
}

static void check(const duo_crossover *x)
{
    require(x->sessions >= 1 && x->sessions <= DUO_SESSIONS, "sessions");
    require(x->cases >= 0 && x->cases <= DUO_CASES, "cases");
    for (int i = 0; i < x->cases; i++)
        for (int series = 0; series < DUO_SERIES; series++) {
            const duo_figure *const f = &x->item[i].figure[series];
            if (f->algorithm == NULL) continue;
            require(f->session >= 1 && f->session < x->sessions, "a figure's session");
            require(f->median_seconds > 0.0 && f->high_seconds < 1e6, "seconds");
            require(f->minimum_seconds <= f->low_seconds, "seconds grow");
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static duo_crossover x, again;
    size_t length = 0;
    char *const lines = text_of(data, size);
    begin(&x);
    char *text = behind_head(&x, lines, &length);
    if (read_text(&x, text, length)) {
        check(&x);
        free(text);
        char *const once = written(&x);
        begin(&again);
        text = behind_head(&again, once, &length);
        require(read_text(&again, text, length), "what was written is refused");
        char *const twice = written(&again);
        require(strcmp(once, twice) == 0, "written and read, the figures are others");
        free(once);
        free(twice);
        forget(&again);
    }
    forget(&x);
    free(text);
    free(lines);
    return 0;
}
