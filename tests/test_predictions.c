/*
 * test_predictions.c - predicted times of calls: prepared operands, the shapes of sgemm on the CPU,
 * and random calls on every built-in profile.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <math.h>
#include <string.h>

#include "choice/profile_in_use.h"
#include "choice/select.h"
#include "choice/stream_cost.h"
#include "cpu/blas_library.h"
#include "support/calls.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/made_machine.h"

/* ---- Prepared operands ---- */

/* An algorithm that splits operands saves more with each prepared one; others save nothing. */
static void prepared_operands(void)
{
    const duo_profile *const profile = duo_profile_built_in("h200");
    const duo_conditions conditions = {.profile = profile,
                                       .threads = 1,
                                       .gpu = true,
                                       .capability = 90,
                                       .device_memory_bytes = 1e12};
    static const int64_t sizes[][3] = {
        {4096, 4096, 4096}, {512, 4096, 4096}, {4096, 128, 64}, {1000, 999, 65}};
    float x;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double seconds[4][DUO_CANDIDATES];
        duo_choice choice[DUO_CANDIDATES];
        int count = 0;
        for (unsigned which = 0; which < 4; which++) {
            duo_call call =
                test_sgemm_call(false, false, sizes[s][0], sizes[s][1], sizes[s][2], 1.0f, &x,
                                sizes[s][0], &x, sizes[s][2], 0.0f, &x, sizes[s][0]);
            for (int i = 0; i < DUO_OPERANDS; i++) {
                call.operand[i].residence = DUO_AT_DEVICE;
                call.operand[i].on_device = true;
                call.operand[i].prepared = (which >> i & 1) != 0;
            }
            count = duo_predict(&call, &conditions, choice);
            for (int i = 0; i < count; i++) seconds[which][i] = choice[i].seconds;
        }
        for (int i = 0; i < count; i++) {
            const char *const name = choice[i].algorithm->name;
            const bool splits =
                strcmp(name, "sgemm_gpu_fp16x3") == 0 || strcmp(name, "sgemm_gpu_bf16x6") == 0;
            test_case("prepared/%jdx%jdx%jd/%s", (intmax_t)sizes[s][0], (intmax_t)sizes[s][1],
                      (intmax_t)sizes[s][2], name);
            if (!choice[i].accepts || choice[i].algorithm->side == DUO_SIDE_CPU) continue;
            if (splits)
                CHECK(seconds[1][i] < seconds[0][i] && seconds[2][i] < seconds[0][i] &&
                          seconds[3][i] <= seconds[1][i] && seconds[3][i] <= seconds[2][i] &&
                          seconds[3][i] >= 0.5 * seconds[0][i],
                      "%g, with A %g, B %g, both %g", seconds[0][i], seconds[1][i], seconds[2][i],
                      seconds[3][i]);
            else
                CHECK(seconds[3][i] == seconds[0][i], "%g, prepared %g", seconds[0][i],
                      seconds[3][i]);
        }
    }
}

/* A remembered factor is not sent, but read by the CPU: that takes less. */
static void remembered_operands(void)
{
    enum { EDGE_OF_FACTOR = 4096, COLUMNS = 64 };
    const duo_profile *const profile = duo_profile_built_in("h100");
    const duo_conditions conditions = {.profile = profile,
                                       .threads = profile->threads,
                                       .gpu = true,
                                       .capability = 90,
                                       .device_memory_bytes = 1e12};
    float x;
    duo_call call = test_sgemm_call(false, false, EDGE_OF_FACTOR, COLUMNS, EDGE_OF_FACTOR, 1.0f, &x,
                                    EDGE_OF_FACTOR, &x, EDGE_OF_FACTOR, 0.0f, &x, EDGE_OF_FACTOR);
    double seconds[3];
    for (int way = 0; way < 3; way++) { /* sent, remembered, there without a check */
        duo_operand *const a = &call.operand[DUO_A];
        a->residence = way == 0 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED;
        a->on_device = way > 0;
        a->check_bytes = way == 1 ? duo_operand_bytes(a) : 0.0;
        seconds[way] = duo_predict_gpu(&call, &conditions, 1.0);
    }
    const double check = duo_operand_bytes(&call.operand[DUO_A]) / profile->cpu_bandwidth;
    test_case("remembered");
    CHECK(fabs(seconds[1] - seconds[2] - check) < 1e-6 * check, "a check of %g s takes %g", check,
          seconds[1] - seconds[2]);
    CHECK(seconds[1] < seconds[0], "sent %g s, remembered %g", seconds[0], seconds[1]);
    CHECK(!(duo_predict_gpu(&call, &conditions, 0.5 * seconds[2]) < 1.0), "more than the most");
}

