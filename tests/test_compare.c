/* test_compare.c - a crossover run beside an older one. The figures are an H100's, as published. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/compare.h"
#include "bench/crossover/crossover.h"
#include "bench/crossover/second.h"
#include "support/crossover_csv.h"
#include "support/harness.h"
#include "support/shown.h"

static const char *compared(const duo_run *old, const duo_run *new, bool full)
{
    FILE *const file = fmemopen(test_shown, sizeof test_shown, "w");
    duo_compare_print(old, new, full, file);
    fclose(file);
    return test_shown;
}

/* A run does not differ from itself; one with a slower CPU does, and its GPU pays sooner. */
static void comparison(void)
{
    duo_run old, new;
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    x->noise = (duo_noise){.looks = 9, .processors = 16, .threads = 16, .figures_spread = 0.02};
    duo_noise_judge(&x->noise);
    test_case("compare/same");
    if (!CHECK(duo_run_of(&old, x), "old")) return;
    test_shown_lines(compared(&old, &old, false), 60);
    test_contains(test_shown,
                  "CPU: no difference but noise. The new run takes 1.00 times as long in");
    test_contains(test_shown,
                  "GPU: no difference but noise. The new run takes 1.00 times as long in");
    test_contains(test_shown,
                  "sgemm, n x n x n    plain            344       344     1.00   1.3\n");
    CHECK(strstr(test_shown, " <-\n") == NULL, "a mark");
    test_shown_lines(compared(&old, &old, true), 2000);
    test_contains(test_shown, "1000 x 1000 x 1000 plain ");

    test_case("compare/slower");
    for (int i = 0; i < x->cases; i++)
        for (int id = 0; id < DUO_ALGORITHMS; id++)
            if (duo_algorithm_of((duo_algorithm_id)id)->side == DUO_SIDE_CPU) {
                x->item[i].figure[DUO_SERIES_ONE + id].median_seconds *= 1.5;
                x->item[i].figure[DUO_SERIES_ALL + id].median_seconds *= 1.5;
            }
    if (!CHECK(duo_run_of(&new, x), "new")) return;
    test_shown_lines(compared(&old, &new, false), 2000);
    test_contains(test_shown,
                  "CPU: the runs differ by more than the noise. The new run takes 1.50 times");
    test_contains(test_shown, "GPU: no difference but noise.");
    test_contains(test_shown, "  1.50   4.0 <-\n");
    duo_run_free(&new);

    test_case("compare/noisy"); /* the same, but nobody can tell */
    x->noise.figures_spread = 0.8;
    duo_noise_judge(&x->noise);
    if (!CHECK(duo_run_of(&new, x), "new")) return;
    test_shown_first(compared(&old, &new, false), "", "NOISY: ");
    test_contains(test_shown, "CPU: no difference but noise. The new run takes 1.50 times");
    duo_run_free(&new);
    duo_run_free(&old);
    free(x);
}

/* What a second run shows widens the ranges of a comparison and of the verdict, by place. */
static void second_run(void)
{
    duo_run first, second;
    duo_sentences before, after;
    duo_crossover *x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    x->noise = (duo_noise){.looks = 9, .processors = 16, .threads = 16, .figures_spread = 0.02};
    duo_noise_judge(&x->noise);
    const duo_noise noise = x->noise;
    duo_crossover_verdict(x, &before);
    test_case("compare/second");
    if (!CHECK(duo_run_of(&first, x), "first")) return;
    duo_second_take(x, &first);
    CHECK(x->second.cpu == 0.0 && x->second.gpu[DUO_PLACE_PAGEABLE] == 0.0,
          "a run differs from itself");
    /* Plain arrays take 1.2 times as long in the second run, and at n = 1000 1.5 times. */
    for (int i = 0; i < x->cases; i++)
        x->item[i].figure[DUO_SERIES_GPU + DUO_PLACE_PAGEABLE].median_seconds *=
            x->item[i].n == 1000 ? 1.5 : 1.2;
    if (!CHECK(duo_run_of(&second, x), "second")) return;
    free(x);
    x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    x->noise = noise;
    duo_second_take(x, &second);
    CHECK(x->second.gpu[DUO_PLACE_PAGEABLE] > 0.199 && x->second.gpu[DUO_PLACE_PAGEABLE] < 0.201,
          "plain arrays differ by %g", x->second.gpu[DUO_PLACE_PAGEABLE]);
    CHECK(x->second.cpu == 0.0 && x->second.gpu[DUO_PLACE_PINNED] == 0.0 &&
              x->second.gpu[DUO_PLACE_DEVICE] == 0.0,
          "others differ, too");
    char text[240];
    CHECK(strcmp(duo_second_text(x, text, sizeof text),
                 "quiet: figures lie within 2 %, those of a second, short run within 20 % "
                 "(plain)") == 0,
          "%s", text);
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        if (c->problem.operation != DUO_SGEMM || strcmp(c->family, "n x n x n") != 0) continue;
        const double off = duo_second_off(x, c, DUO_PLACE_PAGEABLE, false);
        CHECK(fabs(off - (c->n == 1000 ? 0.5 : 0.2)) < 1e-3, "n = %d: %g", (int)c->n, off);
        CHECK(duo_second_off(x, c, DUO_PLACE_DEVICE, false) < 1e-9, "n = %d", (int)c->n);
    }
    CHECK(fabs(duo_second_off(x, NULL, DUO_PLACE_PAGEABLE, false) - 0.2) < 1e-3, "elsewhere");
    CHECK(duo_second_off(x, NULL, DUO_PLACE_PAGEABLE, true) == 0.0, "predicted");
    duo_crossover_verdict(x, &after);
    CHECK(strcmp(before.text[0], after.text[0]) == 0, "arrays on the GPU: %s", after.text[0]);
    CHECK(strcmp(before.text[1], after.text[1]) != 0, "plain arrays: %s", after.text[1]);
    duo_run_free(&second);
    if (!CHECK(duo_run_of(&second, x), "second, told")) return;
    test_shown_lines(compared(&second, &second, true), 2000);
    test_contains(test_shown, "  1.00    44"); /* 1.2 times 1.2 */
    duo_run_free(&first);
    duo_run_free(&second);
    free(x);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"comparison", comparison}, {"second_run", second_run}, {NULL, NULL}};
    return test_main(argc, argv, "compare", tests);
}
