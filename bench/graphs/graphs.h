/*
 * graphs.h - `duoblas bench graphs`: contexts side by side, and graphs beside the calls that they
 * stand for.
 */
#ifndef DUO_GRAPHS_H
#define DUO_GRAPHS_H

#include "bench/experiments/setup.h"

/* The parts, in the order in which they are done, and of --only; each is in the file of its name.
 */
typedef enum duo_graphs_part {
    DUO_PART_OVERLAP,
    DUO_PART_CHAIN,
    DUO_PART_FORK_JOIN,
    DUO_PART_LAUNCH,
    DUO_PARTS
} duo_graphs_part;

typedef struct duo_graphs {
    const duo_bench *bench;
    duo_effort effort;
    int edge;         /* of products that do not fill a GPU */
    int long_edge;    /* of those that keep it busy, */
    int queued;       /* and how many of them do */
    const char *part; /* the name of the one that is under way */
} duo_graphs;

/* By the options; no part is under way. */
duo_graphs duo_graphs_of(const duo_bench *bench);

/* False, and said on stderr: it could not be done, or a result is wrong. */
bool duo_graphs_overlap(duo_graphs *graphs);
bool duo_graphs_chain(duo_graphs *graphs, duo_side side);
bool duo_graphs_fork_join(duo_graphs *graphs, duo_side side);
bool duo_graphs_launch(duo_graphs *graphs, duo_side side);

enum { DUO_OVERLAPPING = 8 }; /* contexts, of overlap */

/* ---- graphs_print.c ---- */

typedef struct duo_graphs_row {
    duo_side side;
    const char *what, *way;
    int rounds;
    double median, least, most; /* seconds; most 0: not known */
    double ratio;               /* 0: none */
    const char *running;        /* stall: did the queue still run? Else NULL */
} duo_graphs_row;

void duo_graphs_head(const duo_graphs *graphs);
/* Of the part: what it does, and what its ratio is. */
void duo_graphs_title(const duo_graphs *graphs, const char *what);
void duo_graphs_columns(const duo_graphs *graphs); /* their names, where its rows are printed */
void duo_graphs_print(const duo_graphs *graphs, const duo_graphs_row *row);
/* Of a benchmark that did `times` of what is told. */
duo_graphs_row duo_graphs_row_of(duo_side side, const char *what, const char *way,
                                 const duo_benchmark *benchmark, double times);

#endif
