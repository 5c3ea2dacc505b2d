/*
 * threads.c - several threads, each with a context of its own: queues that work at the same time. A
 * is kept once, and every context sees it. C := A B by blocks of columns, one for each thread.
 */
#include <duoblas.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { N = 512, THREADS = 4, COLUMNS = N / THREADS };

static float a[N * N], b[N * N], c[N * N];

/* The columns of C that begin at `first`; returns NULL on success. */
static void *multiply(void *first)
{
    float *const block = first;
    const long column = (block - c) / N;
    duo_context *ctx; /* only for this thread. With NULL each thread has a default one, too. */
    if (duo_create(&ctx) != DUO_OK) return first;
    duo_status status = duo_set_threads(ctx, 1); /* the CPU's cores are shared by hand here */
    if (status == DUO_OK)
        status = duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, COLUMNS, N, 1, a, N,
                           b + column * N, N, 0, block, N);
    const duo_status ended = duo_destroy(ctx);
    return status == DUO_OK && ended == DUO_OK ? NULL : first;
}

int main(void)
{
    pthread_t thread[THREADS];
    int failed = 0, started = 0;
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 31 - 15) / 16;
        b[i] = (float)(i % 29 - 14) / 16;
        c[i] = NAN;
    }
    failed += duo_keep(NULL, a, sizeof a) != DUO_OK;
    for (; started < THREADS; started++)
        if (pthread_create(&thread[started], NULL, multiply, &c[started * COLUMNS * N]) != 0) break;
    for (int t = 0; t < started; t++) {
        void *outcome;
        failed += pthread_join(thread[t], &outcome) != 0 || outcome != NULL;
    }
    failed += started < THREADS;
    failed += duo_release(NULL, a) != DUO_OK;

    for (int e = 0; e < N * N; e += 101) { /* the error that the header promises */
        double sum = 0, magnitude = 0;
        for (int l = 0; l < N; l++) {
            sum += (double)a[e % N + l * N] * b[l + e / N * N];
            magnitude += fabs((double)a[e % N + l * N] * b[l + e / N * N]);
        }
        failed += !(fabs(c[e] - sum) <= (N + 3) * 0x1p-24 * magnitude); /* NaN fails */
    }
    printf("%d contexts: %s\n", THREADS, failed == 0 ? "right" : "WRONG");
    return failed == 0 ? 0 : 1;
}
