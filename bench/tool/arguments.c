/* arguments.c - see arguments.h */
#include "bench/tool/arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tool/output.h"
#include "bench/tool/tool.h"

/* ---- Refusals ---- */

error_t duo_tool_refuse(struct argp_state *state, const char *what, const char *value)
{
    argp_error(state, "%s: %s", what, value);
    return EINVAL;
}

error_t duo_tool_bad_word(struct argp_state *state, const char *what, const char *value,
                          const char *good)
{
    argp_error(state, "%s: %s; it may be %s", what, value, good);
    return EINVAL;
}

static error_t bad_value(const duo_option *option, struct argp_state *state, const char *value,
                         const char *good)
{
    argp_error(state, "bad value for --%s: %s; it may be %s", option->name, value, good);
    return EINVAL;
}

error_t duo_tool_bad_value(const duo_option *option, struct argp_state *state, const char *value)
{
    return bad_value(option, state, value, option->value);
}

/* ---- Values ---- */

void *duo_option_target(const duo_option *option, const struct argp_state *state)
{
    const duo_arguments *const a = state->input;
    return (char *)a->into + option->where;
}

error_t duo_parse_flag(const duo_option *option, struct argp_state *state, const char *value)
{
    (void)value;
    *(bool *)duo_option_target(option, state) = true;
    return 0;
}

/* The index of a word of this length in "cpu|gpu"; -1: it is none of these. */
static int choice_of(const char *list, const char *word, size_t length)
{
    for (int index = 0;; index++) {
        const size_t end = strcspn(list, "|[");
        if (end == length && strncmp(list, word, length) == 0) return index;
        if (list[end] != '|') return -1;
        list += end + 1;
    }
}

error_t duo_parse_choice(const duo_option *option, struct argp_state *state, const char *value)
{
    const int choice = choice_of(option->value, value, strlen(value));
    *(int *)duo_option_target(option, state) = choice;
    return choice >= 0 ? 0 : duo_tool_bad_value(option, state, value);
}

error_t duo_parse_choices(const duo_option *option, struct argp_state *state, const char *value)
{
    unsigned *const bits = duo_option_target(option, state);
    for (const char *word = value;; word++) {
        const size_t length = strcspn(word, ",");
        const int choice = choice_of(option->value, word, length);
        if (choice < 0) return duo_tool_bad_value(option, state, value);
        *bits |= 1u << choice;
        word += length;
        if (*word == '\0') return 0;
    }
}

static error_t parse_integer(const duo_option *option, struct argp_state *state, const char *value,
                             int64_t most, int64_t *number)
{
    char range[64];
    if (duo_tool_number(value, option->least, most, number)) return 0;
    snprintf(range, sizeof range, "%" PRId64 " to %" PRId64, option->least, most);
    return bad_value(option, state, value, range);
}

error_t duo_parse_number(const duo_option *option, struct argp_state *state, const char *value)
{
    int64_t number = 0;
    const error_t refused = parse_integer(option, state, value, option->most, &number);
    *(int *)duo_option_target(option, state) = (int)number;
    return refused;
}

error_t duo_parse_seed(const duo_option *option, struct argp_state *state, const char *value)
{
    int64_t number = 0;
    const error_t refused = parse_integer(option, state, value, INT64_MAX, &number);
    *(uint64_t *)duo_option_target(option, state) = (uint64_t)number;
    return refused;
}

error_t duo_parse_text(const duo_option *option, struct argp_state *state, const char *value)
{
    *(const char **)duo_option_target(option, state) = value;
    return 0;
}

error_t duo_parse_picture(const duo_option *option, struct argp_state *state, const char *value)
{
    *(const char **)duo_option_target(option, state) = value;
    return duo_picture_named_well(value) ? 0 : duo_tool_bad_value(option, state, value);
}

/* ---- Options of all commands ---- */

enum { OPTION_USAGE = -2, OPTION_VERSION = 'V' };

void duo_tool_print_version(const char *program)
{
    printf("%s %s (%s)\n", program, DUO_VERSION_STRING, duo_tool_commit);
}