/* ---- Cost of sgemm on the CPU, by the shape ---- */

/* The algorithm's cost for m x n x k, A and B without gaps, on at most `most` threads. */
static double cpu_cost(duo_algorithm_id id, const duo_profile *profile, int64_t m, int64_t n,
                       int64_t k, int most, int *threads)
{
    float x = 0.0f;
    const duo_call call = test_sgemm_call(false, false, m, n, k, 1.0f, &x, m, &x, k, 0.0f, &x, m);
    const duo_conditions conditions = {.profile = profile, .path = DUO_PATH_CPU, .threads = most};
    return duo_algorithm_of(id)->cost(&call, &conditions, threads);
}

static void shapes_on_the_cpu(void)
{
    static const char *const names[] = {"h100", "h200", "generic"};
    const duo_profile *const generic = duo_profile_built_in("generic");
    int threads;
    for (int i = 0; i < 3; i++) {
        const duo_profile *const p = duo_profile_built_in(names[i]);
        for (int which = 0; which < 2; which++) {
            const duo_algorithm_id id = which == 0 ? DUO_sgemm_cpu_openblas : DUO_sgemm_cpu_ffma;
            const duo_curve *const curve = &p->curve[id];
            test_case("shapes/cubes-are-the-curve/%s/%s", names[i], duo_algorithm_name(id));
            for (int j = 0; j < curve->count; j++) {
                const int64_t edge = (int64_t)curve->size[j];
                const double ratio =
                    cpu_cost(id, p, edge, edge, edge, 1, &threads) / curve->seconds[j];
                CHECK(ratio > 0.999 && ratio < 1.1, "edge %d: %g times", (int)edge, ratio);
            }
        }
    }

    /* Threads are worth 2^16 multiplications each; fewer than three are not worth their start. */
    test_case("shapes/ffma/pieces");
    new_machine(1e-3, 1.0);
    machine.fork_seconds = 0.0;
    CHECK(test_close(cpu_cost(DUO_sgemm_cpu_ffma, &machine, 50, 50, 50, 4, &threads), 1e-3, 1e-6) &&
              threads == 1,
          "%d threads for two pieces", threads);
    CHECK(test_close(cpu_cost(DUO_sgemm_cpu_ffma, &machine, 55, 55, 55, 3, &threads), 1e-3 / 3,
                     1e-6) &&
              threads == 3,
          "%d threads for three", threads);

    /* A library shares out what is worth it, on as many threads as it has. */
    test_case("shapes/openblas/threads");
    const duo_blas_library *const library = duo_blas_library_get();
    const int own = library != NULL ? duo_blas_library_threads(library) : INT_MAX;
    for (int most = 1; most <= 4; most++) {
        const int many = own < most ? own : most;
        CHECK(test_close(cpu_cost(DUO_sgemm_cpu_openblas, &machine, 64, 64, 64, most, &threads),
                         1e-3, 1e-6) &&
                  threads == many,
              "%d threads for 64^3, not %d", threads, many);
        CHECK(test_close(cpu_cost(DUO_sgemm_cpu_openblas, &machine, 65, 64, 64, most, &threads),
                         1e-3 / many, 2e-3) &&
                  threads == many,
              "%d threads for a little more, not %d", threads, many);
    }

    /* A thin product takes the time to move its operands. */
    for (int64_t k = 1; k <= 4; k++) {
        test_case("shapes/openblas/1000x1000x%d", (int)k);
        const double one = cpu_cost(DUO_sgemm_cpu_openblas, generic, 1000, 1000, k, 1, &threads);
        CHECK(one > 60e-6 && one < 300e-6, "%g s on one thread", one);
        const double many = cpu_cost(DUO_sgemm_cpu_openblas, generic, 1000, 1000, k, 16, &threads);
        CHECK(many > 30e-6 && many <= one, "%g s on %d threads", many, threads);
    }
    test_case("shapes/openblas/16x4096x4096");
    const double wide = cpu_cost(DUO_sgemm_cpu_openblas, generic, 16, 4096, 4096, 1, &threads);
    CHECK(wide > 8e-3 && wide < 16e-3, "%g s", wide);

    /* With C on the device the CPU would need more than the time to fetch C and send it back. */
    test_case("shapes/kept");
    float x = 0.0f;
    duo_call call =
        test_sgemm_call(false, false, 1000, 1000, 1, 1.0f, &x, 1000, &x, 1, 0.0f, &x, 1000);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        call.operand[i].residence = i == DUO_C ? DUO_AT_KEPT : DUO_AT_PAGEABLE;
        call.operand[i].on_host = true;
        call.operand[i].on_device = i == DUO_C;
    }
    duo_choice choice[DUO_CANDIDATES];
    const duo_conditions conditions = {.profile = generic,
                                       .math = DUO_MATH_ACCURATE,
                                       .threads = 2,
                                       .gpu = true,
                                       .device_memory_bytes = 8e10};
    const int count = duo_predict(&call, &conditions, choice);
    const int best = duo_select(choice, count, &conditions);
    CHECK(choice[best].algorithm->side == DUO_SIDE_GPU, "%s, %g s", choice[best].algorithm->name,
          choice[best].seconds);
    duo_profile_reset();
}

