/* correction_text.c - see correction_text.h */
#include "choice/correction_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = DUO_CORRECTION_SIZES, LONGEST_NAME = 32 };

static const char *const layouts[DUO_CORRECTION_LAYOUTS] = {"nn", "nt", "tn", "tt"};

/* Factors are in ten-thousandths. */
static const double kUnit = 1e-4;
static const long long kMost = (long long)(DUO_CORRECTION_MOST * 1e4),
                       kLeast = (long long)(1e4 / DUO_CORRECTION_MOST);

static void name_line(int line, char name[LONGEST_NAME])
{
    (void)snprintf(name, LONGEST_NAME, "%s %lld %lld", layouts[line / (SIZES * SIZES)],
                   (long long)duo_correction_sizes[line / SIZES % SIZES],
                   (long long)duo_correction_sizes[line % SIZES]);
}

/* Reads a whole number in the range of factors, and steps behind it. */
static bool read_factor(const char **text, float *factor)
{
    if (**text < '0' || **text > '9') return false;
    char *end;
    errno = 0;
    const long long number = strtoll(*text, &end, 10);
    if (errno != 0 || number < kLeast || number > kMost) return false;
    *text = end;
    *factor = (float)((double)number * kUnit);
    return true;
}

bool duo_correction_read(duo_correction *correction, int lines, const char *name, const char *value)
{
    char expected[LONGEST_NAME];
    if (lines >= DUO_CORRECTION_LINES) return false;
    name_line(lines, expected);
    if (strcmp(name, expected) != 0) return false;
    float *const factor = &correction->factor[0][0][0][0] + SIZES * lines;
    for (int i = 0; i < SIZES; i++) {
        if (i > 0 && *value++ != ' ') return false;
        if (!read_factor(&value, &factor[i])) return false;
    }
    correction->measured = lines == DUO_CORRECTION_LINES - 1;
    return *value == '\0';
}

void duo_correction_print(const duo_correction *correction, FILE *file)
{
    for (int line = 0; line < DUO_CORRECTION_LINES; line++) {
        char name[LONGEST_NAME];
        name_line(line, name);
        fprintf(file, "%s =", name);
        const float *const factor = &correction->factor[0][0][0][0] + SIZES * line;
        for (int i = 0; i < SIZES; i++) fprintf(file, " %lld", llround((double)factor[i] / kUnit));
        fputc('\n', file);
    }
}
