/* test_noise.c - was the machine quiet? On made evidence, and on this machine's. */
#include <math.h>
#include <string.h>

#include "bench/measure/benchmark.h"
#include "bench/measure/noise.h"
#include "support/harness.h"

/* Evidence of a quiet machine, with 8 processors and threads. */
static duo_noise quiet(void)
{
    return (duo_noise){.looks = 10,
                       .processors = 8,
                       .threads = 8,
                       .waited = 0.001,
                       .work_spread = 0.01,
                       .figures_spread = 0.02,
                       .others = 0.05};
}

static void check_verdict(const char *name, duo_noise n, bool noisy, double least_error)
{
    test_case("noise/%s", name);
    duo_noise_judge(&n);
    CHECK(n.noisy == noisy, "noisy: %d, error %g", n.noisy, n.error);
    CHECK(n.error >= least_error, "an error of %g", n.error);
}

static void verdicts(void)
{
    duo_noise n = quiet();
    check_verdict("quiet", n, false, 0.02);

    n.others = 8.0; /* every thread has a neighbour */
    check_verdict("a-neighbour-on-each", n, true, 1.0);
    n.others = 4.0;
    check_verdict("others-took-half", n, true, 0.99);
    n.others = 0.4;
    check_verdict("a-little-background", n, false, 0.05);

    /* Neighbours on processors that nobody needs disturb nobody. */
    n = quiet();
    n.processors = 64;
    n.others = 40.0;
    check_verdict("room-for-all", n, false, 0.02);
    n.others = 60.0;
    check_verdict("no-room", n, true, 0.99);

    n = quiet();
    n.waited = 0.5;
    check_verdict("work-waited", n, true, 0.99);
    n = quiet();
    n.work_spread = 0.3;
    check_verdict("clock-changes", n, true, 0.3);
    n = quiet();
    n.figures_spread = 0.25;
    check_verdict("figures-lie-apart", n, true, 0.25);
    n.figures_spread = (double)NAN;
    check_verdict("not-a-number", n, true, DUO_NOISE_MOST);
    n = quiet();
    n.looks = 0;
    check_verdict("nothing-known", n, true, DUO_NOISE_MOST);
    n = quiet();
    n.others = (double)INFINITY;
    check_verdict("infinite", n, true, DUO_NOISE_MOST);
    n = quiet();
    n.figures_spread = 50.0; /* more than the verdict tells apart */
    check_verdict("most", n, true, DUO_NOISE_MOST);
    duo_noise_judge(&n);
    CHECK(n.error <= DUO_NOISE_MOST, "an error of %g", n.error);
}

static void check_text(const char *name, duo_noise n, const char *said)
{
    char text[160];
    test_case("noise/text/%s", name);
    duo_noise_judge(&n);
    CHECK(strcmp(duo_noise_text(&n, text, sizeof text), said) == 0, "\"%s\"", text);
}

static void texts(void)
{
    duo_noise n = quiet();
    check_text("quiet", n, "quiet: figures lie within 2 %");
    n.others = 4.0;
    n.running = 3.1;
    check_text("several", n, "NOISY: 3 other processes were running; figures may be off by 100 %");
    n.running = 0.9;
    check_text("one", n, "NOISY: another process was running; figures may be off by 100 %");
    n.waited = 0.97; /* the formula ends there */
    check_text("most", n,
               "NOISY: another process was running; figures may be off by more than 900 %");
    n.waited = 0.0;
    n.running = 0.0;
    check_text("load", n,
               "NOISY: others kept 4.0 of 8 processors busy; figures may be off by 100 %");
    n.looks = 0;
    check_text("nothing", n, "not known, as nothing was measured");
    n = quiet();
    n.figures_spread = 0.5;
    check_text("spread", n,
               "NOISY: the same work took now longer, now shorter; figures may be off by 50 %");
}

/* The evidence of this machine, quiet or not, is possible. */
static void watched(void)
{
    test_case("noise/not-begun");
    duo_noise_look();
    duo_noise_add(1.0, 1.01);
    CHECK(duo_noise_told(2).looks == 0, "nobody asked");
    test_case("noise/watched");
    duo_noise_begin();
    for (int look = 0; look < 520; look++) {
        if (look % 8 == 0 || look < 8) duo_noise_look();
        duo_noise_add(1.0, 1.01);
    }
    const duo_noise n = duo_noise_told(2);
    CHECK(n.looks == 72 && n.processors >= 1 && n.threads == 2, "%d, %d processors, %d threads",
          n.looks, n.processors, n.threads);
    CHECK(n.waited >= 0.0 && n.waited <= 1.0, "waited %g", n.waited);
    CHECK(n.others >= 0.0 && n.others <= n.processors + 1.0, "others %g", n.others);
    CHECK(n.running >= 0.0 && n.running < 1e5, "running %g", n.running);
    CHECK(n.work_spread >= 0.0 && fabs(n.figures_spread - 0.01) < 1e-9, "spread %g", n.work_spread);
    CHECK(n.error >= 0.009 && n.error <= DUO_NOISE_MOST, "error %g", n.error);
    test_case("noise/forgotten");
    duo_noise_begin();
    CHECK(duo_noise_told(2).looks == 0, "what was seen before counts");
}

/* Seconds that a made piece of work takes: now 1 ms, now 2. */
static bool uneven(void *user, int64_t calls)
{
    int *const turn = user;
    const double until = duo_now_seconds() + 1e-3 * (1 + ++*turn % 2) * (double)calls;
    while (duo_now_seconds() < until) continue;
    return true;
}

/* Every measurement looks for noise by itself. */
static void measured(void)
{
    int turn = 0;
    duo_benchmark b = {.run = uneven, .user = &turn};
    duo_effort effort = {.sample_seconds = 1e-3, .rounds = 20, .budget_seconds = 1.0};
    test_case("noise/measured");
    duo_noise_begin();
    duo_measure(&b, 1, &effort);
    duo_noise n = duo_noise_told(1);
    CHECK(n.looks == 1 && n.noisy && n.figures_spread > 0.2, "%d looks, spread %g", n.looks,
          n.figures_spread);
    test_case("noise/few-samples"); /* their quartiles tell nothing */
    duo_noise_begin();
    effort.rounds = 2;
    duo_measure(&b, 1, &effort);
    CHECK(duo_noise_told(1).figures_spread == 0.0, "spread %g", duo_noise_told(1).figures_spread);
    test_case("noise/short-samples"); /* nor do quartiles of calls as long as a tick */
    effort = (duo_effort){.sample_seconds = 5e-4, .rounds = 20, .budget_seconds = 1.0};
    duo_measure(&b, 1, &effort);
    CHECK(duo_noise_told(1).figures_spread == 0.0, "spread %g", duo_noise_told(1).figures_spread);
}

static const test_entry tests[] = {
    {"verdicts", verdicts}, {"texts", texts}, {"watched", watched},
    {"measured", measured}, {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "noise", tests); }
