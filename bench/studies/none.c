/* none.c - stands in for studies.c in builds without studies. */
#include "bench/experiments/experiments.h"

static const duo_experiment experiments[] = {{.name = NULL}};
static const duo_option options[] = {{.name = NULL}};

const duo_experiments duo_studies = {experiments, options};
