/*
 * cpu_loops_body.h - the loops; see cpu_loops.h. cpu_loops_<isa>.c includes it, and defines LOOPS,
 * the table's name, and VECTOR_BYTES.
 */
#include <math.h>
#include <omp.h>

#include "bench/peers/cpu_loops.h"

/* ---- Shares of all threads ---- */

/* If the vectors begin on a cache line, a thread's share does, too. */
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
 * With one sum, gcc adds each vector to the sum of all before, and the loop waits for its own
 * additions. Four sums, of a quarter of the data each, keep a plain loop busy, but take longer to
 * begin and end.
 */
#define DUO_ONE_SUM(name, TERM)                                                                    \
    static float name##_share(int64_t n, const float *x, const float *y)                           \
    {                                                                                              \
        float a = 0.0f;                                                                            \
        (void)y;                                                                                   \
        _Pragma("omp simd reduction(+ : a)") for (int64_t i = 0; i < n; i++) a += TERM(i);         \
        return a;                                                                                  \
    }                                                                                              \
    DUO_SHARED(name)

#define DUO_FOUR_SUMS(name, TERM)                                                                  \
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
    DUO_SHARED(name)

#define DUO_SHARED(name)                                                                           \
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
DUO_ONE_SUM(sum_one, PLAIN)
DUO_ONE_SUM(absolute_sum_one, ABSOLUTE)
DUO_ONE_SUM(dot_one, PRODUCT)
DUO_FOUR_SUMS(sum_four, PLAIN)
DUO_FOUR_SUMS(absolute_sum_four, ABSOLUTE)
DUO_FOUR_SUMS(dot_four, PRODUCT)

/* ---- Read ---- */

enum { CHAINS = 8, VECTOR_FLOATS = VECTOR_BYTES / 4 };

typedef uint32_t word __attribute__((may_alias));
typedef uint32_t vector __attribute__((vector_size(VECTOR_BYTES), may_alias));

/* Reads `streams` runs side by side: 1; or 4, which keep more of the hardware's prefetchers
 * busy. */
static inline __attribute__((always_inline)) uint32_t read_run(int64_t n, const float *x,
                                                               int streams)
{
    const word *from = (const word *)x, *const end = from + n;
    const int vectors = CHAINS / streams; /* of each stream at a time */
    vector seen[CHAINS] = {{0}};
    uint32_t all = 0;
    for (; from < end && (uintptr_t)from % VECTOR_BYTES != 0; from++) all |= *from;
    const int64_t steps = (end - from) / (CHAINS * VECTOR_FLOATS);
    const int64_t stream_vectors = steps * vectors;
    const vector *next = (const vector *)from;
    for (int64_t step = 0; step < steps; step++, next += vectors)
        for (int c = 0; c < CHAINS; c++)
            seen[c] |= next[c / vectors * stream_vectors + c % vectors];
    from += steps * CHAINS * VECTOR_FLOATS;
    for (; from + VECTOR_FLOATS <= end; from += VECTOR_FLOATS) seen[0] |= *(const vector *)from;
    for (; from < end; from++) all |= *from;
    for (int c = 1; c < CHAINS; c++) seen[0] |= seen[c];
    for (int lane = 0; lane < VECTOR_FLOATS; lane++) all |= seen[0][lane];
    return all;
}

#define DUO_READ(name, streams)                                                                    \
    static uint32_t name##_share(share s, const float *x, const float *y)                          \
    {                                                                                              \
        const uint32_t all = read_run(s.count, x + s.first, streams);                              \
        return y == NULL ? all : all | read_run(s.count, y + s.first, streams);                    \
    }                                                                                              \
    static uint32_t name(int64_t n, const float *x, const float *y, int threads)                   \
    {                                                                                              \
        uint32_t all = 0;                                                                          \
        if (threads == 1) return name##_share((share){0, n}, x, y);                                \
        _Pragma("omp parallel num_threads(threads) reduction(| : all)") all |=                     \
            name##_share(my_share(n), x, y);                                                       \
        return all;                                                                                \
    }

DUO_READ(read_one, 1)
DUO_READ(read_four, 4)

const duo_cpu_loops LOOPS = {
    .reduce = {[DUO_SASUM] = {absolute_sum_one, absolute_sum_four},
               [DUO_SSUM] = {sum_one, sum_four},
               [DUO_SDOT] = {dot_one, dot_four}},
    .read = {read_one, read_four},
};
