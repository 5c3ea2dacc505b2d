/*
 * route.h - the ways to carry a call out: whether a route takes a call, and how long it takes by
 * each of its algorithms (docs/inside/dispatch.md#routes).
 */
#ifndef DUO_ROUTE_H
#define DUO_ROUTE_H

#include "call/execution.h"

typedef struct duo_route {
    const char *name;
    duo_outcome (*run)(duo_execution *e, duo_choice *choice);
} duo_route;

extern const duo_route duo_routes[DUO_ROUTES];

/* The only route of one product or reduction on this side; DUO_ROUTES: there is none. */
duo_route_id duo_route_alone(const duo_call *call, const duo_conditions *conditions, duo_side side);

/* Predicts every algorithm that serves the math, each by its cheapest route. Returns how many.
 * cpu_first: the CPU's are enough if duo_predict_cpu says so; *short_list: only these were
 * predicted. */
int duo_route_predict(const duo_call *call, const duo_conditions *conditions, bool cpu_first,
                      duo_choice choice[DUO_CANDIDATES], bool *short_list);

/* The candidate's route has declined: sets the cheapest route that is left, or notes that the
 * candidate has declined. */
void duo_route_declined(const duo_call *call, const duo_conditions *conditions, duo_choice *choice);

/* The call has been located again: sets the routes of its candidates anew. */
void duo_route_located(const duo_call *call, const duo_conditions *conditions, duo_choice *choice,
                       int count);

/* Seconds of a candidate, by its algorithm and route, under other conditions. */
double duo_route_seconds(const duo_call *call, const duo_conditions *conditions,
                         const duo_choice *choice);
/* Seconds of its algorithm's work by the profile: learning tells short work from long by them. */
double duo_route_work(const duo_call *call, const duo_conditions *conditions,
                      const duo_choice *choice);

#endif
