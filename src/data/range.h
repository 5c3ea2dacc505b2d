/* range.h - a range of bytes in a registered region. */
#ifndef DUO_RANGE_H
#define DUO_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct duo_range {
    size_t from, to; /* bytes from the start of the region; from >= to: empty */
} duo_range;

/* Would `bytes` from the address on reach beyond the end of the address space? */
static inline bool duo_range_wraps(const void *address, size_t bytes)
{
    return (uintptr_t)address > UINTPTR_MAX - bytes;
}

static inline bool duo_range_empty(duo_range range) { return range.from >= range.to; }

/* Do the range and [from, to) have a byte in common? */
static inline bool duo_range_meets(duo_range range, size_t from, size_t to)
{
    return range.from < range.to && from < range.to && range.from < to;
}

/* The smallest range that contains both; it also contains what lies between them. */
static inline duo_range duo_range_join(duo_range range, size_t from, size_t to)
{
    if (duo_range_empty(range)) return (duo_range){from, to};
    return (duo_range){from < range.from ? from : range.from, to > range.to ? to : range.to};
}

#endif
