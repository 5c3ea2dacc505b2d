/* ladder_list.c - lists the implementations of a problem: our algorithms, their peers, and bare
 * reads. */
#include <math.h>
#include <string.h>

#include "bench/experiments/ladder.h"
#include "bench/experiments/setup.h"
#include "bench/peers/cpu_loops.h"
#include "bench/peers/cublas.h"
#include "bench/peers/gpu_peers.h"
#include "bench/peers/openblas.h"

/* Algorithms that would take longer for one call are left out. */
static const double kLongestCallSeconds = 20.0;

/* Lists a CPU algorithm with the number of threads that the library would choose. */
static int add_cpu(const duo_bench *b, const duo_problem *problem, const duo_algorithm *algorithm,
                   duo_measurement *m)
{
    const duo_call call = duo_problem_call(problem, &b->host, 0);
    duo_conditions conditions;
    if (!duo_bench_conditions(b, algorithm, &call, &conditions)) return 0;
    int threads;
    const double seconds = algorithm->cost(&call, &conditions, &threads);
    if (!isfinite(seconds))
        threads = b->threads; /* not in the profile */
    else if (seconds > kLongestCallSeconds)
        return 0;
    m->implementation = duo_cpu_implementation(algorithm, threads, &b->host);
    return 1;
}

static int add_gpu(const duo_bench *b, const duo_problem *problem, const duo_algorithm *algorithm,
                   duo_measurement *m)
{
    const duo_call call = duo_problem_call(problem, &b->resident, 0);
    duo_conditions conditions;
    if (!duo_bench_conditions(b, algorithm, &call, &conditions)) return 0;
    m->implementation = duo_gpu_implementation(algorithm, b->queue, &b->resident, b->wait);
    m->implementation.packed = problem->operation == DUO_SGEMM ? b->prepared : 0;
    return 1;
}

static int list_cpu(const duo_bench *b, const duo_problem *problem, duo_measurement *list)
{
    const duo_algorithm_table table = duo_algorithm_tables[problem->operation];
    int count = 0;
    /* The tables begin with the best, but the list with the simplest. */
    for (int i = table.count - 1; i >= 0; i--)
        if (table.algorithm[i].side == DUO_SIDE_CPU)
            count += add_cpu(b, problem, &table.algorithm[i], &list[count]);
    count +=
        duo_peer_openblas(&list[count].implementation, problem->operation, b->threads, &b->host);
    /* Loops run on one thread and on all: the faster one depends on n. */
    for (int i = 0; i < (b->threads > 1 ? 2 : 1) && problem->operation != DUO_SGEMM; i++) {
        const int threads = i == 0 ? 1 : b->threads;
        for (int v = 0; duo_peer_openmp_simd(&list[count].implementation, v, threads, &b->host);
             v++)
            count++;
        for (int v = 0; duo_bare_read_cpu(&list[count].implementation, v, threads, &b->host); v++)
            count++;
    }
    return count;
}

/* Lists cuBLAS. For a square product every layout is the same work on the same data, so its best
 * layout counts. */
static int list_cublas(const duo_bench *b, const duo_problem *problem, duo_measurement *list)
{
    const int64_t *const s = problem->shape;
    const bool square = problem->operation == DUO_SGEMM && s[0] == s[1] && s[1] == s[2];
    int count = 0;
    for (int layout = 0; layout < (square ? 4 : 1); layout++) {
        duo_measurement *const m = &list[count];
        m->problem = *problem;
        if (square) {
            m->problem.transa = layout / 2 != 0;
            m->problem.transb = layout % 2 != 0;
        }
        count += b->wait
                     ? duo_peer_cublas_to_host(&m->implementation, problem->operation, &b->resident)
                     : duo_peer_cublas(&m->implementation, problem->operation, &b->resident, false);
    }
    return count;
}

static int list_gpu(const duo_bench *b, const duo_problem *problem, duo_measurement *list)
{
    const duo_algorithm_table table = duo_algorithm_tables[problem->operation];
    const bool reduction = problem->operation != DUO_SGEMM;
    int count = 0;
    for (int i = 0; i < table.count; i++)
        if (table.algorithm[i].side == DUO_SIDE_GPU)
            count += add_gpu(b, problem, &table.algorithm[i], &list[count]);
    if (b->wait)
        list[count++].implementation = duo_api_implementation(b->context, &b->resident, false);
    if (b->cublas_why == NULL) count += list_cublas(b, problem, &list[count]);
    if (reduction && b->gpu_peers) {
        for (int promise = 0; promise < DUO_CUB_PROMISES; promise++)
            count += duo_peer_cub(&list[count].implementation, problem->operation,
                                  (duo_cub_promise)promise, b->queue, &b->resident,
                                  b->wait ? b->pinned : NULL);
        for (int i = 0;
             duo_bare_read_gpu(&list[count].implementation, i, b->queue, &b->resident, b->wait);
             i++)
            count++;
    }
    return count;
}

void duo_ladder_list(const duo_bench *b, duo_ladder *ladder)
{
    ladder->count = 0;
    memset(ladder->measurement, 0, sizeof ladder->measurement);
    for (int i = 0; i < DUO_MEASUREMENTS; i++) ladder->measurement[i].problem = ladder->problem;
    if (b->sides[DUO_SIDE_CPU]) ladder->count += list_cpu(b, &ladder->problem, ladder->measurement);
    if (b->sides[DUO_SIDE_GPU] && b->gpu)
        ladder->count += list_gpu(b, &ladder->problem, ladder->measurement + ladder->count);
}
