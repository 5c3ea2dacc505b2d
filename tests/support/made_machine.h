/*
 * made_machine.h - a machine made by hand, with flat curves and round rates, so that a reader can
 * work out each prediction; and calls on small integers, with exact results.
 */
#ifndef DUO_TESTS_MADE_MACHINE_H
#define DUO_TESTS_MADE_MACHINE_H

#include "choice/algorithm.h"
#include "duoblas.h"

/* ---- The machine ---- */

extern duo_profile machine; /* in use since new_machine; tests change it */

/* This algorithm takes `seconds` for every size. */
void algorithm_takes(duo_algorithm_id id, double seconds);

/* All algorithms take `cpu` or `gpu` seconds; one thread; a link of 1 GB/s pageable, 10 GB/s
 * pinned. */
void new_machine(double cpu, double gpu);
void free_link(void); /* the link costs nothing */

int serving_algorithms(void); /* sgemm's, for the default math */

/* ---- Checks of decisions ---- */

duo_context *context_on(duo_path path);
duo_decision last_decision(duo_context *ctx);
void check_algorithm(duo_context *ctx, const char *name); /* the last call ran by it */
void check_side(duo_context *ctx, duo_side side);

const duo_candidate *candidate(const duo_decision *d, const char *name); /* or NULL */
/* Checks that the candidate was predicted to take `seconds`. */
void check_predicted(const duo_decision *d, const char *name, double seconds);

/* ---- Calls ---- */

enum { VECTOR = 1 << 18, EDGE = 64, MOST_EDGE = 256 };

extern float *vector; /* VECTOR floats, from make_vector to free(vector) */
extern float vector_sum, vector_asum, vector_dot;
extern float ones[MOST_EDGE * MOST_EDGE], product[MOST_EDGE * MOST_EDGE];

void make_vector(void);
void sum_all(duo_context *ctx, const float *x); /* VECTOR floats as in vector */

/* C := A * A of edge x edge matrices of ones. */
void multiply(duo_context *ctx, int64_t edge, const float *a, float *c);
void multiply_ones(duo_context *ctx); /* EDGE: product := ones * ones */

#endif
