/* line.h - text that is put together piece by piece, and cut where there is no more room. */
#ifndef DUO_LINE_H
#define DUO_LINE_H

#include <stddef.h>

typedef struct duo_line {
    char *text;
    size_t size, used;
} duo_line;

void duo_line_put(duo_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
