/*
 * graph_works.h - works for the nodes of graphs, and graphs of them.
 */
#ifndef DUO_TESTS_GRAPH_WORKS_H
#define DUO_TESTS_GRAPH_WORKS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "duoblas.h"

enum { KINDS = DUO_WORK_HOST + 1 };

duo_work work_of(duo_work_kind kind); /* all else 0 */
/* C := A * B + beta * C, square and column-major. */
duo_work work_product(int64_t n, const float *a, const float *b, float beta, float *c);
duo_work work_reduction(duo_work_kind kind, int64_t n, const float *x, float *result);
duo_work work_copying(void *dst, const void *src, size_t bytes);
duo_work work_calling(void (*function)(void *), void *user);
/* Sound work of each kind, in less than 400 floats; a function of the host does nothing. */
duo_work work_sample(duo_work_kind kind, const float *in, float *out);

bool work_reduces(duo_work_kind kind);

/* For a host function: the branch that was called, of several that share `taken`. */
typedef struct branch {
    atomic_int *taken;
    int rank;
} branch;

void work_take_rank(void *user);

duo_graph *graph_new(void);
/* work NULL: empty. */
duo_node graph_add(duo_graph *graph, const duo_work *work, const duo_node *after, int count);
/* A graph of these works, in a chain or side by side. node: NULL, or the nodes. */
duo_graph *graph_built(duo_context *ctx, const duo_work *works, int count, bool chain,
                       duo_node *node);

#endif
