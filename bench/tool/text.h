/* text.h - numbers, shapes and libraries as people read them. */
#ifndef DUO_TEXT_H
#define DUO_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "call.h"

enum { DUO_TEXT = 64 };

/* Three digits and a unit: "12.3 us". Fixed width, so that columns line up. */
const char *duo_text_seconds(double seconds, char text[DUO_TEXT]);
const char *duo_text_bytes(double bytes, char text[DUO_TEXT]);
/* Two digits of a count and its thousands: "66", "290 k", "1.7 M". */
const char *duo_text_about(double count, char text[DUO_TEXT]);
/* "1000 x 1000 x 64", or n alone for the reductions. */
const char *duo_text_shape(duo_operation operation, const int64_t shape[3], char text[DUO_TEXT]);
/* "nn", "nt", "tn" or "tt" */
const char *duo_text_transposes(bool transa, bool transb);
/* "cpu" or "gpu" */
const char *duo_text_side(duo_side side);
/* "auto", "cpu" or "gpu" */
const char *duo_text_path(duo_path path);

/* The inner BLAS in one line: its configuration text, its kernels, or that there is none. */
const char *duo_text_blas(char *text, size_t size);
/* The same of any, by its configuration text and its kernels' name ("": it does not say). */
const char *duo_text_blas_says(const char *config, const char *core, char *text, size_t size);

/* What is wrong with the inner BLAS, in a line of its own after `mark`; nothing where all is
 * well. */
void duo_text_blas_warning(const char *mark, FILE *file);

/* Today, YYYY-MM-DD. */
const char *duo_text_date(char text[DUO_TEXT]);

#endif
