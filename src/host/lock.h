/*
 * lock.h - the locks that order the library's threads; also across a fork.
 *
 * A lock that another thread holds at a fork would stay taken in the child for ever. So before the
 * fork the forking thread takes the locks that are held only for moments, and both processes
 * release them after it: the data that they guard are whole in the child. The other locks are held
 * while a device works, and a fork does not wait for that: the child makes them anew.
 */
#ifndef DUO_LOCK_H
#define DUO_LOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* A thread that holds a lock may take only locks that come after it in this list. */
typedef enum duo_lock_name {
    DUO_LOCK_RESIDENCY, /* the regions, also while they are sent and fetched */
    DUO_LOCK_DEVICES,   /* devices.c, also while the driver starts */

    /* Held for moments. */
    DUO_LOCK_CONTEXTS, /* the lists of call/context.c */
    DUO_LOCK_EVENTS,   /* the lists of data/event.c, and where each event was recorded */
    DUO_LOCK_GRAPHS,   /* the pool of graph/graph.c */
    DUO_LOCK_TABLE,    /* the table of data/residency.c, while regions come and go */
    DUO_LOCK_PROFILE,  /* choice/profile_in_use.c */
    DUO_LOCK_LOADER,   /* while the inner BLAS or the GPU's driver is opened: the dynamic linker of
                        * a child that was forked meanwhile might crash or hang */
    DUO_LOCK_TEAM,     /* host/team.c, while threads are made */
    DUO_LOCK_DEFERRED, /* the rings of data/deferred.c */
    DUO_LOCKS
} duo_lock_name;

void duo_lock(duo_lock_name name);
void duo_unlock(duo_lock_name name);

/* For the locks that are not held only for moments. The holder gives the lock away until all
 * waiting threads are woken, and has it again; it may also be woken for no reason. */
void duo_lock_wait(duo_lock_name name);
void duo_lock_wake(duo_lock_name name);

/* Called by fork.c: before a fork in the forking thread, and after it in both processes. */
void duo_locks_before_fork(void);
void duo_locks_in_parent(void);
void duo_locks_in_child(void);

#ifdef __cplusplus
}
#endif

#endif
