/*
 * overhead.c - nanoseconds of a tiny call: the public API with a NULL context beside CBLAS of
 * the inner library, which computes on one thread.
 */
#include <stdlib.h>

#include "bench/experiments/bench.h"
#include "bench/peers/openblas.h"

enum {
    OPERATIONS = 3,
    LENGTHS = 14,
    EDGES = 7,
    LONGEST = 1 << 16,
    BENCHMARKS = 2 * (OPERATIONS * LENGTHS + EDGES)
};

typedef duo_status (*api_sum)(duo_context *, int64_t, const float *, int64_t, float *);

typedef struct tiny {
    duo_operation operation;
    int n;
    duo_cblas_sum theirs; /* NULL: ours */
    duo_cblas_dot their_dot;
    duo_cblas_gemm their_gemm;
} tiny;

static _Alignas(64) float x[LONGEST], y[LONGEST], c[LONGEST];
static volatile float sink;

static bool run_ours(void *user, int64_t calls)
{
    const tiny *const t = user;
    float result = 0.0f;
    const api_sum sum = t->operation == DUO_SASUM ? duo_sasum : duo_ssum;
    if (t->operation == DUO_SDOT)
        for (int64_t i = 0; i < calls; i++) (void)duo_sdot(NULL, t->n, x, 1, y, 1, &result);
    else
        for (int64_t i = 0; i < calls; i++) (void)sum(NULL, t->n, x, 1, &result);
    sink = result;
    return true;
}

static bool run_theirs(void *user, int64_t calls)
{
    const tiny *const t = user;
    float result = 0.0f;
    if (t->operation == DUO_SDOT)
        for (int64_t i = 0; i < calls; i++) result = t->their_dot(t->n, x, 1, y, 1);
    else
        for (int64_t i = 0; i < calls; i++) result = t->theirs(t->n, x, 1);
    sink = result;
    return true;
}

static bool multiply_ours(void *user, int64_t calls)
{
    const int n = ((const tiny *)user)->n;
    for (int64_t i = 0; i < calls; i++)
        (void)duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n, 1.0f, x, n, y, n,
                        0.0f, c, n);
    return true;
}

static bool multiply_theirs(void *user, int64_t calls)
{
    const tiny *const t = user;
    const int n = t->n;
    for (int64_t i = 0; i < calls; i++)
        t->their_gemm(DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n, 1.0f, x, n, y, n, 0.0f, c,
                      n);
    return true;
}

int duo_bench_overhead(void)
{
    static const int edges[EDGES] = {2, 3, 4, 8, 12, 16, 32};
    static const int lengths[LENGTHS] = {1,    4,    16,   64,   100,     256,     500,
                                         1000, 1500, 2048, 4096, 1 << 13, 1 << 14, LONGEST};
    static const duo_operation operations[OPERATIONS] = {DUO_SASUM, DUO_SSUM, DUO_SDOT};
    tiny work[BENCHMARKS];
    duo_benchmark benchmark[BENCHMARKS];
    int count = 0;
    char blas[384];
    duo_fill_random(x, LONGEST, 1);
    duo_fill_random(y, LONGEST, 2);
    for (int i = 0; i < OPERATIONS; i++)
        for (int j = 0; j < LENGTHS; j++)
            for (int peer = 0; peer < 2; peer++) {
                tiny *const t = &work[count];
                *t = (tiny){.operation = operations[i], .n = lengths[j]};
                if (peer && t->operation == DUO_SDOT) t->their_dot = duo_peer_cblas_dot();
                if (peer && t->operation != DUO_SDOT) t->theirs = duo_peer_cblas_sum(t->operation);
                if (peer && t->theirs == NULL && t->their_dot == NULL) {
                    fprintf(stderr, "duoblas: the inner BLAS has no CBLAS %s to compare with\n",
                            duo_operation_name(t->operation));
                    return DUO_EXIT_FAILURE;
                }
                benchmark[count++] =
                    (duo_benchmark){.run = peer ? run_theirs : run_ours, .user = t};
            }
    for (int i = 0; i < EDGES; i++)
        for (int peer = 0; peer < 2; peer++) {
            tiny *const t = &work[count];
            *t = (tiny){.operation = DUO_SGEMM, .n = edges[i]};
            if (peer) t->their_gemm = duo_peer_cblas_gemm();
            benchmark[count++] =
                (duo_benchmark){.run = peer ? multiply_theirs : multiply_ours, .user = t};
        }
    duo_blas_instance *const peer = duo_blas_instance_get();
    const int before = duo_blas_instance_begin(peer, 1);
    const duo_effort effort = {.sample_seconds = 0.005, .rounds = 41, .budget_seconds = 5.0};
    duo_measure(benchmark, count, &effort);
    duo_blas_instance_end(peer, before);
    printf("Tiny calls: NULL context, data in cache, median of %d rounds\nBLAS  %s\n",
           effort.rounds, duo_text_blas(blas, sizeof blas));
    duo_text_blas_warning("      ", stdout);
    putchar('\n');
    printf("  %-6s %5s  %21s  %21s  %21s\n  %-6s %5s  %10s %10s  %10s %10s  %10s %10s\n", "", "",
           "duo, ns", "BLAS, ns", "added, ns", "call", "n", "median", "least", "median", "least",
           "median", "least");
    for (int i = 0; i < count; i += 2) {
        const duo_benchmark *const ours = &benchmark[i], *const theirs = &benchmark[i + 1];
        printf("  %-6s %5d  %10.1f %10.1f  %10.1f %10.1f  %+10.1f %+10.1f\n",
               duo_operation_name(work[i].operation), work[i].n, ours->median_seconds * 1e9,
               ours->minimum_seconds * 1e9, theirs->median_seconds * 1e9,
               theirs->minimum_seconds * 1e9, (ours->median_seconds - theirs->median_seconds) * 1e9,
               (ours->minimum_seconds - theirs->minimum_seconds) * 1e9);
    }
    return EXIT_SUCCESS;
}
