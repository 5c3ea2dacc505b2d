/*
 * test_text.c - numbers, sentences and the progress line of the tool, and sizes that it reads.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/tool/arguments.h"
#include "bench/tool/progress.h"
#include "bench/tool/text.h"
#include "support/harness.h"

/* A count, or a ratio, and how it reads. */
typedef struct reading {
    double value;
    const char *text;
} reading;

static void check_readings(const char *name, const char *(*read)(double value, char *text),
                           const reading *r)
{
    char text[DUO_TEXT];
    for (; r->text != NULL; r++) {
        test_case("text/%s/%.12g", name, r->value);
        read(r->value, text);
        CHECK(strcmp(text, r->text) == 0, "\"%s\", not \"%s\"", text, r->text);
    }
}

static void about(void)
{
    static const reading r[] = {{1, "1"},           {66, "66"},         {327.4, "327"},
                                {999.4, "999"},     {999.6, "1.00 k"},  {1230, "1.23 k"},
                                {9995, "10.0 k"},   {290000, "290 k"},  {999499, "999 k"},
                                {1.23e6, "1.23 M"}, {4.0e6, "4.00 M"},  {1.34217728e8, "134 M"},
                                {3.25e9, "3.25 G"}, {4.4e12, "4400 G"}, {0, NULL}};
    check_readings("about", duo_text_about, r);
}

static void times(void)
{
    static const reading r[] = {{1, "1.0"},    {1.04, "1.0"}, {1.06, "1.1"},  {3.14, "3.1"},
                                {9.94, "9.9"}, {9.96, "10"},  {64.4, "64"},   {99.4, "99"},
                                {99.6, "100"}, {131, "130"},  {1318, "1300"}, {19949, "20000"},
                                {0, NULL}};
    check_readings("times", duo_text_times, r);
}

static void durations(void)
{
    static const reading r[] = {{1.34e-7, "134 ns"},
                                {9.996e-6, "10.0 us"},
                                {1.67e-3, "1.67 ms"},
                                {16.8, "16.8 s"},
                                {0, NULL}};
    check_readings("time", duo_text_time, r);
    static const reading even[] = {{1.34e-7, "   134 ns"},
                                   {9.996e-6, "  10.0 us"},
                                   {16.8, "  16.8 s "},
                                   {-1, "     -   "},
                                   {0, NULL}};
    check_readings("seconds", duo_text_seconds, even);
}

/* ---- Lines ---- */

/* The longest line of a text, and the number of lines. */
static size_t longest_line(const char *text, int *lines)
{
    size_t longest = 0;
    for (*lines = 0; *text != '\0'; ++*lines) {
        const size_t length = strcspn(text, "\n");
        if (length > longest) longest = length;
        text += length + (text[length] == '\n');
    }
    return longest;
}

static void wrap(void)
{
    static const char words[] =
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four";
    char text[1024], again[1024] = "";
    int lines;
    test_case("text/wrap");
    test_capture_begin();
    duo_text_wrap("      ", words, stdout);
    fflush(stdout);
    test_capture_end(text, sizeof text);
    CHECK(longest_line(text, &lines) < 80, "a line of %zu", longest_line(text, &lines));
    CHECK(lines == 3, "%d lines", lines);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        CHECK(strncmp(line, "      ", 6) == 0 && line[6] != ' ', "not indented: \"%s\"", line);
        if (again[0] != '\0') strcat(again, " ");
        strcat(again, line + 6);
    }
    CHECK(strcmp(again, words) == 0, "words were lost: \"%s\"", again);
}

/* ---- Progress ---- */

static void progress_fits(void)
{
    for (int columns = 1; columns <= 200; columns++) {
        char text[256];
        test_case("progress/%d", columns);
        const int length = duo_progress_line(text, sizeof text, columns, 0.42, 83.0,
                                             "sgemm 8192 x 8192 x 8192, some more words");
        CHECK(length == (int)strlen(text) && length < columns, "%d columns: \"%s\"", length, text);
        if (columns < 32) continue;
        test_contains(text, " 42 %");
        test_contains(text, "1:23 left");
    }
}

static void progress_bar(void)
{
    char text[256];
    test_case("progress/bar");
    (void)duo_progress_line(text, sizeof text, 80, 0.5, 61.0, "ssum 1024");
    CHECK(strcmp(text, "[###############...............]  50 %  1:01 left  ssum 1024") == 0,
          "\"%s\"", text);
    (void)duo_progress_line(text, sizeof text, 80, 1.0, -3.0, "");
    test_contains(text, "100 %  0:00 left");
}

/* Sizes are whole numbers in [1, 2^40], in any spelling; 0 stands for none. */
static void sizes(void)
{
    static const struct {
        const char *text;
        int64_t size;
    } written[] = {{"1", 1},
                   {"1000", 1000},
                   {"2^0", 1},
                   {"2^40", INT64_C(1) << 40},
                   {"1099511627776", INT64_C(1) << 40},
                   {"1e6", 1000000},
                   {"1e+6", 1000000},
                   {"2.5e3", 2500},
                   {"1e12", INT64_C(1000000000000)},
                   {"12.0", 12},
                   {"0", 0},
                   {"-1", 0},
                   {"2^41", 0},
                   {"2^-1", 0},
                   {"2^1.5", 0},
                   {"2^", 0},
                   {"1099511627777", 0},
                   {"1e13", 0},
                   {"1e999", 0},
                   {"1.5", 0},
                   {"1e-1", 0},
                   {"1.00000000000000001", 0},
                   {"1e3 ", 0},
                   {"1e", 0},
                   {"0x10", 0},
                   {"nan", 0},
                   {"inf", 0},
                   {"", 0}};
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        int64_t size = 0;
        test_case("sizes/%s", written[i].text);
        const bool good = duo_tool_size(written[i].text, &size);
        CHECK(good == (written[i].size > 0) && (!good || size == written[i].size), "%d, %lld", good,
              (long long)size);
    }
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"about", about},
                                       {"times", times},
                                       {"durations", durations},
                                       {"wrap", wrap},
                                       {"sizes", sizes},
                                       {"progress_fits", progress_fits},
                                       {"progress_bar", progress_bar},
                                       {NULL, NULL}};
    return test_main(argc, argv, "text", tests);
}
