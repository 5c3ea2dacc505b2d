/*
 * shapes.h - cases of `duoblas bench shapes`, and their sums; `duoblas bench batched` sums up its
 * random batches likewise.
 */
#ifndef DUO_SHAPES_H
#define DUO_SHAPES_H

#include <stdint.h>

#include "bench/experiments/setup.h"
#include "bench/tool/text.h"
#include "choice/algorithm.h"

/* Indices: the peer, the chosen algorithm, and with --algorithms all others. */
enum { DUO_SHAPES_PEER = 0, DUO_SHAPES_CHOSEN = 1, DUO_SHAPES_MOST = 1 + DUO_CANDIDATES };

/* All implementations of one case, with their times. */
typedef struct duo_comparison {
    duo_implementation implementation[DUO_SHAPES_MOST];
    duo_benchmark benchmark[DUO_SHAPES_MOST];
    int count;
} duo_comparison;

typedef struct duo_shapes_group {
    int cases, low;
    double logarithms, least;
    duo_problem worst;
} duo_shapes_group;

/* One of the worst cases. */
typedef struct duo_shapes_case {
    duo_problem problem;
    const char *algorithm;
    double ratio;
} duo_shapes_case;

enum { DUO_SHAPES_WORST = 10 };

typedef struct duo_shapes_summary {
    duo_shapes_group all, by_algorithm[DUO_ALGORITHMS]; /* by chosen algorithm */
    int failed;
    double lost; /* sum of log(chosen algorithm's time / fastest's) */
    int worst_cases;
    duo_shapes_case worst[DUO_SHAPES_WORST]; /* worst first */
} duo_shapes_summary;

/* Below this share of the peer's rate a shape is a failure. */
double duo_shapes_least_ratio(duo_side side);

/* The effort for each implementation of each case; also for batches of random products. */
duo_effort duo_shapes_effort(const duo_bench *bench, duo_side side);

/* Adds a case to its group. */
void duo_shapes_count(duo_shapes_group *group, const duo_problem *problem, double ratio,
                      duo_side side);

/* The peer's time divided by implementation i's. */
double duo_shapes_ratio(const duo_comparison *comparison, int i);

/* The index of the fastest algorithm. */
int duo_shapes_fastest(const duo_comparison *comparison);

/* ---- shapes_print.c ---- */

void duo_shapes_print_head(const duo_bench *bench, duo_side side);
void duo_shapes_print_case(const duo_bench *bench, const duo_problem *problem,
                           const duo_comparison *comparison);
/* "tn +3,0,5 b=.5": transposes, gaps between columns, and beta; gaps and beta only if not 0. */
const char *duo_shapes_layout(const duo_problem *problem, char text[DUO_TEXT]);
/* Prints a line; none for a group without cases. */
void duo_shapes_print_group(const duo_bench *bench, const char *name, const duo_shapes_group *group,
                            duo_side side);
void duo_shapes_print_summary(const duo_bench *bench, const duo_shapes_summary *summary,
                              duo_side side, double seconds);

/* ---- shapes_list.c ---- */

enum { DUO_SHAPES = 60 };
extern const int64_t duo_shapes[DUO_SHAPES][3]; /* m, n, k */

/* Draws bench->random products of every class by bench->seed. Each takes a GPU, or else the CPU,
 * about 0.1 s at most. */
void duo_shapes_draw(const duo_bench *bench, duo_problem *problem);

#endif
