/* crossover_csv.h - an old output of `duoblas crossover --csv`, as if just measured. */
#ifndef DUO_TESTS_CROSSOVER_CSV_H
#define DUO_TESTS_CROSSOVER_CSV_H

#include "bench/crossover/crossover.h"

/* A new one with the machine and every figure of the file, to be freed; NULL and a failed check if
 * it cannot be read. */
duo_crossover *test_read_crossover(const char *path);

#endif
