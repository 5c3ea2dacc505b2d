/* test_crossing.c - the size from which the GPU wins, by made figures and by measured ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/selection.h"
#include "choice/profile_in_use.h"
#include "support/crossover_csv.h"
#include "support/data.h"
#include "support/harness.h"

/* ---- Made figures: the CPU takes n ns, the GPU as the test says ---- */

static const double kPerElement = 1e-9;

/* Sizes 2^4 to 2^12 of ssum; GPU seconds are a + b n in each place. */
static duo_crossover *made(const double a[DUO_PLACES], const double b[DUO_PLACES])
{
    duo_crossover *const x = calloc(1, sizeof *x);
    if (!CHECK(x != NULL, "memory")) abort();
    x->gpu = x->wanted[DUO_SSUM] = true;
    x->threads = 1;
    for (int64_t n = 16; n <= 4096; n *= 2) {
        duo_case *const c = &x->item[x->cases++];
        *c = (duo_case){
            .problem = {.operation = DUO_SSUM, .shape = {n, 1, 1}}, .family = "n", .n = n};
        c->figure[DUO_SERIES_ONE + DUO_ssum_cpu_lanes] =
            (duo_figure){.median_seconds = kPerElement * (double)n, .algorithm = "ssum_cpu_lanes"};
        for (int place = 0; place < DUO_PLACES; place++)
            c->figure[DUO_SERIES_GPU + place] = (duo_figure){
                .median_seconds = a[place] + b[place] * (double)n, .algorithm = "made"};
    }
    return x;
}

/* Plain: never. Pinned: 300 ns + n/4 ns, from 400 on. On the GPU: always. */
static duo_crossover *usual(void)
{
    static const double a[] = {300e-9, 300e-9, 1e-9}, b[] = {1.1e-9, 0.25e-9, 0.1e-9};
    return made(a, b);
}

static void verdicts(void)
{
    duo_crossover *const x = usual();
    test_case("crossing/never");
    duo_crossing c = duo_crossover_find(x, DUO_SSUM, "n", DUO_PLACE_PAGEABLE);
    CHECK(c.verdict == DUO_WINS_NEVER && c.largest == 4096, "verdict %d", (int)c.verdict);
    test_case("crossing/from");
    c = duo_crossover_find(x, DUO_SSUM, "n", DUO_PLACE_PINNED);
    CHECK(c.verdict == DUO_WINS_FROM && c.n == 512, "verdict %d, %d", (int)c.verdict, (int)c.n);
    CHECK(c.between > 380 && c.between < 420, "the curves meet at 400, not %g", c.between);
    CHECK(test_close(c.seconds, kPerElement * c.between, 1e-9), "the CPU takes %g", c.seconds);
    CHECK(!c.predicted, "all is measured");
    test_case("crossing/always");
    c = duo_crossover_find(x, DUO_SSUM, "n", DUO_PLACE_DEVICE);
    CHECK(c.verdict == DUO_WINS_ALWAYS && c.n == 16, "verdict %d", (int)c.verdict);
    test_case("crossing/unknown");
    c = duo_crossover_find(x, DUO_SDOT, "n", DUO_PLACE_DEVICE);
    CHECK(c.verdict == DUO_WINS_UNKNOWN, "verdict %d", (int)c.verdict);
    free(x);
}

/* A loss at a larger size undoes a win at a smaller one. */
static void lost_again(void)
{
    duo_crossover *const x = usual();
    test_case("crossing/lost-again");
    x->item[6].figure[DUO_SERIES_GPU + DUO_PLACE_PINNED].median_seconds = 1.0; /* 1024 */
    const duo_crossing c = duo_crossover_find(x, DUO_SSUM, "n", DUO_PLACE_PINNED);
    CHECK(c.verdict == DUO_WINS_FROM && c.n == 2048, "from %d", (int)c.n);
    free(x);
}

