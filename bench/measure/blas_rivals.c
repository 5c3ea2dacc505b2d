/* blas_rivals.c - see blas_rivals.h */
#define _GNU_SOURCE
#include "bench/measure/blas_rivals.h"

#include <dlfcn.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/measure/benchmark.h"
#include "cpu/blas_library.h"
#include "host/environment.h"

enum { SIZE = 512, CALLS = 5, MOST_MILLISECONDS = 3000 };

/* A library that is not this many times as fast is not told as faster. */
static const double kClearly = 1.25;

typedef struct rival {
    char path[512], name[80];
    double seconds; /* of the product; 0: the library cannot be used */
} rival;

static char text[400];

/* ---- In the child ---- */

/* "OpenBLAS 0.3.21 Cooperlake", "BLIS 0.9.0", "MKL", or the file's name */
static void describe(void *library, rival *r)
{
    const char *(*text_of)(void);
    const char *const slash = strrchr(r->path, '/');
    if (duo_blas_function(library, "openblas_get_config", &text_of)) {
        char config[64];
        snprintf(config, sizeof config, "%.60s", text_of());
        char *const gap = strchr(config, ' ');
        if (gap != NULL) gap[1 + strcspn(gap + 1, " ")] = '\0';
        const bool core = duo_blas_function(library, "openblas_get_corename", &text_of);
        snprintf(r->name, sizeof r->name, "%.50s%s%.20s", config, core ? " " : "",
                 core ? text_of() : "");
    } else if (duo_blas_function(library, "bli_info_get_version_str", &text_of)) {
        snprintf(r->name, sizeof r->name, "BLIS %.40s", text_of());
    } else if (dlsym(library, "MKL_Get_Max_Threads") != NULL) {
        snprintf(r->name, sizeof r->name, "MKL");
    } else {
        snprintf(r->name, sizeof r->name, "%.70s", slash != NULL ? slash + 1 : r->path);
    }
}

static double time_product(duo_fortran_sgemm sgemm)
{
    /* Integers of 64 bits serve libraries with 32 bits, too, on a little-endian machine. */
    const int64_t n = SIZE;
    const float one = 1.0f, zero = 0.0f;
    float *const memory = calloc(3 * SIZE * SIZE, sizeof *memory);
    double best = INFINITY, spent = 0.0;
    if (memory == NULL) return 0.0;
    for (int i = 0; i < 2 * SIZE * SIZE; i++) memory[i] = 1.0f;
    for (int call = 0; call < CALLS && spent < 0.2; call++) {
        const double begin = duo_now_seconds();
        sgemm("N", "N", (const void *)&n, (const void *)&n, (const void *)&n, &one, memory,
              (const void *)&n, memory + SIZE * SIZE, (const void *)&n, &zero,
              memory + 2 * SIZE * SIZE, (const void *)&n, 1, 1);
        const double seconds = duo_now_seconds() - begin;
        best = fmin(best, seconds);
        spent += seconds;
    }
    free(memory);
    return best;
}

static rival try(const char *name)
{
    rival r = {.seconds = 0.0};
    duo_fortran_sgemm sgemm;
    Dl_info info;
    void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL | duo_blas_library_deep());
    if (library == NULL || dlsym(library, "duo_version") != NULL ||
        !duo_blas_function(library, "sgemm_", &sgemm))
        return r;
    void *address;
    memcpy(&address, &sgemm, sizeof address);
    const bool known = dladdr(address, &info) != 0 && info.dli_fname != NULL;
    snprintf(r.path, sizeof r.path, "%.500s", known ? info.dli_fname : name);
    describe(library, &r);
    r.seconds = time_product(sgemm);
    return r;
}

/* ---- In this process ---- */

/* Tries the library in a child, which may crash, or take too long. */
static rival ask(const char *name)
{
    int ends[2];
    rival r = {.seconds = 0.0};
    if (pipe(ends) != 0) return r;
    const pid_t child = fork();
    if (child == 0) {
        const rival found = try(name);
        const bool good = write(ends[1], &found, sizeof found) == (ssize_t)sizeof found;
        _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(ends[1]);
    struct pollfd answer = {.fd = ends[0], .events = POLLIN};
    if (child < 0 || poll(&answer, 1, MOST_MILLISECONDS) <= 0 ||
        read(ends[0], &r, sizeof r) != (ssize_t)sizeof r)
        r.seconds = 0.0;
    close(ends[0]);
    if (child > 0) (void)kill(child, SIGKILL);
    if (child > 0) (void)waitpid(child, NULL, 0);
    return r;
}

static bool alike(const rival *a, const rival *b)
{
    return strcmp(a->path, b->path) == 0 || strcmp(a->name, b->name) == 0;
}

/* Says how fast the other one is, compared with the one in use. */
static void say(const rival *used, const rival *other)
{
    const double times = used->seconds / other->seconds;
    size_t length = strlen(text);
    length += (size_t)snprintf(text + length, sizeof text - length, "%s", length > 0 ? "; " : "");
    if (length >= sizeof text) return;
    if (times > kClearly)
        snprintf(text + length, sizeof text - length,
                 "%.78s is %.1f times as fast (DUOBLAS_CPU_BLAS=%.150s)", other->name, times,
                 other->path);
    else
        snprintf(text + length, sizeof text - length, "%.78s is not faster", other->name);
}

void duo_blas_rivals_look(void)
{
    /* In the order of cpu/blas_library.c: the first that can be used is the one in use. */
    static const char *const names[] = {
        "libopenblas.so.0", "libopenblasp.so.0", "libscipy_openblas.so", "libblas.so.3",
        "libblis.so.4",     "libblis.so.3",      "libmkl_rt.so.2",       "libmkl_rt.so"};
    enum { NAMES = sizeof names / sizeof names[0] };
    rival found[NAMES + 1];
    int count = 0;
    const char *const asked = duo_environment_get()->cpu_blas;
    text[0] = '\0';
    for (int i = asked != NULL ? -1 : 0; i < NAMES; i++) {
        const rival r = ask(i < 0 ? asked : names[i]);
        bool known = !(r.seconds > 0.0);
        for (int j = 0; j < count && !known; j++) known = alike(&found[j], &r);
        if (!known) found[count++] = r;
        if (i < 0 && count == 0) return; /* the one that was asked for cannot be used: info tells */
    }
    for (int i = 1; i < count; i++) say(&found[0], &found[i]);
    if (count > 0 && text[0] == '\0') snprintf(text, sizeof text, "the loader finds no other");
}

const char *duo_blas_rivals_text(void) { return text; }
