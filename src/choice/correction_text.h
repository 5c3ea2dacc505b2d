/*
 * correction_text.h - the lines of a correction in a profile's file.
 *
 * A line has a layout, m and n, and the factors for the six sizes of k in ten-thousandths:
 *
 *     tn 9 800 = 12040 11870 9960 9830 9910 9910
 *
 * A correction has a line for every layout, m and n, in order.
 */
#ifndef DUO_CORRECTION_TEXT_H
#define DUO_CORRECTION_TEXT_H

#include <stdio.h>

#include "choice/correction.h"

enum {
    DUO_CORRECTION_LINES = DUO_CORRECTION_LAYOUTS * DUO_CORRECTION_SIZES * DUO_CORRECTION_SIZES
};

/* Reads the line after `lines` others; false: it is another line. The last line makes the
 * correction `measured`. */
bool duo_correction_read(duo_correction *correction, int lines, const char *name,
                         const char *value);

void duo_correction_print(const duo_correction *correction, FILE *file);

#endif
