/*
 * built_in.h - the built-in profiles, as the build makes them from bench/profiles: the points of
 * the curves, and all other entries. To read a profile from text takes longer than the first
 * product of a program.
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

/* A line of any other section. */
typedef struct duo_entry {
    const char *section, *name, *value;
} duo_entry;

typedef struct duo_built_in {
    const char *cpu_id; /* these two are entries, too */
    int threads;
    const duo_entry *entry;
    size_t entries;
    const duo_point *point;
    size_t points;
} duo_built_in;

extern const duo_built_in duo_built_in_h100, duo_built_in_h200, duo_built_in_generic;

#endif
