/*
 * odd_memory.h - memory that real callers rarely have.
 */
#ifndef DUO_TESTS_ODD_MEMORY_H
#define DUO_TESTS_ODD_MEMORY_H

#include <stddef.h>

/* Memory that can be neither read nor written. */
float *no_entry(void);

/* Pages come into being where they are written. Ends the program without address space. */
float *wide_memory(size_t bytes);

#endif
