/* options.c - see options.h */
#include "bench/experiments/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/experiments/experiments.h"
#include "bench/tool/options.h"
#include "bench/tool/output.h"

/* ---- Values ---- */

static void *where(const duo_bench_option *option, const struct argp_state *state)
{
    return (char *)state->input + option->where;
}

static error_t bad(const duo_bench_option *option, struct argp_state *state, const char *value)
{
    char name[32];
    snprintf(name, sizeof name, "--%s", option->name);
    return duo_tool_bad_value(state, name, value);
}

error_t duo_parse_flag(const duo_bench_option *option, struct argp_state *state, const char *value)
{
    (void)value;
    *(bool *)where(option, state) = true;
    return 0;
}

/* Which of "cpu|gpu" a word of this length is; -1: none. */
static int choice_of(const char *list, const char *word, size_t length)
{
    for (int index = 0;; index++) {
        const size_t end = strcspn(list, "|[");
        if (end == length && strncmp(list, word, length) == 0) return index;
        if (list[end] != '|') return -1;
        list += end + 1;
    }
}

error_t duo_parse_choice(const duo_bench_option *option, struct argp_state *state,
                         const char *value)
{
    const int choice = choice_of(option->value, value, strlen(value));
    *(int *)where(option, state) = choice;
    return choice >= 0 ? 0 : bad(option, state, value);
}

error_t duo_parse_choices(const duo_bench_option *option, struct argp_state *state,
                          const char *value)
{
    unsigned *const bits = where(option, state);
    for (const char *word = value;; word++) {
        const size_t length = strcspn(word, ",");
        const int choice = choice_of(option->value, word, length);
        if (choice < 0) return bad(option, state, value);
        *bits |= 1u << choice;
        word += length;
        if (*word == '\0') return 0;
    }
}

error_t duo_parse_number(const duo_bench_option *option, struct argp_state *state,
                         const char *value)
{
    char name[32];
    int64_t number = 0;
    snprintf(name, sizeof name, "--%s", option->name);
    const error_t refused =
        duo_tool_number_option(state, name, value, option->least, option->most, &number);
    *(int *)where(option, state) = (int)number;
    return refused;
}

error_t duo_parse_seed(const duo_bench_option *option, struct argp_state *state, const char *value)
{
    int64_t number = 0;
    const error_t refused = duo_tool_number_option(state, "--seed", value, 0, INT64_MAX, &number);
    *(uint64_t *)where(option, state) = (uint64_t)number;
    return refused;
}

error_t duo_parse_text(const duo_bench_option *option, struct argp_state *state, const char *value)
{
    *(const char **)where(option, state) = value;
    return 0;
}

error_t duo_parse_picture(const duo_bench_option *option, struct argp_state *state,
                          const char *value)
{
    *(const char **)where(option, state) = value;
    return duo_picture_named_well(value) ? 0 : bad(option, state, value);
}

/* False: too many. */
static bool add_sizes(duo_bench *b, int64_t low, int64_t high)
{
    for (int64_t size = low; size <= high; size *= 2) {
        if (b->sizes == DUO_MOST_PROBLEMS) return false;
        b->size[b->sizes++] = size;
    }
    return true;
}

error_t duo_parse_sizes(const duo_bench_option *option, struct argp_state *state, const char *value)
{
    for (const char *from = value;; from++) {
        int64_t low, high;
        char word[48];
        const size_t length = strcspn(from, ",");
        if (length >= sizeof word) return bad(option, state, value);
        memcpy(word, from, length);
        word[length] = '\0';
        if (!duo_tool_range(word, &low, &high)) return bad(option, state, value);
        if (!add_sizes(state->input, low, high))
            return duo_tool_refuse(state, "too many sizes", value);
        from += length;
        if (*from == '\0') return 0;
    }
}

error_t duo_parse_shape(const duo_bench_option *option, struct argp_state *state, const char *value)
{
    duo_bench *const b = state->input;
    if (b->shapes == DUO_MOST_PROBLEMS || !duo_tool_shape(value, b->shape[b->shapes]))
        return bad(option, state, value);
    b->shapes++;
    return 0;
}

/* ---- The options of an experiment ---- */

enum { MOST_OPTIONS = 64, FIRST_KEY = 256 };

static const duo_experiments *among; /* where the experiment was found */

