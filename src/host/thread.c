/* thread.c - the threads that the library makes (thread.h). */
#define _GNU_SOURCE
#include "host/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "host/fork.h"

enum { STACK_BYTES = 2 << 20 };

typedef struct work {
    void *(*body)(void *);
    void *argument;
} work;

/* The threads by the order in which they were made; each writes its number when it begins. */
static work works[DUO_THREADS_MOST];
static atomic_int numbers[DUO_THREADS_MOST];
static atomic_int made, begun;

static bool make(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return false;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool got = pthread_create(thread, &attributes, body, argument) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return got;
}

static void *begin(void *argument)
{
    const work *const w = argument;
    (void)prctl(PR_SET_NAME, "duoblas");
    atomic_store_explicit(&numbers[w - works], gettid(), memory_order_relaxed);
    atomic_fetch_add_explicit(&begun, 1, memory_order_release);
    return w->body(w->argument);
}

bool duo_thread_make(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    const int place = atomic_load_explicit(&made, memory_order_relaxed);
    if (place == DUO_THREADS_MOST) return false;
    works[place] = (work){body, argument};
    atomic_store_explicit(&made, place + 1, memory_order_relaxed);
    if (make(&thread, begin, &works[place])) {
        (void)pthread_detach(thread);
        return true;
    }
    atomic_store_explicit(&made, place, memory_order_relaxed);
    return false;
}

bool duo_thread_make_short(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    if (!make(&thread, body, argument)) return false;
    (void)pthread_detach(thread);
    return true;
}

int duo_threads_begun(void) { return atomic_load_explicit(&begun, memory_order_acquire); }

bool duo_threads_have_begun(void)
{
    return duo_threads_begun() == atomic_load_explicit(&made, memory_order_relaxed);
}

bool duo_threads_include(int number)
{
    for (int i = 0; i < atomic_load_explicit(&made, memory_order_relaxed); i++)
        if (atomic_load_explicit(&numbers[i], memory_order_relaxed) == number) return true;
    return false;
}

static void *wait_for(void *mutex)
{
    (void)pthread_mutex_lock(mutex);
    (void)pthread_mutex_unlock(mutex);
    return NULL;
}

bool duo_threads_can_make(int count)
{
    pthread_t thread[DUO_THREADS_MOST];
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int got = 0;
    (void)pthread_mutex_lock(&mutex);
    while (got < count && make(&thread[got], wait_for, &mutex)) got++;
    (void)pthread_mutex_unlock(&mutex);
    for (int i = 0; i < got; i++) (void)pthread_join(thread[i], NULL);
    return got == count;
}

static void in_child(void)
{
    atomic_store_explicit(&made, 0, memory_order_relaxed);
    atomic_store_explicit(&begun, 0, memory_order_relaxed);
}

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}
