/* progress.h - a bar with the time left, in one line on stderr, on a terminal only. */
#ifndef DUO_PROGRESS_H
#define DUO_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

void duo_progress_begin(double expected_seconds);
/* Work expected to take this long is done; `label` comes next. */
void duo_progress_step(double expected_seconds, const char *label);
/* Clears the line. */
void duo_progress_end(void);

/* Does the line stand on the terminal? A signal handler may ask. */
bool duo_progress_shown(void);

/* The line for a terminal of so many columns, at most 200: less than them. Returns its length. */
int duo_progress_line(char *text, size_t size, int columns, double part, double left_seconds,
                      const char *label);

#endif
