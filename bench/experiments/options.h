/* options.h - the options of `duoblas bench` (../tool/arguments.h), and its command line. */
#ifndef DUO_BENCH_OPTIONS_H
#define DUO_BENCH_OPTIONS_H

#include "bench/experiments/setup.h"
#include "bench/tool/arguments.h"

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
