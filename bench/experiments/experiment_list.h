/* experiment_list.h - the experiments of `duoblas bench`, and which options suit each. */
#ifndef DUO_EXPERIMENT_LIST_H
#define DUO_EXPERIMENT_LIST_H

#include "bench/experiments/arguments.h"
#include "bench/tool/options.h"

extern const duo_experiment duo_experiment_overhead;
extern const duo_experiment duo_experiment_accuracy_sgemm; /* what becomes of accuracy by "sgemm" */

/* The names of the others, for people. */
extern const char duo_experiment_names[];
/* Any other; NULL: there is none of this name. */
const duo_experiment *duo_experiment_of(const char *word);

/* Do the options suit the experiment? If not, refuses one for the parser of argp. */
error_t duo_experiment_check(const duo_bench_arguments *arguments, struct argp_state *state);

#endif
