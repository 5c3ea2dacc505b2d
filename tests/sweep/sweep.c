/* sweep.c - see sweep.h. SWEEP_FAILING is the library of failing.c, to be preloaded; SWEEP_HEADER
 * is duoblas.h. */
#define _GNU_SOURCE
#include "sweep.h"

#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing.h"
#include "sim/sim.h"
#include "support/documented.h"
#include "support/harness.h"

enum { PATIENCE_SECONDS = 20, RUNS = 3, MOST_RUNS = 15, MOST_ASKED = 12 };
enum { RIGHT = 0, WRONG = 10, LEAKED = 11, NOT_REACHED = 12 };

/* They are there if the program is preloaded, or linked, with them. */
#pragma weak failing_arm
#pragma weak failing_disarm
#pragma weak failing_count
#pragma weak failing_alive
#pragma weak sim_fail
#pragma weak sim_count
#pragma weak sim_leaks
#pragma weak sim_violations

bool on_sim(void) { return sim_fail != NULL; }

/* ---- Kinds ---- */

static const char *const system_kinds[FAILING_KINDS] = {"memory", "map", "thread", "open",
                                                        "dlopen"};
static const char *const sim_kinds[SIM_KINDS] = {
    "count", "load",   "link", "allocate", "release", "pin",  "unpin", "classify", "open",  "close",
    "copy",  "launch", "pack", "mark",     "wait",    "idle", "after", "record",   "replay"};
static const char *const how[] = {"memory", "device", "lost"};
enum { STATUSES = 3, KINDS = FAILING_KINDS + STATUSES * SIM_KINDS };

static bool is_system(int kind) { return kind < FAILING_KINDS; }
static sim_kind sim_kind_of(int kind) { return (sim_kind)((kind - FAILING_KINDS) / STATUSES); }
static int how_of(int kind) { return (kind - FAILING_KINDS) % STATUSES; }

static const char *kind_name(int kind)
{
    static char name[40];
    if (is_system(kind)) return system_kinds[kind];
    snprintf(name, sizeof name, "sim-%s-%s", sim_kinds[sim_kind_of(kind)], how[how_of(kind)]);
    return name;
}

static void arm(int kind, int nth, bool later)
{
    static const duo_status statuses[] = {DUO_ERR_MEMORY, DUO_ERR_DEVICE, DUO_ERR_LOST};
    failing_arm(is_system(kind) ? (failing_kind)kind : FAILING_MEMORY, is_system(kind) ? nth : 0,
                later);
    if (!is_system(kind)) sim_fail(sim_kind_of(kind), nth, statuses[how_of(kind)], later ? -1 : 1);
}

static int calls_of(int kind)
{
    if (is_system(kind)) return failing_count((failing_kind)kind);
    return on_sim() ? (int)sim_count(sim_kind_of(kind)) : 0;
}

static void disarm(int kind)
{
    failing_disarm();
    if (!is_system(kind)) sim_fail(sim_kind_of(kind), 0, DUO_OK, 0);
}

/* What the device does not take back stays alive. */
static int alive(int kind)
{
    const sim_kind of = is_system(kind) ? SIM_COUNT : sim_kind_of(kind);
    const bool gives_back = of == SIM_RELEASE || of == SIM_UNPIN || of == SIM_CLOSE;
    return failing_alive() + (on_sim() && !gives_back ? sim_leaks() : 0);
}

/* ---- A point ---- */

static bool fails, is_wrong;

void expect(bool right, const char *format, ...)
{
    va_list arguments;
    if (right) return;
    __atomic_store_n(&is_wrong, true, __ATOMIC_RELAXED);
    char text[300];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s%s\n", text, fails ? "" : " (nothing fails any more)");
}

bool all_is_right(void) { return !is_wrong; }

void must(duo_status status, const char *what)
{
    expect(status == DUO_OK, "%s: %s", what, duo_status_string(status));
}

/* documented.c checks what it reads. */
bool test_check(bool ok, const char *text, const char *file, int line, const char *format, ...)
{
    (void)line, (void)format;
    expect(ok, "%s: %s", file, text);
    return ok;
}

