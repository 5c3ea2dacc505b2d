/*
 * tool.h - the subcommands of the duoblas tool, and their exit statuses.
 */
#ifndef DUO_TOOL_H
#define DUO_TOOL_H

#include <stdbool.h>

/* Exit statuses beside 0. */
enum { DUO_EXIT_FAILURE = 1, DUO_EXIT_USAGE = 2, DUO_EXIT_INTERRUPTED = 130 };

/* The build sets these (CMakeLists.txt). */
extern const char duo_tool_commit[];
#ifndef DUO_COMPILER
#define DUO_COMPILER __VERSION__
#endif

/* argv[0] is "duoblas info" and so on. Each returns the exit status. */
int duo_tool_info(int argc, char **argv);
int duo_tool_crossover(int argc, char **argv);
int duo_tool_explain(int argc, char **argv);
int duo_tool_bench(int argc, char **argv);
int duo_tool_run(int argc, char **argv);

/* ---- info.c ---- */

/* The environment variables that change the library's behaviour; NULL ends the list. */
extern const char *const duo_info_variables[];

/* The device of new contexts; of an MPI rank modulo the number of devices. */
int duo_info_default_device(void);

/* Prints all as JSON (docs/reference/tool.md has the keys). False: no memory, which was said on
 * stderr. */
bool duo_info_json(void);

#endif
