/*
 * adapt.h - learning from a context's calls (duo_set_adapt): which of them are timed, and when
 * another candidate than the cheapest is tried. choice/learned.h keeps what comes of it.
 */
#ifndef DUO_ADAPT_H
#define DUO_ADAPT_H

#include "call/execution.h"

/* The clock, in seconds, that calls are timed by; tests set it. */
extern double (*duo_adapt_clock)(void);

/*
 * Begins to time a call that is to run by choice[chosen], if its context learns. Returns the
 * candidate to run instead, as a trial, or -1. may_try: is a trial allowed?
 */
int duo_adapt_begin(duo_execution *e, int chosen, bool may_try);

/* The call is timed (e->adapt.expected >= 0), and ran by choice[e->ran], with success. */
void duo_adapt_end(const duo_execution *e);

#endif
