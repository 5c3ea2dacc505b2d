/* machine.c - facts of this machine: CPU model, threads that may be used, cache, forks. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "context.h"
#include "lock.h"

static char cpu_name[96];
static int threads;
static size_t cache_bytes;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool forked;

static void read_cpu_name(void)
{
    snprintf(cpu_name, sizeof cpu_name, "unknown");
    FILE *const file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) return;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        const char *const colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        snprintf(cpu_name, sizeof cpu_name, "%.90s", colon + 2);
        cpu_name[strcspn(cpu_name, "\n")] = '\0';
        break;
    }
    fclose(file);
}

/* Ceiling of quota / period from two numbers in the files, or 0. */
static int cpus_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    const long long cpus = (quota - 1) / period + 1;
    return cpus > 1 << 20 ? 0 : (int)cpus;
}

static bool read_line(const char *path, char *line, int size)
{
    FILE *const file = fopen(path, "re");
    if (file == NULL) return false;
    const bool got = fgets(line, size, file) != NULL;
    fclose(file);
    return got;
}

/* The quota of one folder of the control-group tree: version 2 first, then version 1. */
static int quota_of_folder(const char *root, const char *folder)
{
    char path[1024], line[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/cpu.max", root, folder);
    if (read_line(path, line, sizeof line))
        return sscanf(line, "%lld %lld", &quota, &period) == 2 ? cpus_of(quota, period) : 0;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", root, folder);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &quota) != 1) return 0;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", root, folder);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &period) != 1) return 0;
    return cpus_of(quota, period);
}

static int smaller_quota(int a, int b) { return a == 0 || (b != 0 && b < a) ? b : a; }

int duo_machine_quota(const char *root)
{
    /* Inside a container the process's own group is mounted as the root of the tree, so look there
     * and along the path that /proc names: the smallest limit on the way holds. */
    int quota = quota_of_folder(root, "");
    char path[512], line[600];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *const file = fopen(path, "re");
    if (file == NULL) return quota;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *const controllers = strchr(line, ':');
        const char *const second = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (second == NULL) continue;
        const bool version2 = second == controllers + 1;
        if (!version2 && strstr(controllers, "cpu") == NULL) continue;
        char folder[512];
        snprintf(folder, sizeof folder, "%.500s", second + 1);
        for (char *end = strrchr(folder, '/'); end != NULL && folder[1] != '\0';
             end = strrchr(folder, '/')) {
            quota = smaller_quota(quota, quota_of_folder(root, folder));
            *end = '\0';
        }
    }
    fclose(file);
    return quota;
}

static void look(void)
{
    read_cpu_name();
    /* omp_get_max_threads knows OMP_NUM_THREADS and the affinity mask. */
    threads = omp_get_max_threads();
    const int quota = duo_machine_quota("");
    if (quota > 0 && quota < threads) threads = quota;
    if (threads < 1) threads = 1;
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    cache_bytes = cache > 0 ? (size_t)cache : 0;
}

const char *duo_machine_cpu(void)
{
    pthread_once(&once, look);
    return cpu_name;
}

int duo_machine_threads(void)
{
    pthread_once(&once, look);
    return threads;
}

size_t duo_machine_cache_bytes(void)
{
    pthread_once(&once, look);
    return cache_bytes;
}

/*
 * What a fork leaves: one thread, the memory of all, no device and no other thread's work. The
 * library is made fit for that here, once, so that the rest of it seldom has to ask.
 */
static void in_child(void)
{
    atomic_store_explicit(&forked, true, memory_order_relaxed);
    duo_locks_in_child();
    duo_contexts_in_child();
    duo_residency_in_child();
}

static void watch(void)
{
    (void)pthread_atfork(duo_locks_before_fork, duo_locks_in_parent, in_child);
}

void duo_machine_watch_fork(void)
{
    static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
    pthread_once(&watch_once, watch);
}

bool duo_machine_forked(void) { return atomic_load_explicit(&forked, memory_order_relaxed); }
