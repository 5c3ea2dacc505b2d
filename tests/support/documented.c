/* documented.c - see documented.h */
#include "support/documented.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duoblas.h"
#include "support/harness.h"

static char *read_all(const char *path)
{
    enum { MOST = 1 << 20 };
    char *const text = calloc(1, MOST);
    FILE *const file = fopen(path, "r");
    CHECK(file != NULL, "%s cannot be read", path);
    if (file != NULL) {
        CHECK(fread(text, 1, MOST - 1, file) > 0, "%s is empty", path);
        fclose(file);
    }
    return text;
}

/* The comment of a declaration as one line, without stars and parenthesized text. */
static void flatten(const char *from, const char *to, char *line, size_t size)
{
    size_t length = 0;
    int depth = 0;
    for (const char *c = from; c < to && length + 2 < size; c++) {
        if (*c == '\n') {
            while (c + 1 < to && (c[1] == ' ' || c[1] == '*')) c++;
            if (depth == 0) line[length++] = '\n';
        } else if (*c == '(') {
            depth++;
        } else if (*c == ')') {
            depth -= depth > 0;
        } else if (depth == 0) {
            line[length++] = *c;
        }
    }
    line[length] = '\0';
}

static size_t name_length(const char *name)
{
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || name[length] == '_') length++;
    return length;
}

/* Cuts the text down to the paragraph `Returns`. The next paragraph begins with a capitalized word
 * and two blanks. */
static void cut_paragraph(char *line)
{
    char *const begin = strstr(line, "\nReturns ");
    if (begin == NULL) {
        line[0] = '\0';
        return;
    }
    memmove(line, begin + 1, strlen(begin + 1) + 1);
    for (char *next = strchr(line, '\n'); next != NULL; next = strchr(next + 1, '\n')) {
        const size_t word = name_length(next + 1);
        const bool heads = isupper((unsigned char)next[1]) && strncmp(next + 1, "DUO_", 4) != 0 &&
                           next[1 + word] == ' ' && next[2 + word] == ' ';
        if (!heads) continue;
        *next = '\0';
        return;
    }
}

static int bit_of(const char *name, size_t length)
{
#define BIT_OF(status, value, text)                                                                \
    if (strlen(#status) == length && strncmp(#status, name, length) == 0) return -(value);
    DUO_STATUS_LIST(BIT_OF)
    return -1;
}

static uint32_t named(const char *line)
{
    uint32_t statuses = 0;
    for (const char *c = strstr(line, "DUO_"); c != NULL; c = strstr(c + 1, "DUO_")) {
        const int bit = bit_of(c, name_length(c));
        if (bit >= 0) statuses |= 1u << bit;
    }
    return statuses;
}

static uint32_t of(const documented *function, int count, const char *name, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(function[i].name) == length && strncmp(function[i].name, name, length) == 0)
            return function[i].statuses;
    return 0;
}

/* The statuses of the functions that the paragraph names; they are declared before it. */
static uint32_t referred(const documented *function, int count, const char *line)
{
    uint32_t statuses = 0;
    for (const char *c = strstr(line, "duo_"); c != NULL; c = strstr(c + 4, "duo_")) {
        const bool as = c - line >= 3 && strncmp(c - 3, "as ", 3) == 0;
        const bool what = c - line >= 5 && strncmp(c - 5, "what ", 5) == 0;
        if (as || what) statuses |= of(function, count, c, name_length(c));
    }
    return statuses;
}

int documented_read(const char *header, documented function[DOCUMENTED_MOST])
{
    static const char declares[] = "DUO_API duo_status ";
    char *const text = read_all(header), line[8000];
    int count = 0;
    for (const char *at = strstr(text, declares); at != NULL; at = strstr(at + 1, declares)) {
        const char *begin = at;
        while (begin > text && strncmp(begin, "/**", 3) != 0) begin--;
        documented *const f = &function[count];
        const char *const name = at + strlen(declares);
        if (!CHECK(count < DOCUMENTED_MOST, "more functions than there is room for")) break;
        snprintf(f->name, sizeof f->name, "%.*s", (int)name_length(name), name);
        flatten(begin, at, line, sizeof line);
        cut_paragraph(line);
        f->statuses = named(line) | referred(function, count, line);
        CHECK(f->statuses != 0, "%s: no paragraph tells what it returns", f->name);
        count++;
    }
    free(text);
    return count;
}
