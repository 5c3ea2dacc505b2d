/* test_tally.c - the counts of a summary, and its sentences, from made decisions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/tally.h"
#include "support/harness.h"

static const double mib = 0x1p20;

/* A product that ran on this side, with an open GPU and all operands in plain memory. */
static duo_decision ran_on(duo_side side)
{
    return (duo_decision){.size = sizeof(duo_decision),
                          .operation = "sgemm",
                          .residence = {DUO_AT_PAGEABLE, DUO_AT_PAGEABLE, DUO_AT_PAGEABLE},
                          .side = side,
                          .algorithm = side == DUO_SIDE_GPU ? "gpu_x" : "cpu_x",
                          .predicted_seconds = 1.0,
                          .profile_seconds = 1.0,
                          .candidates = 5,
                          .candidate = {{"cpu_x", DUO_SIDE_CPU, 1, 1, 3.0},
                                        {"cpu_y", DUO_SIDE_CPU, 1, 1, 2.0},
                                        {"gpu_x", DUO_SIDE_GPU, 1, 0, 1.0},
                                        {"gpu_y", DUO_SIDE_GPU, 0, 0, INFINITY},
                                        {"gpu_z", DUO_SIDE_GPU, 1, 0, 4.0}},
                          .gpu = 1,
                          .gpu_seconds = -1.0};
}

static void count(tally *t, const duo_decision *d, const float *const at[3], bool forked)
{
    duo_blas_tally_call(t, d, 0.5, (const double[]){mib, 2 * mib, 4 * mib}, at, forked);
}

/* ---- Counts ---- */

static void bytes_that_are_sent(void)
{
    static const struct {
        duo_residence where;
        double sent, same;
    } places[] = {{DUO_AT_UNUSED, 0, 0},    {DUO_AT_PAGEABLE, 1, 0}, {DUO_AT_PINNED, 1, 0},
                  {DUO_AT_KEPT, 0, 0},      {DUO_AT_STALE, 1, 0},    {DUO_AT_DEVICE, 0, 0},
                  {DUO_AT_REMEMBERED, 0, 1}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        test_case("tally/residence %d", (int)places[i].where);
        duo_decision d = ran_on(DUO_SIDE_GPU);
        tally t = {.bytes = 0.0}, on_cpu = {.bytes = 0.0};
        d.residence[0] = places[i].where;
        d.residence[1] = d.residence[2] = DUO_AT_DEVICE;
        count(&t, &d, NULL, false);
        CHECK(t.sent_bytes == places[i].sent * mib, "%g sent", t.sent_bytes);
        CHECK(t.same_bytes == places[i].same * mib, "%g the same", t.same_bytes);
        CHECK(t.bytes == 7 * mib && t.calls[DUO_SIDE_GPU] == 1, "%g bytes", t.bytes);
        d.side = DUO_SIDE_CPU;
        count(&on_cpu, &d, NULL, false);
        CHECK(on_cpu.sent_bytes == 0.0 && on_cpu.same_bytes == 0.0, "sent by a call on the CPU");
    }
}

/* Of factors that come twice: only what was sent both times, from the same place, in the same
 * length, and large. */
static void factors_that_come_again(void)
{
    static float memory[3];
    const float *const at[] = {&memory[0], &memory[1], &memory[2]}, *const none[3] = {NULL};
    const double bytes[] = {mib, 2 * mib, 4 * mib}, small[] = {mib / 2, 1.0, mib},
                 longer[] = {2 * mib, 3 * mib, 4 * mib};
    duo_decision d = ran_on(DUO_SIDE_GPU);
    test_case("tally/again");
    tally t = {.bytes = 0.0};
    duo_blas_tally_call(&t, &d, 0.5, bytes, at, false);
    CHECK(t.again_bytes == 0.0, "%g the first time", t.again_bytes);
    duo_blas_tally_call(&t, &d, 0.5, small, at, false);
    CHECK(t.again_bytes == 0.0, "%g of small ones", t.again_bytes);
    duo_blas_tally_call(&t, &d, 0.5, bytes, none, false);
    CHECK(t.again_bytes == 0.0, "%g of none", t.again_bytes);
    duo_blas_tally_call(&t, &d, 0.5, longer, at, false);
    CHECK(t.again_bytes == 0.0, "%g of another length", t.again_bytes);
    duo_blas_tally_call(&t, &d, 0.5, longer, at, false);
    CHECK(t.again_bytes == 5 * mib, "%g the second time", t.again_bytes);
    d.side = DUO_SIDE_CPU;
    duo_blas_tally_call(&t, &d, 0.5, longer, at, false);
    CHECK(t.again_bytes == 5 * mib, "%g by a call on the CPU", t.again_bytes);
    d = ran_on(DUO_SIDE_GPU);
    d.residence[1] = DUO_AT_KEPT;
    duo_blas_tally_call(&t, &d, 0.5, longer, at, false);
    CHECK(t.again_bytes == 7 * mib, "%g with one that is kept", t.again_bytes);
}

