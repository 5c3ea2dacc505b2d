/*
 * cpu_loops_body.h - the loops; see cpu_loops.h. Included by cpu_loops_<isa>.c, which defines
 * LOOPS, the table's name, and VECTOR_BYTES.
 */
#include <math.h>
#include <omp.h>

#include "cpu_loops.h"

/* ---- Shares of all threads ---- */

/* Elements of a thread's share begin on a cache line where the vectors do. */
enum { LINE_FLOATS = 16 };

typedef struct share {
    int64_t first, count;
} share;

static share my_share(int64_t n)
{
    const int threads = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t each = n / threads / LINE_FLOATS * LINE_FLOATS;
    return (share){me * each, me == threads - 1 ? n - me * each : each};
}

/* ---- OpenMP simd ---- */

/*
 * With one sum, gcc adds each vector to the one before it, and the loop waits for its own additions.
 * Four sums, of a quarter of the data each, are what it takes to keep a plain loop busy.
 */
#define DUO_REDUCE(name, TERM)                                                                     \
    static float name##_share(int64_t n, const float *x, const float *y)                           \
    {                                                                                              \
        const int64_t q = n / 4;                                                                   \
        float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;                                              \
        (void)y;                                                                                   \
        _Pragma("omp simd reduction(+ : a, b, c, d)") for (int64_t i = 0; i < q; i++)              \
        {                                                                                          \
            a += TERM(i);                                                                          \
            b += TERM(i + q);                                                                      \
            c += TERM(i + 2 * q);                                                                  \
            d += TERM(i + 3 * q);                                                                  \
        }                                                                                          \
        for (int64_t i = 4 * q; i < n; i++) a += TERM(i);                                          \
        return (a + b) + (c + d);                                                                  \
    }                                                                                              \
    static float name(int64_t n, const float *x, const float *y, int threads)                      \
    {                                                                                              \
        float all = 0.0f;                                                                          \
        if (threads == 1) return name##_share(n, x, y);                                            \
        _Pragma("omp parallel num_threads(threads) reduction(+ : all)")                            \
        {                                                                                          \
            const share s = my_share(n);                                                           \
            all += name##_share(s.count, x + s.first, y == NULL ? NULL : y + s.first);             \
        }                                                                                          \
        return all;                                                                                \
    }

#define PLAIN(i)    x[i]
#define ABSOLUTE(i) fabsf(x[i])
#define PRODUCT(i)  (x[i] * y[i])
DUO_REDUCE(sum, PLAIN)
DUO_REDUCE(absolute_sum, ABSOLUTE)
DUO_REDUCE(dot, PRODUCT)

/* ---- Read ---- */

enum { CHAINS = 8, VECTOR_FLOATS = VECTOR_BYTES / 4 };

typedef uint32_t word __attribute__((may_alias));
typedef uint32_t vector __attribute__((vector_size(VECTOR_BYTES), may_alias));

static uint32_t read_run(int64_t n, const float *x)
{
    const word *const from = (const word *)x;
    vector seen[CHAINS] = {{0}};
    uint32_t all = 0;
    int64_t i = 0;
    for (; i < n && (uintptr_t)(from + i) % VECTOR_BYTES != 0; i++) all |= from[i];
    for (; i + CHAINS * VECTOR_FLOATS <= n; i += CHAINS * VECTOR_FLOATS)
        for (int c = 0; c < CHAINS; c++) seen[c] |= *(const vector *)(from + i + c * VECTOR_FLOATS);
    for (; i + VECTOR_FLOATS <= n; i += VECTOR_FLOATS) seen[0] |= *(const vector *)(from + i);
    for (; i < n; i++) all |= from[i];
    for (int c = 1; c < CHAINS; c++) seen[0] |= seen[c];
    for (int lane = 0; lane < VECTOR_FLOATS; lane++) all |= seen[0][lane];
    return all;
}

static uint32_t read_share(share s, const float *x, const float *y)
{
    const uint32_t all = read_run(s.count, x + s.first);
    return y == NULL ? all : all | read_run(s.count, y + s.first);
}

static uint32_t read_all(int64_t n, const float *x, const float *y, int threads)
{
    uint32_t all = 0;
    if (threads == 1) return read_share((share){0, n}, x, y);
#pragma omp parallel num_threads(threads) reduction(| : all)
    all |= read_share(my_share(n), x, y);
    return all;
}

const duo_cpu_loops LOOPS = {
    .reduce = {[DUO_SASUM] = absolute_sum, [DUO_SSUM] = sum, [DUO_SDOT] = dot},
    .read = read_all,
};
