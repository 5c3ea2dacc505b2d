/* options.c - the arguments of `duoblas bench` (experiments.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/experiments/experiments.h"
#include "bench/tool/arguments.h"

/* ---- Sizes ---- */

/* Adds the powers of two from low to high. False: too many. */
static bool add_sizes(duo_bench *b, int64_t low, int64_t high)
{
    for (int64_t size = low; size <= high; size *= 2) {
        if (b->sizes == DUO_MOST_PROBLEMS) return false;
        b->size[b->sizes++] = size;
    }
    return true;
}

error_t duo_parse_sizes(const duo_option *option, struct argp_state *state, const char *value)
{
    for (const char *from = value;; from++) {
        int64_t low, high;
        char word[48];
        const size_t length = strcspn(from, ",");
        if (length >= sizeof word) return duo_tool_bad_value(option, state, value);
        memcpy(word, from, length);
        word[length] = '\0';
        if (!duo_tool_range(word, &low, &high)) return duo_tool_bad_value(option, state, value);
        if (!add_sizes(duo_option_target(option, state), low, high))
            return duo_tool_refuse(state, "too many sizes", value);
        from += length;
        if (*from == '\0') return 0;
    }
}

error_t duo_parse_shape(const duo_option *option, struct argp_state *state, const char *value)
{
    duo_bench *const b = duo_option_target(option, state);
    if (b->shapes == DUO_MOST_PROBLEMS || !duo_tool_shape(value, b->shape[b->shapes]))
        return duo_tool_bad_value(option, state, value);
    b->shapes++;
    return 0;
}

error_t duo_parse_named(const duo_option *option, struct argp_state *state, const char *value)
{
    duo_bench *const b = duo_option_target(option, state);
    for (const char *at = strchr(value, ','); at != NULL; at = strchr(at + 1, ','))
        if (at[1 + strcspn(at + 1, "=,")] != '=') return duo_tool_bad_value(option, state, value);
    if (value[0] == ',' || value[0] == '\0') return duo_tool_bad_value(option, state, value);
    if (b->names == DUO_MOST_NAMED) return duo_tool_refuse(state, "too many libraries", value);
    b->named[b->names++] = value;
    return 0;
}

/* ---- The arguments of an experiment ---- */

static const duo_experiments *among; /* the table that has the experiment */

static const char *names_of(unsigned bits)
{
    static char names[256];
    size_t length = 0;
    for (const duo_experiment *e = among->experiment; e->name != NULL; e++)
        if ((e->bit & bits) != 0)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       length > 0 ? ", " : "", e->name);
    return names;
}

static error_t take_word(void *into, struct argp_state *state, const char *value)
{
    duo_bench *const b = into;
    if (b->experiment->words == NULL || b->word != NULL)
        return duo_tool_refuse(state, "unexpected argument", value);
    b->word = value;
    return 0;
}

static error_t check(void *into, struct argp_state *state)
{
    const duo_bench *const b = into;
    const duo_experiment *const e = b->experiment;
    if (e->words != NULL && b->word == NULL)
        return duo_tool_refuse(state, "an argument is missing", e->words);
    const char *const refused = e->refuse != NULL ? e->refuse(b) : NULL;
    if (refused == NULL) return 0;
    argp_error(state, "%s", refused);
    return EINVAL;
}

/* ---- The experiment ---- */

/* Finds the experiment with a name of one word, or of this and the next one. */
static const duo_experiment *experiment_of(const duo_experiments *all, const char *word,
                                           const char *next)
{
    char two[64];
    const duo_experiment *found = NULL;
    snprintf(two, sizeof two, "%s %s", word, next != NULL ? next : "");
    for (const duo_experiment *e = all->experiment; e->name != NULL; e++) {
        if (strcmp(e->name, two) == 0) return e;
        if (strcmp(e->name, word) == 0) found = e;
    }
    return found;
}

static const char *names_of_all(void)
{
    static char names[256];
    size_t length = 0;
    for (const duo_experiment *e = duo_user_experiments.experiment; e->name != NULL; e++)
        if (strchr(e->name, ' ') == NULL)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       length > 0 ? ", " : "", e->name);
    return names;
}

typedef struct request {
    duo_bench *bench;
    int last; /* index of its name's last word */
} request;

static error_t take_name(void *into, struct argp_state *state, const char *word)
{
    static const duo_experiments *const all[] = {&duo_user_experiments, &duo_studies};
    request *const r = into;
    const duo_experiment *found = NULL;
    for (int i = 0; i < 2 && found == NULL; i++) {
        among = all[i];
        found = experiment_of(all[i], word, state->argv[state->next]);
    }
    if (found == NULL) return duo_tool_bad_word(state, "no such benchmark", word, names_of_all());
    r->bench->experiment = found;
    r->last = state->next - (strchr(found->name, ' ') == NULL);
    state->next = state->argc; /* all later options are the experiment's */
    return 0;
}

static error_t check_name(void *into, struct argp_state *state)
{
    return ((const request *)into)->bench->experiment != NULL
               ? 0
               : duo_tool_refuse(state, "a benchmark is missing", names_of_all());
}

/* The help of all: names, then examples. */
static const char *doc_of_all(void)
{
    static char doc[4096];
    int length = snprintf(doc, sizeof doc,
                          "Times DuoBLAS beside the other libraries of this machine.\n\n"
                          "Benchmarks:\n");
    for (const duo_experiment *e = duo_user_experiments.experiment; e->name != NULL; e++)
        length +=
            snprintf(doc + length, sizeof doc - (size_t)length, "  %-15s %s\n", e->name, e->what);
    snprintf(doc + length, sizeof doc - (size_t)length,
             "\v`duoblas bench BENCHMARK --help' lists the options of a benchmark.\n\n"
             "Examples:\n"
             "  $ duoblas bench sgemm -n 1000,4096\n"
             "  $ duoblas bench ssum -n 2^10..2^28 --plot ssum.svg\n"
             "  $ duoblas bench shapes --random 400 --seed 7\n"
             "  $ duoblas bench host -n 2^9..2^15 --memory pinned");
    return doc;
}

int duo_bench_arguments(int argc, char **argv, duo_bench *b)
{
    char program[96];
    request r = {.bench = b};
    duo_arguments all = {.words = "BENCHMARK [OPTION...]",
                         .doc = doc_of_all(),
                         .into = &r,
                         .word = take_name,
                         .end = check_name};
    const int status = duo_tool_parse(&all, argc, argv);
    if (status != 0) return status;
    const duo_experiment *const e = b->experiment;
    duo_arguments one = {.words = e->words,
                         .doc = e->doc,
                         .option = among->option,
                         .into = b,
                         .taker = e->bit,
                         .name = e->name,
                         .names = names_of,
                         .word = take_word,
                         .end = check};
    snprintf(program, sizeof program, "%s %s", argv[0], e->name);
    argv[r.last] = program;
    return duo_tool_parse(&one, argc - r.last, argv + r.last);
}
