/* arguments_help.h - the options of `duoblas bench`, and what its --help says. */
#ifndef DUO_ARGUMENTS_HELP_H
#define DUO_ARGUMENTS_HELP_H

#include <argp.h>

/* The options without a letter. */
enum {
    DUO_OPTION_CSV = 256,
    DUO_OPTION_OVERHEAD,
    DUO_OPTION_COLD,
    DUO_OPTION_SEED,
    DUO_OPTION_THREADS,
    DUO_OPTION_WAIT,
    DUO_OPTION_READS,
    DUO_OPTION_SIDE,
    DUO_OPTION_OFFSET,
    DUO_OPTION_PLOT,
    DUO_OPTION_MATH,
    DUO_OPTION_TRANSPOSE,
    DUO_OPTION_ALGORITHMS,
    DUO_OPTION_PREPARED,
    DUO_OPTION_BUSY,
    DUO_OPTION_PROFILE,
    DUO_OPTION_BESIDE,
    DUO_OPTION_MEMORY,
    DUO_OPTION_DEVICES,
    DUO_OPTION_ROUNDS,
    DUO_OPTION_MAX_SECONDS,
    DUO_OPTION_TIMELINE,
    DUO_OPTION_RANDOM,
    DUO_OPTION_ONLY,
    DUO_OPTION_STALL_CHILD
};

/* What stands behind the options, and what it does, with examples. */
extern const char duo_bench_words[], duo_bench_doc[];
extern const struct argp_option duo_bench_options[];

#endif
