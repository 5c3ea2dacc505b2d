/* options.h - options by argp, and the words that they take. */
#ifndef DUO_OPTIONS_H
#define DUO_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "call.h"

/* Parses by argp. 0: go on. Otherwise a usage line is on stderr and this is the exit status. */
int duo_tool_parse(const struct argp *argp, int argc, char **argv, void *input);
/* The same, where options behind the first argument are arguments too. */
int duo_tool_parse_in_order(const struct argp *argp, int argc, char **argv, void *input);

/* Prints a program's name, the version and the commit. */
void duo_tool_print_version(const char *program);

/* Give this child to every argp: --help, --usage and --version. */
extern const struct argp_child duo_tool_help[];

/* ---- For parsers of argp: refusals, which return what argp wants ---- */

/* "what: value" */
error_t duo_tool_refuse(struct argp_state *state, const char *what, const char *value);
/* "what: value; it may be ..." */
error_t duo_tool_bad_word(struct argp_state *state, const char *what, const char *value,
                          const char *good);
/* The same of an option's value; what it may be is what --help shows behind the option. */
error_t duo_tool_bad_value(struct argp_state *state, const char *option, const char *value);
/* Sets *number to an option's value, or refuses it: a whole number in [low, high]. */
error_t duo_tool_number_option(struct argp_state *state, const char *option, const char *value,
                               int64_t low, int64_t high, int64_t *number);
/* The same for --threads. */
error_t duo_tool_threads_option(struct argp_state *state, const char *value, int *threads);

/* ---- Words ---- */

/* An operation by its name; DUO_OPERATIONS: no such. */
duo_operation duo_tool_operation(const char *name);

/* "ssum,sgemm" sets wanted[]; false on an unknown name, or none. */
bool duo_tool_operations(const char *list, bool wanted[DUO_OPERATIONS]);

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

/* "nn", "nt", "tn" or "tt": A and B of sgemm, t for transposed. */
bool duo_tool_transposes(const char *text, bool *transa, bool *transb);

#endif
