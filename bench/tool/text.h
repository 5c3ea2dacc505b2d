/* text.h - numbers, shapes and libraries as text for people. */
#ifndef DUO_TEXT_H
#define DUO_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "call.h"

enum { DUO_TEXT = 64, DUO_TEXT_COLUMNS = 80 };

/* Three digits and a unit: "12.3 us"; "-" for a value that is no time. */
const char *duo_text_time(double seconds, char text[DUO_TEXT]);
/* The same, nine characters wide, so that columns line up. */
const char *duo_text_seconds(double seconds, char text[DUO_TEXT]);
const char *duo_text_bytes(double bytes, char text[DUO_TEXT]);
/* Three digits of a count and its thousands: "66", "290 k", "1.23 M". */
const char *duo_text_about(double count, char text[DUO_TEXT]);
/* "4.20 to 8.23 M", "980 us to 2.94 ms": a range of two values with their units */
const char *duo_text_span(const char *low, const char *high, char text[DUO_TEXT]);
/* Two digits of a ratio, at least 1: "3.1", "64", "1300". */
const char *duo_text_times(double ratio, char text[DUO_TEXT]);
/* Prints a label and a text in lines of less than 80 columns. Every line of the text begins where
 * the label ends; words are separated by a blank. */
void duo_text_wrap(const char *label, const char *text, FILE *file);
/* "1000 x 1000 x 64", or n for the reductions. */
const char *duo_text_shape(duo_operation operation, const int64_t shape[3], char text[DUO_TEXT]);
/* "nn", "nt", "tn" or "tt" */
const char *duo_text_transposes(bool transa, bool transb);
/* "plain", "pinned", "kept", "on the GPU": where an operand is, in output for people. */
const char *duo_text_residence(duo_residence residence);
/* "cpu" or "gpu" */
const char *duo_text_side(duo_side side);

/* The inner BLAS in one line: its configuration text, its kernels, or that there is none. */
const char *duo_text_blas(char *text, size_t size);
/* The same for any BLAS, by its configuration text and its kernels' name ("": not known). */
const char *duo_text_blas_says(const char *config, const char *core, char *text, size_t size);

/* Prints a fault of the inner BLAS on a separate line after `mark`; nothing if there is none. */
void duo_text_blas_warning(const char *mark, FILE *file);

/* Today, YYYY-MM-DD. */
const char *duo_text_date(char text[DUO_TEXT]);

#endif
