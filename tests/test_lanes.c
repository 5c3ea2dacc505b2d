/* test_lanes.c - every clone of the CPU's reductions against the literal order: equal bits. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "cpu/lanes.h"
#include "harness.h"
#include "reference_order.h"

enum { LONGEST = 200000, STRIDES = 3, KINDS = 6 };

static float x[STRIDES * LONGEST + 64], y[STRIDES * LONGEST + 64];

static uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Normal, any exponent, subnormal, overflowing on the way, with Inf and NaN, with -0. */
static float draw(test_rng *rng, int kind)
{
    const uint64_t r = test_random(rng);
    const float plain = (float)(2.0 * test_unit(rng) - 1.0);
    switch (kind) {
    case 1:
        return ldexpf(plain, (int)(r % 200) - 100);
    case 2:
        return float_of((uint32_t)r & 0x807FFFFF);
    case 3:
        return r % 50 == 0 ? (r & 64 ? 3e38f : -3e38f) : plain;
    case 4:
        return r % 5000 == 0 ? (r & 64 ? INFINITY : float_of(0xFFC12345)) : plain;
    case 5:
        return r % 3 == 0 ? -0.0f : plain;
    default:
        return plain;
    }
}

static void fill(test_rng *rng, int kind)
{
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        x[i] = draw(rng, kind);
        y[i] = draw(rng, kind);
    }
}

/* One comparison: false, and a report, if a bit differs. */
static bool compare(duo_operation operation, int64_t n, const float *px, int64_t incx,
                    const float *py, int64_t incy, int threads)
{
    const float want = reference_order(operation, n, px, incx, py, incy);
    const float got = duo_lanes_reduce(operation, n, px, incx, py, incy, threads);
    bool same = bits_of(got) == bits_of(want);
    if (incx == 1 && incy == 1 && n <= DUO_UNIT) {
        const float whole = duo_lanes_current()->whole[operation](n, px, py);
        same = same && bits_of(whole) == bits_of(want);
    }
    return CHECK(same, "n %lld, increments %lld %lld, %d threads: %08x, not %08x", (long long)n,
                 (long long)incx, (long long)incy, threads, bits_of(got), bits_of(want));
}

static void random_cases(const char *isa, int64_t longest, int cases)
{
    static const int64_t increments[] = {1, 1, 1, 2, 3, -1, -2, 0};
    test_rng rng = test_rng_for(isa);
    for (int kind = 0; kind < KINDS; kind++) {
        test_case("lanes/%s/data-%d/to-%lld", isa, kind, (long long)longest);
        fill(&rng, kind);
        for (int i = 0; i < cases; i++) {
            const duo_operation operation = (duo_operation)test_between(&rng, DUO_SASUM, DUO_SDOT);
            const int64_t n = test_between(&rng, 1, longest);
            const bool dot = operation == DUO_SDOT;
            const int64_t incx = increments[test_between(&rng, 0, dot ? 7 : 4)];
            const int64_t incy = dot ? increments[test_between(&rng, 0, 7)] : 1;
            const float *px = x + test_between(&rng, 0, 15), *py = y + test_between(&rng, 0, 15);
            if (incx < 0) px -= (n - 1) * incx;
            if (incy < 0) py -= (n - 1) * incy;
            static const int teams[] = {1, 2, 3, 7};
            if (!compare(operation, n, px, incx, py, incy, teams[test_between(&rng, 0, 3)])) return;
        }
    }
}

static void every_clone(void)
{
    for (int c = 0; duo_lanes_clone(c) != NULL; c++) {
        duo_lanes_set(duo_lanes_clone(c));
        random_cases(duo_lanes_clone(c)->isa, 300, 700);
        random_cases(duo_lanes_clone(c)->isa, 5000, 500);
        random_cases(duo_lanes_clone(c)->isa, LONGEST, 12);
    }
    duo_lanes_set(NULL);
}

/* Whatever mode the application has set: the same bits, and its mode is back afterwards. */
static void float_modes(void)
{
#if defined(__x86_64__)
    static const unsigned modes[] = {0x8040, 0x6000, 0x4000, 0xE040};
    test_rng rng = test_rng_for("modes");
    for (int c = 0; duo_lanes_clone(c) != NULL; c++) {
        duo_lanes_set(duo_lanes_clone(c));
        for (int kind = 0; kind < 3; kind++) {
            fill(&rng, kind);
            for (int i = 0; i < 60; i++) {
                const duo_operation operation = (duo_operation)(DUO_SASUM + i % 3);
                const int64_t n = i % 10 == 0 ? 150000 : test_between(&rng, 1, 4000);
                const float want = reference_order(operation, n, x, 1, y, 1);
                const unsigned before = _mm_getcsr(), mode = (before & 0x1FBF) | modes[i % 4];
                test_case("lanes/%s/mode-%x", duo_lanes_current()->isa, modes[i % 4]);
                _mm_setcsr(mode);
                const float got = duo_lanes_reduce(operation, n, x, 1, y, 1, 1 + i % 2);
                const unsigned after = _mm_getcsr();
                _mm_setcsr(before);
                CHECK(bits_of(got) == bits_of(want), "n %lld: %08x, not %08x", (long long)n,
                      bits_of(got), bits_of(want));
                CHECK((after & ~0x3Fu) == (mode & ~0x3Fu), "mode %x became %x", mode, after);
            }
        }
    }
    duo_lanes_set(NULL);
#else
    test_skip("no MXCSR here");
#endif
}

static const test_entry tests[] = {
    {"every_clone", every_clone},
    {"float_modes", float_modes},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "lanes", tests); }
