/*
 * places.h - operands in every residence, put there and taken back through the public API.
 */
#ifndef DUO_TESTS_PLACES_H
#define DUO_TESTS_PLACES_H

#include "duoblas.h"
#include "support/arrays.h"

typedef enum test_place {
    PLACE_PAGEABLE,
    PLACE_PINNED, /* duo_malloc_host */
    PLACE_DEVICE, /* duo_malloc */
    PLACE_KEPT,   /* the array itself, under duo_keep */
    PLACES
} test_place;

typedef struct test_placed {
    test_place place;
    test_array *array; /* its host image */
    float *address;    /* to pass to the library */
    void *memory;      /* to free */
} test_placed;

const char *test_place_name(test_place place);
/* Puts the array there (gaps and all). An array without elements stays where it is. */
test_placed test_put(duo_context *ctx, test_place place, test_array *array);
/* Brings the array back to its host image, waits for that, and lets the place go. */
void test_take(duo_context *ctx, test_placed *placed);

#endif
