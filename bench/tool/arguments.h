/*
 * arguments.h - the options of a command as a table for argp: how each is parsed, where its value
 * goes, and which takers have it.
 */
#ifndef DUO_TOOL_ARGUMENTS_H
#define DUO_TOOL_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call.h"

typedef struct duo_option duo_option;

/* Parses a value and stores it, or refuses it. */
typedef error_t duo_parse(const duo_option *option, struct argp_state *state, const char *value);

/* An option may have several rows, each with the help for its takers. */
struct duo_option {
    const char *name;  /* without -- */
    char letter;       /* 0: none */
    const char *value; /* as in --help; behind ?: may be left out; NULL: no value */
    unsigned takers;   /* bits; 0: all */
    duo_parse *parse;
    size_t where;        /* offset in duo_arguments.into */
    int64_t least, most; /* limits of a number */
    const char *help;    /* NULL: hidden */
};

duo_parse duo_parse_flag;    /* bool: true */
duo_parse duo_parse_choice;  /* int: index of a word in "cpu|gpu" */
duo_parse duo_parse_choices; /* unsigned: a bit for each of the words "a|b[,...]" */
duo_parse duo_parse_number;  /* int: a whole number from least to most */
duo_parse duo_parse_seed;    /* uint64_t */
duo_parse duo_parse_text;    /* const char * */
duo_parse duo_parse_picture; /* const char *: a file for gnuplot to draw */

/* The address for the option's value. */
void *duo_option_target(const duo_option *option, const struct argp_state *state);

/* A command and its options, for argp. */
typedef struct duo_arguments {
    const char *words, *doc;  /* as in argp */
    const duo_option *option; /* the last has no name; NULL: none */
    void *into;               /* the struct that they set */
    unsigned taker;           /* a bit; others' options are refused; 0: no others */
    const char *name;         /* the taker's name */
    /* The names of the takers with these bits. */
    const char *(*names)(unsigned takers);
    /* Takes a word that is no option; NULL: words are refused. */
    error_t (*word)(void *into, struct argp_state *state, const char *value);
    /* Checks all options together; NULL: no check. */
    error_t (*end)(void *into, struct argp_state *state);
} duo_arguments;

/* Parses the arguments. 0: go on. Otherwise a usage line was printed on stderr, and this is the
 * exit status. */
int duo_tool_parse(duo_arguments *arguments, int argc, char **argv);
/* Prints the usage line on stderr. */
void duo_tool_usage(const duo_arguments *arguments, const char *name);

/* Prints a program's name, the version and the commit. */
void duo_tool_print_version(const char *program);

/* ---- Refusals; they return an error for argp ---- */

/* "what: value" */
error_t duo_tool_refuse(struct argp_state *state, const char *what, const char *value);
/* "what: value; it may be ..." */
error_t duo_tool_bad_word(struct argp_state *state, const char *what, const char *value,
                          const char *good);
/* The same for an option's value: "it may be" the value as in --help. */
error_t duo_tool_bad_value(const duo_option *option, struct argp_state *state, const char *value);

/* ---- options.c: values of options ---- */

/* An operation by its name; DUO_OPERATIONS: there is none. */
duo_operation duo_tool_operation(const char *name);

/* The names of all operations, for people. */
#define DUO_TOOL_OPERATIONS "sgemm, sasum, ssum, sdot"

/* Reads a whole number in [low, high], with nothing behind it. */
bool duo_tool_number(const char *text, int64_t low, int64_t high, int64_t *number);

/* Reads "1000000", "512M": 1 to 2^60 bytes, with K, M or G for 2^10, 2^20 or 2^30, as in
 * DUOBLAS_DEVICE_MEMORY. */
bool duo_tool_bytes(const char *text, double *bytes);
/* A size in [1, 2^40]: "1000", "2^20", "1e6", "2.5e3". */
bool duo_tool_size(const char *text, int64_t *size);
/* A size, or "2^10..2^28" for every power of two in this range. */
bool duo_tool_range(const char *text, int64_t *low, int64_t *high);

/* "4096x4096x64", or "1000" for 1000x1000x1000; each is a size. */
bool duo_tool_shape(const char *text, int64_t shape[3]);

#endif
