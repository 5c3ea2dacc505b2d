/* arguments.h - the command line of `duoblas bench`. */
#ifndef DUO_ARGUMENTS_H
#define DUO_ARGUMENTS_H

#include "bench/experiments/setup.h"

typedef enum duo_experiment_kind {
    DUO_LADDER, /* of the operation by whose name it goes */
    DUO_INTRODUCTION,
    DUO_ACCURACY,
    DUO_ACCURACY_SGEMM,
    DUO_SHAPES_OF_SGEMM,
    DUO_MIXED,
    DUO_ADAPT,
    DUO_HOST,
    DUO_LARGE,
    DUO_TIMELINE,
    DUO_GRAPHS,
    DUO_BATCHED,
    DUO_OVERHEAD
} duo_experiment_kind;

typedef struct duo_experiment {
    const char *name;
    duo_experiment_kind kind;
    bool plot, shape, transpose; /* takes these options */
    bool host;                   /* takes --memory and --rounds */
} duo_experiment;

enum { DUO_MOST_PROBLEMS = 64 };

typedef struct duo_bench_arguments {
    duo_bench *bench; /* its options are set */
    const duo_experiment *what;
    bool overhead, transpose; /* given? */
    bool transa, transb;
    const char *file; /* timeline: the steps */
    int sizes, shapes;
    int64_t size[DUO_MOST_PROBLEMS], shape[DUO_MOST_PROBLEMS][3];
} duo_bench_arguments;

/* 0: go on. Otherwise a usage line is on stderr and this is the exit status. */
int duo_bench_parse(int argc, char **argv, duo_bench_arguments *arguments);

#endif
