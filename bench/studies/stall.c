/*
 * stall.c - first calls of each kind in a process, while another of its contexts has a long queue.
 * With and without a warm-up, each in separate processes (stall_child.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/crossover/verify_draw.h"
#include "bench/graphs/graphs.h"
#include "bench/measure/benchmark.h"
#include "bench/studies/studies.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "host/environment.h"

enum { WARM, COLD, WAYS, MOST_PROCESSES = 3 };

/* The times of one call, in one way. */
typedef struct times {
    double seconds[MOST_PROCESSES];
    int count, running; /* processes; those with the queue still running */
} times;

static const char *const ways[WAYS] = {[WARM] = "warm", [COLD] = "cold"};

/* ---- Processes ---- */

extern char **environ;

/* Starts this program again, with its stdout in *out. */
static bool start(const duo_graphs *g, const char *how, pid_t *pid, FILE **out)
{
    char *const arguments[] = {"duoblas",
                               "bench",
                               "stall",
                               "--child",
                               (char *)(uintptr_t)how,
                               g->bench->quick ? "--quick" : NULL,
                               NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const bool good = posix_spawn(pid, "/proc/self/exe", &actions, NULL, arguments, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    *out = good ? fdopen(ends[0], "r") : NULL;
    if (!good) (void)close(ends[0]);
    return good;
}

static bool read_times(FILE *out, times of[DUO_FIRST_CALLS][WAYS], int way)
{
    double seconds;
    int number, running, lines = 0;
    while (out != NULL && fscanf(out, "%d %lf %d", &number, &seconds, &running) == 3) {
        if (number != lines || number == DUO_FIRST_CALLS) return false;
        times *const t = &of[number][way];
        t->seconds[t->count++] = seconds;
        t->running += running;
        lines++;
    }
    return lines == DUO_FIRST_CALLS;
}

static bool run_process(const duo_graphs *g, times of[DUO_FIRST_CALLS][WAYS], int way)
{
    FILE *out;
    pid_t pid;
    int status;
    if (!start(g, ways[way], &pid, &out)) return false;
    const bool good = read_times(out, of, way);
    if (out != NULL) (void)fclose(out);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0 && good;
}

/* ---- Table ---- */

/* "sgemm 300 x 300 x 300" */
static void name_of(const duo_first_call *f, char text[DUO_TEXT])
{
    static const char *const names[] = {[DUO_WORK_SGEMM] = "sgemm",
                                        [DUO_WORK_SASUM] = "sasum",
                                        [DUO_WORK_SSUM] = "ssum",
                                        [DUO_WORK_SDOT] = "sdot"};
    char shape[DUO_TEXT];
    const bool product = f->kind == DUO_WORK_SGEMM;
    const int64_t sizes[3] = {product ? f->m : f->n, f->n, f->k};
    snprintf(text, DUO_TEXT, "%s %.40s", names[f->kind],
             duo_text_shape(product ? DUO_SGEMM : DUO_SSUM, sizes, shape));
}

static const char *running_of(const times *t)
{
    return t->running == t->count ? "yes" : t->running == 0 ? "no" : "partly";
}

static void print_csv(const duo_graphs *g, int number, times of[WAYS])
{
    char name[DUO_TEXT], what[2 * DUO_TEXT];
    name_of(&duo_first_calls[number], name);
    snprintf(what, sizeof what, "%s %s", name, duo_math_name(duo_first_calls[number].math));
    for (int way = 0; way < WAYS; way++) {
        times *const t = &of[way];
        const double median = duo_median(t->seconds, t->count);
        duo_graphs_print(g, &(duo_graphs_row){.side = DUO_SIDE_GPU,
                                              .what = what,
                                              .way = ways[way],
                                              .rounds = t->count,
                                              .median = median,
                                              .least = t->seconds[0],
                                              .most = t->seconds[t->count - 1],
                                              .running = running_of(t)});
    }
}

static void print_table(times of[DUO_FIRST_CALLS][WAYS])
{
    char name[DUO_TEXT], text[WAYS][DUO_TEXT];
    double worst[WAYS] = {0.0};
    int processes = 0;
    printf("  %-22s %-8s  %9s %-7s  %9s %-7s\n", "", "math", "warmed up", "running", "without ",
           "running");
    for (int i = 0; i < DUO_FIRST_CALLS; i++) {
        for (int way = 0; way < WAYS; way++) {
            times *const t = &of[i][way];
            (void)duo_text_seconds(duo_median(t->seconds, t->count), text[way]);
            worst[way] = fmax(worst[way], t->seconds[t->count - 1]);
            processes = t->count;
        }
        name_of(&duo_first_calls[i], name);
        printf("  %-22s %-8s  %s %-7s  %s %-7s\n", name, duo_math_name(duo_first_calls[i].math),
               text[WARM], running_of(&of[i][WARM]), text[COLD], running_of(&of[i][COLD]));
    }
    snprintf(name, sizeof name, "worst of %d process%s", processes, processes == 1 ? "" : "es");
    printf("  %-31s  %s %-7s  %s\n", name, duo_text_seconds(worst[WARM], text[WARM]), "",
           duo_text_seconds(worst[COLD], text[COLD]));
}

static bool run(duo_graphs *g, times of[DUO_FIRST_CALLS][WAYS])
{
    const int asked = g->bench->rounds, processes = asked > 0 ? asked : MOST_PROCESSES;
    bool good = true;
    for (int i = 0; i < processes && good; i++)
        for (int way = 0; way < WAYS && good; way++) good = run_process(g, of, way);
    if (!good) fprintf(stderr, "duoblas: stall: a process failed\n");
    return good;
}

static bool compare(duo_graphs *g)
{
    times of[DUO_FIRST_CALLS][WAYS] = {0};
    duo_graphs_head(g);
    duo_graphs_title(g,
                     "the first calls of their kind in a process, until the host has the result, "
                     "while another context has a long queue; medians of processes. running: "
                     "the queue still was, after the call");
    if (!run(g, of)) return false;
    for (int i = 0; i < DUO_FIRST_CALLS && g->bench->csv; i++) print_csv(g, i, of[i]);
    if (!g->bench->csv) print_table(of);
    return true;
}

static bool without_gpu(void)
{
    fprintf(stderr, "duoblas: stall needs a GPU\n");
    return false;
}

int duo_bench_stall(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    if (b->child != NULL)
        return duo_stall_child(b, strcmp(b->child, "warm") == 0) ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
    duo_graphs g = duo_graphs_of(b);
    g.part = "stall";
    const bool good = duo_bench_open(b, &small, 1) && (b->gpu ? compare(&g) : without_gpu());
    duo_bench_close(b);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
