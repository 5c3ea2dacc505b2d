/*
 * summary.c - how a program's calls were served, printed when it ends: DUOBLAS_SUMMARY=stderr, or a
 * file that every process appends to. `duoblas run` sets it, and sets DUOBLAS_RUN to the process
 * that it becomes: if there were no calls, that process also tells why.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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

#include "blas/blas.h"

enum { OPERATIONS = 4, NOWHERE = 2, PLACES };

typedef struct tally {
    int64_t calls[PLACES]; /* by duo_side; NOWHERE: nothing to do */
    double seconds[PLACES];
    double bytes;               /* of all operands */
    double sent_bytes;          /* sent to the device and back */
    double same_bytes;          /* not sent, as they were there from an earlier call */
    double expected_seconds[2]; /* by duo_side: predicted for all calls, if all ran on it */
    double chosen_seconds;      /* predicted for all calls on the sides where they ran */
    double profile_seconds;     /* the same only by the profile, without learning */
    int64_t without[2];         /* by duo_side: calls that this side could not do */
} tally;

static const char *const names[OPERATIONS] = {"sgemm", "sasum", "ssum", "sdot"};
static tally own[OPERATIONS];
static tally *tallies = own; /* in a forked child: in memory that it shares with its parents */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *where;   /* NULL: not wanted */
static long started_by_run; /* the process that `duoblas run` became; 0: none */
static bool forked;         /* was this process a copy of another one at its start? */
static atomic_int forks;    /* children that are copies of this one */

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

static void print_other_setting(FILE *file, duo_side side, const tally *all)
{
    const char *const setting = side == DUO_SIDE_CPU ? "cpu" : "gpu";
    const double saved = all->chosen_seconds - all->expected_seconds[side];
    if (all->calls[DUO_SIDE_CPU] + all->calls[DUO_SIDE_GPU] == all->calls[side])
        fprintf(file, "  DUOBLAS_PATH=%s: the same, every call ran there\n", setting);
    else if (all->without[side] > 0)
        fprintf(file, "  DUOBLAS_PATH=%s: cannot do %lld of the calls\n", setting,
                (long long)all->without[side]);
    else
        fprintf(file, "  DUOBLAS_PATH=%s: about %.3f s %s%s\n", setting,
                saved < 0.0 ? -saved : saved, saved < 0.0 ? "more" : "less",
                all->calls[DUO_SIDE_GPU] == 0 ? ", if there is a GPU: no call has asked for one"
                                              : "");
}

/* A handful of tiny calls: perhaps a library tries its BLAS when it is loaded. */
static bool hardly_any(const tally *all)
{
    enum { HANDFUL = 8, TINY = 1 << 16 };
    return all->calls[DUO_SIDE_CPU] + all->calls[DUO_SIDE_GPU] + all->calls[NOWHERE] <= HANDFUL &&
           all->bytes <= TINY;
}

/* Prints the effect of learning (DUOBLAS_ADAPT). */
static void print_learned(FILE *file, const tally *all)
{
    const double took = all->seconds[DUO_SIDE_CPU] + all->seconds[DUO_SIDE_GPU];
    if (!(fabs(all->chosen_seconds - all->profile_seconds) > 1e-3 * all->profile_seconds)) return;
    fprintf(file, "  learned: predicted %.3f s, by the profile alone %.3f s; took %.3f s\n",
            all->chosen_seconds, all->profile_seconds, took);
}

static void add(tally *to, const tally *t)
{
    for (int place = 0; place < PLACES; place++) {
        to->calls[place] += t->calls[place];
        to->seconds[place] += t->seconds[place];
    }
    for (int side = 0; side < 2; side++) {
        to->expected_seconds[side] += t->expected_seconds[side];
        to->without[side] += t->without[side];
    }
    to->bytes += t->bytes;
    to->sent_bytes += t->sent_bytes;
    to->same_bytes += t->same_bytes;
    to->chosen_seconds += t->chosen_seconds;
    to->profile_seconds += t->profile_seconds;
}

