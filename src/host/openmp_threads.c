/*
 * openmp_threads.c - the program's OpenMP threads as helpers of the team (openmp_threads.h).
 *
 * Which   OpenMP does not name its threads. So now and then the running threads of the process are
 *         counted. If, beside the caller and our own threads, there are as many as OpenMP's
 *         threads, a first region calls the roll: each thread tells its number. If they are the
 *         threads that ran, they are OpenMP's waiting threads, and are known from now on. Else
 *         OpenMP had to make or to wake threads for that region: it was a mistake, and is not
 *         risked again soon. The third mistake ends these attempts.
 * Awake   A thread runs if its CPU clock moves. Reading that clock takes 0.45 us. If it has moved
 *         by all the time since it was read last, one reading is enough. Else it is watched for a
 *         moment, in which threads that give their processor to each other by turns all move. Each
 *         thread must have been seen to run within the last two milliseconds. At least one is
 *         looked at before each region, by turns. If one does not run, the team's own helpers may
 *         be what keeps it from running: so now and then it is enough that all are ready to run.
 * Late    If a region ends a millisecond later than it should, a thread has lost its processor:
 *         there are no regions for a while. That while becomes longer each time.
 * Safe    libgomp ends the process if it cannot make a thread. A region of known threads needs no
 *         new one. Before the roll is called, as many are made and ended as it may need. It is
 *         never called where the process's memory is limited. A child process has no region:
 *         OpenMP's threads are not in it.
 */
#define _GNU_SOURCE
#include "host/openmp_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/fork.h"
#include "host/openmp.h"
#include "host/stack.h"
#include "host/thread.h"

/* Times in nanoseconds, tuned on 16 threads of the H100's host. */
static const int64_t kSeenNs = 2000000; /* a thread that ran counts as running for so long */
static const int64_t kSlackNs = 2000;   /* two clocks that are read one after the other differ */
static const int64_t kWatchNs = 8000;   /* a clock that stands still is watched for so long */
static const int64_t kLateNs = 1000000;
static const int64_t kFirstPauseNs = 16000000, kLastPauseNs = 1000000000; /* after a late region */
static const int64_t kFirstSearchNs = 1000000, kLastSearchNs = 256000000; /* between searches */
static const int64_t kLastTryNs = 4000000000; /* the same, after mistakes and late regions */

enum {
    MISTAKES = 3, /* the last first region of threads that were not OpenMP's */
    IN_TIME = 64, /* regions after which late ones are forgotten */
    MOST = 1024   /* threads of a process that is searched */
};

/* What the first thread of the process knows of its OpenMP threads. Only it reads and writes that,
 * but for what is atomic. */
static struct {
    int size;                               /* known threads, the first one included; 0: none */
    _Atomic pid_t thread[DUO_THREADS_MOST]; /* the system's numbers, by number in a region */
    int64_t seen_ns[DUO_THREADS_MOST];      /* when each was seen to run, */
    int64_t seen_cpu_ns[DUO_THREADS_MOST];  /* and its CPU clock then */
    int next;                               /* which is looked at next */
    int mistakes;
    int64_t search_ns, search_after_ns; /* the next search, and the time to the one after it */
    int64_t pause_until_ns, pause_ns;   /* no region until then; the length of the last pause */
    int in_time;                        /* regions since the last late one */
    bool tried;        /* are the threads only ready to run, perhaps not running? */
    atomic_bool small; /* does one of the threads have too small a stack? */
    atomic_long regions;
} known;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static pid_t thread_of(int number)
{
    return atomic_load_explicit(&known.thread[number], memory_order_relaxed);
}

/* The next time span after `last`: `first`, or `times` as long, up to `most`. */
static int64_t longer(int64_t last, int64_t first, int times, int64_t most)
{
    const int64_t next = last == 0 ? first : last * times;
    return next < most ? next : most;
}

/* ---- Are they running? ---- */

/* The time that a thread of this process has run; 0: it has ended. */
static int64_t cpu_ns(pid_t thread)
{
    struct timespec t;
    /* The system's name of a thread's CPU clock, which pthread_getcpuclockid makes, too. */
    const clockid_t clock = (clockid_t)(~(unsigned)thread << 3 | 6);
    return clock_gettime(clock, &t) != 0 ? 0 : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_running(int number)
{
    const int64_t cpu = cpu_ns(thread_of(number)), now = now_ns();
    const int64_t idle = now - known.seen_ns[number] - (cpu - known.seen_cpu_ns[number]);
    if (cpu == 0) known.size = 0; /* OpenMP has ended it */
    if (cpu == 0) return false;
    while (idle > kSlackNs && cpu_ns(thread_of(number)) == cpu)
        if (now_ns() - now > kWatchNs) return false;
    known.seen_ns[number] = now;
    known.seen_cpu_ns[number] = cpu;
    return true;
}

static bool all_run(int64_t now)
{
    for (int looks = 0; looks < known.size - 1; looks++) {
        const int i = known.next;
        if (looks > 0 && now - known.seen_ns[i] < kSeenNs) break;
        if (!is_running(i)) return false;
        known.next = i + 1 < known.size ? i + 1 : 1;
    }
    return true;
}

/* ---- Which are they? ---- */

/* Is a thread ready to run? It need not be running at this moment: a waiting thread may give its
 * processor away between two looks. */
static bool is_ready(pid_t thread)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t length = read(file, text, sizeof text - 1);
    (void)close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *const name_end = strrchr(text, ')'); /* NUMBER (NAME) STATE */
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'R';
}

/* How many threads does the process have? */
static long count_threads(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 ? (long)tasks.st_nlink - 2 : 0;
}

/* Finds `wanted` threads that are ready to run, beside this one and our own. False: there are
 * fewer, or more. */
