/* figures_head.h - the machine of kept figures, and which of them are stale on another one. */
#ifndef DUO_FIGURES_HEAD_H
#define DUO_FIGURES_HEAD_H

#include "bench/crossover/crossover.h"

enum { DUO_FIGURES_HEAD = 9 }; /* lines */

typedef struct duo_figures_head {
    char value[DUO_FIGURES_HEAD][160];
} duo_figures_head;

/* Of this run. */
void duo_figures_head_of(const duo_crossover *x, duo_figures_head *head);
/* Lines "# key: value". */
void duo_figures_head_print(const duo_figures_head *head, FILE *file);
/* Takes such a line; false: it is another one. */
bool duo_figures_head_read(const char *line, duo_figures_head *head);

/* What differs between two machines. */
typedef struct duo_figures_difference {
    bool all, threads, blas, gpu;
} duo_figures_difference;

duo_figures_difference duo_figures_compare(const duo_figures_head *a, const duo_figures_head *b);

#endif
