/* fork.c - the library in a child process (fork.h). */
#include "host/fork.h"

#include <pthread.h>
#include <stdatomic.h>

#include "host/lock.h"

static duo_fork_handler *handlers; /* a list through the modules' own memory: it is never full */
static atomic_bool forked;

static void in_child(void)
{
    atomic_store_explicit(&forked, true, memory_order_relaxed);
    duo_locks_in_child();
    for (const duo_fork_handler *h = handlers; h != NULL; h = h->next) h->run();
}

void duo_fork_in_child(duo_fork_handler *handler)
{
    if (handlers == NULL)
        (void)pthread_atfork(duo_locks_before_fork, duo_locks_in_parent, in_child);
    handler->next = handlers;
    handlers = handler;
}

bool duo_forked(void) { return atomic_load_explicit(&forked, memory_order_relaxed); }