/* ---- A prediction is never nonsense ---- */

static void predictions_are_sane(void)
{
    static const char *const names[] = {"h100", "h200", "generic"};
    enum { TRIALS = 2000 };
    int shorts = 0;
    test_rng rng = test_rng_for("predictions_are_sane");
    for (int trial = 0; trial < TRIALS; trial++) {
        const duo_profile *const profile = duo_profile_built_in(names[trial % 3]);
        const bool float64 = trial % 5 == 0;
        const duo_conditions conditions = {.profile = profile,
                                           .math = float64 ? DUO_MATH_FLOAT64 : DUO_MATH_ACCURATE,
                                           .threads = (int)test_between(&rng, 1, 300),
                                           .gpu = test_random(&rng) % 4 != 0,
                                           .device_memory_bytes = 8e10};
        if (trial % 100 == 0) test_case("predictions/%d..", trial);
        duo_call call;
        float x;
        if (trial % 3 == 0) {
            const int64_t m = 1 + (int64_t)pow(2.0, 15.0 * test_unit(&rng));
            const int64_t n = 1 + (int64_t)pow(2.0, 15.0 * test_unit(&rng));
            const int64_t k = (int64_t)pow(2.0, 15.0 * test_unit(&rng)) - 1;
            call = test_sgemm_call(false, false, m, n, k, 1.0f, &x, m, &x, k + 1, 0.0f, &x, m);
        } else {
            const duo_operation op = (duo_operation)(DUO_SASUM + test_random(&rng) % 3);
            const int64_t n = 1 + (int64_t)pow(2.0, 33.0 * test_unit(&rng));
            call = test_reduce_call(op, n, &x, test_between(&rng, 1, 40), &x,
                                    test_between(&rng, -3, 40), &x);
        }
        for (int i = 0; i < DUO_OPERANDS; i++) {
            const duo_residence at =
                (duo_residence)test_between(&rng, DUO_AT_PAGEABLE, DUO_AT_DEVICE);
            call.operand[i].residence = at;
            call.operand[i].on_device = at == DUO_AT_KEPT || at == DUO_AT_DEVICE;
            call.operand[i].on_host = at != DUO_AT_DEVICE;
        }
        duo_choice choice[DUO_CANDIDATES];
        const int count = duo_predict(&call, &conditions, choice);
        const int best = duo_select(choice, count, &conditions);
        CHECK(best >= 0 && choice[best].accepts, "no algorithm takes it");
        for (int i = 0; i < count; i++) {
            const double seconds = choice[i].seconds;
            CHECK(choice[i].accepts ? seconds > 0.0 && isfinite(seconds) : isinf(seconds) != 0,
                  "%s: %g s", choice[i].algorithm->name, seconds);
            CHECK(choice[i].threads >= 0 && choice[i].threads <= conditions.threads,
                  "%s: %d threads", choice[i].algorithm->name, choice[i].threads);
            if (choice[i].accepts && best >= 0)
                CHECK(choice[best].seconds <= seconds, "%s is cheaper", choice[i].algorithm->name);
            CHECK(duo_algorithm_serves(choice[i].algorithm, conditions.math), "another math");
            if (!conditions.gpu)
                CHECK(choice[i].algorithm->side == DUO_SIDE_CPU || !choice[i].accepts, "no GPU");
        }
        /* If only the CPU's algorithms are predicted, the whole prediction chooses the same. */
        duo_choice alone[DUO_CANDIDATES];
        const int few = duo_predict_cpu(&call, &conditions, alone);
        if (few == 0 || best < 0) continue;
        const duo_choice *const chosen = &alone[duo_select(alone, few, &conditions)];
        CHECK(chosen->algorithm == choice[best].algorithm &&
                  chosen->threads == choice[best].threads &&
                  chosen->seconds == choice[best].seconds,
              "%s alone, %s of all", chosen->algorithm->name, choice[best].algorithm->name);
        shorts++;
    }
    test_case("predictions/cpu-alone");
    CHECK(shorts > TRIALS / 20 && shorts < TRIALS * 19 / 20, "%d of %d", shorts, TRIALS);
}

