/*
 * test_soak.c - a long life: random programs (support/random_program.h) one after the other in one
 * process, each with 1 to 32 threads, while a timer interrupts them. The simulated devices have
 * little memory, fail, are lost and come back. Every result is checked. The least size of the
 * process between two programs is the same in the last quarter of the time as in the second one.
 *
 *     test_soak sim|gpu [-seed N] [MINUTES]
 *
 * On a GPU nothing fails. Without MINUTES it takes some seconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data/remembered.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/random_program.h"
#include "support/sanitizers.h"

enum { STEPS = 150, PATIENCE_SECONDS = 300, INTERRUPTS_NS = 2000000, EXIT_SKIPPED = 77 };
enum { MOST_GROWTH = 1 << 20 };  /* bytes, from the second quarter of the time to the last one */
enum { CONTEXTS_AT_ONCE = 512 }; /* more than all actors and their graphs have */

static program running; /* for the alarm, too */
static uint64_t interrupts;

static void bark(int number)
{
    (void)number;
    tell_hang(&running);
    abort();
}

static void interrupt(int number)
{
    (void)number;
    interrupts++;
    errno = EINTR;
}

/* Any thread of the program may be interrupted, in any call. */
static void begin_interrupts(void)
{
    struct sigevent how = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    const struct itimerspec often = {{0, INTERRUPTS_NS}, {0, INTERRUPTS_NS}};
    timer_t timer;
    (void)sigaction(SIGUSR1, &(struct sigaction){.sa_handler = interrupt}, NULL);
    CHECK(timer_create(CLOCK_MONOTONIC, &how, &timer) == 0 &&
              timer_settime(timer, 0, &often, NULL) == 0,
          "no timer");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Bytes of the process in memory, when nothing is under way. */
static int64_t resident(void)
{
    long pages = 0;
    (void)duo_trim(NULL);
    sim_tidy();
    (void)malloc_trim(0);
    FILE *const file = fopen("/proc/self/statm", "re");
    CHECK(file != NULL && fscanf(file, "%*d %ld", &pages) == 1, "statm cannot be read");
    if (file != NULL) (void)fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* The memory of contexts that have ended is kept for later ones. As many as programs have at once
 * are made now: then the process does not grow when a program has more than all before it. */
static void fill_pool(void)
{
    static duo_context *ctx[CONTEXTS_AT_ONCE];
    for (int i = 0; i < CONTEXTS_AT_ONCE; i++)
        CHECK(duo_create(&ctx[i]) == DUO_OK, "context %d", i);
    for (int i = 0; i < CONTEXTS_AT_ONCE; i++) CHECK(duo_destroy(ctx[i]) == DUO_OK, "its end");
}

static int soak(bool real, double minutes, uint64_t seed)
{
    const double begun = seconds(), wanted = 60.0 * minutes;
    uint64_t calls = 0, programs = 0;
    int64_t least[4] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}; /* of each quarter */
    bool is_wrong = false;
    fill_pool();
    while (!is_wrong && (seconds() - begun < wanted || programs < 2)) {
        memset(&running, 0, sizeof running);
        running.real = real;
        running.followed = true;
        running.most_actors = MOST_ACTORS;
        running.steps = STEPS;
        alarm(PATIENCE_SECONDS);
        calls += run_random_program(&running, seed + programs++);
        is_wrong = atomic_load(&running.wrong);
        if (is_wrong) break;
        const int64_t now = resident();
        const int quarter = (int)fmin(3.0, 4.0 * (seconds() - begun) / wanted);
        if (now < least[quarter]) least[quarter] = now;
    }
    const bool measured = least[1] != INT64_MAX && least[3] != INT64_MAX;
    const bool grown = measured && minutes >= 1.0 && least[3] - least[1] > MOST_GROWTH;
    printf("%" PRIu64 " operations in %" PRIu64 " programs, %d wrong, %" PRIu64 " interrupts",
           calls, programs, is_wrong, interrupts);
    if (measured)
        printf(", at least %.1f MiB resident in the second quarter of %.1f minutes, %.1f in the "
               "last%s",
               (double)least[1] / 1048576.0, minutes, (double)least[3] / 1048576.0,
               grown ? ": GROWN" : "");
    printf("\n");
    (void)fflush(stdout);
    if (is_wrong || grown) _exit(1); /* other threads may go on */
    return 0;
}

int main(int argc, char **argv)
{
    double minutes = 0.1;
    uint64_t seed = 1;
    bool real = false;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "gpu") == 0)
            real = true;
        else if (strcmp(argv[i], "-seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "sim") != 0)
            minutes = strtod(argv[i], NULL);
    const char *why = "";
    if (real && duo_devices(&why) == 0) {
        printf("SKIPPED: no GPU: %s\n", why);
        return EXIT_SKIPPED;
    }
    (void)mallopt(M_ARENA_MAX, 1); /* else the threads decide how large the process is */
    duo_remembered_least = 1024;
    (void)signal(SIGALRM, bark);
    begin_interrupts();
    return soak(real, minutes, seed);
}
