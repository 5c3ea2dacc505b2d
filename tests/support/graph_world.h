/* graph_world.h - memory on both sides, and images of it: there plain C does the same work. */
#ifndef DUO_TESTS_GRAPH_WORLD_H
#define DUO_TESTS_GRAPH_WORLD_H

#include <stdbool.h>

#include "duoblas.h"
#include "support/data.h"

/*
 * A world is a block of arrays in host memory, a block from duo_malloc, and images of both, where
 * plain C does the same work. Whole blocks are compared, so that a stray write shows. Without a GPU
 * both blocks are host memory. The first block is pinned in half of all worlds.
 *
 * The first and the last array of a block hold poison and guard the others.
 */
enum { HOST, DEVICE, SIDES };
enum { ARRAYS = 16, LARGEST = 4 /* of data */ };

typedef struct world {
    duo_context *ctx;
    test_rng rng;
    int64_t length; /* of each array, in floats */
    size_t bytes;   /* of each block */
    bool pinned;    /* block[HOST] */
    float *block[SIDES], *image[SIDES];
} world;

/* New memory, filled; the data depend on the label. world_end also ends its context. */
world world_begin(const char *label, int64_t length);
void world_free(world *w);
void world_end(world *w);

float *world_array(const world *w, int side, int64_t i);
/* The place of p in the images. */
void *world_image(const world *w, const void *p);

/* New data in the images: small integers, never 0. */
void world_draw(world *w);
/* Copies the images to the blocks. */
void world_send(const world *w);
/* Checks that the blocks equal the images. */
void world_check(const world *w);

/* For host functions: makes `count` floats from others. */
typedef struct conversion {
    const float *from;
    float *to;
    int64_t add, count;
} conversion;

void world_convert(void *user);

/* Does a work in plain C, in host memory. */
void work_do(duo_work *v);
/* Does this work in the images. */
void world_do(const world *w, const duo_work *work);

#endif
