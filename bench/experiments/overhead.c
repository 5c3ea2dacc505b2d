/*
 * overhead.c - nanoseconds of a tiny call: the public API with a NULL context beside CBLAS of the
 * inner library. That library computes on one thread.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/experiments/experiments.h"
#include "bench/peers/openblas.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

enum {
    OPERATIONS = 3,
    LENGTHS = 14,
    EDGES = 7,
    LONGEST = 1 << 16,
    BENCHMARKS = 2 * (OPERATIONS * LENGTHS + EDGES)
};

typedef duo_status (*api_sum)(duo_context *, int64_t, const float *, int64_t, float *);

/* A tiny call by the API or by CBLAS; one of the `their` functions is set. */
typedef struct tiny {
    duo_operation operation;
    int n;
    duo_cblas_sum theirs;
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

/* ---- The list: ours and theirs of each case, one behind the other ---- */

/* Finds the function of the inner BLAS. False: it has none. */
static bool find_theirs(tiny *t)
{
    if (t->operation == DUO_SGEMM) t->their_gemm = duo_peer_cblas_gemm();
    if (t->operation == DUO_SDOT) t->their_dot = duo_peer_cblas_dot();
    if (t->operation == DUO_SASUM || t->operation == DUO_SSUM)
        t->theirs = duo_peer_cblas_sum(t->operation);
    return t->their_gemm != NULL || t->their_dot != NULL || t->theirs != NULL;
}

static bool add(tiny *work, duo_benchmark *benchmark, int *count, duo_operation operation, int n)
{
    const bool matrix = operation == DUO_SGEMM;
    for (int peer = 0; peer < 2; peer++) {
        tiny *const t = &work[*count];
        *t = (tiny){.operation = operation, .n = n};
        if (peer == 1 && !find_theirs(t)) {
            fprintf(stderr, "duoblas: the CPU's BLAS has no CBLAS %s to compare with\n",
                    duo_operation_name(operation));
            return false;
        }
        benchmark[(*count)++] =
            (duo_benchmark){.run = peer == 1 ? (matrix ? multiply_theirs : run_theirs)
                                             : (matrix ? multiply_ours : run_ours),
                            .user = t};
    }
    return true;
}

/* Lists the calls; returns how many. 0: nothing to compare with, which was said on stderr. */
static int list(tiny *work, duo_benchmark *benchmark)
{
    static const int edges[EDGES] = {2, 3, 4, 8, 12, 16, 32};
    static const int lengths[LENGTHS] = {1,    4,    16,   64,   100,     256,     500,
                                         1000, 1500, 2048, 4096, 1 << 13, 1 << 14, LONGEST};
    static const duo_operation operations[OPERATIONS] = {DUO_SASUM, DUO_SSUM, DUO_SDOT};
    int count = 0;
    for (int i = 0; i < OPERATIONS; i++)
        for (int j = 0; j < LENGTHS; j++)
            if (!add(work, benchmark, &count, operations[i], lengths[j])) return 0;
    for (int i = 0; i < EDGES; i++)
        if (!add(work, benchmark, &count, DUO_SGEMM, edges[i])) return 0;
    return count;
}

/* ---- Command ---- */

static void print(const tiny *work, const duo_benchmark *benchmark, int count, int rounds)
{
    char blas[384];
    printf("Tiny calls: NULL context, data in cache, median of %d rounds\nBLAS  %s\n", rounds,
           duo_text_blas(blas, sizeof blas));
    duo_text_blas_warning("      ", stdout);
    printf("\n  %-6s %5s  %21s  %21s  %21s\n  %-6s %5s  %10s %10s  %10s %10s  %10s %10s\n", "", "",
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
}

int duo_bench_overhead(duo_bench *b)
{
    (void)b;
    static const duo_effort effort = {.sample_seconds = 0.005, .rounds = 41, .budget_seconds = 5.0};
    tiny work[BENCHMARKS];
    duo_benchmark benchmark[BENCHMARKS];
    duo_fill_random(x, LONGEST, 1);
    duo_fill_random(y, LONGEST, 2);
    const int count = list(work, benchmark);
    if (count == 0) return DUO_EXIT_FAILURE;
    duo_blas_instance *const peer = duo_blas_instance_get();
    const int before = duo_blas_instance_begin(peer, 1);
    duo_measure(benchmark, count, &effort);
    duo_blas_instance_end(peer, before);
    print(work, benchmark, count, effort.rounds);
    return EXIT_SUCCESS;
}
