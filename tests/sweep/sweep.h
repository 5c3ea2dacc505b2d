/*
 * sweep.h - a program all of whose points of failure are tried, each in a process of its own.
 *
 *     sweep [--long] [-seed N] [-only TEXT]    tries points of all scenarios, and prints a line
 *     sweep SCENARIO KIND once|later NTH       tries one
 *
 * A scenario makes calls of the library, and gives everything back. In the process of a point the
 * nth call of a kind fails, once or with all later ones, first in the scenario's first run and then
 * in two further ones. After each the scenario runs well. Kinds are those of failing.h and, on the
 * simulated device, the backend's calls with each of three statuses.
 */
#ifndef DUO_TESTS_SWEEP_H
#define DUO_TESTS_SWEEP_H

#include <stdbool.h>

#include "duoblas.h"

typedef struct scenario {
    const char *name;
    void (*run)(void);
    const char *setting; /* NAME=VALUE of the environment, or NULL */
} scenario;

extern const scenario scenarios[]; /* the last has no name */

/* Something is wrong unless `right`. */
void expect(bool right, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The call has to succeed whatever fails. */
void must(duo_status status, const char *what);
/* If something fails, the call may return DUO_ERR_MEMORY, DUO_ERR_DEVICE and DUO_ERR_LOST, where
 * the header says so. Has it succeeded? */
bool may(duo_status status, const char *what);

#define MUST(call) must(call, #call)
#define MAY(call)  may(call, #call)

/* Was nothing wrong so far? */
bool all_is_right(void);

/* On the simulated device? */
bool on_sim(void);

#endif
