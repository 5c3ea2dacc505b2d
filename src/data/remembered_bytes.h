/*
 * remembered_bytes.h - is the device copy of a remembered array the same as host memory? Compares
 * the tags of its blocks (tags.h), and sends blocks that differ.
 *
 * All functions need the residency lock, and the context's queue on the array's device.
 */
#ifndef DUO_REMEMBERED_BYTES_H
#define DUO_REMEMBERED_BYTES_H

#include <stdatomic.h>

#include "data/resources.h"

/* A new copy: what lies around the array in its first and last block becomes zeros, as it counts on
 * the host. The key goes to the device. */
duo_status duo_remembered_bytes_prepare(duo_resources *res, duo_region *region);

/* Compares the operand, a part of the array, with the copy. DUO_OK: they are the same, perhaps
 * after some blocks were sent. DUO_DECLINED: most of it has changed. */
duo_outcome duo_remembered_bytes_renew(duo_resources *res, duo_region *region,
                                       const duo_operand *o);

/* Are there whole pages between the operand's columns? These may be gone, and are not read. */
bool duo_remembered_bytes_far(const duo_operand *o);

/* ---- Block by block, for remembered_pages.c ---- */

enum { DUO_BLOCKS_IN_PIECE = 64 }; /* for one thread of the team */

/* The number of the page in which the array begins: its block 0. */
static inline uintptr_t duo_remembered_first_page(const duo_region *region)
{
    return region->low / DUO_TAG_BLOCK;
}

/* The array has tags. */
typedef struct duo_byte_check {
    const duo_region *region;
    const void *key;
    const duo_operand *operand;
    size_t first, blocks;   /* of the region, that are checked; with far columns, of each column */
    unsigned char *differs; /* of each block of the region */
    size_t most;            /* differing blocks; with more, checking ends */
    _Atomic size_t count;   /* differing blocks */
} duo_byte_check;

duo_byte_check duo_remembered_bytes_begin(const duo_region *region, const duo_operand *o);

/* Compares blocks [first, end) of the array. Several threads may do that at a time. */
void duo_remembered_bytes_look(duo_byte_check *c, size_t first, size_t end);

#endif
