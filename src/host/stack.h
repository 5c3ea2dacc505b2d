/*
 * stack.h - work on a larger stack than the calling thread's.
 *
 * The loader, the C library's number parsers, the CPU's tiles and a GPU's driver need more than the
 * 16 KiB that a thread may have. A call that may need more moves to a stack of its own if little is
 * left of its thread's stack, or if it runs on another stack, as coroutines do. It stays on its
 * thread.
 */
#ifndef DUO_STACK_H
#define DUO_STACK_H

#include <stdbool.h>

/* Is less left than the library may need? */
bool duo_stack_is_small(void);

/* Calls the function: on another stack if this one is small, and if there is memory. */
void duo_stack_run(void (*function)(void *), void *argument);

#endif
