/* shown.h - what a report shows: a text, and checks of its form. */
#ifndef DUO_TESTS_SHOWN_H
#define DUO_TESTS_SHOWN_H

/* The text that was made or read last. */
extern char test_shown[1 << 20];

/* Reads a file into it. */
const char *test_read_back(const char *path);

/* Behind the first `before` stands `first`. */
void test_shown_first(const char *shown, const char *before, const char *first);

/* It has at most this many lines, each of less than 80 columns and without blanks at its end. */
void test_shown_lines(const char *shown, int most);

#endif
