/*
 * ladder.h - one line of `duoblas bench`: a row or a peer at one problem, and what was measured.
 */
#ifndef DUO_LADDER_H
#define DUO_LADDER_H

#include "bench/experiments/bench.h"

/* A reduction: 4 rows of each side, the API, cuBLAS, CUB, 7 ways of reading; OpenBLAS, 4 plain
 * loops, 4 reads. A product: its rows, the API, 4 layouts of cuBLAS, OpenBLAS. One line is free for
 * what is tried and not there. */
enum { DUO_LINES = 32 };
_Static_assert(DUO_LINES >= DUO_SGEMM_ALGORITHMS + 7, "every row of sgemm has a line");

typedef struct duo_line {
    duo_contender contender;
    duo_problem problem; /* the ladder's; a peer may have other transposes */
    duo_trial trial;
    duo_task task;
    double error;      /* largest |error| / sum of |terms|, in 2^-24; negative: not known */
    double frobenius;  /* of a product, beside it */
    double times_peer; /* its side's peer's time / its own; 0: there is none */
    double read_share; /* its rate / that of its side's fastest yardstick; 0: there is none */
    double peak_share; /* of what the device's units can give; 0: not known */
    bool hidden;       /* a yardstick, or a layout of cuBLAS, and not the fastest */
} duo_line;

typedef struct duo_ladder {
    duo_problem problem;
    int count;
    duo_line line[DUO_LINES];
} duo_ladder;

/* ---- ladder_list.c: who takes part, from the simplest to the best ---- */

void duo_ladder_list(const duo_bench *bench, duo_ladder *ladder);

/* ---- ladder_print.c: as a table or as CSV ---- */

void duo_ladder_head(const duo_bench *bench);
void duo_ladder_print(const duo_bench *bench, const duo_ladder *ladder);
void duo_ladder_foot(const duo_bench *bench, bool matrix);

/* ---- ladder_plot.c: rates against sizes ---- */

bool duo_ladder_plot(const duo_bench *bench, const duo_ladder *ladder, int ladders);

#endif
