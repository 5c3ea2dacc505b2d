/* compare.h - two runs side by side: their JSON files, or one and the run that has just ended. */
#ifndef DUO_COMPARE_H
#define DUO_COMPARE_H

#include "bench/crossover/crossover.h"

/* A run: its cJSON object. */
typedef struct duo_run {
    const char *name; /* of its file, or "this run" */
    void *json;
} duo_run;

/* Reads a file that --json has written. False, after a message on stderr: it is none. */
bool duo_run_read(duo_run *run, const char *path);
/* The same from the file's text. */
bool duo_run_parse(duo_run *run, const char *name, const char *text);
/* Makes the run of these figures. False, after a message on stderr: out of memory. */
bool duo_run_of(duo_run *run, const duo_crossover *x);
void duo_run_free(duo_run *run);

/* Prints ratios of crossings and figures, with their uncertainty, and whether the runs differ by
 * more than the noise. `full`: all figures, not only those that do. */
void duo_compare_print(const duo_run *old, const duo_run *new, bool full, FILE *file);

/* Was the machine noisy, or nobody knows? */
bool duo_run_noisy(const duo_run *run);

/* The run's time for this case: by the same algorithm on as many threads of the CPU as `like`; or
 * by the GPU with operands in this place ("pageable", ...; NULL: the CPU). NaN: it has not
 * measured it. */
double duo_run_seconds(const duo_run *run, const duo_case *c, const duo_figure *like,
                       const char *place);

#endif
