/* progress.c - see progress.h */
#include "bench/tool/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench/measure/benchmark.h"

/* ---- The bar ---- */

/* Widths: of all beside bar and label (brackets, share, time left, blanks); of the longest bar and
 * label; of a narrow terminal. */
enum { BESIDE = 24, BAR = 30, LABEL = 20, NARROW = BESIDE + 8 };

static struct {
    bool shown;
    double expected, done, began;
} progress;

int duo_progress_line(char *text, size_t size, int columns, double part, double left_seconds,
                      const char *label)
{
    const int seconds = left_seconds > 0.0 ? (int)(left_seconds + 0.5) : 0;
    const int room = columns - 1 - BESIDE; /* a full line would move the cursor to the next */
    const int bar = room - LABEL < 8 ? 0 : room - LABEL < BAR ? room - LABEL : BAR;
    char marks[BAR + 1] = "";
    for (int i = 0; i < bar; i++) marks[i] = (double)i < part * bar ? '#' : '.';
    marks[bar] = '\0';
    if (columns < NARROW) return snprintf(text, size, "%.*s", columns > 1 ? columns - 1 : 0, label);
    return snprintf(text, size, "%s%s%s%3.0f %%  %d:%02d left  %.*s", bar > 0 ? "[" : "", marks,
                    bar > 0 ? "] " : "", 100.0 * part, seconds / 60, seconds % 60, room - bar,
                    label);
}

static int columns_now(void)
{
    struct winsize size;
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

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
    /* The remaining time at the pace so far; at first the planned time, until a pace is known. */
    const double elapsed = duo_now_seconds() - progress.began;
    const double left = part > 0.05 ? elapsed * (1.0 - part) / part : progress.expected - elapsed;
    char text[256];
    const int columns = columns_now();
    (void)duo_progress_line(text, sizeof text, columns < 200 ? columns : 200, part, left, label);
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
}

void duo_progress_end(void)
{
    if (progress.shown) fprintf(stderr, "\r\033[K");
    progress.shown = false;
}

bool duo_progress_shown(void) { return progress.shown; }

/* ---- Ctrl-C ---- */

static const int watched[] = {SIGINT, SIGTERM, SIGHUP};
enum { WATCHED = sizeof watched / sizeof watched[0] };

/* The message of the signal handler; changed only while signals are held back. */
static const char *volatile told = "no file was written";

static void tell(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) { /* the failure cannot be reported */
    }
}

static void leave(int signal_number)
{
    tell(duo_progress_shown() ? "\r\033[K" : "\n");
    tell("duoblas: interrupted; ");
    tell(told);
    tell("\n");
    _exit(128 + signal_number);
}

static void mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < WATCHED; i++) sigaddset(&set, watched[i]);
    (void)pthread_sigmask(how, &set, NULL);
}

void duo_interrupt_watch(void)
{
    struct sigaction action = {.sa_handler = leave};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < WATCHED; i++) /* signals ignored at the start stay so (nohup) */
        if (sigaction(watched[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(watched[i], &action, NULL);
}

void duo_interrupt_hold(void) { mask(SIG_BLOCK); }

void duo_interrupt_allow_with(const char *advice)
{
    told = advice;
    mask(SIG_UNBLOCK);
}

void duo_interrupt_allow(void) { duo_interrupt_allow_with("all files had been written"); }
