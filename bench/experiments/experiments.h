/*
 * experiments.h - the experiments of `duoblas bench`. The table in experiments.c has those for
 * users; ../studies has those that answered one question. Each experiment is in the file of its
 * name, in this folder if nothing else is said. It returns the exit status.
 */
#ifndef DUO_EXPERIMENTS_H
#define DUO_EXPERIMENTS_H

#include "bench/experiments/setup.h"
#include "bench/tool/arguments.h"

typedef struct duo_experiment {
    const char *name, *what; /* in the list of `duoblas bench --help` */
    unsigned bit;            /* in the table of options */
    int (*run)(duo_bench *bench);
    /* Says which of the given options do not go together; NULL: all do. */
    const char *(*refuse)(const duo_bench *bench);
    const char *words; /* usage with its word; NULL: it takes no word */
    const char *doc;   /* help above its options and, behind \v, below them */
} duo_experiment;

/* Experiments with their options. Both tables end with a row without a name. */
typedef struct duo_experiments {
    const duo_experiment *experiment;
    const duo_option *option;
} duo_experiments;

extern const duo_experiments duo_user_experiments, duo_studies;

/* Lists a problem of the operation for each given size and shape. Returns how many. */
int duo_bench_problems(const duo_bench *bench, duo_operation operation,
                       duo_problem problem[DUO_MOST_PROBLEMS]);

/* ladder.c: every algorithm of the operation of this name, beside its peers. */
int duo_bench_ladder(duo_bench *bench);
/* The algorithm that dispatch chooses, beside the peer, in all layouts. */
int duo_bench_shapes(duo_bench *bench);
/* Errors of the reductions on random vectors, and of the products on matrices of all kinds. */
int duo_bench_accuracy(duo_bench *bench);
int duo_bench_accuracy_sgemm(duo_bench *bench);
/* The public functions beside other libraries of this machine: products, or sums. */
int duo_bench_peers(duo_bench *bench);
/* The cost of dispatch in a tiny call. */
int duo_bench_overhead(duo_bench *bench);
/* ../host/host.c: products of host arrays beside copies + cuBLAS and cuBLASXt, and the bound. */
int duo_bench_host(duo_bench *bench);
/* ../graphs/graphs.c: contexts side by side, and graphs beside the same calls. */
int duo_bench_graphs(duo_bench *bench);
/* ../batched/batched.c: batches of products beside calls, and beside batches of cuBLAS and the
 * CPU's BLAS. */
int duo_bench_batched(duo_bench *bench);

/* ../bits/bits.c: a hash of the bits of products and sums on every side. */
int duo_bench_bits(duo_bench *bench);

/* ---- options.c: the command line ---- */

duo_parse duo_parse_sizes; /* adds sizes to size[] */
duo_parse duo_parse_shape; /* adds a shape to shape[] */
duo_parse duo_parse_named; /* adds a library to named[] */

/* How an option's value is parsed, and the field that takes it. */
#define DUO_FLAG(field)                duo_parse_flag, offsetof(duo_bench, field), 0, 0
#define DUO_CHOICE(field)              duo_parse_choice, offsetof(duo_bench, field), 0, 0
#define DUO_CHOICES(field)             duo_parse_choices, offsetof(duo_bench, field), 0, 0
#define DUO_NUMBER(field, least, most) duo_parse_number, offsetof(duo_bench, field), least, most
#define DUO_TEXT_OPTION(field)         duo_parse_text, offsetof(duo_bench, field), 0, 0
#define DUO_PICTURE                    duo_parse_picture, offsetof(duo_bench, plot), 0, 0
#define DUO_SEED                       duo_parse_seed, offsetof(duo_bench, seed), 0, 0
#define DUO_SIZES                      duo_parse_sizes, 0, 0, 0
#define DUO_SHAPE                      duo_parse_shape, 0, 0, 0
#define DUO_NAMED                      duo_parse_named, 0, 0, 0

/* The names of these values in every table. */
#define DUO_SIZES_VALUE   "N|2^E|2^E..2^F[,...]"
#define DUO_PICTURE_VALUE "FILE.svg|FILE.png|FILE.gp"

/* Parses `duoblas bench EXPERIMENT [OPTION...]`. 0: go on. Otherwise help or a usage line was
 * printed, and this is the exit status. */
int duo_bench_arguments(int argc, char **argv, duo_bench *bench);

#endif
