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
static tally tallies[OPERATIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *where;   /* NULL: not wanted */
static long started_by_run; /* the process that `duoblas run` became; 0: none */
static bool forked;         /* was this process a copy of another one at its start? */
static atomic_int forks;    /* children that are copies of this one */

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

static void print_calls(FILE *file)
{
    tally all = {.chosen_seconds = 0.0};
    fprintf(file,
            "DuoBLAS: what process %ld (%s) called\n"
            "  %-6s %10s %10s %10s %11s %11s %11s\n",
            (long)getpid(), program_invocation_short_name, "", "calls", "on CPU", "on GPU", "CPU s",
            "GPU s", "moved MB");
    for (int i = 0; i < OPERATIONS; i++) {
        const tally *const t = &tallies[i];
        print_operation(file, names[i], t);
        for (int side = 0; side < 2; side++) {
            all.calls[side] += t->calls[side];
            all.seconds[side] += t->seconds[side];
            all.expected_seconds[side] += t->expected_seconds[side];
            all.without[side] += t->without[side];
        }
        all.calls[NOWHERE] += t->calls[NOWHERE];
        all.bytes += t->bytes;
        all.same_bytes += t->same_bytes;
        all.chosen_seconds += t->chosen_seconds;
        all.profile_seconds += t->profile_seconds;
    }
    if (all.calls[DUO_SIDE_CPU] + all.calls[DUO_SIDE_GPU] > 0) {
        print_other_setting(file, DUO_SIDE_CPU, &all);
        print_other_setting(file, DUO_SIDE_GPU, &all);
        if (all.same_bytes > 0.0)
            fprintf(file, "  not sent again, as they were the same: %.1f MB\n",
                    all.same_bytes * 1e-6);
        print_learned(file, &all);
    }
    if (hardly_any(&all))
        (void)duo_blas_tell_unreached(file, true, forks);
    else
        duo_blas_tell_forks(file, forks);
}

/* Prints that there were no calls, for the started program, and for others with a BLAS out of
 * reach. (Shells, for instance, have no BLAS.) True: it was worth printing. */
static bool print_no_calls(FILE *file)
{
    fprintf(file, "DuoBLAS: no BLAS call of process %ld (%s) reached it, because\n", (long)getpid(),
            program_invocation_short_name);
    return duo_blas_tell_unreached(file, false, forks) || getpid() == started_by_run;
}

static bool any_calls(void)
{
    for (int i = 0; i < OPERATIONS; i++)
        for (int place = 0; place < PLACES; place++)
            if (tallies[i].calls[place] > 0) return true;
    return false;
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
        bool tell = true;
        if (any_calls())
            print_calls(memory);
        else
            tell = !forked && print_no_calls(memory);
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
    memset(tallies, 0, sizeof tallies);
    forked = true;
}

static void ask(void)
{
    const char *const value = secure_getenv("DUOBLAS_SUMMARY");
    if (value == NULL || *value == '\0') return;
    where = strdup(value); /* a copy, as programs overwrite the memory of their environment */
    if (where == NULL) return;
    const char *const process = secure_getenv("DUOBLAS_RUN");
    if (process != NULL) started_by_run = atol(process);
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
