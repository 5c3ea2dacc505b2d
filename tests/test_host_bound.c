/* test_host_bound.c - the bound by which products of host arrays are judged. */
#include <math.h>

#include "bench/measure/host_bound.h"
#include "support/data.h"
#include "support/harness.h"

static const duo_host_rates rates = {
    .up = 55e9, .down = 50e9, .both = 86e9, .in = 45e9, .out = 40e9};

static duo_problem cube(int64_t n)
{
    return (duo_problem){.operation = DUO_SGEMM, .shape = {n, n, n}};
}

/*
 * No schedule ends before the products that the arrivals leave for later are done: the largest of
 * f U + (1 - f^2) W, here found by trying every f.
 */
static void arrival(void)
{
    const duo_problem p = cube(8192);
    const double n2 = 4.0 * 8192.0 * 8192.0, arrived = 2.0 * n2 / rates.up;
    for (double part = 0.05; part < 20.0; part *= 1.3) {
        const double arithmetic = part * arrived;
        double last = 0.0;
        for (int i = 0; i <= 10000; i++) {
            const double f = 1e-4 * i;
            last = fmax(last, f * arrived + (1.0 - f * f) * arithmetic);
        }
        test_case("host_bound/arrival-%.2f", part);
        const duo_host_bound bound = duo_host_bound_of(&p, arithmetic, &rates, false);
        CHECK(test_close(bound.arrival, last + n2 / 64.0 / rates.down, 1e-7), "%g s, not %g",
              bound.arrival, last);
    }
}

/* Bytes over rates, each operand of a product that is no cube by its own size. */
static void bytes(void)
{
    const duo_problem p = {.operation = DUO_SGEMM, .shape = {1000, 2000, 3000}};
    const double up = 4.0 * (3e6 + 6e6), home = 4.0 * 2e6;
    test_case("host_bound/bytes");
    const duo_host_bound pinned = duo_host_bound_of(&p, 1e-9, &rates, false);
    CHECK(test_close(pinned.link, (up + home) / rates.both, 1e-12), "link");
    CHECK(test_close(pinned.arrival, up / rates.up + home / 64.0 / rates.down, 1e-12), "arrival");
    CHECK(pinned.copies <= 0.0, "pinned memory is not copied");
    CHECK(test_close(pinned.seconds, fmax(pinned.arrival, pinned.link), 1e-12), "largest, pinned");
    const duo_host_bound plain = duo_host_bound_of(&p, 1e-9, &rates, true);
    CHECK(test_close(plain.copies, up / rates.in + home / rates.out, 1e-12), "memcpy");
    CHECK(test_close(plain.arrival, up / rates.in + home / 64.0 / rates.out, 1e-12),
          "nothing arrives faster than it is copied");
    CHECK(test_close(plain.seconds, plain.copies, 1e-12), "largest, plain");
}

static void not_known(void)
{
    const duo_problem p = cube(100);
    const duo_host_rates none = {.up = 1e9, .down = 1e9, .both = 1e9};
    test_case("host_bound/not-known");
    CHECK(duo_host_bound_of(&p, 0.0, &rates, false).seconds == 0.0, "no resident time");
    CHECK(duo_host_bound_of(&p, 1e-3, &none, true).seconds == 0.0, "no rate of memcpy");
    CHECK(duo_host_bound_of(&p, 1e-3, &none, false).seconds > 0.0, "pinned memory needs none");
}

static const test_entry tests[] = {
    {"arrival", arrival},
    {"bytes", bytes},
    {"not_known", not_known},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "host_bound", tests); }
