/* output.h - a file that is whole or not there: written beside its place, then renamed. */
#ifndef DUO_OUTPUT_H
#define DUO_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct duo_output {
    FILE *file;
    char path[4096], temporary[4096];
} duo_output;

/* Could it be written? Says why not on stderr. For before a long measurement. */
bool duo_output_possible(const char *path);
bool duo_output_open(duo_output *output, const char *path);
/* Closes and renames if `good` and nothing failed, else removes. False, and said on stderr, if not
 * written. */
bool duo_output_close(duo_output *output, bool good);

#endif
