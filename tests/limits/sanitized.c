/* sanitized.c - a program that a user compiles with a sanitizer, with all operations, in several
 * threads too, beside a kept array. Exit status 1: a result is wrong. */
#include <duoblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 200, THREADS = 2 };

static int wrong;

static void check(int good)
{
    if (!good) __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static void *work(void *unused)
{
    float *const a = malloc(sizeof(float) * N * N), *const c = malloc(sizeof(float) * N * N);
    duo_context *ctx = NULL;
    float result = 0.0f;
    (void)unused;
    if (a == NULL || c == NULL || duo_create(&ctx) != DUO_OK) exit(2);
    for (int i = 0; i < N * N; i++) a[i] = 1.0f;
    check(duo_sdot(ctx, 2, a, 1, a, 1, &result) == DUO_OK && result == 2.0f);
    check(duo_ssum(ctx, N * N, a, 1, &result) == DUO_OK && result == (float)(N * N));
    check(duo_keep(ctx, a, sizeof(float) * N * N) == DUO_OK);
    for (int size = 4; size <= N; size += 49) {
        check(duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, size, size, size, 1.0f, a, N,
                        a, N, 0.0f, c, N) == DUO_OK);
        check(c[0] == (float)size && c[size - 1 + (size - 1) * N] == (float)size);
    }
    check(duo_release(ctx, a) == DUO_OK);
    check(duo_destroy(ctx) == DUO_OK);
    free(a);
    free(c);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, NULL) != 0) return 2;
    (void)work(NULL);
    for (int i = 0; i < THREADS; i++) (void)pthread_join(thread[i], NULL);
    if (wrong) puts("a result is wrong");
    return wrong;
}
