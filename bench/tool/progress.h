/* progress.h - a bar with the time left, in one line on stderr, on a terminal only. */
#ifndef DUO_PROGRESS_H
#define DUO_PROGRESS_H

void duo_progress_begin(double expected_seconds);
/* Work expected to take this long is done; `label` comes next. */
void duo_progress_step(double expected_seconds, const char *label);
void duo_progress_end(void);

#endif
