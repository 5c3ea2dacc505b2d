/*
 * odd_memory.h - memory that real callers rarely have.
 */
#ifndef DUO_TESTS_ODD_MEMORY_H
#define DUO_TESTS_ODD_MEMORY_H

#include <stddef.h>

/* Memory that must not be read or written: the process would end. */
float *no_entry(void);

/* Address space that takes memory only for pages that are written. Ends the program if there is
 * none. */
float *wide_memory(size_t bytes);

#endif
