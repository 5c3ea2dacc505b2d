/* options.c - see options.h */
#include "bench/tool/options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tool/tool.h"
#include "choice/algorithm.h"

/* ---- argp, with the usage line itself on a mistake, not only the advice to ask for it ---- */

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

const struct argp_child duo_tool_help[] = {{&help_argp, 0, NULL, -1}, {0}};

static int parse(const struct argp *argp, int argc, char **argv, unsigned how, void *input)
{
    /* getopt and argp would end the process themselves: keep the exit, and --help, in our hands. */
    if (argp_parse(argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP | how, NULL, input) == 0) return 0;
    argp_help(argp, stderr, ARGP_HELP_SHORT_USAGE, argv[0]);
    return DUO_EXIT_USAGE;
}

int duo_tool_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    return parse(argp, argc, argv, 0, input);
}

int duo_tool_parse_in_order(const struct argp *argp, int argc, char **argv, void *input)
{
    return parse(argp, argc, argv, ARGP_IN_ORDER, input);
}

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

static error_t bad_value(struct argp_state *state, const char *option, const char *value,
                         const char *good)
{
    char what[64];
    snprintf(what, sizeof what, "bad value for %s", option);
    return duo_tool_bad_word(state, what, value, good);
}

error_t duo_tool_bad_value(struct argp_state *state, const char *option, const char *value)
{
    const struct argp_option *o = state->root_argp->options;
    while (strcmp(o->name, option + strlen("--")) != 0) o++;
    return bad_value(state, option, value, o->arg);
}

error_t duo_tool_number_option(struct argp_state *state, const char *option, const char *value,
                               int64_t low, int64_t high, int64_t *number)
{
    char range[64];
    if (duo_tool_number(value, low, high, number)) return 0;
    snprintf(range, sizeof range, "%" PRId64 " to %" PRId64, low, high);
    return bad_value(state, option, value, range);
}

error_t duo_tool_threads_option(struct argp_state *state, const char *value, int *threads)
{
    int64_t number = *threads;
    const error_t refused = duo_tool_number_option(state, "--threads", value, 1, 1 << 16, &number);
    *threads = (int)number;
    return refused;
}

/* ---- Words ---- */

duo_operation duo_tool_operation(const char *name)
{
    int operation = 0;
    while (operation < DUO_OPERATIONS &&
           strcmp(name, duo_operation_name((duo_operation)operation)) != 0)
        operation++;
    return (duo_operation)operation;
}

bool duo_tool_operations(const char *list, bool wanted[DUO_OPERATIONS])
{
    memset(wanted, 0, DUO_OPERATIONS * sizeof wanted[0]);
    for (;;) {
        char name[16];
        const size_t length = strcspn(list, ",");
        if (length >= sizeof name) return false;
        memcpy(name, list, length);
        name[length] = '\0';
        const duo_operation operation = duo_tool_operation(name);
        if (operation == DUO_OPERATIONS) return false;
        wanted[operation] = true;
        if (list[length] == '\0') return true;
        list += length + 1;
    }
}

bool duo_tool_number(const char *text, int64_t low, int64_t high, int64_t *number)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high) return false;
    *number = value;
    return true;
}

bool duo_tool_bytes(const char *text, double *bytes)
{
    static const char units[] = "KMG";
    char number[24];
    int64_t count;
    const size_t digits = strspn(text, "0123456789");
    const char *const unit = text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
    if (digits >= sizeof number || (text[digits] != '\0' && unit == NULL)) return false;
    if (unit != NULL && text[digits + 1] != '\0') return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    if (!duo_tool_number(number, 1, INT64_C(1) << 60, &count)) return false;
    *bytes = ldexp((double)count, unit != NULL ? 10 * (int)(unit - units + 1) : 0);
    return true;
}

static const int64_t largest_size = INT64_C(1) << 40;

/* "1e6", "2.5e3": a decimal whose value is whole. With so few digits no two have the same
 * double. */
static bool parse_decimal(const char *text, int64_t *size)
{
    enum { DIGITS = 15 };
    char *end;
    const size_t length = strlen(text);
    if (length > DIGITS || strspn(text, "0123456789.e+") < length) return false;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0') return false;
    if (!(value >= 1.0 && value <= (double)largest_size) || value != floor(value)) return false;
    *size = (int64_t)value;
    return true;
}

static bool is_power(const char *text) { return strncmp(text, "2^", 2) == 0; }

bool duo_tool_size(const char *text, int64_t *size)
{
    int64_t exponent;
    if (!is_power(text))
        return duo_tool_number(text, 1, largest_size, size) || parse_decimal(text, size);
    if (!duo_tool_number(text + 2, 0, 40, &exponent)) return false;
    *size = INT64_C(1) << exponent;
    return true;
}

bool duo_tool_range(const char *text, int64_t *low, int64_t *high)
{
    char first[24];
    const char *const dots = strstr(text, "..");
    if (dots == NULL) {
        const bool good = duo_tool_size(text, low);
        *high = *low;
        return good;
    }
    const size_t length = (size_t)(dots - text);
    if (length >= sizeof first) return false;
    memcpy(first, text, length);
    first[length] = '\0';
    return is_power(first) && is_power(dots + 2) && duo_tool_size(first, low) &&
           duo_tool_size(dots + 2, high) && *low <= *high;
}

bool duo_tool_shape(const char *text, int64_t shape[3])
{
    int sides = 0;
    for (;;) {
        char side[24];
        const size_t length = strcspn(text, "x");
        if (length >= sizeof side || sides == 3) return false;
        memcpy(side, text, length);
        side[length] = '\0';
        if (!duo_tool_size(side, &shape[sides++])) return false;
        if (text[length] == '\0') break;
        text += length + 1;
    }
    if (sides == 1) shape[1] = shape[2] = shape[0];
    return sides == 1 || sides == 3;
}

bool duo_tool_transposes(const char *text, bool *transa, bool *transb)
{
    *transa = text[0] == 't';
    *transb = text[0] != '\0' && text[1] == 't';
    return strlen(text) == 2 && strspn(text, "nt") == 2;
}
