/*
 * arguments.h - the options of a command as a table: how each is parsed, where its value goes, and
 * who takes it. By argp.
 */
#ifndef DUO_TOOL_ARGUMENTS_H
#define DUO_TOOL_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"

typedef struct duo_option duo_option;

/* Refuses a value that is not good, else sets what the option sets. */
typedef error_t duo_parse(const duo_option *option, struct argp_state *state, const char *value);

/* An option may have several rows, each with a help for its own takers. */
struct duo_option {
    const char *name;  /* without -- */
    char letter;       /* 0: none */
    const char *value; /* as --help shows it; behind ?: it may be left out; NULL: it has none */
    unsigned takers;   /* bits; 0: all */
    duo_parse *parse;
    size_t where;        /* in what the command's options set */
    int64_t least, most; /* of a number */
    const char *help;    /* NULL: not for people */
};

duo_parse duo_parse_flag;    /* bool: true */
duo_parse duo_parse_choice;  /* int: which of the words "cpu|gpu" */
duo_parse duo_parse_choices; /* unsigned: a bit for each of the words "a|b[,...]" */
duo_parse duo_parse_number;  /* int: a whole number, least to most */
duo_parse duo_parse_seed;    /* uint64_t */
duo_parse duo_parse_text;    /* const char * */
duo_parse duo_parse_picture; /* const char *: a file that gnuplot can make */

/* Where the value goes. */
void *duo_option_target(const duo_option *option, const struct argp_state *state);

/* A command, which gives its options to argp. */
typedef struct duo_arguments {
    const char *words, *doc;  /* as argp has them */
    const duo_option *option; /* ends with one that has no name; NULL: none */
    void *into;               /* what they set */
    unsigned taker;           /* a bit: what others take is refused; 0: there are no others */
    const char *name;         /* of the taker */
    /* Who takes what these bits say. */
    const char *(*names)(unsigned takers);
    /* What is no option; NULL: refused. */
    error_t (*word)(void *into, struct argp_state *state, const char *value);
    /* What was given as a whole; NULL: it is good. */
    error_t (*end)(void *into, struct argp_state *state);
} duo_arguments;

/* 0: go on. Otherwise a usage line is on stderr and this is the exit status. */
int duo_tool_parse(duo_arguments *arguments, int argc, char **argv);
/* The usage line, on stderr. */
void duo_tool_usage(const duo_arguments *arguments, const char *name);

/* Prints a program's name, the version and the commit. */
void duo_tool_print_version(const char *program);

/* ---- Refusals, which return what argp wants ---- */

/* "what: value" */
error_t duo_tool_refuse(struct argp_state *state, const char *what, const char *value);
/* "what: value; it may be ..." */
error_t duo_tool_bad_word(struct argp_state *state, const char *what, const char *value,
                          const char *good);
/* The same of an option's value; what it may be is what --help shows behind the option. */
error_t duo_tool_bad_value(const duo_option *option, struct argp_state *state, const char *value);

/* ---- options.c: the words that options take ---- */

/* An operation by its name; DUO_OPERATIONS: no such. */
duo_operation duo_tool_operation(const char *name);

/* The names of all, for people. */
#define DUO_TOOL_OPERATIONS "sgemm, sasum, ssum, sdot"

/* A whole number in [low, high], with nothing after it. */
bool duo_tool_number(const char *text, int64_t low, int64_t high, int64_t *number);

/* "1000000", "512M": a number of bytes from 1 to 2^60, with K, M or G for 2^10, 2^20 or 2^30, as
 * DUOBLAS_DEVICE_MEMORY has it. */
bool duo_tool_bytes(const char *text, double *bytes);
/* A size in [1, 2^40]: "1000", "2^20", "1e6", "2.5e3". */
bool duo_tool_size(const char *text, int64_t *size);
/* A size, or "2^10..2^28", which stands for every power of two between. */
bool duo_tool_range(const char *text, int64_t *low, int64_t *high);

/* "4096x4096x64" or "1000" (which is 1000x1000x1000), of sizes. */
bool duo_tool_shape(const char *text, int64_t shape[3]);

#endif
