/*
 * lock.h - the locks that order the library's threads, and what a fork does to them.
 *
 * A lock that another thread holds at a fork would stay taken in the child for ever. Those that are
 * held for moments are therefore taken before the fork and given back on both sides of it, and what
 * they guard is whole in the child. The others are held while a device works; a fork does not wait
 * for that: the child gets them anew.
 */
#ifndef DUO_LOCK_H
#define DUO_LOCK_H

/* In the order in which a thread may take them, one while it holds another. */
typedef enum duo_lock_name {
    DUO_LOCK_RESIDENCY, /* the regions, also while they are sent and fetched */
    DUO_LOCK_DEVICES,   /* devices.c, also while the driver starts */

    /* held for moments */
    DUO_LOCK_CONTEXTS, /* the lists of context.c */
    DUO_LOCK_TABLE,    /* residency.c, while regions come and go */
    DUO_LOCK_PROFILE,  /* profile_in_use.c */
    DUO_LOCK_BLAS,     /* blas_library.c, while the library is opened */
    DUO_LOCK_TEAM,     /* team.c, while threads are made */
    DUO_LOCKS
} duo_lock_name;

void duo_lock(duo_lock_name name);
void duo_unlock(duo_lock_name name);

/* Around a fork, for fork.c. */
void duo_locks_before_fork(void);
void duo_locks_in_parent(void);
void duo_locks_in_child(void);

#endif
