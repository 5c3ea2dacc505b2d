/* lock.c - the locks of the library (lock.h). */
#include "host/lock.h"

#include <pthread.h>

enum { FIRST_MOMENTARY = DUO_LOCK_CONTEXTS };

static pthread_mutex_t locks[DUO_LOCKS] = {
    [DUO_LOCK_RESIDENCY] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_DEVICES] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_CONTEXTS] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_EVENTS] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_GRAPHS] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_TABLE] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_PROFILE] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_LOADER] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_TEAM] = PTHREAD_MUTEX_INITIALIZER,
    [DUO_LOCK_DEFERRED] = PTHREAD_MUTEX_INITIALIZER,
};

static pthread_cond_t woken[FIRST_MOMENTARY] = {
    [DUO_LOCK_RESIDENCY] = PTHREAD_COND_INITIALIZER,
    [DUO_LOCK_DEVICES] = PTHREAD_COND_INITIALIZER,
};

void duo_lock(duo_lock_name name) { pthread_mutex_lock(&locks[name]); }

void duo_unlock(duo_lock_name name) { pthread_mutex_unlock(&locks[name]); }

void duo_lock_wait(duo_lock_name name) { pthread_cond_wait(&woken[name], &locks[name]); }

void duo_lock_wake(duo_lock_name name) { pthread_cond_broadcast(&woken[name]); }

void duo_locks_before_fork(void)
{
    for (int i = FIRST_MOMENTARY; i < DUO_LOCKS; i++) pthread_mutex_lock(&locks[i]);
}

void duo_locks_in_parent(void)
{
    for (int i = DUO_LOCKS; i-- > FIRST_MOMENTARY;) pthread_mutex_unlock(&locks[i]);
}

void duo_locks_in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
    duo_locks_in_parent();
    for (int i = 0; i < FIRST_MOMENTARY; i++) {
        locks[i] = fresh;
        woken[i] = nobody; /* the threads that waited are not in the child */
    }
}