static bool find_ready(pid_t *found, int wanted)
{
    const long others = count_threads() - 1 - duo_threads_begun();
    if (!duo_threads_have_begun() || others < wanted || others > MOST) return false;
    DIR *const tasks = opendir("/proc/self/task");
    if (tasks == NULL) return false;
    const pid_t self = gettid();
    int count = 0;
    for (struct dirent *e; count <= wanted && (e = readdir(tasks)) != NULL;) {
        const pid_t thread = (pid_t)strtol(e->d_name, NULL, 10);
        if (thread <= 0 || thread == self || duo_threads_include(thread) || !is_ready(thread))
            continue;
        if (count < wanted) found[count] = thread;
        count++;
    }
    (void)closedir(tasks);
    return count == wanted;
}

static bool is_one_of(pid_t thread, const pid_t *found, int count)
{
    for (int i = 0; i < count; i++)
        if (found[i] == thread) return true;
    return false;
}

static bool memory_is_limited(void)
{
    struct rlimit space, data;
    return getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY ||
           getrlimit(RLIMIT_DATA, &data) != 0 || data.rlim_cur != RLIM_INFINITY;
}

static int64_t say_here(void *job, int number)
{
    (void)job;
    if (number < DUO_THREADS_MOST)
        atomic_store_explicit(&known.thread[number], gettid(), memory_order_relaxed);
    if (duo_stack_is_small()) atomic_store_explicit(&known.small, true, memory_order_relaxed);
    return 0;
}

/* Calls the roll if `size` threads, the caller included, may be OpenMP's. True: they are. More than
 * there are processors are never all running. */
static bool call_roll(int size)
{
    pid_t found[DUO_THREADS_MOST];
    if (size > duo_openmp_processors()) return false;
    if (known.mistakes == MISTAKES || !find_ready(found, size - 1) || memory_is_limited() ||
        !duo_threads_can_make(size - 1))
        return false;
    for (int i = 1; i < size; i++) atomic_store_explicit(&known.thread[i], 0, memory_order_relaxed);
    duo_openmp_threads_run(say_here, NULL);
    bool right = !atomic_load_explicit(&known.small, memory_order_relaxed);
    for (int i = 1; i < size && right; i++) right = is_one_of(thread_of(i), found, size - 1);
    if (!right) known.search_ns = now_ns() + kLastTryNs;
    known.mistakes += !right;
    known.size = right ? size : 0;
    known.next = 1;
    return right;
}

static bool all_ready(void)
{
    for (int i = 1; i < known.size; i++)
        if (!is_ready(thread_of(i))) return false;
    return true;
}

/* Looks for OpenMP's threads, if it is time. True: they are all ready to run. */
static bool search(int size, int64_t now)
{
    if (now < known.search_ns) return false;
    known.tried = known.size == size && all_ready();
    known.search_ns = now + known.search_after_ns;
    if (known.tried) return true;
    known.search_after_ns = longer(known.search_after_ns, kFirstSearchNs, 2, kLastSearchNs);
    return known.size != size && call_roll(size) && now_ns() >= known.pause_until_ns;
}

/* ---- Regions ---- */

/* Is this the thread that began the process? */
static bool is_first_thread(void)
{
    static __thread enum { UNKNOWN, FIRST, OTHER } which;
    if (which == UNKNOWN) which = getpid() == gettid() ? FIRST : OTHER;
    return which == FIRST;
}

bool duo_openmp_threads_wait(int threads)
{
    if (!is_first_thread() || duo_forked()) return false;
    const duo_openmp *const r = duo_openmp_get();
    if (r == NULL) return false;
    const int size = r->omp_get_max_threads();
    if (duo_openmp_in_parallel() || r->omp_get_level() != 0 || r->omp_get_dynamic()) return false;
    if (size < threads || size > DUO_THREADS_MOST) return false;
    const int64_t now = now_ns();
    if (now < known.pause_until_ns) return false;
    if (known.size == size && all_run(now)) {
        known.tried = false;
        return true;
    }
    return search(size, now);
}

/* A region has ended, so much later than it should. */
static void judge(int64_t end, int64_t excess)
{
    if (excess < kLateNs) {
        if (known.tried && known.search_after_ns > kFirstSearchNs) known.search_after_ns /= 2;
        if (known.in_time < IN_TIME && ++known.in_time == IN_TIME) known.pause_ns = 0;
        return;
    }
    if (known.tried)
        known.search_after_ns = longer(known.search_after_ns, kFirstSearchNs, 32, kLastTryNs);
    known.in_time = 0;
    known.pause_ns = longer(known.pause_ns, kFirstPauseNs, 4, kLastPauseNs);
    known.pause_until_ns = end + known.pause_ns;
    memset(known.seen_ns, 0, sizeof known.seen_ns);
}

typedef struct region {
    const duo_openmp *r;
    int64_t (*member)(void *job, int number);
    void *job;
    int64_t due_ns; /* when the region should end */
} region;

static void region_body(void *argument)
{
    region *const g = argument;
    const int number = g->r->omp_get_thread_num();
    const int64_t more_ns = g->member(g->job, number);
    if (number == 0) g->due_ns = now_ns() + more_ns;
}

void duo_openmp_threads_run(int64_t (*member)(void *job, int number), void *job)
{
    region g = {.r = duo_openmp_get(), .member = member, .job = job};
    g.r->GOMP_parallel(region_body, &g, 0, 0);
    const int64_t end = now_ns();
    judge(end, end - g.due_ns);
    (void)atomic_fetch_add_explicit(&known.regions, 1, memory_order_relaxed);
}

long duo_openmp_threads_regions(void)
{
    return atomic_load_explicit(&known.regions, memory_order_relaxed);
}
