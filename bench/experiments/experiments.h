/*
 * experiments.h - what `duoblas bench` can do: for users experiments.c has the table, and
 * ../studies has what answered a question once. Each experiment is in the file of its name, here
 * if it says nothing else, and returns the exit status.
 */
#ifndef DUO_EXPERIMENTS_H
#define DUO_EXPERIMENTS_H

#include "bench/experiments/setup.h"
#include "bench/tool/arguments.h"

typedef struct duo_experiment {
    const char *name, *what; /* as the help of all lists it */
    unsigned bit;            /* in the options' table */
    int (*run)(duo_bench *bench);
    /* Which of its options do not go together? NULL: they all do. */
    const char *(*refuse)(const duo_bench *bench);
    const char *words; /* it takes one; NULL: none */
    const char *doc;   /* above its options, and behind \v below them */
} duo_experiment;

/* Both end with a row without a name. */
typedef struct duo_experiments {
    const duo_experiment *experiment;
    const duo_option *option;
} duo_experiments;

extern const duo_experiments duo_user_experiments, duo_studies;

/* As many problems of an operation as sizes and shapes were given. */
int duo_bench_problems(const duo_bench *bench, duo_operation operation,
                       duo_problem problem[DUO_MOST_PROBLEMS]);

/* Every algorithm of the operation of the experiment's name, beside its peers. */
int duo_bench_ladder(duo_bench *bench);
/* What dispatch chooses beside the peer, in all layouts. */
int duo_bench_shapes(duo_bench *bench);
/* Errors of the reductions on random vectors, and of the products on matrices of all kinds. */
int duo_bench_accuracy(duo_bench *bench);
int duo_bench_accuracy_sgemm(duo_bench *bench);
/* What dispatch costs on a tiny call. */
int duo_bench_overhead(duo_bench *bench);
/* ../host/host.c: products of host arrays beside copies + cuBLAS and cuBLASXt, and the bound. */
int duo_bench_host(duo_bench *bench);
/* ../graphs/graphs.c: contexts side by side, and graphs beside the calls that they stand for. */
int duo_bench_graphs(duo_bench *bench);
/* ../batched/batched.c: batches of products beside calls, and the batches of cuBLAS and of the
 * CPU's BLAS. */
int duo_bench_batched(duo_bench *bench);

/* ---- options.c: the command line ---- */

duo_parse duo_parse_sizes; /* adds them to size[] */
duo_parse duo_parse_shape; /* adds it to shape[] */

/* How a value is parsed, and where it goes. */
#define DUO_FLAG(field)                duo_parse_flag, offsetof(duo_bench, field), 0, 0
#define DUO_CHOICE(field)              duo_parse_choice, offsetof(duo_bench, field), 0, 0
#define DUO_CHOICES(field)             duo_parse_choices, offsetof(duo_bench, field), 0, 0
#define DUO_NUMBER(field, least, most) duo_parse_number, offsetof(duo_bench, field), least, most
#define DUO_TEXT_OPTION(field)         duo_parse_text, offsetof(duo_bench, field), 0, 0
#define DUO_PICTURE                    duo_parse_picture, offsetof(duo_bench, plot), 0, 0
#define DUO_SEED                       duo_parse_seed, offsetof(duo_bench, seed), 0, 0
#define DUO_SIZES                      duo_parse_sizes, 0, 0, 0
#define DUO_SHAPE                      duo_parse_shape, 0, 0, 0

/* What stands behind them in every table. */
#define DUO_SIZES_VALUE   "N|2^E|2^E..2^F[,...]"
#define DUO_PICTURE_VALUE "FILE.svg|FILE.png|FILE.gp"

/* Parses `duoblas bench EXPERIMENT [OPTION...]`. 0: go on. Otherwise help or a usage line was
 * printed, and this is the exit status. */
int duo_bench_arguments(int argc, char **argv, duo_bench *bench);

#endif