/* ---- A factor of zero ---- */

/* With alpha = 0 nothing is multiplied: an algorithm that accepts both takes as long as with k =
 * 0. */
static void nothing_to_multiply(void)
{
    const duo_conditions conditions = {.profile = duo_profile_built_in("h100"),
                                       .threads = 4,
                                       .gpu = true,
                                       .capability = 90,
                                       .device_memory_bytes = 1e12};
    for (int device = 0; device < 2; device++) {
        duo_call empty = duo_call_sgemm(true, false, 500, 300, 0, 1.0f, 0.5f);
        duo_call zero = duo_call_sgemm(true, false, 500, 300, 4000, 0.0f, 0.5f);
        duo_call whole = duo_call_sgemm(true, false, 500, 300, 4000, 1.0f, 0.5f);
        duo_call *const calls[] = {&empty, &zero, &whole};
        duo_choice choice[3][DUO_CANDIDATES];
        int count = 0;
        for (int i = 0; i < 3; i++) {
            calls[i]->operand[DUO_C].on_device = device == 1;
            calls[i]->operand[DUO_C].residence = device == 1 ? DUO_AT_DEVICE : DUO_AT_PAGEABLE;
            count = duo_predict(calls[i], &conditions, choice[i]);
        }
        for (int i = 0; i < count; i++) {
            test_case("alpha-0/%s/%s", device == 1 ? "device" : "host",
                      choice[0][i].algorithm->name);
            if (!choice[0][i].accepts || !choice[1][i].accepts) continue;
            CHECK(choice[1][i].seconds == choice[0][i].seconds, "%g s, with k = 0 %g s",
                  choice[1][i].seconds, choice[0][i].seconds);
            CHECK(choice[1][i].seconds < choice[2][i].seconds, "%g s, with alpha = 1 %g s",
                  choice[1][i].seconds, choice[2][i].seconds);
        }
    }
}

/* Beyond its curve the naive kernel is never thought faster than the tiled one. */
static void naive_behind_tiled(void)
{
    float x = 0.0f;
    int threads;
    static duo_profile disturbed;
    disturbed = *duo_profile_built_in("h100");
    duo_curve *const tiled = &disturbed.curve[DUO_sgemm_gpu_tiled];
    for (int i = 0; i < tiled->count; i++)
        if (tiled->size[i] > 2048.0) tiled->seconds[i] *= 50.0;
    const duo_conditions conditions = {
        .profile = &disturbed, .path = DUO_PATH_GPU, .threads = 1, .gpu = true};
    for (int64_t edge = 2100; edge <= 8192; edge += edge / 3) {
        const duo_call call = test_sgemm_call(false, false, edge, edge, edge, 1.0f, &x, edge, &x,
                                              edge, 0.0f, &x, edge);
        test_case("shapes/naive/%d", (int)edge);
        const double naive =
            duo_algorithm_of(DUO_sgemm_gpu_naive)->cost(&call, &conditions, &threads);
        const double better =
            duo_algorithm_of(DUO_sgemm_gpu_tiled)->cost(&call, &conditions, &threads);
        CHECK(naive >= better, "%g s, tiled %g", naive, better);
    }
}

/* ---- Profiles that lack something ---- */

/* A profile that is being measured has not all curves yet, and no rates. */
static void take_away(duo_profile *p, int what)
{
    if (what < DUO_ALGORITHMS) p->curve[what].count = 0;
    if (what >= DUO_ALGORITHMS && what < 2 * DUO_ALGORITHMS)
        p->team[what - DUO_ALGORITHMS].count = 0;
    if (what == 2 * DUO_ALGORITHMS) p->cpu_bandwidth = 0.0;
    if (what == 2 * DUO_ALGORITHMS + 1) p->threads = 0;
    if (what >= 2 * DUO_ALGORITHMS + 2) p->threads = 1;
    if (what == 2 * DUO_ALGORITHMS + 3)
        for (int id = DUO_sasum_gpu_shuffle; id <= DUO_sdot_cpu_float64; id++)
            p->curve[id].count = 0;
    if (what == 2 * DUO_ALGORITHMS + 4) /* no cube's columns begin on 16 bytes */
        for (int id = DUO_sgemm_gpu_bf16x6; id <= DUO_sgemm_gpu_fp16x1; id++)
            for (int i = 0; i < p->curve[id].count; i++) p->curve[id].size[i] += 1.0;
}
enum { LACKING = 2 * DUO_ALGORITHMS + 6 }; /* the last lacks nothing */

