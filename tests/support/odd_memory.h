/*
 * odd_memory.h - memory that real callers rarely have.
 */
#ifndef DUO_TESTS_ODD_MEMORY_H
#define DUO_TESTS_ODD_MEMORY_H

#include <stddef.h>

/* Memory that can be neither read nor written. */
float *no_entry(void);

/* Address space whose pages take memory only once they are written. Ends the program if there is
 * none. */
float *wide_memory(size_t bytes);

#endif
