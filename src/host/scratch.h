/*
 * scratch.h - memory that a piece of work needs for a moment: kept between calls, so that it costs
 * no page faults.
 */
#ifndef DUO_SCRATCH_H
#define DUO_SCRATCH_H

#include <stddef.h>

/* Memory for the caller alone, aligned to 64 bytes, its bytes undefined. NULL: there is none. */
void *duo_scratch_take(size_t bytes);

/* Gives it back; NULL: nothing happens. */
void duo_scratch_give(void *memory);

/* Frees what nobody has taken. */
void duo_scratch_trim(void);

#endif
