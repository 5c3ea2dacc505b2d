/* sizes.h - tables of the sizes from which the GPU is faster, for terminal, page and Markdown. */
#ifndef DUO_SIZES_H
#define DUO_SIZES_H

#include "bench/crossover/crossover.h"
#include "bench/tool/table.h"

typedef enum duo_sizes {
    DUO_SIZES_ONE_CALL,  /* one call, by the place of its arrays */
    DUO_SIZES_REUSE,     /* plain arrays that are sent once and used by a number of calls */
    DUO_SIZES_THRESHOLD, /* as GPU-BLOB defines it */
    DUO_SIZES
} duo_sizes;

extern const char *const duo_sizes_titles[DUO_SIZES], *const duo_sizes_texts[DUO_SIZES];

/* Explains the entries of these tables. */
extern const char *const duo_sizes_marks;

/* `full`: all families of shapes, not only squares and vectors. */
void duo_sizes_table(const duo_crossover *x, duo_sizes which, bool full, duo_table *table);

#endif
