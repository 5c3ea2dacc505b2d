/*
 * stopwatch.c - stopwatch RUNS LIBRARY PROGRAM ARG...: how much longer PROGRAM takes with LIBRARY
 * preloaded, in microseconds: the difference of the medians of RUNS runs each, in turns.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double run(char **program)
{
    int status;
    pid_t pid;
    const double start = seconds();
    if (posix_spawn(&pid, program[0], NULL, NULL, program, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "stopwatch: %s did not end well\n", program[0]);
        exit(EXIT_FAILURE);
    }
    return seconds() - start;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const int runs = argc > 3 ? atoi(argv[1]) : 0;
    if (runs <= 0) return 2;
    double *const time[2] = {malloc((size_t)runs * sizeof(double)),
                             malloc((size_t)runs * sizeof(double))};
    for (int i = 0; i < runs; i++) {
        unsetenv("LD_PRELOAD");
        time[0][i] = run(argv + 3);
        setenv("LD_PRELOAD", argv[2], 1);
        time[1][i] = run(argv + 3);
    }
    for (int i = 0; i < 2; i++) qsort(time[i], (size_t)runs, sizeof(double), compare);
    printf("%.0f\n", 1e6 * (time[1][runs / 2] - time[0][runs / 2]));
    return 0;
}