static error_t parse_help(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    switch (key) {
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
        exit(EXIT_SUCCESS);
    case OPTION_USAGE:
        argp_state_help(state, stdout, ARGP_HELP_USAGE);
        exit(EXIT_SUCCESS);
    case OPTION_VERSION:
        duo_tool_print_version(state->name);
        exit(EXIT_SUCCESS);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option help_options[] = {
    {"help", 'h', NULL, 0, "Give this help list", -1},
    {"usage", OPTION_USAGE, NULL, 0, "Give a short usage message", -1},
    {"version", OPTION_VERSION, NULL, 0, "Print the version and the commit", -1},
    {0},
};

static const struct argp help_argp = {help_options, parse_help, NULL, NULL, NULL, NULL, NULL};
static const struct argp_child help[] = {{&help_argp, 0, NULL, -1}, {0}};

/* ---- The table ---- */

enum { MOST_OPTIONS = 64, FIRST_KEY = 256 };

/* The options for argp, and the row of each. Options of other takers are hidden: they are known
 * only to be refused. */
static struct argp_option list[MOST_OPTIONS + 1];
static const duo_option *row_of[MOST_OPTIONS];
static const duo_option *given[MOST_OPTIONS];
static int rows, givens;

static bool takes(const duo_arguments *a, const duo_option *option)
{
    return a->taker == 0 || option->takers == 0 || (option->takers & a->taker) != 0;
}

static bool is_listed(const duo_option *option)
{
    int i = 0;
    while (i < rows && strcmp(row_of[i]->name, option->name) != 0) i++;
    return i < rows;
}

static void list_option(const duo_option *o, bool hidden)
{
    const bool optional = o->value != NULL && o->value[0] == '?';
    if (is_listed(o) || rows == MOST_OPTIONS) return;
    row_of[rows] = o;
    list[rows] = (struct argp_option){.name = o->name,
                                      .key = o->letter != 0 ? o->letter : FIRST_KEY + rows,
                                      .arg = optional ? o->value + 1 : o->value,
                                      .flags = (hidden || o->help == NULL ? OPTION_HIDDEN : 0) |
                                               (optional ? OPTION_ARG_OPTIONAL : 0),
                                      .doc = o->help};
    rows++;
}

static void list_options(const duo_arguments *a)
{
    rows = givens = 0;
    for (int hidden = 0; hidden < 2; hidden++)
        for (const duo_option *o = a->option; o != NULL && o->name != NULL; o++)
            if (takes(a, o) == (hidden == 0)) list_option(o, hidden != 0);
    list[rows] = (struct argp_option){0};
}

/* Refuses the first given option that is not for this taker. */
static error_t refuse_others(const duo_arguments *a, struct argp_state *state)
{
    unsigned takers = 0;
    int i = 0;
    while (i < givens && takes(a, given[i])) i++;
    if (i == givens) return 0;
    for (const duo_option *o = a->option; o->name != NULL; o++)
        if (strcmp(o->name, given[i]->name) == 0) takers |= o->takers;
    argp_error(state, "--%s is for %s, not for %s", given[i]->name, a->names(takers), a->name);
    return EINVAL;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    int i = 0;
    while (i < rows && list[i].key != key) i++;
    if (i == rows) return ARGP_ERR_UNKNOWN;
    if (givens < MOST_OPTIONS) given[givens++] = row_of[i];
    return row_of[i]->parse(row_of[i], state, value);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    const duo_arguments *const a = state->input;
    error_t refused = 0;
    switch (key) {
    case ARGP_KEY_ARG:
        return a->word != NULL ? a->word(a->into, state, value)
                               : duo_tool_refuse(state, "unexpected argument", value);
    case ARGP_KEY_END:
        refused = refuse_others(a, state);
        return refused == 0 && a->end != NULL ? a->end(a->into, state) : refused;
    default:
        return parse_option(key, value, state);
    }
}

static struct argp argp_of(const duo_arguments *a)
{
    return (struct argp){
        a->option != NULL ? list : NULL, parse, a->words, a->doc, help, NULL, NULL};
}

void duo_tool_usage(const duo_arguments *a, const char *name)
{
    const struct argp argp = argp_of(a);
    argp_help(&argp, stderr, ARGP_HELP_SHORT_USAGE, (char *)(uintptr_t)name);
}

/* Options are parsed in order, since a word may take all that follows it. getopt and argp would end
 * the process themselves: flags keep the exit, and --help, in our hands. */
int duo_tool_parse(duo_arguments *a, int argc, char **argv)
{
    const struct argp argp = argp_of(a);
    list_options(a);
    if (argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_IN_ORDER, NULL, a) == 0)
        return 0;
    duo_tool_usage(a, argv[0]);
    return DUO_EXIT_USAGE;
}
