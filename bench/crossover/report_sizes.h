/* report_sizes.h - the tables of a page that tell from what size on the GPU is faster. */
#ifndef DUO_REPORT_SIZES_H
#define DUO_REPORT_SIZES_H

#include "bench/crossover/crossover.h"

/* In one call; where arrays are sent once and used often; as GPU-BLOB defines it. */
void duo_report_sizes(const duo_crossover *x, FILE *file);

#endif