/* Does the header tell that this call may return it? */
static bool is_documented(const char *call, duo_status status)
{
    static documented function[DOCUMENTED_MOST];
    static int functions;
    if (functions == 0) functions = documented_read(SWEEP_HEADER, function);
    for (int f = 0; f < functions; f++) {
        const size_t length = strlen(function[f].name);
        if (strncmp(function[f].name, call, length) == 0 && call[length] == '(')
            return (function[f].statuses >> -status & 1u) != 0;
    }
    return false;
}

bool may(duo_status status, const char *what)
{
    const bool fair =
        status == DUO_ERR_MEMORY || status == DUO_ERR_DEVICE || status == DUO_ERR_LOST;
    if (status != DUO_OK)
        expect(fails && fair && is_documented(what, status), "%s: %s", what,
               duo_status_string(status));
    return status == DUO_OK;
}

/* The scenario while the nth call fails, and then while none does. Did the nth call come? */
static bool run(const scenario *s, int kind, bool later, int nth)
{
    const int before = is_system(kind) ? 0 : calls_of(kind);
    arm(kind, nth, later);
    fails = nth > 0;
    s->run();
    const bool reached = nth > 0 && calls_of(kind) - before >= nth;
    disarm(kind);
    fails = false;
    s->run();
    return reached;
}

static int try_point(const scenario *s, int kind, bool later, int nth)
{
    int left = 0, first = 0;
    bool reached = false, grows = true;
    alarm(PATIENCE_SECONDS);
    /* What is kept for later calls may grow in some runs; a leak grows in each. */
    for (int i = 0; i < RUNS || (grows && i < MOST_RUNS); i++) {
        reached |= run(s, kind, later, nth);
        grows = i == 0 || (grows && alive(kind) > left);
        left = alive(kind);
        if (i == 0) first = left;
    }
    if (on_sim()) expect(sim_violations() == 0, "%d violations", sim_violations());
    if (is_wrong) return WRONG;
    if (grows) {
        fprintf(stderr, "alive: %d after the first run, %d after %d\n", first, left, MOST_RUNS);
        return LEAKED;
    }
    return reached ? RIGHT : NOT_REACHED;
}

/* How many calls of each kind the first run makes, to stdout. */
static int count(const scenario *s)
{
    int before[KINDS];
    alarm(PATIENCE_SECONDS);
    failing_arm(FAILING_MEMORY, 0, 0);
    for (int kind = FAILING_KINDS; kind < KINDS; kind++) before[kind] = calls_of(kind);
    s->run();
    failing_disarm();
    for (int kind = 0; kind < KINDS; kind++)
        printf("%d ", calls_of(kind) - (is_system(kind) ? 0 : before[kind]));
    return is_wrong ? WRONG : RIGHT;
}

/* ---- All points ---- */

extern char **environ;

/* Runs this program with these arguments; its output to a pipe, if one is given. */
static int start(const scenario *s, const char *const arguments[], const int pipe_ends[2])
{
    char *list[8] = {"sweep"}, *environment[12], preload[500];
    int n = 1, settings = 0, status = 0;
    pid_t child;
    for (int i = 0; arguments[i] != NULL; i++) list[n++] = (char *)(uintptr_t)arguments[i];
    list[n] = NULL;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", SWEEP_FAILING);
    environment[settings++] = preload;
    environment[settings++] = on_sim() ? "DUOBLAS_PATH=gpu" : "DUOBLAS_PATH=cpu";
    environment[settings++] = "XDG_CONFIG_HOME=/nonexistent";
    environment[settings++] = "OMP_NUM_THREADS=3";
    environment[settings++] = "GLIBC_TUNABLES=glibc.malloc.perturb=165"; /* freed memory is bad */
    if (s->setting != NULL) environment[settings++] = (char *)(uintptr_t)s->setting;
    environment[settings] = NULL;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (pipe_ends != NULL) posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
    if (posix_spawn(&child, "/proc/self/exe", &actions, NULL, list, environment) != 0) abort();
    posix_spawn_file_actions_destroy(&actions);
    if (pipe_ends != NULL) close(pipe_ends[1]);
    if (waitpid(child, &status, 0) != child) abort();
    return status;
}

