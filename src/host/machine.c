/* machine.c - facts of this machine (machine.h). */
#define _GNU_SOURCE
#include "host/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- The CPUs that a container's quota allows: control groups, versions 1 and 2 ---- */

/* quota / period, rounded up; 0: there is no quota. */
static int cpus_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) return 0;
    const long long cpus = (quota - 1) / period + 1;
    return cpus > 1 << 20 ? 0 : (int)cpus;
}

/* The beginning of a short file, as text. By the system, because a stream takes longer to open than
 * the first product of a program. */
static bool read_text(const char *path, char *text, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t bytes = read(file, text, size - 1);
    (void)close(file);
    if (bytes <= 0) return false;
    text[bytes] = '\0';
    return true;
}

/* The quota of one folder of the control-group tree: version 2 first, then version 1. */
static int quota_of_folder(const char *root, const char *folder)
{
    char path[1024], line[128];
    long long quota, period;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/cpu.max", root, folder);
    if (read_text(path, line, sizeof line))
        return sscanf(line, "%lld %lld", &quota, &period) == 2 ? cpus_of(quota, period) : 0;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", root, folder);
    if (!read_text(path, line, sizeof line) || sscanf(line, "%lld", &quota) != 1 || quota <= 0)
        return 0;
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", root, folder);
    if (!read_text(path, line, sizeof line) || sscanf(line, "%lld", &period) != 1) return 0;
    return cpus_of(quota, period);
}

static int smaller_quota(int a, int b) { return a == 0 || (b != 0 && b < a) ? b : a; }

int duo_quota_cpus(const char *root)
{
    /* In a container the process's own group may be mounted as the root of the tree; elsewhere it
     * is at the path that /proc names. The smallest limit from there up to the root holds. */
    int quota = quota_of_folder(root, "");
    char path[512], text[4096], *rest = NULL;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (!read_text(path, text, sizeof text)) return quota;
    for (const char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
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
    return quota;
}

/* ---- The machine ---- */

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "host/fork.h"
#include "host/openmp.h"

static char cpu_name[96], cpu_id[64];
static int processors; /* of the process at first */
static int threads;    /* that the process may use, without its quota */
static size_t cache_bytes;
static bool waits_asleep;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
/* As Linux tells it, from the processor: /proc/cpuinfo takes a tenth of a millisecond. */
static void read_cpu_name(void)
{
    unsigned brand[3][4];
    char text[sizeof brand + 1] = "";
    for (unsigned i = 0; i < 3; i++)
        if (__get_cpuid(0x80000002u + i, &brand[i][0], &brand[i][1], &brand[i][2], &brand[i][3]) ==
            0)
            memcpy(brand, "unknown", sizeof "unknown");
    memcpy(text, brand, sizeof brand);
    const char *const from = text + strspn(text, " ");
    size_t length = strlen(from);
    while (length > 0 && from[length - 1] == ' ') length--;
    snprintf(cpu_name, sizeof cpu_name, "%.*s", (int)length, from);
}

static void read_cpu_id(void)
{
    unsigned a, b, c, d;
    snprintf(cpu_id, sizeof cpu_id, "unknown");
    if (__get_cpuid(1, &a, &b, &c, &d) == 0) return;
    const unsigned short_family = a >> 8 & 15, short_model = a >> 4 & 15;
    const bool longer = short_family == 6 || short_family == 15;
    snprintf(cpu_id, sizeof cpu_id, "family %u model %u stepping %u",
             short_family + (short_family == 15 ? a >> 20 & 255 : 0),
             short_model + (longer ? (a >> 16 & 15) << 4 : 0), a & 15);
}
#else
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

/* Lines of Linux about the first processor, for instance "CPU part : 0xd0c". Only ARM has these
 * lines. */
static void read_cpu_id(void)
{
    size_t used = 0;
    snprintf(cpu_id, sizeof cpu_id, "unknown");
    FILE *const file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) return;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL && line[0] != '\n') {
        const char *const colon = strchr(line, ':');
        if (strncmp(line, "CPU ", 4) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        const int length = (int)strcspn(line + 4, "\t :");
        const int wrote = snprintf(cpu_id + used, sizeof cpu_id - used, "%s%.*s%s",
                                   used > 0 ? " " : "", length, line + 4, colon + 1);
        if (wrote < 0 || used + (size_t)wrote >= sizeof cpu_id) break;
        used += (size_t)wrote;
    }
    fclose(file);
}
#endif

/* A number of threads as libgomp reads it; 0: libgomp would refuse it. *end: the text behind it. */
static long number_at(const char *text, const char **end)
{
    char *behind;
    errno = 0;
    const long number = strtol(text, &behind, 10);
    *end = behind + strspn(behind, " \t\n\v\f\r");
    return behind > text && errno == 0 && number > 0 ? number : 0;
}

