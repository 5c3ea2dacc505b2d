/* processor.h - how a thread of the team gets a processor that others want too. */
#ifndef DUO_PROCESSOR_H
#define DUO_PROCESSOR_H

#include <sched.h> /* cpu_set_t: with _GNU_SOURCE */
#include <stdbool.h>

/*
 * Asks for shorter turns on the processor for the calling thread. Since version 6.12 Linux then
 * lets it, when it is woken, take the processor from a thread with longer turns, for instance from
 * an idle thread of another library that waits without sleeping. Older versions ignore the wish.
 */
void duo_processor_take_short_turns(void);

/* Moves a thread of this process to the caller's processor. *from: the processors on which it was
 * allowed. False: the caller's processor is not among them, or the system refuses. */
bool duo_processor_fetch(int thread, cpu_set_t *from);

/* Moves the calling thread to a processor that is not in `taken`, if it is allowed on one. */
void duo_processor_leave(const cpu_set_t *taken);

/* Allows the calling thread on these processors again. */
void duo_processor_return(const cpu_set_t *from);

#endif
