/* shown.c - see shown.h */
#include "support/shown.h"

#include <stdio.h>
#include <string.h>

#include "support/harness.h"

char test_shown[1 << 20];

const char *test_read_back(const char *path)
{
    FILE *const file = fopen(path, "r");
    const size_t length = file != NULL ? fread(test_shown, 1, sizeof test_shown - 1, file) : 0;
    test_shown[length] = '\0';
    if (file != NULL) fclose(file);
    CHECK(length > 0 && length < sizeof test_shown - 1, "%s: %zu bytes", path, length);
    return test_shown;
}

void test_shown_first(const char *shown, const char *before, const char *first)
{
    const char *const at = strstr(shown, before);
    CHECK(at != NULL && strncmp(at + strlen(before), first, strlen(first)) == 0,
          "first comes %.100s", at != NULL ? at + strlen(before) : shown);
}

void test_shown_lines(const char *shown, int most)
{
    int lines = 0;
    for (const char *line = shown; *line != '\0'; lines++) {
        const int length = (int)strcspn(line, "\n");
        CHECK(length < 80, "%d columns: %.*s", length, length, line);
        CHECK(length == 0 || line[length - 1] != ' ', "blanks at the end: %.*s", length, line);
        line += length + (line[length] == '\n');
    }
    CHECK(lines <= most, "%d lines", lines);
}
