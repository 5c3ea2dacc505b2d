/*
 * victim.c - a program whose memory is short: 20 products of 300^3 and 20 sums, while allocations
 * and maps of all libraries fail at random (failing.h).
 *
 *     victim native|blas LIBRARY SEED PERCENT
 *
 * It calls the library by the names of duoblas.h or of BLAS. Exit
 * status 10: a result is wrong; 11: one is missing, as a status says.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing.h"

enum { EDGE = 300, TIMES = 20, SIZE = EDGE * EDGE };
enum { WRONG = 10, MISSING = 11 };

typedef int native_sgemm(void *, int, int, int, int64_t, int64_t, int64_t, float, const float *,
                         int64_t, const float *, int64_t, float, float *, int64_t);
typedef int native_sasum(void *, int64_t, const float *, int64_t, float *);
typedef void blas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                        float, float *, int);
typedef float blas_sasum(int, const float *, int);

static float a[SIZE], ones[SIZE], c[SIZE];

static void *function(void *library, const char *name)
{
    void *const found = dlsym(library, name);
    if (found == NULL) exit(2);
    return found;
}

int main(int argc, char **argv)
{
    int wrong = 0, missing = 0;
    if (argc != 5) return 2;
    const int native = strcmp(argv[1], "native") == 0;
    void *const library = dlopen(argv[2], RTLD_NOW);
    if (library == NULL) return 2;
    void *const multiply = function(library, native ? "duo_sgemm" : "cblas_sgemm");
    void *const add = function(library, native ? "duo_sasum" : "cblas_sasum");
    native_sgemm *n_sgemm;
    native_sasum *n_sasum;
    blas_sgemm *b_sgemm;
    blas_sasum *b_sasum;
    memcpy(&n_sgemm, &multiply, sizeof multiply);
    memcpy(&b_sgemm, &multiply, sizeof multiply);
    memcpy(&n_sasum, &add, sizeof add);
    memcpy(&b_sasum, &add, sizeof add);
    for (int i = 0; i < SIZE; i++) a[i] = (float)(i % EDGE % 5), ones[i] = 1.0f;
    failing_arm_at_random(atoi(argv[4]), (unsigned)atoi(argv[3]));
    for (int t = 0; t < TIMES; t++) {
        int status = 0;
        float sum = -1.0f;
        memset(c, 0, sizeof c);
        if (native)
            status = n_sgemm(NULL, 102, 111, 111, EDGE, EDGE, EDGE, 1.0f, a, EDGE, ones, EDGE, 0.0f,
                             c, EDGE);
        else
            b_sgemm(102, 111, 111, EDGE, EDGE, EDGE, 1.0f, a, EDGE, ones, EDGE, 0.0f, c, EDGE);
        for (int i = 0; i < SIZE && status == 0; i++) wrong += !(c[i] == EDGE * a[i]);
        missing += status != 0;
        if (native)
            missing += n_sasum(NULL, SIZE, a, 1, &sum) != 0;
        else
            sum = b_sasum(SIZE, a, 1);
        wrong += !(sum == SIZE * 2.0f);
    }
    failing_disarm();
    return wrong > 0 ? WRONG : missing > 0 ? MISSING : 0;
}
