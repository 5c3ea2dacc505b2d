/*
 * graphs.h - `duoblas bench graphs`: contexts side by side, and graphs beside the same calls.
 */
#ifndef DUO_GRAPHS_H
#define DUO_GRAPHS_H

#include "bench/experiments/setup.h"

/* The parts, in the order of the run and of --only. Each is in the file of its name. */
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
    int edge;         /* edge of products that do not fill a GPU */
    int long_edge;    /* edge of products that keep it busy */
    int queued;       /* number of those */
    const char *part; /* name of the running part */
} duo_graphs;

/* Made from the options; no part is running. */
duo_graphs duo_graphs_of(const duo_bench *bench);

/* The parts. False, after a message on stderr: it could not be done, or a result is wrong. */
bool duo_graphs_overlap(duo_graphs *graphs);
bool duo_graphs_chain(duo_graphs *graphs, duo_side side);
bool duo_graphs_fork_join(duo_graphs *graphs, duo_side side);
bool duo_graphs_launch(duo_graphs *graphs, duo_side side);

enum { DUO_OVERLAPPING = 8 }; /* contexts in overlap */

/* ---- The table ---- */

typedef struct duo_graphs_row {
    duo_side side;
    const char *what, *way;
    int rounds;
    double median, least, most; /* seconds; most 0: not known */
    double ratio;               /* 0: none */
    const char *running;        /* stall: did the queue still run? Other parts: NULL */
} duo_graphs_row;

void duo_graphs_head(const duo_graphs *graphs);
/* Prints the part's title: its work, and the meaning of its ratio. */
void duo_graphs_title(const duo_graphs *graphs, const char *what);
void duo_graphs_columns(const duo_graphs *graphs); /* prints names above its rows */
void duo_graphs_print(const duo_graphs *graphs, const duo_graphs_row *row);
/* The row of a benchmark; each of its calls did the work `times` times. */
duo_graphs_row duo_graphs_row_of(duo_side side, const char *what, const char *way,
                                 const duo_benchmark *benchmark, double times);

#endif
