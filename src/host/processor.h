/* processor.h - how a thread of the team gets a processor where others want it too. */
#ifndef DUO_PROCESSOR_H
#define DUO_PROCESSOR_H

#include <sched.h> /* cpu_set_t: with _GNU_SOURCE */
#include <stdbool.h>

/*
 * For the calling thread. From version 6.12 on, Linux lets a thread that is woken take the
 * processor from one that has longer turns, such as the idle threads of another library that wait
 * for work without sleeping. Elsewhere nothing comes of it.
 */
void duo_processor_take_short_turns(void);

/* Brings a thread of this process to the caller's processor; *from: where it was allowed to be.
 * False: it is not allowed there, or the system does not let us. */
bool duo_processor_fetch(int thread, cpu_set_t *from);

/* The calling thread may be there again. */
void duo_processor_return(const cpu_set_t *from);

#endif
