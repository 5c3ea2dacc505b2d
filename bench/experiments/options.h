/*
 * options.h - the options of `duoblas bench` as a table: which experiments take them, how they are
 * parsed, and where their values go.
 */
#ifndef DUO_BENCH_OPTIONS_H
#define DUO_BENCH_OPTIONS_H

#include <argp.h>
#include <stddef.h>

#include "bench/experiments/setup.h"

typedef struct duo_bench_option duo_bench_option;

/* Refuses a value that is not good, else sets what the option sets. */
typedef error_t duo_bench_parse(const duo_bench_option *option, struct argp_state *state,
                                const char *value);

/* An option may have several rows, each with a help for its own experiments. */
struct duo_bench_option {
    const char *name;     /* without -- */
    char letter;          /* 0: none */
    const char *value;    /* as --help shows it behind the option; NULL: it has none */
    unsigned experiments; /* a bit for each that takes it */
    duo_bench_parse *parse;
    size_t where;        /* in duo_bench */
    int64_t least, most; /* of a number */
    const char *help;    /* NULL: not for people */
};

duo_bench_parse duo_parse_flag;    /* bool: true */
duo_bench_parse duo_parse_choice;  /* int: which of the words "cpu|gpu" */
duo_bench_parse duo_parse_choices; /* unsigned: a bit for each of the words "a|b[,...]" */
duo_bench_parse duo_parse_number;  /* int: a whole number, least to most */
duo_bench_parse duo_parse_seed;    /* uint64_t */
duo_bench_parse duo_parse_text;    /* const char * */
duo_bench_parse duo_parse_picture; /* const char *: the name of a file that gnuplot can make */
duo_bench_parse duo_parse_sizes;   /* adds them to size[] */
duo_bench_parse duo_parse_shape;   /* adds it to shape[] */

/* What most rows of a table end with. */
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
