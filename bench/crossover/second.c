/* second.c - see second.h */
#define _GNU_SOURCE
#include "bench/crossover/second.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/crossover/compare.h"
#include "bench/measure/benchmark.h"

static const double kShare = 0.1, kLeast = 3.0, kMost = 12.0; /* of the whole time; seconds */
static const double kShortest = 20.0;                         /* shorter runs have no second one */

double duo_second_seconds(const duo_crossover *x)
{
    if (x->most_seconds < kShortest) return 0.0;
    return fmin(fmax(kShare * x->most_seconds, kLeast), kMost);
}

/* ---- The other process ---- */

/* Its arguments: as this run's, but quick, and nothing is written but JSON to stdout. */
static pid_t start(const duo_crossover *x, double seconds, int output)
{
    char limit[24], seed[24], operations[64] = "";
    for (int i = 0; i < DUO_OPERATIONS; i++)
        if (x->wanted[i])
            snprintf(operations + strlen(operations), sizeof operations - strlen(operations),
                     "%s%s", operations[0] != '\0' ? "," : "",
                     duo_operation_name((duo_operation)i));
    snprintf(limit, sizeof limit, "%.0f", seconds);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)x->seed);
    char *const arguments[] = {"duoblas",
                               "crossover",
                               "--quick",
                               "--no-profile",
                               "--json",
                               "--seed",
                               seed,
                               "--max-seconds",
                               limit,
                               "--operations",
                               operations,
                               "--ignore-noise",
                               x->cold ? "--cold" : NULL,
                               NULL};
    posix_spawn_file_actions_t files;
    pid_t child = -1;
    if (posix_spawn_file_actions_init(&files) != 0) return -1;
    const bool good =
        posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO) == 0 &&
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0;
    if (!good || posix_spawn(&child, "/proc/self/exe", &files, NULL, arguments, environ) != 0)
        child = -1;
    (void)posix_spawn_file_actions_destroy(&files);
    return child;
}

/* Reads what it prints until it ends, for free(). NULL: it took too long, or printed too much. */
static char *read_all(int from, double until)
{
    enum { ROOM = 8 << 20 };
    char *const text = malloc(ROOM);
    size_t length = 0;
    struct pollfd ready = {.fd = from, .events = POLLIN};
    while (text != NULL && length < ROOM - 1) {
        const double left = until - duo_now_seconds();
        if (left <= 0.0 || poll(&ready, 1, (int)(1e3 * left) + 1) <= 0) break;
        const ssize_t got = read(from, text + length, ROOM - 1 - length);
        if (got < 0) break;
        length += (size_t)got;
        text[length] = '\0';
        if (got == 0) return text;
    }
    free(text);
    return NULL;
}

/* ---- Its figures ---- */

static const double kMostFigures = 0.75; /* this share of the figures differs at most so */

static const duo_figure *mine(const duo_case *c, int place)
{
    return place < 0 ? duo_crossover_cpu(c) : duo_crossover_gpu(c, (duo_place)place);
}

/* The share by which most figures of a place differ, or of the CPU (-1). */
static double take_place(duo_crossover *x, const duo_run *other, int place)
{
    double off[DUO_CASES];
    int count = 0;
    for (int i = 0; i < x->cases; i++) {
        duo_case *const c = &x->item[i];
        const duo_figure *const f = mine(c, place);
        if (!duo_figure_measured(f)) continue;
        const double seconds =
            duo_run_seconds(other, c, f, place < 0 ? NULL : duo_place_names[place]);
        if (!(seconds > 0.0)) continue;
        *(place < 0 ? &c->second.cpu : &c->second.gpu[place]) = seconds;
        off[count++] = exp(fabs(log(seconds / f->median_seconds))) - 1.0;
    }
    return count > 0 ? duo_quantile(off, count, kMostFigures) : 0.0;
}

void duo_second_take(duo_crossover *x, const duo_run *other)
{
    x->second.cpu = take_place(x, other, -1);
    for (int place = 0; place < DUO_PLACES; place++)
        x->second.gpu[place] = take_place(x, other, place);
}

/* The share by which a time may be off: as the second run's of this case, or as most. */
static double off_of(const duo_crossover *x, const duo_case *c, int place)
{
    const double most = place < 0 ? x->second.cpu : x->second.gpu[place];
    const double seconds = c == NULL ? 0.0 : place < 0 ? c->second.cpu : c->second.gpu[place];
    return seconds > 0.0
               ? fmax(most, exp(fabs(log(seconds / mine(c, place)->median_seconds))) - 1.0)
               : most;
}

double duo_second_off(const duo_crossover *x, const duo_case *c, duo_place place, bool predicted)
{
    return hypot(off_of(x, c, -1), predicted ? 0.0 : off_of(x, c, place));
}

/* ---- The run ---- */

void duo_second_run(duo_crossover *x)
{
    int ends[2];
    const double seconds = duo_second_seconds(x);
    if (seconds <= 0.0 || pipe2(ends, O_CLOEXEC) != 0) return;
    const pid_t child = start(x, seconds, ends[1]);
    close(ends[1]);
    char *const text = child > 0 ? read_all(ends[0], duo_now_seconds() + 3.0 * seconds) : NULL;
    close(ends[0]);
    if (child > 0) {
        if (text == NULL) (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
    duo_run other;
    if (text != NULL && duo_run_parse(&other, "the second run", text)) {
        if (!duo_run_noisy(&other)) duo_second_take(x, &other);
        duo_run_free(&other);
    }
    free(text);
}

/* ---- In words ---- */

const char *duo_second_text(const duo_crossover *x, char *text, size_t size)
{
    const char *gap = ", those of a second, short run within ";
    (void)duo_noise_text(&x->noise, text, size);
    for (int i = -1; i < DUO_PLACES && !x->noise.noisy; i++) {
        const size_t length = strlen(text);
        const double share = i < 0 ? x->second.cpu : x->second.gpu[i];
        if (!(share > 0.0)) continue;
        snprintf(text + length, size - length, "%s%.0f %% (%s)", gap, ceil(100.0 * share),
                 i < 0 ? "CPU" : duo_place_titles[i]);
        gap = ", ";
    }
    return text;
}
