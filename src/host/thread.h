/* thread.h - the threads that the library makes: here alone. */
#ifndef DUO_THREAD_H
#define DUO_THREAD_H

#include <stdbool.h>

/* Most threads that work at once on one thing. */
enum { DUO_THREADS_MOST = 256 };

/* Makes a thread that does body(argument) as long as the process lives. It blocks all signals: they
 * are for the program's threads. False: the system gives no thread, or there are DUO_THREADS_MOST.
 * Under DUO_LOCK_TEAM. */
bool duo_thread_make(void *(*body)(void *), void *argument);

/* The same for a thread that ends. It is none of those below. */
bool duo_thread_make_short(void *(*body)(void *), void *argument);

/* How many have begun; have all? */
int duo_threads_begun(void);
bool duo_threads_have_begun(void);
/* Is this the system's number of one that has begun? */
bool duo_threads_include(int number);

/* Would the system give `count` more threads, DUO_THREADS_MOST at most? Makes them, and ends
 * them. */
bool duo_threads_can_make(int count);

#endif
