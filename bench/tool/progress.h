/* progress.h - a bar with the time left, in one line on stderr, on a terminal only; and Ctrl-C. */
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

/* The line for a terminal of `columns` columns, at most 200: shorter than that. Returns its
 * length. */
int duo_progress_line(char *text, size_t size, int columns, double part, double left_seconds,
                      const char *label);

/* ---- Ctrl-C ---- */

/* It ends the tool at once and leaves no half-written file. Files are written whole, while the
 * signals are held back. At any other moment nothing is open, so that the handler may simply leave;
 * waiting for the end of a measurement could take seconds. */

/* From here on Ctrl-C (and SIGTERM, SIGHUP) ends the process at once, with 128 + signal. */
void duo_interrupt_watch(void);
/* Between this and the next of the two below files are written, and a signal waits. */
void duo_interrupt_hold(void);
/* All files are written. */
void duo_interrupt_allow(void);
/* A part is, and this line tells how to go on with it. It has to live as long as the process. */
void duo_interrupt_allow_with(const char *advice);

#endif
