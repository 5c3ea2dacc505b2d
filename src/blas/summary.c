/*
 * summary.c - how a program's calls were served, printed when it ends: DUOBLAS_SUMMARY=stderr, or a
 * file that every process appends to. `duoblas run` sets it, and sets DUOBLAS_RUN to the process
 * that it becomes: if there were no calls, that process also tells why. The same is told at any
 * time where the drop-in was installed (install.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "blas/append.h"
#include "blas/install.h"
#include "blas/tally.h"

enum { OPERATIONS = 4 };
static const char *const names[OPERATIONS] = {"sgemm", "sasum", "ssum", "sdot"};
static tally own[OPERATIONS];
static tally *tallies = own; /* in a forked child: in memory that it shares with its parents */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool asked;    /* is `where` known? */
static const char *where;    /* NULL: none is wanted at exit */
static atomic_bool counting; /* are calls counted? */
static long started_by_run;  /* the process that `duoblas run` became; 0: none */
static bool remembers;       /* may the library remember factors? */
static bool forked;          /* was this process a copy of another one at its start? */
static atomic_int forks;     /* children that are copies of this one */

/* The counts of forked children. Workers of Python's multiprocessing end by _exit, and tell
 * nothing: the first process tells for them. */
enum { MOST_CHILDREN = 256 };
typedef struct child {
    atomic_int counts; /* 1: it has not told of its calls itself */
    tally of[OPERATIONS];
} child;
static struct children {
    atomic_int used; /* more than MOST_CHILDREN: the others count for themselves alone */
    child child[MOST_CHILDREN];
} * children;       /* shared memory; NULL: no summary is wanted, or there is none */
static child *here; /* this process's; NULL: it has none */

double duo_blas_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Printing ---- */

static void print_operation(FILE *file, const char *name, const tally *t)
{
    const int64_t calls = t->calls[DUO_SIDE_CPU] + t->calls[DUO_SIDE_GPU] + t->calls[NOWHERE];
    if (calls == 0) return;
    fprintf(file, "  %-6s %10lld %10lld %10lld %11.3f %11.3f %11.1f\n", name, (long long)calls,
            (long long)t->calls[DUO_SIDE_CPU], (long long)t->calls[DUO_SIDE_GPU],
            t->seconds[DUO_SIDE_CPU] + t->seconds[NOWHERE], t->seconds[DUO_SIDE_GPU],
            t->sent_bytes * 1e-6);
}

/* A handful of tiny calls: perhaps a library tries its BLAS when it is loaded. */
static bool hardly_any(const tally *all)
{
    enum { HANDFUL = 8, TINY = 1 << 16 };
    return all->calls[DUO_SIDE_CPU] + all->calls[DUO_SIDE_GPU] + all->calls[NOWHERE] <= HANDFUL &&
           all->bytes <= TINY;
}

static void print_table(FILE *file, const tally of[OPERATIONS], tally *all)
{
    fprintf(file, "  %-6s %10s %10s %10s %11s %11s %11s\n", "", "calls", "on CPU", "on GPU",
            "CPU s", "GPU s", "moved MB");
    *all = (tally){.chosen_seconds = 0.0};
    for (int i = 0; i < OPERATIONS; i++) {
        print_operation(file, names[i], &of[i]);
        duo_blas_tally_add(all, &of[i]);
    }
}

static bool any_calls(const tally of[OPERATIONS])
{
    for (int i = 0; i < OPERATIONS; i++)
        for (int place = 0; place < PLACES; place++)
            if (of[i].calls[place] > 0) return true;
    return false;
}

/* Prints the calls of forked children that have not told of them. False: there are none. */
static bool print_children(FILE *file)
{
    tally of[OPERATIONS] = {{.bytes = 0.0}}, all;
    int some = 0;
    if (children == NULL || forked) return false;
    const int used = atomic_load(&children->used);
    for (int i = 0; i < used && i < MOST_CHILDREN; i++) {
        const child *const c = &children->child[i];
        if (atomic_load(&c->counts) == 0 || !any_calls(c->of)) continue;
        for (int j = 0; j < OPERATIONS; j++) duo_blas_tally_add(&of[j], &c->of[j]);
        some++;
    }
    if (some == 0) return false;
    fprintf(file, "DuoBLAS: what %d forked child%s of process %ld (%s) called, and did not tell\n",
            some, some == 1 ? "" : "ren", (long)getpid(), program_invocation_short_name);
    print_table(file, of, &all);
    return true;
}

