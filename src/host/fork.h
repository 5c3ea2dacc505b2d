/*
 * fork.h - the library in a child process.
 *
 * A child process has one thread, and a copy of the memory that all threads of its parent were
 * working on. It has no device, no helper and no result of another thread. A module that has to
 * adapt its state to that registers one handler, from a constructor, because a fork may come as
 * early as during the first call. All locks are free when the handlers run. Their order is not
 * defined, so none relies on another.
 */
#ifndef DUO_FORK_H
#define DUO_FORK_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A module's handler; static. */
typedef struct duo_fork_handler {
    void (*run)(void);
    struct duo_fork_handler *next; /* for fork.c */
} duo_fork_handler;

/* Registers a handler that is called in every child process from now on. For constructors only. */
void duo_fork_in_child(duo_fork_handler *handler);

/* Is this process a fork of one that had loaded the library? Then no thread is made, and no GPU is
 * used. */
bool duo_forked(void);

#ifdef __cplusplus
}
#endif

#endif
