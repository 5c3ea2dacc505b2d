/*
 * output.h - files that are complete or absent: written under another name, then renamed; and
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

/* Can the file be written? If not, prints the reason on stderr. To be asked before a long
 * measurement. */
bool duo_output_possible(const char *path);
bool duo_output_open(duo_output *output, const char *path);
/* Closes and renames the file if `good` and nothing failed, else removes it. False: it was not
 * written, which was said on stderr. */
bool duo_output_close(duo_output *output, bool good);

/* ---- Pictures, drawn by gnuplot ---- */

typedef struct duo_picture {
    FILE *gnuplot; /* for commands; `set output` and `set terminal` were sent */
    bool script;   /* the file gets the commands, not the picture */
    duo_output output;
} duo_picture;

/* Is the name good? It must end in .svg, .png or .gp, without quotes and line ends. .gp stands for
 * a script with all its data; from it gnuplot draws an SVG of the same name. */
bool duo_picture_named_well(const char *path);

/* Can a picture of a good name be drawn and written here? If not, prints the reason on stderr. */
bool duo_picture_possible(const char *path);

/* Sizes are in pixels. False: it failed, which was said on stderr. */
bool duo_picture_open(duo_picture *picture, const char *path, int width, int height);
bool duo_picture_close(duo_picture *picture);

/* Sends text for use in single quotes, without characters that are commands in enhanced text. */
void duo_picture_text(duo_picture *picture, const char *text);

#endif
