/*
 * tool.h - what the subcommands of the duoblas tool share: options, names, texts, progress, files.
 */
#ifndef DUO_TOOL_H
#define DUO_TOOL_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "call.h"
#include "choice/profile.h"

/* Exit statuses beside 0. */
enum { DUO_EXIT_FAILURE = 1, DUO_EXIT_USAGE = 2, DUO_EXIT_INTERRUPTED = 130 };

/* Set by the build; see CMakeLists.txt. */
extern const char duo_tool_commit[];
#ifndef DUO_COMPILER
#define DUO_COMPILER __VERSION__
#endif

/* ---- Subcommands: argv[0] is "duoblas info" and so on; they return the exit status ---- */

int duo_tool_info(int argc, char **argv);
int duo_tool_crossover(int argc, char **argv);
int duo_tool_explain(int argc, char **argv);
int duo_tool_bench(int argc, char **argv);
int duo_tool_run(int argc, char **argv);

/* ---- options.c ---- */

/* Parses by argp. 0: go on. Otherwise a usage line is on stderr and this is the exit status. */
int duo_tool_parse(const struct argp *argp, int argc, char **argv, void *input);
/* The same, where options behind the first argument are arguments too. */
int duo_tool_parse_in_order(const struct argp *argp, int argc, char **argv, void *input);

/* Give this child to every argp: --help and --usage. */
extern const struct argp_child duo_tool_help[];

/* An operation by its name; DUO_OPERATIONS: no such. */
duo_operation duo_tool_operation(const char *name);

/* "ssum,sgemm" sets wanted[]; false on an unknown name, or none. */
bool duo_tool_operations(const char *list, bool wanted[DUO_OPERATIONS]);

/* A whole number in [low, high], with nothing after it. */
bool duo_tool_number(const char *text, int64_t low, int64_t high, int64_t *number);

/* "1000", "2^20", or "2^10..2^28", which stands for every power of two between; in [1, 2^40]. */
bool duo_tool_range(const char *text, int64_t *low, int64_t *high);

/* "4096x4096x64" or "1000" (which is 1000x1000x1000); each in [1, 2^40]. */
bool duo_tool_shape(const char *text, int64_t shape[3]);

/* "nn", "nt", "tn" or "tt": A and B of sgemm, t for transposed. */
bool duo_tool_transposes(const char *text, bool *transa, bool *transb);

/* ---- text.c ---- */

enum { DUO_TEXT = 64 };

/* Three digits and a unit: "12.3 us". Fixed width, so that columns line up. */
const char *duo_text_seconds(double seconds, char text[DUO_TEXT]);
const char *duo_text_bytes(double bytes, char text[DUO_TEXT]);
/* Two digits of a count and its thousands: "66", "290 k", "1.7 M". */
const char *duo_text_about(double count, char text[DUO_TEXT]);
/* "1000 x 1000 x 64", or n alone for the reductions. */
const char *duo_text_shape(duo_operation operation, const int64_t shape[3], char text[DUO_TEXT]);
/* "nn", "nt", "tn" or "tt" */
const char *duo_text_transposes(bool transa, bool transb);

/* The inner BLAS in one line: its configuration text, its kernels, or that there is none. */
const char *duo_text_blas(char *text, size_t size);
/* The same of any, by its configuration text and its kernels' name ("": it does not say). */
const char *duo_text_blas_says(const char *config, const char *core, char *text, size_t size);

/* What is wrong with the inner BLAS, in a line of its own after `mark`; nothing where all is
 * well. */
void duo_text_blas_warning(const char *mark, FILE *file);

/* Today, YYYY-MM-DD. */
const char *duo_text_date(char text[DUO_TEXT]);

/* ---- progress.c: one line on stderr, on a terminal only ---- */

void duo_progress_begin(double expected_seconds);
/* Work expected to take this long is done; `label` comes next. */
void duo_progress_step(double expected_seconds, const char *label);
void duo_progress_end(void);

/* ---- interrupt.c ---- */

/*
 * From here on Ctrl-C (and SIGTERM, SIGHUP) ends the process at once, with 128 + signal. Nothing is
 * on disk before duo_interrupt_hold, and whole files alone are after duo_interrupt_allow.
 */
void duo_interrupt_watch(void);
void duo_interrupt_hold(void);
void duo_interrupt_allow(void);

/* ---- output.c: a file that is whole or not there: written beside its place, then renamed ---- */

typedef struct duo_output {
    FILE *file;
    char path[4096], temporary[4096];
} duo_output;

/* Could it be written? Says why not on stderr. For before a long measurement. */
bool duo_output_possible(const char *path);
bool duo_output_open(duo_output *output, const char *path);
/* Closes and renames if `good` and nothing failed, else removes. False, and said on stderr, if not
 * written. */
bool duo_output_close(duo_output *output, bool good);

#endif
