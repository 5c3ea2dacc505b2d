/*
 * tags.h - a tag of each 4 KiB of memory. Later the tags tell whether the memory has changed,
 * without the old bytes.
 *
 * The tag is a universal hash of the block: NH, with the key shifted for the second half. For any
 * two different blocks that were chosen without the key, the tags are equal with a probability of
 * at most 2^-64. The key is random; each process has another one.
 */
#ifndef DUO_TAGS_H
#define DUO_TAGS_H

#include <stddef.h>
#include <stdint.h>

#include "tag_block.h"

typedef struct duo_tag {
    uint64_t half[2];
} duo_tag;

/* DUO_TAG_KEY_BYTES random bytes, aligned to 64. NULL: the system gives none. */
const void *duo_tags_key(void);

/* The tag of DUO_TAG_BLOCK bytes. */
duo_tag duo_tags_of(const void *block, const void *key);

#endif
