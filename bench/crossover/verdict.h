/*
 * verdict.h - the sentences of duo_crossover_verdict: a file for each kind of them.
 */
#ifndef DUO_VERDICT_H
#define DUO_VERDICT_H

#include "bench/crossover/crossover.h"

/* Adds a sentence. */
void duo_say(duo_sentences *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Is the size one number, in spite of noise and predictions? */
bool duo_ends_sure(const duo_ends *ends);

/* verdict_example.c: a product, the best news first: matrices that stay on the GPU. */
void duo_verdict_example(const duo_crossover *x, duo_sentences *s);

/* verdict_sizes.c: from which size on this GPU is faster; and those that are not here. */
void duo_verdict_measured(const duo_crossover *x, duo_sentences *s);
void duo_verdict_outlooks(const duo_crossover *x, duo_sentences *s);

#endif
