/*
 * introduction.c - the introductory experiment: sums of 2^12 .. 2^27 floats from host arrays, from
 * resident arrays and on the CPU, and products of n = 1000 and 4092, from naive to cuBLAS.
 *
 * The host waits after every call, like a program that needs each result. So the times include the
 * launch and the way of the result. numba_reference.py times the same cases in Python.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/setup.h"
#include "bench/peers/cublas.h"
#include "bench/peers/openblas.h"
#include "bench/studies/studies.h"
#include "bench/tool/tool.h"

enum { FIRST_EXPONENT = 12, LAST_EXPONENT = 27 };
/* GPU algorithms of sgemm, OpenBLAS, cuBLAS and the API. */
enum { MOST = DUO_SGEMM_ALGORITHMS + 3 };
static const int64_t edges[] = {1000, 4092};
enum { EDGES = sizeof edges / sizeof edges[0] };

/* Sets the median seconds of `count` implementations of one problem; 0: it failed. */
static void time_all(const duo_bench *b, const duo_problem *problem,
                     const duo_implementation *implementation, int count, double *seconds)
{
    duo_benchmark benchmark[MOST];
    duo_effort effort = duo_bench_effort(b);
    effort.settle_seconds = duo_peer_settle_seconds();
    for (int i = 0; i < count; i++)
        if (!duo_benchmark_open(&benchmark[i], &implementation[i], problem)) exit(DUO_EXIT_FAILURE);
    duo_measure(benchmark, count, &effort);
    for (int i = 0; i < count; i++) {
        seconds[i] = benchmark[i].median_seconds;
        duo_benchmark_close(&benchmark[i]);
    }
}

static const duo_algorithm *algorithm_of(duo_operation operation, duo_side side)
{
    const duo_algorithm_table table = duo_algorithm_tables[operation];
    for (int i = 0; i < table.count; i++)
        if (table.algorithm[i].side == side &&
            duo_algorithm_serves(&table.algorithm[i], DUO_MATH_ACCURATE))
            return &table.algorithm[i];
    return NULL;
}

static void print_microseconds(double seconds)
{
    if (seconds > 0.0)
        printf("  %14.1f", seconds * 1e6);
    else
        printf("  %14s", "-");
}

_Static_assert(MOST >= 4, "a sum has four implementations");

static void print_sums(duo_bench *b, duo_operation operation)
{
    printf("\n%s, microseconds\n  %11s  %14s  %14s  %14s\n", duo_operation_name(operation), "n",
           "CPU", "GPU, from host", "GPU, resident");
    for (int e = FIRST_EXPONENT; e <= LAST_EXPONENT; e++) {
        const duo_problem problem = {.operation = operation, .shape = {INT64_C(1) << e, 1, 1}};
        const duo_algorithm *const algorithm = algorithm_of(operation, DUO_SIDE_CPU);
        duo_implementation implementation[MOST] = {
            duo_cpu_implementation(algorithm, 1, &b->host),
            duo_cpu_implementation(algorithm, b->threads, &b->host),
            duo_api_implementation(b->context, &b->host, true),
            duo_api_implementation(b->context, &b->resident, true),
        };
        double seconds[MOST] = {0};
        time_all(b, &problem, implementation, b->gpu ? 4 : 2, seconds);
        printf("  2^%-2d %6s", e, "");
        print_microseconds(seconds[0] < seconds[1] ? seconds[0] : seconds[1]);
        print_microseconds(seconds[2]);
        print_microseconds(seconds[3]);
        printf("\n");
        fflush(stdout);
    }
}

static void print_products(duo_bench *b)
{
    printf("\nsgemm, n x n x n, microseconds; GPU: resident, the host waits after every call\n");
    for (int e = 0; e < EDGES; e++) {
        const duo_problem problem = {.operation = DUO_SGEMM,
                                     .shape = {edges[e], edges[e], edges[e]}};
        const duo_algorithm_table table = duo_algorithm_tables[DUO_SGEMM];
        duo_implementation implementation[MOST];
        double seconds[MOST] = {0};
        int count = 0;
        if (duo_peer_openblas(&implementation[count], DUO_SGEMM, b->threads, &b->host)) count++;
        const duo_call call = duo_problem_call(&problem, &b->resident, 0);
        for (int i = 0; i < table.count && b->gpu; i++) {
            duo_conditions conditions;
            if (table.algorithm[i].side == DUO_SIDE_GPU &&
                duo_bench_conditions(b, &table.algorithm[i], &call, &conditions))
                implementation[count++] =
                    duo_gpu_implementation(&table.algorithm[i], b->queue, &b->resident, true);
        }
        if (b->gpu && b->cublas_why == NULL &&
            duo_peer_cublas(&implementation[count], DUO_SGEMM, &b->resident, true))
            count++;
        if (b->gpu) {
            implementation[count] = duo_api_implementation(b->context, &b->host, true);
            implementation[count++].name = "duo_sgemm, from host";
        }
        time_all(b, &problem, implementation, count, seconds);
        for (int i = 0; i < count; i++) {
            printf("  n = %-6lld %-24s", (long long)edges[e], implementation[i].name);
            print_microseconds(seconds[i]);
            printf("\n");
        }
        fflush(stdout);
    }
}

int duo_bench_introduction(duo_bench *b)
{
    const duo_problem largest[] = {
        {.operation = DUO_SSUM, .shape = {INT64_C(1) << LAST_EXPONENT, 1, 1}},
        {.operation = DUO_SGEMM, .shape = {edges[1], edges[1], edges[1]}}};
    if (!duo_bench_open(b, largest, 2)) {
        duo_bench_close(b);
        return DUO_EXIT_FAILURE;
    }
    duo_bench_head(b);
    print_sums(b, DUO_SSUM);
    print_sums(b, DUO_SASUM);
    print_products(b);
    duo_bench_close(b);
    return EXIT_SUCCESS;
}