/* What the sides would have taken. */
static void predictions(void)
{
    static const struct {
        int gpu;
        double gpu_seconds, expected;
        int without;
    } unopened[] = {{0, 5.0, 5.0, 0},
                    {0, INFINITY, 0.0, 1},
                    {0, -1.0, 0.0, 1},
                    {1, 5.0, 0.0, 1},
                    {-1, 5.0, 0, 1}};
    test_case("tally/predictions");
    duo_decision d = ran_on(DUO_SIDE_CPU);
    tally t = {.bytes = 0.0};
    count(&t, &d, NULL, false);
    CHECK(t.expected_seconds[DUO_SIDE_CPU] == 2.0, "%g on the CPU", t.expected_seconds[0]);
    CHECK(t.expected_seconds[DUO_SIDE_GPU] == 1.0, "%g on the GPU", t.expected_seconds[1]);
    for (size_t i = 0; i < sizeof unopened / sizeof unopened[0]; i++) {
        test_case("tally/predictions/gpu %d, %g s", unopened[i].gpu, unopened[i].gpu_seconds);
        t = (tally){.bytes = 0.0};
        d.candidates = 2; /* those of the CPU */
        d.gpu = unopened[i].gpu;
        d.gpu_seconds = unopened[i].gpu_seconds;
        count(&t, &d, NULL, false);
        CHECK(t.expected_seconds[DUO_SIDE_GPU] == unopened[i].expected, "%g",
              t.expected_seconds[DUO_SIDE_GPU]);
        CHECK(t.without[DUO_SIDE_GPU] == unopened[i].without, "%lld without",
              (long long)t.without[DUO_SIDE_GPU]);
    }
}

