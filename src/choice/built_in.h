/*
 * built_in.h - the built-in profiles, as the build makes them from bench/profiles: the text of a
 * profile without its curves, and the points of these. To read these from text takes longer than
 * the first product of a program.
 */
#ifndef DUO_BUILT_IN_H
#define DUO_BUILT_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algorithms.h"

/* A point of a curve, in the order of the file. */
typedef struct duo_point {
    bool team; /* of the curve of all threads */
    duo_algorithm_id id;
    int64_t size, picoseconds;
} duo_point;

typedef struct duo_built_in {
    const char *text;
    const duo_point *point;
    size_t points;
} duo_built_in;

extern const duo_built_in duo_built_in_h100, duo_built_in_h200, duo_built_in_generic;

#endif