static struct {
    int points, wrong, dead, hung, leaked;
} sum;

static void judge(const scenario *s, int kind, bool later, int nth, int status)
{
    const char *what = NULL;
    if (WIFSIGNALED(status)) {
        const bool hung = WTERMSIG(status) == SIGALRM;
        what = hung ? "HUNG" : "DEAD";
        sum.hung += hung, sum.dead += !hung;
    } else if (WEXITSTATUS(status) == WRONG) {
        what = "WRONG", sum.wrong++;
    } else if (WEXITSTATUS(status) == LEAKED) {
        what = "LEAKED", sum.leaked++;
    } else if (WEXITSTATUS(status) != RIGHT && WEXITSTATUS(status) != NOT_REACHED) {
        what = "DEAD", sum.dead++;
    }
    sum.points += WIFSIGNALED(status) || WEXITSTATUS(status) != NOT_REACHED;
    if (what != NULL)
        fprintf(stderr, "%s (status %x): %s %s %s %d\n", what, (unsigned)status, s->name,
                kind_name(kind), later ? "later" : "once", nth);
}

static bool counted(const scenario *s, int made[KINDS])
{
    char text[KINDS * 12], *at = text;
    int ends[2];
    if (pipe2(ends, 0) != 0) abort();
    const int status = start(s, (const char *const[]){s->name, "count", NULL}, ends);
    const ssize_t got = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    text[got > 0 ? got : 0] = '\0';
    for (int kind = 0; kind < KINDS; kind++) {
        /* The machine's speed decides how often a call asks whether the device is idle. */
        const bool asks = !is_system(kind) && sim_kind_of(kind) == SIM_IDLE;
        made[kind] = (int)strtol(at, &at, 10);
        if (asks && made[kind] > MOST_ASKED) made[kind] = MOST_ASKED;
    }
    if (status != 0)
        fprintf(stderr, "%s: status %x where nothing fails\n", s->name, (unsigned)status);
    sum.wrong += status != 0;
    return status == 0;
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Of the points of a scenario, each or `most` at random. */
static void sweep(const scenario *s, int most, uint64_t *random)
{
    int made[KINDS], all = 0;
    if (!counted(s, made)) return;
    for (int kind = 0; kind < KINDS; kind++) all += 2 * made[kind];
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 2 * made[kind]; i++, all--) {
            if (most < all && draw(random) % (unsigned)all >= (unsigned)most) continue;
            most--;
            char nth[12];
            snprintf(nth, sizeof nth, "%d", i / 2 + 1);
            const int status = start(s,
                                     (const char *const[]){s->name, kind_name(kind),
                                                           i % 2 ? "later" : "once", nth, NULL},
                                     NULL);
            judge(s, kind, i % 2, i / 2 + 1, status);
        }
}

static const scenario *scenario_of(const char *name)
{
    for (const scenario *s = scenarios; s->name != NULL; s++)
        if (strcmp(s->name, name) == 0) return s;
    fprintf(stderr, "there is no scenario %s\n", name);
    exit(2);
}

static int kind_of(const char *name)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (strcmp(kind_name(kind), name) == 0) return kind;
    fprintf(stderr, "there is no kind %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    enum { USUAL = 10 }; /* points of a scenario */
    if (argc == 3 && strcmp(argv[2], "count") == 0) return count(scenario_of(argv[1]));
    if (argc == 5)
        return try_point(scenario_of(argv[1]), kind_of(argv[2]), strcmp(argv[3], "later") == 0,
                         atoi(argv[4]));
    int most = USUAL;
    uint64_t seed = 20250117;
    const char *only = "";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--long") == 0)
            most = 1 << 30;
        else if (strcmp(argv[i], "-seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "-only") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            return 2;
    for (const scenario *s = scenarios; s->name != NULL; s++)
        if (strstr(s->name, only) != NULL) sweep(s, most, &seed);
    printf("%d points of failure: %d wrong, %d dead, %d hung, %d leaked\n", sum.points, sum.wrong,
           sum.dead, sum.hung, sum.leaked);
    return sum.points == 0 || sum.wrong + sum.dead + sum.hung + sum.leaked > 0;
}
