/*
 * adapt.h - learning from a context's calls (duo_set_adapt): which of them are timed, and when
 * another candidate than the cheapest is tried. choice/learned.h keeps what comes of it.
 */
#ifndef DUO_ADAPT_H
#define DUO_ADAPT_H

#include "call/context.h"

/* The clock, in seconds, that calls are timed by; tests set it. */
extern double (*duo_adapt_clock)(void);

/* A call that is about to run. */
typedef struct duo_adapt {
    int expected; /* the candidate that is to run; -1: the call is not timed */
    double least; /* seconds predicted for the cheapest */
    bool trial;   /* expected is not the cheapest */
    double start;
} duo_adapt;

/*
 * Begins to time a call of a context that learns. It was predicted under these conditions, and is
 * to run by choice[chosen]. Returns the candidate to run instead, as a trial, or -1. may_try: may
 * it be another one?
 */
int duo_adapt_begin(duo_adapt *adapt, const duo_context *ctx, const duo_call *call,
                    const duo_conditions *conditions, const duo_choice *choice, int count,
                    int chosen, bool may_try);

/* It ran by choice[ran], with success. */
void duo_adapt_end(const duo_adapt *adapt, const duo_context *ctx, const duo_call *call,
                   const duo_conditions *conditions, const duo_choice *choice, int ran);

#endif