static void print_table(FILE *file, const tally of[OPERATIONS], tally *all)
{
    fprintf(file, "  %-6s %10s %10s %10s %11s %11s %11s\n", "", "calls", "on CPU", "on GPU",
            "CPU s", "GPU s", "moved MB");
    *all = (tally){.chosen_seconds = 0.0};
    for (int i = 0; i < OPERATIONS; i++) {
        print_operation(file, names[i], &of[i]);
        add(all, &of[i]);
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
        for (int j = 0; j < OPERATIONS; j++) add(&of[j], &c->of[j]);
        some++;
    }
    if (some == 0) return false;
    fprintf(file, "DuoBLAS: what %d forked child%s of process %ld (%s) called, and did not tell\n",
            some, some == 1 ? "" : "ren", (long)getpid(), program_invocation_short_name);
    print_table(file, of, &all);
    return true;
}

/* The forked children whose calls are not counted. */
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
        print_other_setting(file, DUO_SIDE_CPU, &all);
        print_other_setting(file, DUO_SIDE_GPU, &all);
        if (all.same_bytes > 0.0)
            fprintf(file, "  not sent again, as they were the same: %.1f MB\n",
                    all.same_bytes * 1e-6);
        print_learned(file, &all);
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
    if (pthread_sigmask(SIG_BLOCK, &ours, &before) != 0) return;
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
 * reported. It does not wait for a FIFO without a reader. */
static void put(const char *text, size_t length)
{
    const bool to_file = strcmp(where, "stderr") != 0;
    const int file = to_file
                         ? open(where, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666)
                         : STDERR_FILENO;
    if (file < 0) return;
    write_quietly(file, text, length);
    if (to_file) close(file);
}

static void __attribute__((destructor)) at_exit(void)
{
    if (!duo_blas_summary_wanted()) return;
    pthread_mutex_lock(&lock);
    char *text = NULL;
    size_t length = 0;
    FILE *const memory = open_memstream(&text, &length);
    if (memory != NULL) {
        bool tell = any_calls(tallies);
        if (tell) print_calls(memory);
        if (print_children(memory))
            tell = true;
        else if (!tell)
            tell = !forked && print_no_calls(memory);
        if (here != NULL) atomic_store(&here->counts, 0);
        if (fclose(memory) == 0 && tell) put(text, length);
        free(text);
    }
    pthread_mutex_unlock(&lock);
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

static void ask(void)
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
    (void)pthread_atfork(NULL, count_fork, forget);
}

/* At load time, since a program may change its environment. */
static void __attribute__((constructor)) ask_at_start(void) { (void)duo_blas_summary_wanted(); }

bool duo_blas_summary_wanted(void)
{
    pthread_once(&once, ask);
    return where != NULL;
}

static bool on_host(duo_residence residence)
{
    return residence == DUO_AT_PAGEABLE || residence == DUO_AT_PINNED || residence == DUO_AT_STALE;
}

void duo_blas_summary_add(double started, const double bytes[3])
{
    const double seconds = duo_blas_clock() - started;
    duo_decision d = {.size = offsetof(duo_decision, parts)}; /* parts and reason take longer */
    if (duo_explain_last(NULL, &d) != DUO_OK || d.operation == NULL) return;
    int operation = 0;
    while (operation < OPERATIONS && strcmp(names[operation], d.operation) != 0) operation++;
    if (operation == OPERATIONS) return;

    pthread_mutex_lock(&lock);
    tally *const t = &tallies[operation];
    const int place = d.algorithm == NULL ? NOWHERE : (int)d.side;
    t->calls[place]++;
    t->seconds[place] += seconds;
    for (int i = 0; i < 3; i++) t->bytes += bytes[i];
    if (d.algorithm != NULL) {
        double best[2] = {-1.0, -1.0};
        for (int i = 0; i < d.candidates; i++) {
            const duo_candidate *const c = &d.candidate[i];
            if (c->accepts && (best[c->side] < 0.0 || c->predicted_seconds < best[c->side]))
                best[c->side] = c->predicted_seconds;
        }
        for (int side = 0; side < 2; side++) {
            t->without[side] += best[side] < 0.0;
            t->expected_seconds[side] += best[side] < 0.0 ? 0.0 : best[side];
        }
        t->chosen_seconds += d.predicted_seconds;
        t->profile_seconds += d.profile_seconds;
        if (d.side == DUO_SIDE_GPU)
            for (int i = 0; i < 3; i++) {
                if (on_host(d.residence[i])) t->sent_bytes += bytes[i];
                if (d.residence[i] == DUO_AT_REMEMBERED) t->same_bytes += bytes[i];
            }
    }
    pthread_mutex_unlock(&lock);
}