/* How many forked children were not counted: there was no room for them. */
static int uncounted_forks(void)
{
    const int used = children != NULL ? atomic_load(&children->used) : 0;
    return children == NULL ? forks : used > MOST_CHILDREN ? used - MOST_CHILDREN : 0;
}

static void print_calls(FILE *file)
{
    tally all;
    fprintf(file, "DuoBLAS: what process %ld (%s) called\n", (long)getpid(),
            program_invocation_short_name);
    print_table(file, tallies, &all);
    if (all.calls[DUO_SIDE_CPU] + all.calls[DUO_SIDE_GPU] > 0) {
        duo_blas_tell_sides(file, &all);
        duo_blas_tell_missing_gpu(file, &all);
        duo_blas_tell_remembered(file, &all);
        duo_blas_tell_learned(file, &all);
        duo_blas_tell_checked(file);
    }
    if (hardly_any(&all))
        (void)duo_blas_tell_unreached(file, true, uncounted_forks());
    else
        duo_blas_tell_forks(file, uncounted_forks());
}

/* Prints that there were no calls, for the started program, and for others with a BLAS out of
 * reach. (Shells, for instance, have no BLAS.) True: it was worth printing. */
static bool print_no_calls(FILE *file)
{
    fprintf(file, "DuoBLAS: no BLAS call of process %ld (%s) reached it, because\n", (long)getpid(),
            program_invocation_short_name);
    return duo_blas_tell_unreached(file, false, uncounted_forks()) || getpid() == started_by_run;
}

/* A write beyond the limit of file sizes, or without a reader, fails; it must not end the
 * program. */
