/*
 * ladder.h - one line of `duoblas bench`: a row or a peer at one problem, and what was measured.
 */
#ifndef DUO_LADDER_H
#define DUO_LADDER_H

#include "bench.h"

/* GPU: 4 rows, the API, cuBLAS, CUB, 7 ways of reading; CPU: 4 rows, OpenBLAS, 4 plain loops, 4
 * reads. One line is free for what is tried and not there. */
enum { DUO_LINES = 28 };

typedef struct duo_line {
    duo_contender contender;
    duo_trial trial;
    duo_task task;
    double error;      /* negative: not known */
    double times_peer; /* its side's peer's time / its own; 0: there is none */
    double read_share; /* its rate / that of its side's fastest yardstick; 0: there is none */
    bool hidden;       /* a yardstick, and not the fastest */
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
void duo_ladder_foot(const duo_bench *bench);

/* ---- ladder_plot.c: rates against sizes ---- */

bool duo_ladder_plot(const duo_bench *bench, const duo_ladder *ladder, int ladders);

#endif
