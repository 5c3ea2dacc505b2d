/* progress.c - see progress.h */
#include "bench/tool/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/measure/benchmark.h"

enum { BAR = 30 };

static struct {
    bool shown;
    double expected, done, began;
} progress;

void duo_progress_begin(double expected_seconds)
{
    progress.shown = isatty(STDERR_FILENO) == 1;
    progress.expected = expected_seconds;
    progress.done = 0.0;
    progress.began = duo_now_seconds();
}

void duo_progress_step(double expected_seconds, const char *label)
{
    progress.done += expected_seconds;
    if (!progress.shown) return;
    double part = progress.expected > 0.0 ? progress.done / progress.expected : 1.0;
    if (part > 1.0) part = 1.0;
    /* What is left, at the pace so far; the plan's own figure until a pace can be seen. */
    const double elapsed = duo_now_seconds() - progress.began;
    const double left = part > 0.05 ? elapsed * (1.0 - part) / part : progress.expected - elapsed;
    char bar[BAR + 1];
    for (int i = 0; i < BAR; i++) bar[i] = (double)i < part * BAR ? '#' : '.';
    bar[BAR] = '\0';
    const int seconds = left > 0.0 ? (int)(left + 0.5) : 0;
    fprintf(stderr, "\r[%s] %3.0f %%  %d:%02d left  %-40.40s", bar, 100.0 * part, seconds / 60,
            seconds % 60, label);
    fflush(stderr);
}

void duo_progress_end(void)
{
    if (progress.shown) fprintf(stderr, "\r\033[K");
    progress.shown = false;
}
