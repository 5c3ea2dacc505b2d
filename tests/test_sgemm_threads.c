/*
 * test_sgemm_threads.c - products of several callers at once, each with another number of
 * threads than the one before, and beside the program's own use of the same BLAS library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/sanitizers.h"

/* Seconds that each of these takes: DUOBLAS_TEST_SECONDS, or a few. */
static double test_seconds(void)
{
    const char *const asked = getenv("DUOBLAS_TEST_SECONDS");
    return asked != NULL ? atof(asked) : 3.0;
}

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef void (*fortran_sgemm)(const char *, const char *, const int *, const int *, const int *,
                              const float *, const float *, const int *, const float *, const int *,
                              const float *, float *, const int *, long, long);

typedef struct multiplier {
    int edge;
    float *a, *want, *got; /* squares of a; integers */
    double until;
    /* The program's own BLAS; NULL: ours. */
    fortran_sgemm own;
    void (*set_own_threads)(int);
    int64_t calls, wrong_calls, wrong_elements;
    int failed;
} multiplier;

static multiplier new_multiplier(int edge, double until)
{
    const size_t floats = (size_t)edge * (size_t)edge;
    multiplier w = {.edge = edge,
                    .a = malloc(floats * sizeof(float)),
                    .want = calloc(floats, sizeof(float)),
                    .got = malloc(floats * sizeof(float)),
                    .until = until};
    if (w.a == NULL || w.want == NULL || w.got == NULL) abort();
    for (size_t i = 0; i < floats; i++) w.a[i] = (float)((i * 7 + i / 11) % 17) - 8.0f;
    for (int j = 0; j < edge; j++)
        for (int p = 0; p < edge; p++)
            for (int i = 0; i < edge; i++)
                w.want[i + j * edge] += w.a[i + p * edge] * w.a[p + j * edge];
    return w;
}

static void *multiply_until(void *argument)
{
    multiplier *const w = argument;
    test_rng rng = {(uint64_t)w->edge};
    const int n = w->edge;
    const float one = 1.0f, zero = 0.0f;
    duo_context *ctx = NULL;
    w->failed += duo_create(&ctx) != DUO_OK || duo_set_path(ctx, DUO_PATH_CPU) != DUO_OK;
    while (now_seconds() < w->until) {
        const int threads = (int)test_between(&rng, 1, 8);
        for (int i = 0; i < n * n; i++) w->got[i] = test_poison();
        if (w->own != NULL) {
            w->set_own_threads(threads);
            w->own("N", "N", &n, &n, &n, &one, w->a, &n, w->a, &n, &zero, w->got, &n, 1, 1);
        } else {
            w->failed += duo_set_threads(ctx, threads) != DUO_OK;
            w->failed += duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n, 1.0f,
                                   w->a, n, w->a, n, 0.0f, w->got, n) != DUO_OK;
        }
        int64_t wrong = 0;
        for (int i = 0; i < n * n; i++) wrong += !(w->got[i] == w->want[i]);
        w->calls++;
        w->wrong_calls += wrong > 0;
        w->wrong_elements += wrong;
    }
    w->failed += duo_destroy(ctx) != DUO_OK;
    return NULL;
}

/* Four threads with sizes of their own, and the program's own products if it has a BLAS. */
static void multiply_in_threads(fortran_sgemm own, void (*set_own_threads)(int))
{
    static const int edges[] = {700, 300, 250, 200, 500};
    enum { OURS = 4, MOST = 5 };
    const int count = own != NULL ? MOST : OURS;
    multiplier workers[MOST];
    pthread_t threads[MOST];
    const double seconds = test_seconds();
    for (int i = 0; i < count; i++) workers[i] = new_multiplier(edges[i], 0.0);
    const double until = now_seconds() + seconds;
    for (int i = 0; i < count; i++) {
        workers[i].until = until;
        if (i == OURS) {
            workers[i].own = own;
            workers[i].set_own_threads = set_own_threads;
        }
        if (pthread_create(&threads[i], NULL, multiply_until, &workers[i]) != 0) abort();
    }
    int64_t calls = 0;
    for (int i = 0; i < count; i++) {
        multiplier *const w = &workers[i];
        pthread_join(threads[i], NULL);
        calls += w->calls;
        CHECK(w->failed == 0 && w->wrong_calls == 0 && w->calls > 0,
              "%d: %jd of %jd products are wrong, in %jd elements; %d statuses", w->edge,
              (intmax_t)w->wrong_calls, (intmax_t)w->calls, (intmax_t)w->wrong_elements, w->failed);
        free(w->a);
        free(w->want);
        free(w->got);
    }
    printf("    %jd products\n", (intmax_t)calls);
}

/* Products are the library's, as far as their threads allow: ours seem slow. */
static void prefer(const duo_blas_library *library)
{
    static duo_profile p;
    p = *duo_profile_built_in("generic");
    duo_curve *const ours = &p.curve[DUO_sgemm_cpu_ffma];
    for (int i = 0; i < ours->count; i++) ours->seconds[i] *= 10.0;
    snprintf(p.blas, sizeof p.blas, "%s", library != NULL ? library->name : "none");
    duo_profile_use(&p);
}

/* A number of threads drawn anew for each call. DUOBLAS_TEST_SECONDS=600 goes on for 600 s. */
static void sgemm_threads_mixed(void)
{
    test_case("sgemm-threads-mixed");
    const duo_blas_library *const library = duo_blas_library_get();
    if (UNDER_TSAN && library != NULL && strstr(library->config, "USE_OPENMP") != NULL)
        CHECK(dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD) != NULL,
              "the inner BLAS's OpenMP is not in the process");
    prefer(library);
    multiply_in_threads(NULL, NULL);
    duo_profile_reset();
}

/* The same beside a thread of the program that uses the same file with threads of its own. */
static void sgemm_beside_own(void)
{
    const duo_blas_library *const library = duo_blas_library_get();
    void *const handle = library != NULL ? dlopen(library->path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *const sgemm = handle != NULL ? dlsym(handle, "sgemm_") : NULL,
                *const set = handle != NULL ? dlsym(handle, "openblas_set_num_threads") : NULL;
    const bool wide = library != NULL && strstr(library->config, "USE64BITINT") != NULL;
    if (sgemm == NULL || set == NULL || wide || UNDER_TSAN) {
        test_skip("an OpenBLAS is needed, and no thread sanitizer: its own threads are not seen");
        return;
    }
    fortran_sgemm own;
    void (*set_own_threads)(int);
    memcpy(&own, &sgemm, sizeof sgemm);
    memcpy(&set_own_threads, &set, sizeof set);
    test_case("sgemm-beside-own/%s", library->path);
    prefer(library);
    multiply_in_threads(own, set_own_threads);
    duo_profile_reset();
}

static const test_entry tests[] = {
    {"sgemm_threads_mixed", sgemm_threads_mixed},
    {"sgemm_beside_own", sgemm_beside_own},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "sgemm_threads", tests); }