/* Calls on every residence, in a row and strided; products of the smallest sizes, too. */
static duo_call call_number(int number, duo_residence at)
{
    static const int64_t sizes[][3] = {
        {1, 1, 1},       {2, 3, 700},     {1, 900, 300},    {64, 64, 64},     {300, 200, 100},
        {5000, 1, 3000}, {700, 3, 5000},  {2000, 2000, 80}, {128, 128, 64},   {100, 90, 128},
        {64, 64, 192},   {256, 256, 256}, {200, 100, 4000}, {100, 100, 40000}};
    enum { SHAPES = sizeof sizes / sizeof sizes[0] };
    duo_call call;
    if (number < SHAPES) {
        const int64_t *const s = sizes[number];
        call = duo_call_sgemm(false, false, s[0], s[1], s[2], 1.0f, 0.0f);
    } else {
        call = duo_call_reduction((duo_operation)(DUO_SASUM + number % 3), 100000);
        call.operand[DUO_X].ld = number % 2 == 0 ? 1 : 5;
    }
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call.operand[i];
        if (!duo_operand_touched(o)) continue;
        o->residence = at;
        o->on_device = at == DUO_AT_KEPT || at == DUO_AT_DEVICE;
        o->on_host = at != DUO_AT_DEVICE;
    }
    return call;
}
enum { CALLS = 14 + 6 };

/* No prediction becomes nonsense: what is not known takes endless time, or the time of something
 * like it. */
static void lacking_profiles(void)
{
    static const int capabilities[] = {0, 60, 70, 75, 80, 90};
    static duo_profile p;
    for (int what = 0; what < LACKING; what++)
        for (int at = DUO_AT_PAGEABLE; at <= DUO_AT_DEVICE; at++)
            for (int number = 0; number < CALLS; number++) {
                test_case("lacking/%d/%d/%d", what, at, number);
                p = *duo_profile_built_in("h200");
                take_away(&p, what);
                const duo_call call = call_number(number, (duo_residence)at);
                const duo_conditions conditions = {
                    .profile = &p,
                    .math = number % 4 == 3 ? DUO_MATH_FLOAT64 : DUO_MATH_ACCURATE,
                    .threads = number % 3 == 0 ? 1 : 8,
                    .gpu = true,
                    .capability = capabilities[what < LACKING - 2 ? (what + number) % 6 : 5],
                    .device_memory_bytes = 8e10};
                duo_choice choice[DUO_CANDIDATES];
                const int count = duo_predict(&call, &conditions, choice);
                for (int i = 0; i < count; i++)
                    CHECK(choice[i].accepts ? choice[i].seconds > 0.0 : isinf(choice[i].seconds),
                          "%s: %g s", choice[i].algorithm->name, choice[i].seconds);
            }
}

/* A GPU that no algorithm can use takes endless time. */
static void no_algorithm_on_the_gpu(void)
{
    test_case("predictions/no algorithm");
    const duo_conditions conditions = {.profile = duo_profile_built_in("h100"),
                                       .threads = 1,
                                       .gpu = true,
                                       .device_memory_bytes = 100.0};
    const duo_call call = call_number(4, DUO_AT_STALE);
    CHECK(isinf(duo_predict_gpu(&call, &conditions, (double)INFINITY)), "something accepts");
}

/* Bytes for each element of an operand in the planes that an algorithm makes of it. */
static void packed_bytes(void)
{
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        const double bytes = duo_stream_packed_bytes((duo_algorithm_id)id);
        const double planes = id == DUO_sgemm_gpu_bf16x6   ? 3.0
                              : id == DUO_sgemm_gpu_fp16x3 ? 2.0
                              : id == DUO_sgemm_gpu_fp16x1 ? 1.0
                                                           : 0.0;
        test_case("predictions/packed/%s", duo_algorithm_name((duo_algorithm_id)id));
        CHECK(bytes == 2.0 * planes, "%g bytes", bytes);
    }
}

static const test_entry tests[] = {
    {"prepared_operands", prepared_operands},
    {"remembered_operands", remembered_operands},
    {"shapes_on_the_cpu", shapes_on_the_cpu},
    {"naive_behind_tiled", naive_behind_tiled},
    {"predictions_are_sane", predictions_are_sane},
    {"nothing_to_multiply", nothing_to_multiply},
    {"lacking_profiles", lacking_profiles},
    {"no_algorithm_on_the_gpu", no_algorithm_on_the_gpu},
    {"packed_bytes", packed_bytes},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "predictions", tests); }
