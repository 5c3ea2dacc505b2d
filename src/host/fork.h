/*
 * fork.h - what a fork leaves of the library.
 *
 * A child process has one thread and the memory of all: no device, no helper and no other thread's
 * work. Each module that has to be made fit for that registers its own handler, once, from a
 * constructor: a fork may meet the first call already. Locks are free when the handlers run; their
 * order among each other is not defined, so none relies on another.
 */
#ifndef DUO_FORK_H
#define DUO_FORK_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To be called in every child process from now on. For constructors. */
void duo_fork_in_child(void (*handler)(void));

/* Is this process a fork of one that had loaded the library? Then threads and GPU are out of
 * bounds. */
bool duo_forked(void);

#ifdef __cplusplus
}
#endif

#endif