/* For argp. Those of other experiments are hidden: they are known only to be refused. */
static struct argp_option list[MOST_OPTIONS + 1];
static const duo_bench_option *row_of[MOST_OPTIONS];

static bool is_listed(const duo_bench_option *option, int count)
{
    int i = 0;
    while (i < count && strcmp(row_of[i]->name, option->name) != 0) i++;
    return i < count;
}

static void list_options(unsigned experiment)
{
    int count = 0;
    for (int hidden = 0; hidden < 2; hidden++)
        for (const duo_bench_option *o = among->option; o->name != NULL; o++) {
            if (((o->experiments & experiment) == 0) != (hidden == 1) || is_listed(o, count))
                continue;
            row_of[count] = o;
            list[count] =
                (struct argp_option){.name = o->name,
                                     .key = o->letter != 0 ? o->letter : FIRST_KEY + count,
                                     .arg = o->value,
                                     .flags = hidden || o->help == NULL ? OPTION_HIDDEN : 0,
                                     .doc = o->help};
            count++;
        }
    list[count] = (struct argp_option){0};
}

/* Tells who takes it. */
static error_t refuse(const char *option, struct argp_state *state)
{
    char names[256] = "";
    size_t length = 0;
    unsigned takers = 0;
    const duo_bench *const b = state->input;
    for (const duo_bench_option *o = among->option; o->name != NULL; o++)
        if (strcmp(o->name, option) == 0) takers |= o->experiments;
    for (const duo_experiment *e = among->experiment; e->name != NULL; e++)
        if ((e->bit & takers) != 0)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s",
                                       length > 0 ? ", " : "", e->name);
    argp_error(state, "--%s is for %s, not for %s", option, names, b->experiment->name);
    return EINVAL;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    const duo_bench *const b = state->input;
    int i = 0;
    while (list[i].key != 0 && list[i].key != key) i++;
    if (list[i].key == 0) return ARGP_ERR_UNKNOWN;
    if ((row_of[i]->experiments & b->experiment->bit) == 0) return refuse(row_of[i]->name, state);
    return row_of[i]->parse(row_of[i], state, value);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    duo_bench *const b = state->input;
    const char *refused = NULL;
    switch (key) {
    case ARGP_KEY_ARG:
        if (b->experiment->words == NULL || b->word != NULL)
            return duo_tool_refuse(state, "unexpected argument", value);
        b->word = value;
        return 0;
    case ARGP_KEY_END:
        if (b->experiment->words != NULL && b->word == NULL)
            return duo_tool_refuse(state, "an argument is missing", b->experiment->words);
        if (b->experiment->refuse != NULL) refused = b->experiment->refuse(b);
        if (refused == NULL) return 0;
        argp_error(state, "%s", refused);
        return EINVAL;
    default:
        return parse_option(key, value, state);
    }
}

/* ---- The experiment ---- */

/* By a word, or by it and the next one. */
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
    int last; /* of the words of its name */
} request;

static error_t parse_name(int key, char *word, struct argp_state *state)
{
    static const duo_experiments *const all[] = {&duo_user_experiments, &duo_studies};
    request *const r = state->input;
    const duo_experiment *found = NULL;
    switch (key) {
    case ARGP_KEY_ARG:
        for (int i = 0; i < 2 && found == NULL; i++) {
            among = all[i];
            found = experiment_of(all[i], word, state->argv[state->next]);
        }
        if (found == NULL)
            return duo_tool_bad_word(state, "no such benchmark", word, names_of_all());
        r->bench->experiment = found;
        r->last = state->next - (strchr(found->name, ' ') == NULL);
        state->next = state->argc; /* the options are its own */
        return 0;
    case ARGP_KEY_END:
        return r->bench->experiment != NULL
                   ? 0
                   : duo_tool_refuse(state, "a benchmark is missing", names_of_all());
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The names, and below them examples. */
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
    const struct argp all = {NULL, parse_name, "BENCHMARK [OPTION...]", doc_of_all(), duo_tool_help,
                             NULL, NULL};
    const int status = duo_tool_parse_in_order(&all, argc, argv, &r);
    if (status != 0) return status;
    const duo_experiment *const e = b->experiment;
    const struct argp one = {list, parse, e->words, e->doc, duo_tool_help, NULL, NULL};
    list_options(e->bit);
    snprintf(program, sizeof program, "%s %s", argv[0], e->name);
    argv[r.last] = program;
    return duo_tool_parse(&one, argc - r.last, argv + r.last, b);
}