/* OMP_NUM_THREADS: the first number of a list counts, if all are good; 0: not set, or OpenMP
 * refuses it. */
static int openmp_threads(void)
{
    const char *at = secure_getenv("OMP_NUM_THREADS");
    const long first = at != NULL ? number_at(at, &at) : 0;
    long number = first;
    while (number > 0 && *at == ',') number = number_at(at + 1, &at);
    return number > 0 && *at == '\0' && first <= INT_MAX ? (int)first : 0;
}

/* OPENBLAS_NUM_THREADS as OpenBLAS reads it: text behind the number is ignored; 0: no number. */
static int openblas_threads(void)
{
    const char *const text = secure_getenv("OPENBLAS_NUM_THREADS");
    const long number = text != NULL ? strtol(text, NULL, 10) : 0;
    return number > 0 && number <= INT_MAX ? (int)number : 0;
}

static bool asks_for_sleep(void)
{
    static const char kPassive[] = "passive", kBlank[] = " \t\n\v\f\r";
    const char *text = secure_getenv("OMP_WAIT_POLICY");
    if (text == NULL) return false;
    text += strspn(text, kBlank);
    return strncasecmp(text, kPassive, sizeof kPassive - 1) == 0 &&
           text[sizeof kPassive - 1 + strspn(text + sizeof kPassive - 1, kBlank)] == '\0';
}

static int smaller(int a, int b) { return a < b ? a : b; }

static void look(void)
{
    read_cpu_name();
    read_cpu_id();
    /* OpenMP may have bound the first thread to one of its places, and counts the processors of all
     * places. But the calling thread may have an affinity of its own: then the first thread's
     * affinity counts. */
    cpu_set_t first;
    processors = duo_openmp_processors();
    if (sched_getaffinity(getpid(), sizeof first, &first) == 0 && CPU_COUNT(&first) > processors)
        processors = CPU_COUNT(&first);
    /* From the environment, for the whole process: OpenMP's setting belongs to the calling
     * thread. */
    const int openmp = openmp_threads(), openblas = openblas_threads();
    threads = openmp > 0 ? openmp : processors;
    if (openblas > 0) threads = smaller(threads, openblas);
    if (threads < 1) threads = 1;
    waits_asleep = asks_for_sleep();
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    cache_bytes = cache > 0 ? (size_t)cache : 0;
}

const char *duo_machine_cpu(void)
{
    pthread_once(&once, look);
    return cpu_name;
}

const char *duo_machine_cpu_id(void)
{
    pthread_once(&once, look);
    return cpu_id;
}

/* ---- What holds for this thread now ---- */

/* How long an answer of the system is used: asking for the processors takes a microsecond, and
 * asking for the quota reads files. */
static const int64_t kProcessorsNs = 50000000, kQuotaNs = 1000000000;

static int64_t coarse_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int processors_now(int64_t now)
{
    static __thread struct {
        int64_t until_ns;
        int processors;
    } said;
    if (now >= said.until_ns) {
        said.processors = duo_openmp_processors(); /* by affinity and OpenMP's places */
        said.until_ns = now + kProcessorsNs;
    }
    return said.processors;
}

static int quota_now(int64_t now)
{
    static _Atomic int64_t until_ns;
    static atomic_int said;
    int64_t until = atomic_load_explicit(&until_ns, memory_order_relaxed);
    if (now >= until && atomic_compare_exchange_strong(&until_ns, &until, now + kQuotaNs))
        atomic_store_explicit(&said, duo_quota_cpus(""), memory_order_relaxed);
    return atomic_load_explicit(&said, memory_order_relaxed);
}

static int threads_at(int64_t now)
{
    pthread_once(&once, look);
    const int quota = quota_now(now);
    return quota > 0 && quota < threads ? quota : threads;
}

int duo_machine_threads(void) { return threads_at(coarse_ns()); }

int duo_machine_threads_now(void)
{
    const int64_t now = coarse_ns();
    const int ours = threads_at(now), theirs = duo_openmp_max_threads(), here = processors_now(now);
    const int most = ours < theirs ? ours : theirs;
    return here < processors && here < most ? here : most;
}

int duo_machine_threads_for(int asked)
{
    if (duo_forked() || duo_openmp_in_parallel()) return 1;
    return asked > 0 ? asked : duo_machine_threads_now();
}

bool duo_machine_waits_asleep(void)
{
    pthread_once(&once, look);
    return waits_asleep;
}

size_t duo_machine_cache_bytes(void)
{
    pthread_once(&once, look);
    return cache_bytes;
}
