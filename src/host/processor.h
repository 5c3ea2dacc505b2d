/* processor.h - how a thread of the team gets a processor where others want it too. */
#ifndef DUO_PROCESSOR_H
#define DUO_PROCESSOR_H

#include <sched.h> /* cpu_set_t: with _GNU_SOURCE */
#include <stdbool.h>

/*
 * Asks for shorter turns on the processor for the calling thread. From version 6.12 on, Linux then
 * lets it, when it is woken, take the processor from a thread with longer turns, such as an idle
 * thread of another library that waits for work without sleeping. Older versions ignore the wish.
 */
void duo_processor_take_short_turns(void);

/* Moves a thread of this process to the caller's processor. *from: the processors that it was
 * allowed on. False: the caller's is none of them, or the system refuses. */
bool duo_processor_fetch(int thread, cpu_set_t *from);

/* Allows the calling thread on these processors again. */
void duo_processor_return(const cpu_set_t *from);

#endif
