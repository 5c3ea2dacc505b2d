/* tag_block.h - the sizes of tags (data/tags.h), on both sides. */
#ifndef DUO_TAG_BLOCK_H
#define DUO_TAG_BLOCK_H

enum {
    DUO_TAG_BLOCK = 4096, /* bytes with one tag: a page of memory */
    DUO_TAG_BYTES = 16,   /* of a tag */
    DUO_TAG_SHIFT = 16,   /* the second half of a tag begins so many bytes later in the key */
    DUO_TAG_KEY_BYTES = DUO_TAG_BLOCK + DUO_TAG_SHIFT
};

#endif
