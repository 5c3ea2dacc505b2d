/* options.h - the words that options take. */
#ifndef DUO_OPTIONS_H
#define DUO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "call.h"

/* An operation by its name; DUO_OPERATIONS: no such. */
duo_operation duo_tool_operation(const char *name);

/* The names of all, for people. */
#define DUO_TOOL_OPERATIONS "sgemm, sasum, ssum, sdot"

/* A whole number in [low, high], with nothing after it. */
bool duo_tool_number(const char *text, int64_t low, int64_t high, int64_t *number);

/* "1000000", "512M": a number of bytes from 1 to 2^60, with K, M or G for 2^10, 2^20 or 2^30, as
 * DUOBLAS_DEVICE_MEMORY has it. */
bool duo_tool_bytes(const char *text, double *bytes);
/* A size in [1, 2^40]: "1000", "2^20", "1e6", "2.5e3". */
bool duo_tool_size(const char *text, int64_t *size);
/* A size, or "2^10..2^28", which stands for every power of two between. */
bool duo_tool_range(const char *text, int64_t *low, int64_t *high);

/* "4096x4096x64" or "1000" (which is 1000x1000x1000), of sizes. */
bool duo_tool_shape(const char *text, int64_t shape[3]);

#endif