/* What a GPU would have done faster. */
static void missed(void)
{
    static const struct {
        int gpu;
        bool forked;
        double gpu_seconds;
        int no_gpu, small, missed;
    } cases[] = {
        {-1, false, 0.1, 1, 0, 1},      {-1, true, 0.1, 0, 0, 1},  {0, false, 0.1, 0, 0, 1},
        {1, false, 0.1, 0, 0, 0}, /* the program or a trial chose the CPU */
        {-1, false, INFINITY, 1, 1, 0}, {-1, false, -1.0, 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_case("tally/missed %zu", i);
        duo_decision d = ran_on(DUO_SIDE_CPU);
        tally t = {.bytes = 0.0};
        d.gpu = cases[i].gpu;
        d.gpu_seconds = cases[i].gpu_seconds;
        d.open_seconds = 0.25;
        count(&t, &d, NULL, cases[i].forked);
        CHECK(t.no_gpu == cases[i].no_gpu, "%lld without a GPU", (long long)t.no_gpu);
        CHECK(t.small == cases[i].small, "%lld small", (long long)t.small);
        CHECK(t.missed == cases[i].missed, "%lld missed", (long long)t.missed);
        CHECK(t.missed_seconds == 0.5 * cases[i].missed, "%g s", t.missed_seconds);
        CHECK(t.open_seconds == (cases[i].gpu_seconds >= 0.0 ? 0.25 : 0.0), "%g s to open it",
              t.open_seconds);
    }
}

static void nothing_to_do(void)
{
    test_case("tally/nothing to do");
    duo_decision d = ran_on(DUO_SIDE_CPU);
    tally t = {.bytes = 0.0}, sum = {.bytes = 0.0};
    d.algorithm = NULL;
    count(&t, &d, NULL, false);
    CHECK(t.calls[NOWHERE] == 1 && t.calls[DUO_SIDE_CPU] == 0, "not counted");
    CHECK(t.chosen_seconds == 0.0 && t.no_gpu == 0, "predicted");
    duo_blas_tally_add(&sum, &t);
    duo_blas_tally_add(&sum, &t);
    CHECK(sum.calls[NOWHERE] == 2 && sum.seconds[NOWHERE] == 1.0, "not added");
}

/* ---- Sentences ---- */

typedef void tell(FILE *, const tally *);

static void expect(const char *name, tell *told, const tally *t, const char *sentences)
{
    char *text = NULL;
    size_t length;
    FILE *const to = open_memstream(&text, &length);
    if (!CHECK(to != NULL, "no memory")) return;
    told(to, t);
    (void)fclose(to);
    test_case("tally/%s", name);
    CHECK(strcmp(text, sentences) == 0, "\"%s\", not \"%s\"", text, sentences);
    free(text);
}

static void other_settings(void)
{
    tally t = {.calls = {3, 0, 9}, .expected_seconds = {5.0, 1.0}, .chosen_seconds = 5.0};
    expect(
        "sides/no call has asked", duo_blas_tell_sides, &t,
        "  DUOBLAS_PATH=cpu: the same, every call ran there\n"
        "  DUOBLAS_PATH=gpu: about 4.000 s less, if there is a GPU: no call has asked for one\n");
    t.missed = 1;
    t.open_seconds = 0.25;
    expect(
        "sides/it was not open", duo_blas_tell_sides, &t,
        "  DUOBLAS_PATH=cpu: the same, every call ran there\n"
        "  DUOBLAS_PATH=gpu: about 4.000 s less, if there is a GPU: it was not open yet, as that "
        "takes 0.25 s (DUOBLAS_OPEN)\n");
    t.no_gpu = 1;
    expect("sides/no GPU", duo_blas_tell_sides, &t,
           "  DUOBLAS_PATH=cpu: the same, every call ran there\n"
           "  DUOBLAS_PATH=gpu: no GPU can be used here\n");
    t.calls[DUO_SIDE_GPU] = 2; /* lost later on */
    t.chosen_seconds = 2.0;
    expect("sides/both", duo_blas_tell_sides, &t,
           "  DUOBLAS_PATH=cpu: about 3.000 s more\n  DUOBLAS_PATH=gpu: about 1.000 s less\n");
    t.without[DUO_SIDE_CPU] = 2; /* operands on the device */
    expect("sides/operands on the device", duo_blas_tell_sides, &t,
           "  DUOBLAS_PATH=cpu: cannot do 2 of the calls\n"
           "  DUOBLAS_PATH=gpu: about 1.000 s less\n");
}

static void missing_gpu(void)
{
    static const char *const small =
                                 "  no call would be faster on a GPU: all are too small for the "
                                 "way there\n",
                             *const h100 = "  on an H100 these calls would take 1.250 s instead of "
                                           "4.000 s, with the 0.25 s of opening it\n";
    static const struct {
        const char *name, *told;
        tally of;
    } cases[] = {
        {"all too small", small, {.calls = {2, 0, 5}, .small = 2, .no_gpu = 2}},
        {"one not too small", "", {.calls = {3, 0, 0}, .small = 2}},
        {"one on the GPU", "", {.calls = {2, 1, 0}, .small = 2, .no_gpu = 2}},
        {"missed",
         h100,
         {.calls = {2, 0, 0},
          .seconds = {4.0},
          .small = 1,
          .no_gpu = 2,
          .missed_seconds = 3.5,
          .gpu_seconds = 0.5,
          .open_seconds = 0.25}},
        {"no gain",
         "",
         {.calls = {2, 0, 0},
          .seconds = {4.0},
          .no_gpu = 2,
          .missed_seconds = 3.5,
          .gpu_seconds = 3.0,
          .open_seconds = 0.25}},
        {"one on a GPU that was lost",
         "",
         {.calls = {2, 1, 0},
          .seconds = {4.0},
          .no_gpu = 2,
          .missed_seconds = 3.5,
          .gpu_seconds = 0.5,
          .open_seconds = 0.25}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect(cases[i].name, duo_blas_tell_missing_gpu, &cases[i].of, cases[i].told);
}

static void what_was_learned_and_remembered(void)
{
    tally t = {.calls = {1, 1, 0}, .seconds = {1.0, 2.0, 4.0}, .profile_seconds = 2.0};
    t.chosen_seconds = 2.001;
    expect("learned/nothing", duo_blas_tell_learned, &t, "");
    t.chosen_seconds = 3.0;
    expect("learned/slower", duo_blas_tell_learned, &t,
           "  learned: predicted 3.000 s, by the profile alone 2.000 s; took 3.000 s\n");
    t.same_bytes = 3e6;
    t.checked_bytes = 2e6;
    t.spared_seconds = -0.0004; /* nothing, as it is printed */
    expect("remembered/won", duo_blas_tell_remembered, &t,
           "  not sent again, as they were the same: 3.0 MB; to see that, 2.0 MB were read; about "
           "0.000 s won\n");
    t.spared_seconds = -0.25;
    expect("remembered/lost", duo_blas_tell_remembered, &t,
           "  not sent again, as they were the same: 3.0 MB; to see that, 2.0 MB were read; about "
           "0.250 s lost\n");
    t.same_bytes = 0.0;
    t.sent_bytes = 50e6;
    t.again_bytes = 4e6;
    expect("again/seldom", duo_blas_tell_remembered, &t, "");
    t.again_bytes = 6e6;
    expect(
        "again/often", duo_blas_tell_remembered, &t,
        "  6.0 MB came again from the same addresses: DUOBLAS_REMEMBER=bytes sends only what has "
        "changed\n");
}

static void tell_checked(FILE *to, const tally *unused)
{
    (void)unused;
    duo_blas_tell_checked(to);
}

static void what_was_checked(void)
{
    float sum = 0.0f;
    expect("checked/nothing", tell_checked, NULL, "");
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    CHECK_STATUS(DUO_OK, duo_set_verify(NULL, 1.0, 7));
    CHECK_STATUS(DUO_OK, duo_sasum(NULL, 2, (const float[]){1.0f, -2.0f}, 1, &sum));
    CHECK(sum == 3.0f, "%g", (double)sum);
    expect("checked/one", tell_checked, NULL, "  checked: 1 results; 0 of them were wrong\n");
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"bytes_that_are_sent", bytes_that_are_sent},
        {"factors_that_come_again", factors_that_come_again},
        {"predictions", predictions},
        {"missed", missed},
        {"nothing_to_do", nothing_to_do},
        {"other_settings", other_settings},
        {"missing_gpu", missing_gpu},
        {"what_was_learned_and_remembered", what_was_learned_and_remembered},
        {"what_was_checked", what_was_checked},
        {NULL, NULL},
    };
    return test_main(argc, argv, "tally", tests);
}
