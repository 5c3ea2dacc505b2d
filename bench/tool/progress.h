/* progress.h - a bar with the time left, in one line on stderr, on a terminal only; and Ctrl-C. */
#ifndef DUO_PROGRESS_H
#define DUO_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

void duo_progress_begin(double expected_seconds);
/* Work of `expected_seconds` is done; `label` names the next work. */
void duo_progress_step(double expected_seconds, const char *label);
/* Clears the line. */
void duo_progress_end(void);

/* Is the line on the terminal now? A signal handler may call this. */
bool duo_progress_shown(void);

/* Makes the line for a terminal of `columns` columns, at most 200; it is shorter than that. Returns
 * its length. */
int duo_progress_line(char *text, size_t size, int columns, double part, double left_seconds,
                      const char *label);

/* ---- Ctrl-C ---- */

/* Ctrl-C ends the tool immediately and leaves no half-written file. Files are written completely
 * while signals are held back. At other times no file is open, so the handler simply exits; waiting
 * for the end of a measurement could take seconds. */

/* From now on Ctrl-C (and SIGTERM, SIGHUP) ends the process immediately, with 128 + signal. */
void duo_interrupt_watch(void);
/* Holds signals back until one of the two below is called; files are written meanwhile. */
void duo_interrupt_hold(void);
/* All files are written: signals act again. */
void duo_interrupt_allow(void);
/* The same when only some files are written. `advice` tells the user how to go on; it has to live
 * as long as the process. */
void duo_interrupt_allow_with(const char *advice);

#endif