/* If noise hides where the curves meet, the crossing is still on the CPU's. */
static void among_noise(void)
{
    static const double sizes[] = {380, 390, 410, 420}, noise[] = {1.0, 1.0, 0.95, 1.0};
    duo_crossover *const x = usual();
    test_case("crossing/among-noise");
    for (int i = 0; i < 4; i++) { /* instead of 256 to 2048 */
        duo_case *const c = &x->item[4 + i];
        c->n = c->problem.shape[0] = (int64_t)sizes[i];
        c->figure[DUO_SERIES_ONE + DUO_ssum_cpu_lanes].median_seconds =
            noise[i] * kPerElement * sizes[i];
        c->figure[DUO_SERIES_GPU + DUO_PLACE_PINNED].median_seconds = 300e-9 + 0.25e-9 * sizes[i];
    }
    const duo_crossing c = duo_crossover_find(x, DUO_SSUM, "n", DUO_PLACE_PINNED);
    CHECK(c.n == 420, "from %d", (int)c.n);
    CHECK(c.between > 390 && c.between < 410, "they meet at about 405, not %g", c.between);
    CHECK(c.seconds > 389e-9 && c.seconds < 391e-9, "the CPU takes %g s at %g", c.seconds,
          c.between);
    free(x);
}

/* A crossing rests on the figures on both sides of it, and on no other. */
static void predicted(void)
{
    for (int i = 0; i < 9; i++) {
        duo_crossover *const x = usual();
        test_case("crossing/predicted-%d", i);
        x->item[i].figure[DUO_SERIES_GPU + DUO_PLACE_PINNED].predicted = true;
        const duo_crossing c = duo_crossover_find(x, DUO_SSUM, "n", DUO_PLACE_PINNED);
        CHECK(c.predicted == (i == 4 || i == 5), "predicted: %d", c.predicted); /* 256, 512 */
        free(x);
    }
}

/* Sent once and used N times: (first + (N - 1) further) / N, by its definition. */
static void reuse(void)
{
    duo_crossover *const x = usual();
    double before = (double)INFINITY;
    for (int64_t calls = 1; calls <= 1000; calls *= 10) {
        test_case("reuse/%d", (int)calls);
        const duo_use use = {DUO_PLACE_PAGEABLE, calls, 1.0};
        for (int i = 0; i < x->cases; i++) {
            const double n = (double)x->item[i].n, first = 300e-9 + 1.1e-9 * n,
                         further = 1e-9 + 0.1e-9 * n;
            const double mean = (first + (double)(calls - 1) * further) / (double)calls;
            CHECK(test_close(duo_crossover_gpu_seconds(&x->item[i], use), mean, 1e-12), "n = %g",
                  n);
        }
        const duo_crossing c = duo_crossover_find_use(x, DUO_SSUM, "n", use);
        const double from = c.verdict == DUO_WINS_NEVER    ? (double)INFINITY
                            : c.verdict == DUO_WINS_ALWAYS ? 0.0
                                                           : c.between;
        CHECK(from <= before, "more use cannot pay later: %g after %g", from, before);
        CHECK(calls > 1 || c.verdict == DUO_WINS_NEVER, "sent each time it never pays");
        CHECK(calls < 10 || c.verdict != DUO_WINS_NEVER, "ten times it pays");
        before = from;
    }
    test_case("reuse/factor");
    const duo_use slow = {DUO_PLACE_DEVICE, 1, 100.0};
    CHECK(duo_crossover_find_use(x, DUO_SSUM, "n", slow).verdict == DUO_WINS_NEVER,
          "100 times as long it never pays");
    free(x);
}

/* ---- Lines of a ladder on the terminal ---- */

static void selection(void)
{
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const duo_case *at[DUO_CASES];
        const char *const family = duo_crossover_main_family((duo_operation)operation);
        const int count = duo_crossover_select(x, (duo_operation)operation, family, 12, at);
        test_case("selection/%s", duo_operation_name((duo_operation)operation));
        CHECK(count == 12, "%d", count);
        CHECK(at[0]->n == 16 && at[count - 1]->n == (operation == DUO_SGEMM ? 8192 : 1 << 27),
              "first and last");
        for (int i = 1; i < count; i++) CHECK(at[i]->n > at[i - 1]->n, "in order");
        const duo_crossing c =
            duo_crossover_find(x, (duo_operation)operation, family, DUO_PLACE_DEVICE);
        bool loser = false, winner = false, asked = operation != DUO_SGEMM;
        for (int i = 0; i < count; i++) {
            loser = loser || ((double)at[i]->n < c.between && at[i] + 1 == at[i + 1]);
            winner = winner || at[i]->n == c.n;
            asked = asked || at[i]->n == 1000;
        }
        CHECK(loser && winner && asked, "both sides of the crossing, and 1000");
    }
    test_case("selection/all");
    const duo_case *at[DUO_CASES];
    CHECK(duo_crossover_select(x, DUO_SGEMM, "n x n x n", DUO_CASES, at) == 21, "all");
    CHECK(duo_crossover_select(x, DUO_SGEMM, "no such", 12, at) == 0, "none");
    free(x);
}

