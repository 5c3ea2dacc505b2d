/*
 * fuzz.h - what the fuzz targets share. A target is a function from bytes: libFuzzer calls it with
 * bytes of its own (scripts/fuzz), every other build with the files of corpus/ (replay.c).
 */
#ifndef DUO_TESTS_FUZZ_H
#define DUO_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process if what has to hold does not. */
static inline void require(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "WRONG: %s\n", what);
    abort();
}

/* The bytes as a text, to be freed: of its own length, so that reading past it is seen. */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *const text = malloc(size + 1);
    require(text != NULL, "memory");
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* Cuts the first line off *rest; NULL: there is none. */
static inline char *next_line(char **rest)
{
    char *const first = *rest;
    if (first == NULL || *first == '\0') return NULL;
    char *const end = strchr(first, '\n');
    *rest = end != NULL ? end + 1 : NULL;
    if (end != NULL) *end = '\0';
    return first;
}

#endif
