/* failing_memory.h - a heap that is empty when a test says so. Sanitizers have a heap of their own,
 * so it does not work under them. */
#ifndef DUO_TESTS_FAILING_MEMORY_H
#define DUO_TESTS_FAILING_MEMORY_H

#include <stdbool.h>

/* The nth allocation of this thread from now fails, and all after it; 0: none. False: this cannot
 * be done. */
bool fail_memory_at(int nth);

#endif
