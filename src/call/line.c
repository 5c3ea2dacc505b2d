/* line.c - text that is put together piece by piece (line.h). */
#include "call/line.h"

#include <stdarg.h>
#include <stdio.h>

void duo_line_put(duo_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int wrote =
        vsnprintf(line->text + line->used, line->size - line->used, format, arguments);
    va_end(arguments);
    if (wrote > 0) line->used += (size_t)wrote;
    if (line->used >= line->size) line->used = line->size - 1;
}
