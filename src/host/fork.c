/* fork.c - what a fork leaves of the library (fork.h). */
#include "host/fork.h"

#include <pthread.h>
#include <stdatomic.h>

#include "host/lock.h"

/* More are ignored. Three modules register: data/residency.c, call/context.c and host/team.c. */
enum { MOST_HANDLERS = 8 };

static void (*handlers[MOST_HANDLERS])(void);
static int count;
static atomic_bool forked;

static void in_child(void)
{
    atomic_store_explicit(&forked, true, memory_order_relaxed);
    duo_locks_in_child();
    for (int i = 0; i < count; i++) handlers[i]();
}

void duo_fork_in_child(void (*handler)(void))
{
    if (count == 0) (void)pthread_atfork(duo_locks_before_fork, duo_locks_in_parent, in_child);
    if (count < MOST_HANDLERS) handlers[count++] = handler;
}

bool duo_forked(void) { return atomic_load_explicit(&forked, memory_order_relaxed); }
