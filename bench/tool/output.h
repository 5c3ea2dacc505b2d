/*
 * output.h - a file that is whole or not there: written beside its place, then renamed; and
 * pictures.
 */
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

/* ---- Pictures, drawn by gnuplot ---- */

typedef struct duo_picture {
    FILE *gnuplot; /* commands go here; `set output` and `set terminal` were sent */
    bool script;   /* the file is to have the commands, not what they draw */
    duo_output output;
} duo_picture;

/* Does it end in .svg, .png, or .gp for a script with all its data, from which gnuplot draws an SVG
 * of the same name? And has it no quotes and line ends? */
bool duo_picture_named_well(const char *path);

/* Can a well-named file be drawn and written on this machine? Says why not on stderr. */
bool duo_picture_possible(const char *path);

/* Both false, and said on stderr, on failure. Size in pixels. */
bool duo_picture_open(duo_picture *picture, const char *path, int width, int height);
bool duo_picture_close(duo_picture *picture);

/* Text for inside single quotes, without all that enhanced text would take for a command. */
void duo_picture_text(duo_picture *picture, const char *text);

#endif