static void write_quietly(int file, const char *text, size_t length)
{
    sigset_t ours, before, pending;
    sigemptyset(&ours);
    sigaddset(&ours, SIGXFSZ);
    sigaddset(&ours, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    const bool failed = write(file, text, length) < 0;
    const int signal = errno == EFBIG ? SIGXFSZ : SIGPIPE;
    if (failed && (errno == EFBIG || errno == EPIPE) && !sigismember(&pending, signal)) {
        sigemptyset(&ours);
        sigaddset(&ours, signal);
        (void)sigtimedwait(&ours, NULL, &(struct timespec){0, 0});
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Writes all in one piece, so that summaries of several processes do not mix. A failure cannot be
 * reported. */
static void put(const char *text, size_t length)
{
    const bool to_file = strcmp(where, "stderr") != 0;
    const int file = to_file ? duo_append_open(where) : STDERR_FILENO;
    if (file < 0) return;
    write_quietly(file, text, length);
    if (to_file) close(file);
}

/* Prints all that there is to tell. False: nothing is worth it. */
static bool print_all(FILE *file)
{
    const bool calls = any_calls(tallies);
    if (calls) print_calls(file);
    return print_children(file) || calls || (!forked && print_no_calls(file));
}

/* The text, which is to be freed; NULL: there is no memory. */
static char *text_of(size_t *length, bool *tell)
{
    char *text = NULL;
    FILE *const memory = open_memstream(&text, length);
    if (memory == NULL) return NULL;
    *tell = print_all(memory);
    if (fclose(memory) == 0) return text;
    free(text);
    return NULL;
}

static void __attribute__((destructor)) at_exit(void)
{
    size_t length;
    bool tell;
    (void)duo_blas_summary_wanted();
    if (where == NULL) return;
    pthread_mutex_lock(&lock);
    char *const text = text_of(&length, &tell);
    if (here != NULL) atomic_store(&here->counts, 0);
    if (text != NULL && tell) put(text, length);
    free(text);
    pthread_mutex_unlock(&lock);
}

size_t duo_blas_summary(char *to, size_t bytes)
{
    size_t length = 0;
    bool tell;
    pthread_mutex_lock(&lock);
    char *const text = text_of(&length, &tell);
    pthread_mutex_unlock(&lock);
    if (text == NULL) length = 0;
    const size_t copied = bytes == 0 ? 0 : length < bytes - 1 ? length : bytes - 1;
    if (copied > 0) memcpy(to, text, copied);
    if (bytes > 0) to[copied] = '\0';
    free(text);
    return length;
}

int duo_blas_counted(int i, duo_blas_calls *calls)
{
    if (i < 0 || i >= OPERATIONS) return 0;
    pthread_mutex_lock(&lock);
    const tally *const t = &tallies[i];
    *calls = (duo_blas_calls){names[i],
                              t->calls[DUO_SIDE_CPU],
                              t->calls[DUO_SIDE_GPU],
                              t->calls[NOWHERE],
                              t->small,
                              t->seconds[DUO_SIDE_CPU] + t->seconds[NOWHERE],
                              t->seconds[DUO_SIDE_GPU],
                              t->sent_bytes};
    pthread_mutex_unlock(&lock);
    return 1;
}

/* ---- Counting ---- */

static void count_fork(void) { atomic_fetch_add(&forks, 1); }

/* A child process counts its own calls. */
static void forget(void)
{
    forks = 0;
    pthread_mutex_init(&lock, NULL);
    forked = true;
    const int number = children != NULL ? atomic_fetch_add(&children->used, 1) : MOST_CHILDREN;
    here = number < MOST_CHILDREN ? &children->child[number] : NULL;
    tallies = here != NULL ? here->of : own;
    memset(own, 0, sizeof own);
    if (here != NULL) atomic_store(&here->counts, 1);
}

static void read_settings(void)
{
    const char *const value = secure_getenv("DUOBLAS_SUMMARY");
    if (value == NULL || *value == '\0') return;
    where = strdup(value); /* a copy, as programs overwrite the memory of their environment */
    if (where == NULL) return;
    const char *const process = secure_getenv("DUOBLAS_RUN");
    if (process != NULL) started_by_run = atol(process);
    void *const shared =
        mmap(NULL, sizeof *children, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) children = shared;
    duo_blas_summary_count(true);
}

static void begin_to_count(void)
{
    const char *const remember = secure_getenv("DUOBLAS_REMEMBER");
    remembers = remember == NULL || strcmp(remember, "0") != 0;
    (void)pthread_atfork(NULL, count_fork, forget);
}

void duo_blas_summary_count(bool on)
{
    static pthread_once_t begun = PTHREAD_ONCE_INIT;
    if (on) pthread_once(&begun, begin_to_count);
    atomic_store(&counting, on || where != NULL);
}

static void ask(void)
{
    read_settings();
    atomic_store_explicit(&asked, true, memory_order_release);
}

/* At load time, since a program may change its environment. */
static void __attribute__((constructor)) ask_at_start(void) { (void)duo_blas_summary_wanted(); }

bool duo_blas_summary_wanted(void)
{
    if (__builtin_expect(!atomic_load_explicit(&asked, memory_order_acquire), 0))
        pthread_once(&once, ask);
    return atomic_load_explicit(&counting, memory_order_relaxed);
}

void duo_blas_summary_add(double started, const double bytes[3], const float *const at[3])
{
    const double seconds = duo_blas_clock() - started;
    duo_decision d = {.size = offsetof(duo_decision, parts)}; /* parts and reason take longer */
    if (duo_explain_last(NULL, &d) != DUO_OK || d.operation == NULL) return;
    int operation = 0;
    while (strcmp(names[operation], d.operation) != 0) operation++; /* it is one of ours */

    pthread_mutex_lock(&lock);
    duo_blas_tally_call(&tallies[operation], &d, seconds, bytes, remembers ? NULL : at, forked);
    pthread_mutex_unlock(&lock);
}
