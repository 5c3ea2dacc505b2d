/*
 * mixed.h - `duoblas bench mixed`: the operations that take turns, and the times of their calls.
 */
#ifndef DUO_MIXED_H
#define DUO_MIXED_H

#include "bench/experiments/setup.h"
#include "bench/peers/openblas.h"

/* The ways to call each member. */
typedef enum duo_way {
    DUO_ALONE,
    DUO_ALONE_ONE, /* on one thread */
    DUO_BY_TURNS,
    DUO_BY_TURNS_ONE,
    DUO_WAYS
} duo_way;

/* Our operations in the order of their turns, and the product of --beside. */
enum { DUO_OURS = 3, DUO_THEIRS = DUO_OURS, DUO_MEMBERS };

enum { DUO_MOST_CALLS = 1000 };

typedef struct duo_member {
    duo_problem problem;
    duo_stock stock;
    duo_implementation implementation[2]; /* on the threads it chooses; on one */
    duo_call call;
    float result; /* for a reduction */
    duo_exact sum;
    duo_product_exact product;

    int calls[DUO_WAYS];
    double seconds[DUO_WAYS][DUO_MOST_CALLS];
} duo_member;

typedef struct duo_mix {
    int rounds, calls; /* calls: the most in a round, for each member and way */
    double warm_seconds, most_seconds;
    duo_context *context[2]; /* the second has one thread */
    duo_blas_instance beside;
    int members;
    duo_member member[DUO_MEMBERS];
} duo_mix;

/* ---- mixed_print.c: as a table or as CSV ---- */

void duo_mixed_head(const duo_bench *bench, const duo_mix *mix);
/* Prints the table; sorts the times for it. */
void duo_mixed_print(const duo_bench *bench, duo_mix *mix, int neighbours);
void duo_mixed_foot(const duo_bench *bench);

#endif
