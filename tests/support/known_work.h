/*
 * known_work.h - calls with known results: all data are small integers, so sgemm and the reductions
 * are exact with every algorithm.
 */
#ifndef DUO_TESTS_KNOWN_WORK_H
#define DUO_TESTS_KNOWN_WORK_H

#include <stdbool.h>

#include "duoblas.h"

enum { KNOWN_FLOATS = 40000, KNOWN_EDGE = 48 };

typedef struct known_work { /* may be read by many threads */
    float *x, *a;           /* a: KNOWN_EDGE x KNOWN_EDGE */
    float sum, asum, dot;
    float *square; /* a * a */
} known_work;

void make_known_work(known_work *s, int seed);
void free_known_work(known_work *s);

/* One call of each operation; true if all are right. */
bool all_four(duo_context *ctx, const known_work *s);

#endif