/* ---- How far predictions of a GPU are off ---- */

/* The words about predictions have to hold for known figures: an H100's, by its own profile and by
 * the H200's. */
static void prediction_range(void)
{
    static const char *const profiles[] = {"h100", "h200"};
    duo_crossover *const x = test_read_crossover(TEST_PUBLISHED_CSV);
    if (x == NULL) return;
    x->gpu = false;
    for (int p = 0; p < 2; p++) {
        int count = 0, within = 0;
        x->assumed = duo_profile_built_in(profiles[p]);
        for (int i = 0; i < x->cases; i++)
            for (int place = 0; place < DUO_PLACES; place++) {
                const double took =
                    duo_crossover_gpu(&x->item[i], (duo_place)place)->median_seconds;
                const double ratio =
                    took / duo_crossover_predict_gpu(x, &x->item[i].problem, (duo_place)place)
                               .median_seconds;
                count++;
                within += ratio >= duo_prediction_low && ratio <= duo_prediction_high;
            }
        test_case("prediction/%s", profiles[p]);
        CHECK(count >= 300 && within >= 0.9 * count, "%d of %d", within, count);
    }
    free(x);
}

/* Without a GPU the outlook takes two, and the known errors make a range. */
static void outlook(void)
{
    duo_crossover *const x = test_read_crossover(TEST_CROSSOVER_CSV);
    if (x == NULL) return;
    x->gpu = false;
    duo_crossover_outlook(x);
    test_case("outlook/two");
    CHECK(x->outlooks == 2, "%d", x->outlooks);
    for (int i = 0; i < x->outlooks; i++) {
        const duo_crossing *const early = &x->outlook[i].early[DUO_SGEMM],
                                  *const late = &x->outlook[i].late[DUO_SGEMM];
        test_case("outlook/%s", x->outlook[i].gpu);
        CHECK(early->verdict == DUO_WINS_FROM && late->verdict == DUO_WINS_FROM, "sgemm wins");
        CHECK(early->predicted && late->predicted, "and it is predicted");
        /* Its own host measured 344. */
        CHECK(early->between < 344 && late->between > 344, "%g to %g", early->between,
              late->between);
        /* With the matrices on the GPU 108. */
        const double stay_early = x->outlook[i].stay_early[DUO_SGEMM].between,
                     stay_late = x->outlook[i].stay_late[DUO_SGEMM].between;
        CHECK(stay_early < 108 && stay_late > 108, "%g to %g", stay_early, stay_late);
    }
    test_case("outlook/noise"); /* the range has the error of the CPU's figures */
    const duo_crossing early = x->outlook[0].early[DUO_SGEMM], late = x->outlook[0].late[DUO_SGEMM];
    x->noise = (duo_noise){.looks = 5, .error = 0.09};
    duo_crossover_outlook(x);
    CHECK(x->outlook[0].early[DUO_SGEMM].between < early.between &&
              x->outlook[0].late[DUO_SGEMM].between > late.between,
          "%g to %g, without noise %g to %g", x->outlook[0].early[DUO_SGEMM].between,
          x->outlook[0].late[DUO_SGEMM].between, early.between, late.between);
    test_case("outlook/own-gpu");
    x->gpu = true;
    duo_crossover_outlook(x);
    CHECK(x->outlooks == 0, "a GPU that is here needs no outlook");
    x->gpu_profile = duo_profile_built_in("h200");
    duo_crossover_outlook(x);
    CHECK(x->outlooks == 1 && strstr(x->outlook[0].gpu, "H200") != NULL, "\"%s\"",
          x->outlook[0].gpu);
    free(x);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"verdicts", verdicts},
                                       {"among_noise", among_noise},
                                       {"lost_again", lost_again},
                                       {"predicted", predicted},
                                       {"reuse", reuse},
                                       {"selection", selection},
                                       {"prediction_range", prediction_range},
                                       {"outlook", outlook},
                                       {NULL, NULL}};
    return test_main(argc, argv, "crossing", tests);
}
