/* noise.c - see noise.h */
#define _GNU_SOURCE
#include "bench/measure/noise.h"

#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench/measure/benchmark.h"
#include "bench/measure/statistics.h"

/* ---- Judging ---- */

/* Figures that lie further apart than this are not to be trusted. On quiet machines quartiles of
 * the same work lie within some percent. */
static const double kQuietError = 0.10;

/* The share of its processors that others took from a process which uses all of its threads. */
static double taken_by_others(const duo_noise *n)
{
    const double spare = (double)(n->processors - n->threads);
    const double taken = n->threads > 0 ? (n->others - fmax(spare, 0.0)) / n->threads : 0.0;
    return fmax(fmax(taken, n->waited), 0.0);
}

void duo_noise_judge(duo_noise *n)
{
    const double taken = fmin(taken_by_others(n), 0.9);
    const double slower = 1.0 / (1.0 - taken) - 1.0;
    n->error = fmax(slower, fmax(n->work_spread, n->figures_spread));
    const bool known =
        n->looks > 0 && isfinite(n->waited + n->work_spread + n->figures_spread + n->others);
    n->noisy = !(known && n->error <= kQuietError);
}

const char *duo_noise_text(const duo_noise *n, char *text, size_t size)
{
    char who[96] = "the same work took now longer, now shorter";
    const int running = (int)lround(n->running);
    if (running == 1)
        snprintf(who, sizeof who, "another process was running");
    else if (running > 1)
        snprintf(who, sizeof who, "%d other processes were running", running);
    else if (taken_by_others(n) > kQuietError)
        snprintf(who, sizeof who, "others kept %.1f of %d processors busy", n->others,
                 n->processors);
    if (n->looks == 0)
        snprintf(text, size, "not known, as nothing was measured");
    else if (n->noisy)
        snprintf(text, size, "NOISY: %s; figures may be off by %.0f %%", who, 100.0 * n->error);
    else
        snprintf(text, size, "quiet: figures lie within %.0f %%", ceil(100.0 * n->error));
    return text;
}

/* ---- What the system tells ---- */

/* Seconds for which this process has had a processor. */
static double own_seconds(void)
{
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0) return 0.0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Seconds of one processor's line of /proc/stat that were not idle: user, nice, system, irq,
 * softirq and what a hypervisor took. */
static double busy_seconds(const char *line)
{
    double user, nice, kernel, idle, wait, irq, soft, stolen;
    if (sscanf(line, "%*s %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &kernel, &idle, &wait,
               &irq, &soft, &stolen) != 8)
        return 0.0;
    return (user + nice + kernel + irq + soft + stolen) / (double)sysconf(_SC_CLK_TCK);
}

/* Threads of this process that are ready to run: helpers may still be waiting actively for work. */
static int own_running(void)
{
    int count = 0;
    DIR *const tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        char path[300], state = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *const file = task->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (file == NULL) continue;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state == 'R') count++;
        fclose(file);
    }
    if (tasks != NULL) closedir(tasks);
    return count;
}

/* Of the processors that this process may use: seconds that they were busy, and how many there are.
 * All threads of the system that are ready to run. */
static double all_seconds(int *processors, double *running)
{
    char line[512];
    cpu_set_t set;
    double seconds = 0.0;
    int cpu;
    *processors = 0;
    *running = 0.0;
    FILE *const file = fopen("/proc/stat", "r");
    const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "procs_running %lf", running);
        if (sscanf(line, "cpu%d", &cpu) != 1 || (known && !CPU_ISSET((size_t)cpu, &set))) continue;
        seconds += busy_seconds(line);
        ++*processors;
    }
    if (file != NULL) fclose(file);
    return seconds;
}

/* ---- The fixed work ---- */

static double thread_seconds(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0.0;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum { STEPS = 400000, PARTS = 4 }; /* a part takes half a millisecond or so */

/* Steps that wait for each other, and touch no memory. */
static void work(void)
{
    static volatile uint64_t result;
    uint64_t x = result | 1;
    for (int i = 0; i < STEPS; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    result = x;
}

/* ---- Watching ---- */

void duo_noise_begin(duo_noise_watch *watch)
{
    int processors;
    memset(watch, 0, sizeof *watch);
    watch->all_seconds = all_seconds(&processors, &watch->running);
    watch->running = 0.0;
    watch->own_seconds = own_seconds();
    watch->began = duo_now_seconds();
    work(); /* wakes the processor up */
}

void duo_noise_look(duo_noise_watch *watch)
{
    int processors;
    double running;
    (void)all_seconds(&processors, &running);
    watch->running += fmax(running - own_running(), 0.0);
    const double thread_began = thread_seconds(), began = duo_now_seconds();
    for (int part = 0; part < PARTS; part++) work();
    const double elapsed = duo_now_seconds() - began, used = thread_seconds() - thread_began;
    watch->work[watch->looks % DUO_NOISE_LOOKS] = elapsed;
    watch->work_seconds += elapsed;
    watch->waited_seconds += fmax(elapsed - used, 0.0);
    watch->looks++;
}

static double spread(const duo_noise_watch *watch)
{
    double work_of[DUO_NOISE_LOOKS];
    const int count = watch->looks < DUO_NOISE_LOOKS ? watch->looks : DUO_NOISE_LOOKS;
    if (count < 4) return 0.0;
    memcpy(work_of, watch->work, sizeof work_of);
    return duo_quantile(work_of, count, 0.75) / duo_quantile(work_of, count, 0.25) - 1.0;
}

void duo_noise_told(const duo_noise_watch *watch, int threads, double figures_spread,
                    duo_noise *noise)
{
    double running;
    *noise =
        (duo_noise){.looks = watch->looks, .threads = threads, .figures_spread = figures_spread};
    const double all = all_seconds(&noise->processors, &running) - watch->all_seconds;
    const double own = own_seconds() - watch->own_seconds;
    const double elapsed = duo_now_seconds() - watch->began;
    if (elapsed > 0.0) noise->others = fmax((all - own) / elapsed, 0.0);
    if (watch->work_seconds > 0.0) noise->waited = watch->waited_seconds / watch->work_seconds;
    if (watch->looks > 0) noise->running = watch->running / watch->looks;
    noise->work_spread = spread(watch);
    duo_noise_judge(noise);
}
