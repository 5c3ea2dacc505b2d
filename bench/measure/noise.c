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
#include "choice/profile.h"

/* ---- Judging ---- */

/* The share of its processors that others took from a process that uses all of its threads. */
static double taken_by_others(const duo_noise *n)
{
    const double spare = (double)(n->processors - n->threads);
    const double taken = n->threads > 0 ? (n->others - fmax(spare, 0.0)) / n->threads : 0.0;
    return fmax(fmax(taken, n->waited), 0.0);
}

void duo_noise_judge(duo_noise *n)
{
    const double taken = fmin(taken_by_others(n), DUO_NOISE_MOST / (1.0 + DUO_NOISE_MOST));
    const double slower = 1.0 / (1.0 - taken) - 1.0;
    const double error = fmax(slower, fmax(n->work_spread, n->figures_spread));
    const bool known =
        n->looks > 0 && isfinite(n->waited + n->work_spread + n->figures_spread + n->others);
    n->error = known ? fmin(error, DUO_NOISE_MOST) : DUO_NOISE_MOST;
    n->noisy = n->error > duo_quiet_error;
}

const char *duo_noise_percent(double error, char *text, size_t size)
{
    const bool most = error >= DUO_NOISE_MOST * (1.0 - 1e-6);
    snprintf(text, size, "%s%.0f %%", most ? "more than " : "", ceil(100.0 * error - 1e-6));
    return text;
}

const char *duo_noise_text(const duo_noise *n, char *text, size_t size)
{
    char who[96] = "the same work took now longer, now shorter", percent[32];
    const int running = (int)lround(n->running);
    if (running == 1)
        snprintf(who, sizeof who, "another process was running");
    else if (running > 1)
        snprintf(who, sizeof who, "%d other processes were running", running);
    else if (taken_by_others(n) > duo_quiet_error)
        snprintf(who, sizeof who, "others kept %.1f of %d processors busy", n->others,
                 n->processors);
    (void)duo_noise_percent(n->error, percent, sizeof percent);
    if (n->looks == 0)
        snprintf(text, size, "not known, as nothing was measured");
    else if (n->noisy)
        snprintf(text, size, "NOISY: %s; figures may be off by %s", who, percent);
    else
        snprintf(text, size, "quiet: figures lie within %s", percent);
    return text;
}

/* ---- Figures of the system ---- */

/* Processor seconds of this process and of its ended children. */
static double own_seconds(void)
{
    struct rusage u;
    double seconds = 0.0;
    for (int children = 0; children < 2; children++)
        if (getrusage(children ? RUSAGE_CHILDREN : RUSAGE_SELF, &u) == 0)
            seconds += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    return seconds;
}

/* Busy seconds in a processor's line of /proc/stat: user, nice, system, irq, softirq, and stolen by
 * a hypervisor. */
static double busy_seconds(const char *line)
{
    double user, nice, kernel, idle, wait, irq, soft, stolen;
    if (sscanf(line, "%*s %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &kernel, &idle, &wait,
               &irq, &soft, &stolen) != 8)
        return 0.0;
    return (user + nice + kernel + irq + soft + stolen) / (double)sysconf(_SC_CLK_TCK);
}

/* Threads of this process that are ready to run: helpers may be waiting actively for work. */
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

/* Busy seconds of the processors that this process may use. *processors: their number. *running:
 * all threads of the system that are ready to run. */
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

/* Does steps that wait for each other, and touch no memory. */
static void work(void)
{
    static volatile uint64_t result;
    uint64_t x = result | 1;
    for (int i = 0; i < STEPS; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    result = x;
}

/* ---- Watching ---- */

enum { LOOKS = 512, FIGURES = 4096 }; /* the oldest are overwritten */

static struct watch {
    bool on;
    int looks, figures;
    double work[LOOKS];     /* seconds of the fixed work */
    double spread[FIGURES]; /* upper over lower quartile, less 1 */
    double work_seconds, waited_seconds, running;
    double began, own_seconds, all_seconds; /* at the beginning of the watch */
} watch;

void duo_noise_begin(void)
{
    int processors;
    double running;
    memset(&watch, 0, sizeof watch);
    watch.on = true;
    watch.all_seconds = all_seconds(&processors, &running);
    watch.own_seconds = own_seconds();
    watch.began = duo_now_seconds();
    work(); /* wakes the processor up */
}

void duo_noise_look(void)
{
    int processors;
    double running;
    if (!watch.on) return;
    (void)all_seconds(&processors, &running);
    watch.running += fmax(running - own_running(), 0.0);
    const double thread_began = thread_seconds(), began = duo_now_seconds();
    for (int part = 0; part < PARTS; part++) work();
    const double elapsed = duo_now_seconds() - began, used = thread_seconds() - thread_began;
    watch.work[watch.looks++ % LOOKS] = elapsed;
    watch.work_seconds += elapsed;
    watch.waited_seconds += fmax(elapsed - used, 0.0);
}

void duo_noise_add(double low, double high)
{
    if (watch.on) watch.spread[watch.figures++ % FIGURES] = high / low - 1.0;
}

static double spread_of_work(void)
{
    double work_of[LOOKS];
    const int count = watch.looks < LOOKS ? watch.looks : LOOKS;
    if (count < 4) return 0.0;
    memcpy(work_of, watch.work, sizeof work_of);
    return duo_quantile(work_of, count, 0.75) / duo_quantile(work_of, count, 0.25) - 1.0;
}

static double spread_of_figures(void)
{
    double spread[FIGURES];
    const int count = watch.figures < FIGURES ? watch.figures : FIGURES;
    memcpy(spread, watch.spread, sizeof spread);
    return count > 0 ? duo_median(spread, count) : 0.0;
}

duo_noise duo_noise_told(int threads)
{
    double running;
    duo_noise noise = {.looks = watch.looks,
                       .threads = threads,
                       .work_spread = spread_of_work(),
                       .figures_spread = spread_of_figures()};
    const double all = all_seconds(&noise.processors, &running) - watch.all_seconds;
    const double own = own_seconds() - watch.own_seconds;
    const double elapsed = duo_now_seconds() - watch.began;
    if (elapsed > 0.0) noise.others = fmax((all - own) / elapsed, 0.0);
    if (watch.work_seconds > 0.0) noise.waited = watch.waited_seconds / watch.work_seconds;
    if (watch.looks > 0) noise.running = watch.running / watch.looks;
    duo_noise_judge(&noise);
    return noise;
}
