/* problem.c - see problem.h */
#include "bench/measure/problem.h"

#include <math.h>
#include <unistd.h>

int64_t duo_problem_columns(const duo_problem *problem, int i)
{
    const int64_t m = problem->shape[0], n = problem->shape[1], k = problem->shape[2];
    return i == DUO_A ? (problem->transa ? m : k) : i == DUO_B ? (problem->transb ? k : n) : n;
}

int64_t duo_problem_rows(const duo_problem *problem, int i)
{
    const int64_t m = problem->shape[0], n = problem->shape[1], k = problem->shape[2];
    return i == DUO_A ? (problem->transa ? k : m) : i == DUO_B ? (problem->transb ? n : k) : m;
}

int64_t duo_problem_ld(const duo_problem *problem, int i)
{
    return duo_problem_rows(problem, i) + problem->gap[i];
}

int64_t duo_batch_problem_stride(const duo_batch_problem *batch, int i)
{
    const duo_problem *const p = &batch->product;
    return duo_problem_columns(p, i) * duo_problem_ld(p, i) + batch->gap[i];
}

double duo_problem_flops(const duo_problem *problem)
{
    const double m = (double)problem->shape[0];
    switch (problem->operation) {
    case DUO_SGEMM:
        return 2.0 * m * (double)problem->shape[1] * (double)problem->shape[2];
    case DUO_SDOT:
        return 2.0 * m;
    default:
        return m;
    }
}

double duo_problem_bytes(const duo_problem *problem)
{
    const double m = (double)problem->shape[0], n = (double)problem->shape[1],
                 k = (double)problem->shape[2];
    switch (problem->operation) {
    case DUO_SGEMM:
        return 4.0 * (m * k + k * n + m * n);
    case DUO_SDOT:
        return 8.0 * m;
    default:
        return 4.0 * m;
    }
}

bool duo_problem_fits(const duo_problem *problem)
{
    return duo_problem_bytes(problem) <=
           (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

double duo_problem_size(const duo_problem *problem)
{
    return problem->operation == DUO_SGEMM
               ? cbrt((double)problem->shape[0] * (double)problem->shape[1] *
                      (double)problem->shape[2])
               : (double)problem->shape[0];
}

double duo_problem_growth(const duo_problem *problem)
{
    return problem->operation == DUO_SGEMM ? 3.0 : 1.0;
}
