/* problem.c - see problem.h */
#include "bench/measure/problem.h"

#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "bench/reference/random.h"

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

/* ---- Random ones ---- */

const char *const duo_shape_class_names[DUO_SHAPE_CLASSES] = {
    [DUO_SHAPE_SQUARE] = "square", [DUO_SHAPE_FLAT] = "flat", [DUO_SHAPE_THIN] = "thin",
    [DUO_SHAPE_DEEP] = "deep",     [DUO_SHAPE_GEMV] = "gemv", [DUO_SHAPE_TINY] = "tiny",
    [DUO_SHAPE_VECTOR] = "vector"};

int64_t duo_random_below(uint64_t *random, int64_t count)
{
    return (int64_t)(duo_random_bits(random) % (uint64_t)count);
}

int64_t duo_random_size(uint64_t *random, int64_t low, int64_t high)
{
    int64_t doublings = 0;
    while (low << (doublings + 1) <= high) doublings++;
    const int64_t first = low << duo_random_below(random, doublings + 1);
    const int64_t last = 2 * first - 1 < high ? 2 * first - 1 : high;
    return first + duo_random_below(random, last - first + 1);
}

/* A random size from 3/4 to 5/4 of an edge. */
static int64_t near(uint64_t *random, int64_t edge)
{
    return edge - edge / 4 + duo_random_below(random, edge / 2 + 1);
}

/* Draws a shape with m or n small, and the other and k not. */
static void one_small(uint64_t *random, int64_t small, int64_t least, int64_t most,
                      int64_t shape[3])
{
    const int64_t which = duo_random_below(random, 2);
    shape[which] = small;
    shape[1 - which] = duo_random_size(random, least, most);
    shape[2] = duo_random_size(random, least, most);
}

static void product_shape(uint64_t *random, duo_shape_class shape_class, int64_t shape[3])
{
    const int64_t edge = duo_random_size(random, 44, 8191);
    switch (shape_class) {
    case DUO_SHAPE_SQUARE:
        for (int i = 0; i < 3; i++) shape[i] = near(random, edge);
        break;
    case DUO_SHAPE_FLAT:
        for (int i = 0; i < 2; i++) shape[i] = duo_random_size(random, 64, 16383);
        shape[2] = duo_random_size(random, 1, 63);
        break;
    case DUO_SHAPE_THIN:
        one_small(random, duo_random_size(random, 9, 128), 64, 32767, shape);
        break;
    case DUO_SHAPE_DEEP:
        for (int i = 0; i < 2; i++) shape[i] = duo_random_size(random, 9, 256);
        shape[2] = duo_random_size(random, 1024, (1 << 20) - 1);
        break;
    case DUO_SHAPE_GEMV:
        one_small(random, duo_random_size(random, 1, 8), 16, 32767, shape);
        break;
    default:
        for (int i = 0; i < 3; i++) shape[i] = duo_random_size(random, 1, 48);
    }
}

static bool small_enough(const int64_t shape[3])
{
    return shape[0] * shape[1] <= DUO_RANDOM_MOST_ELEMENTS &&
           shape[0] * shape[2] <= DUO_RANDOM_MOST_ELEMENTS &&
           shape[1] * shape[2] <= DUO_RANDOM_MOST_ELEMENTS;
}

void duo_random_shape(uint64_t *random, duo_shape_class shape_class, int64_t shape[3])
{
    shape[0] = duo_random_size(random, 1, DUO_RANDOM_MOST_ELEMENTS - 1);
    shape[1] = shape[2] = 1;
    if (shape_class == DUO_SHAPE_VECTOR) return;
    do product_shape(random, shape_class, shape);
    while (!small_enough(shape));
}

enum { GAPS = 7 };

/* Draws all but the shape. */
static void draw_layout(uint64_t *random, duo_problem *p)
{
    static const float betas[] = {0.0f, 0.0f, 1.0f, 0.5f};
    p->transa = duo_random_below(random, 2) == 0;
    p->transb = duo_random_below(random, 2) == 0;
    p->beta = betas[duo_random_below(random, 4)];
    const bool dense = duo_random_below(random, 2) == 0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const int64_t gap = duo_random_below(random, GAPS);
        p->gap[i] = dense ? 0 : gap;
    }
}

duo_problem duo_random_product(uint64_t *random, duo_shape_class shape_class)
{
    duo_problem p = {.operation = DUO_SGEMM};
    duo_random_shape(random, shape_class, p.shape);
    draw_layout(random, &p);
    return p;
}

static int64_t between(int64_t low, int64_t value, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

duo_batch_problem duo_random_batch(uint64_t *random)
{
    enum { FEWEST = 2, MOST = 100000 };
    static const int64_t kLeastWork = 1000000, kMostWork = 5000000000;
    duo_batch_problem b = {.product = {.operation = DUO_SGEMM}};
    int64_t *const s = b.product.shape, most = MOST;
    for (int i = 0; i < 3; i++) s[i] = duo_random_size(random, 1, DUO_RANDOM_BATCH_EDGE);
    draw_layout(random, &b.product);
    const bool gaps = b.product.gap[0] + b.product.gap[1] + b.product.gap[2] > 0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const int64_t gap = duo_random_below(random, GAPS);
        b.gap[i] = gaps ? gap : 0;
        most = between(0, most, DUO_RANDOM_BATCH_FLOATS / duo_batch_problem_stride(&b, i));
    }
    b.count = between(FEWEST, duo_random_size(random, kLeastWork, kMostWork) / (s[0] * s[1] * s[2]),
                      most);
    return b;
}
