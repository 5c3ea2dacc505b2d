/*
 * test_remembered.c - duo_set_remember: factors that stay the same are not sent again; room, losses
 * and forks.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/remembered.h"
#include "data/residency.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/remembering.h"

/* ---- What is sent ---- */

static void is_sent_twice(void)
{
    duo_context *const ctx = remembering();
    arrays w = remembering_arrays();
    test_case("sent twice");
    for (int call = 0; call < 6; call++) {
        const uint64_t sent =
            remembering_sent(ctx, &w, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
        if (!test_on_sim()) continue;
        CHECK((sent >= w.a_bytes) == (call < 2), "call %d sent %ju bytes", call, (uintmax_t)sent);
        CHECK(call < 2 || sent <= remembering_other, "call %d sent %ju bytes", call,
              (uintmax_t)sent);
    }
    test_case("one element changes");
    for (int call = 0; call < 50; call++) {
        const int64_t at = call == 0   ? 0
                           : call == 1 ? M * K - 1
                                       : test_between(&w.seed, 0, M * K - 1);
        w.a[at] += 1.0f;
        const uint64_t sent = remembering_sent(ctx, &w, DUO_AT_REMEMBERED);
        CHECK(sent <= remembering_other + PAGE, "%ju bytes were sent", (uintmax_t)sent);
    }
    test_case("a tenth changes");
    for (int64_t i = 1000; i < 1000 + M * K / 10; i++) w.a[i] = -w.a[i] + 1.0f;
    const uint64_t sent = remembering_sent(ctx, &w, DUO_AT_REMEMBERED);
    CHECK(sent <= remembering_other + 2 * PAGE + w.a_bytes / 10, "%ju bytes were sent",
          (uintmax_t)sent);
    test_case("forgotten by duo_trim and duo_keep");
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    (void)remembering_sent(ctx, &w, DUO_AT_PAGEABLE);
    (void)remembering_sent(ctx, &w, DUO_AT_PAGEABLE);
    (void)remembering_sent(ctx, &w, DUO_AT_REMEMBERED);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, w.a, w.a_bytes));
    (void)remembering_sent(ctx, &w, DUO_AT_STALE);
    (void)remembering_sent(ctx, &w, DUO_AT_KEPT);
    CHECK_STATUS(DUO_OK, duo_release(ctx, w.a));
    (void)remembering_sent(ctx, &w, DUO_AT_PAGEABLE);
    test_case("not asked for");
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    CHECK_STATUS(DUO_OK, duo_set_remember(ctx, DUO_REMEMBER_NONE));
    for (int call = 0; call < 4; call++) (void)remembering_sent(ctx, &w, DUO_AT_PAGEABLE);
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_remember(ctx, (duo_remember)77));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_remember(test_dead_context(), DUO_REMEMBER_NONE));
    remembering_free(&w);
    test_context_end(ctx);
}

/* A weight: used twice between updates. Then the second use is not sent. */
static void is_used_twice(void)
{
    duo_context *const ctx = remembering();
    arrays w = remembering_arrays();
    test_case("used twice between updates");
    for (int step = 0; step < 6; step++) {
        remembering_fill(w.a, M * K, &w.seed);
        (void)remembering_multiply(ctx, &(product){false, false, M, N, K, w.a, M, w.b, K}, w.c, M);
        const duo_residence first = remembering_residence(ctx, 0);
        const uint64_t before = test_on_sim() ? sim_uploaded_bytes() : 0;
        const product back = {true, false, K, N, M, w.a, M, w.b, M};
        const int64_t wrong = remembering_multiply(ctx, &back, w.c, K);
        CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
        if (step < 3) continue; /* it was first sent by the second use: two steps later it is not */
        CHECK(first == DUO_AT_PAGEABLE, "it was at %d", (int)first);
        CHECK(remembering_residence(ctx, 0) == DUO_AT_REMEMBERED, "step %d", step);
        if (test_on_sim())
            CHECK(sim_uploaded_bytes() - before <= remembering_other, "step %d sent it again",
                  step);
    }
    remembering_free(&w);
    test_context_end(ctx);
}

/* Of two factors that came before one has changed: the other one stays. */
static void one_of_two_changes(void)
{
    duo_context *const ctx = remembering();
    arrays w = remembering_arrays();
    test_case("one of two");
    for (int call = 0; call < 12; call++) {
        const product p = {false, false, M, M, K, w.a, M, w.b, K};
        if (call > 3) remembering_fill(w.b, K * M, &w.seed);
        CHECK(remembering_multiply(ctx, &p, w.c, M) == 0, "wrong elements");
        CHECK(remembering_residence(ctx, 0) == (call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED),
              "call %d", call);
    }
    remembering_free(&w);
    test_context_end(ctx);
}

/* The program chooses an algorithm of the GPU, and the factor has changed. */
static int naive(void *user, const duo_decision *decision, int chosen)
{
    ++*(int *)user;
    for (int i = 0; i < decision->candidates; i++)
        if (strcmp(decision->candidate[i].algorithm, "sgemm_gpu_naive") == 0) return i;
    return chosen;
}

static void the_program_chooses(void)
{
    int asked = 0;
    duo_decision d = {.size = sizeof d};
    duo_context *const ctx = remembering();
    arrays w = remembering_arrays();
    test_case("the program chooses");
    CHECK_STATUS(DUO_OK, duo_set_decide(ctx, naive, &asked));
    for (int call = 0; call < 6; call++) {
        const product p = remembering_whole(&w);
        if (call > 3) remembering_fill(w.a, M * K, &w.seed);
        CHECK(remembering_multiply(ctx, &p, w.c, M) == 0, "call %d: wrong elements", call);
        CHECK(asked == call + 1, "asked %d times in %d calls", asked, call + 1);
        CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
        CHECK(strcmp(d.algorithm, "sgemm_gpu_naive") == 0, "call %d: %s", call, d.algorithm);
    }
    remembering_free(&w);
    test_context_end(ctx);
}

/* An array that is rewritten before each use is let pass, longer and longer. */
static void is_rewritten(void)
{
    enum { CALLS = 200 };
    duo_context *const ctx = remembering();
    arrays w = remembering_arrays();
    int checks = 0;
    test_case("rewritten each time");
    for (int call = 0; call < CALLS; call++) {
        remembering_fill(w.a, M * K, &w.seed);
        const product p = remembering_whole(&w);
        const uint64_t before = test_on_sim() ? sim_downloaded_bytes() : 0;
        const int64_t wrong = remembering_multiply(ctx, &p, w.c, M);
        CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
        CHECK(remembering_residence(ctx, 0) == DUO_AT_PAGEABLE, "call %d", call);
        /* More than C came: the tags of a copy, for a check. */
        if (test_on_sim()) checks += sim_downloaded_bytes() - before > sizeof(float) * M * N;
    }
    /* 4, 8, 16, 32, 64 calls pass between two of them. */
    if (test_on_sim()) CHECK(checks >= 5 && checks <= 7, "%d checks", checks);
    remembering_free(&w);
    test_context_end(ctx);
}

/* What a call writes is not a factor that comes again. */
static void results_are_forgotten(void)
{
    duo_context *const ctx = remembering();
    const arrays w = remembering_arrays();
    test_case("results");
    for (int call = 0; call < 6; call++) {
        const product p = {false, false, M, M, K, w.a, M, w.b, K};
        CHECK(remembering_multiply(ctx, &p, w.c, M) == 0, "wrong elements");
        float *const next = remembering_map(sizeof(float) * M * N);
        const product q = {false, false, M, N, M, w.c, M, w.b, M};
        CHECK(remembering_multiply(ctx, &q, next, M) == 0, "wrong elements");
        CHECK(remembering_residence(ctx, 0) == DUO_AT_PAGEABLE, "call %d", call);
        munmap(next, sizeof(float) * M * N);
    }
    remembering_free(&w);
    test_context_end(ctx);
}

/* Parts of a remembered array, with small and large gaps. Pages between the columns of a part are
 * not read: they may be gone. */
static void parts(void)
{
    enum { ROWS = 3 * PAGE / 4, COLUMNS = 96 };
    duo_context *const ctx = remembering();
    float *const a = remembering_map(sizeof(float) * ROWS * COLUMNS), *const b = remembering_map(
                                                                          sizeof(float) * ROWS * N);
    float *const c = remembering_map(sizeof(float) * ROWS * N);
    test_rng seed = test_rng_for("remembered");
    test_case("parts");
    remembering_fill(a, ROWS * COLUMNS, &seed);
    remembering_fill(b, ROWS * N, &seed);
    for (int call = 0; call < 3; call++) {
        const product p = {false, false, ROWS, N, COLUMNS, a, ROWS, b, ROWS};
        CHECK(remembering_multiply(ctx, &p, c, ROWS) == 0, "wrong elements");
    }
    for (int call = 0; call < 40; call++) {
        const int64_t i = test_between(&seed, 0, ROWS - 1), j = test_between(&seed, 0, COLUMNS - 1);
        const int64_t rows = test_between(&seed, 1, ROWS - i);
        const int64_t columns = test_between(&seed, 1, COLUMNS - j);
        a[test_random(&seed) % (ROWS * COLUMNS)] += 1.0f;
        const bool turned = call % 2 != 0;
        const product p = {turned,
                           false,
                           turned ? columns : rows,
                           N,
                           turned ? rows : columns,
                           a + i + j * ROWS,
                           ROWS,
                           b,
                           ROWS};
        CHECK(remembering_multiply(ctx, &p, c, ROWS) == 0, "wrong elements");
        CHECK(remembering_residence(ctx, 0) == DUO_AT_REMEMBERED, "%jd x %jd at %jd, %jd",
              (intmax_t)rows, (intmax_t)columns, (intmax_t)i, (intmax_t)j);
    }
    test_case("parts/pages between them have gone");
    for (int64_t j = 0; j < COLUMNS; j++) munmap((char *)(a + j * ROWS) + PAGE, 2 * PAGE);
    const product p = {false, false, PAGE / 4, N, COLUMNS, a, ROWS, b, ROWS};
    CHECK(remembering_multiply(ctx, &p, c, ROWS) == 0, "wrong elements");
    CHECK(remembering_residence(ctx, 0) == DUO_AT_REMEMBERED, "not remembered");
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    munmap(a, sizeof(float) * ROWS * COLUMNS);
    munmap(b, sizeof(float) * ROWS * N);
    munmap(c, sizeof(float) * ROWS * N);
    test_context_end(ctx);
}

/* Both factors are parts of one array. */
static void same_array(void)
{
    duo_context *const ctx = remembering();
    arrays w = remembering_arrays();
    test_case("same array");
    for (int call = 0; call < 3; call++)
        (void)remembering_sent(ctx, &w, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
    for (int call = 0; call < 8; call++) {
        w.a[test_between(&w.seed, 0, M * K - 1)] += 1.0f;
        const product p = {true, false, N, K / 2, M, w.a, M, w.a + M * (K / 2), M};
        CHECK(remembering_multiply(ctx, &p, w.c, N) == 0, "wrong elements");
        CHECK(remembering_residence(ctx, 0) == DUO_AT_REMEMBERED &&
                  remembering_residence(ctx, 1) == DUO_AT_REMEMBERED,
              "call %d", call);
        const product q = {true, false, K, K, M, w.a, M, w.a, M};
        float *const square = remembering_map(sizeof(float) * K * K);
        CHECK(remembering_multiply(ctx, &q, square, K) == 0, "wrong elements");
        CHECK(remembering_residence(ctx, 1) == DUO_AT_REMEMBERED, "call %d", call);
        munmap(square, sizeof(float) * K * K);
    }
    remembering_free(&w);
    test_context_end(ctx);
}

/* ---- Room, losses, forks ---- */

static void room_is_short(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("room");
    sim_set_memory(16 << 20);
    duo_context *const ctx = remembering();
    enum { ARRAYS = 16 };
    arrays w = remembering_arrays();
    float *const kept = remembering_map(w.a_bytes);
    remembering_fill(kept, M * K, &w.seed);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, kept, w.a_bytes));
    const product of_kept = {false, false, M, N, K, kept, M, w.b, K};
    CHECK(remembering_multiply(ctx, &of_kept, w.c, M) == 0, "wrong elements");
    float *a[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        a[i] = remembering_map(w.a_bytes);
        remembering_fill(a[i], M * K, &w.seed);
    }
    int remembered = 0;
    for (int round = 0; round < 6; round++)
        for (int i = 0; i < ARRAYS; i++) {
            const product p = {false, false, M, N, K, a[i], M, w.b, K};
            CHECK(remembering_multiply(ctx, &p, w.c, M) == 0, "wrong elements");
            remembered += remembering_residence(ctx, 0) == DUO_AT_REMEMBERED;
        }
    CHECK(remembered >= 8, "only %d were remembered", remembered);
    CHECK(sim_allocated_bytes(0) <= 11 << 20, "%ju bytes are held",
          (uintmax_t)sim_allocated_bytes(0));
    void *mine = NULL; /* the program's memory comes first */
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 8 << 20, &mine));
    CHECK(sim_is_device(mine), "remembered arrays kept their room");
    CHECK_STATUS(DUO_OK, duo_free(ctx, mine));
    CHECK(remembering_multiply(ctx, &of_kept, w.c, M) == 0, "wrong elements");
    CHECK(remembering_residence(ctx, 0) == DUO_AT_KEPT, "a kept array went before remembered ones");
    CHECK_STATUS(DUO_OK, duo_release(ctx, kept));
    munmap(kept, w.a_bytes);
    for (int i = 0; i < ARRAYS; i++) munmap(a[i], w.a_bytes);
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    remembering_free(&w);
    test_context_end(ctx);
}

/* More arrays than the table has places: for another one that goes which was not used for longest,
 * one without a copy before others. For one that is there none goes. */
static void table_is_full(void)
{
    enum { ROWS = 16, STEPS = 64, ARRAYS = 1024 };
    const size_t least = duo_remembered_least, floats = ROWS * STEPS;
    duo_context *const ctx = remembering();
    arrays w = remembering_arrays();
    float *const all = remembering_map((ARRAYS + 2) * floats * sizeof *all);
    remembering_fill(all, (ARRAYS + 2) * ROWS * STEPS, &w.seed);
    duo_remembered_least = floats * sizeof *all;
#define IS_AT(i, where)                                                                            \
    do {                                                                                           \
        const product p = {false, false, ROWS, 1, STEPS, all + (i)*floats, ROWS, w.b, STEPS};      \
        CHECK(remembering_multiply(ctx, &p, w.c, ROWS) == 0, "wrong elements");                    \
        const duo_residence is = remembering_residence(ctx, 0);                                    \
        CHECK(is == (where), "array %d was at %d", (int)(i), (int)is);                             \
    } while (0)
    test_case("one without a copy goes");
    IS_AT(0, DUO_AT_PAGEABLE);
    IS_AT(0, DUO_AT_PAGEABLE);
    for (int i = 1; i <= ARRAYS; i++) IS_AT(i, DUO_AT_PAGEABLE);
    IS_AT(0, DUO_AT_REMEMBERED);
    IS_AT(2, DUO_AT_PAGEABLE);
    IS_AT(2, DUO_AT_REMEMBERED);
    IS_AT(1, DUO_AT_PAGEABLE); /* it went, and 3 goes for it */
    IS_AT(1, DUO_AT_PAGEABLE);
    IS_AT(1, DUO_AT_REMEMBERED);
    test_case("all have copies, and the one that rested longest goes");
    for (int i = 4; i <= ARRAYS; i++) IS_AT(i, DUO_AT_PAGEABLE);
    IS_AT(0, DUO_AT_REMEMBERED);
    for (int i = 4; i <= ARRAYS; i++) IS_AT(i, DUO_AT_REMEMBERED);
    IS_AT(1, DUO_AT_REMEMBERED);
    IS_AT(ARRAYS + 1, DUO_AT_PAGEABLE);
    CHECK(duo_residency_count_remembered() == ARRAYS, "%zu arrays",
          duo_residency_count_remembered());
    IS_AT(0, DUO_AT_REMEMBERED);
    IS_AT(2, DUO_AT_PAGEABLE);
#undef IS_AT
    duo_remembered_least = least;
    remembering_free(&w);
    munmap(all, (ARRAYS + 2) * floats * sizeof *all);
    test_context_end(ctx);
}

static void device_fails(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    static const sim_kind kinds[] = {SIM_ALLOCATE, SIM_COPY, SIM_LAUNCH, SIM_WAIT,
                                     SIM_AFTER,    SIM_MARK, SIM_PIN};
    static const duo_status statuses[] = {DUO_ERR_DEVICE, DUO_ERR_LOST};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
        for (int what = 0; what < 2; what++)
            for (int nth = 1; nth <= 40; nth += test_amount(13, 3, 1)) {
                test_reset();
                test_case("failures/%d/%d/%d", (int)kinds[kind], what, nth);
                duo_context *const ctx = remembering();
                arrays w = remembering_arrays();
                const product p = remembering_whole(&w);
                sim_fail(kinds[kind], nth, statuses[what], what == 0 ? 2 : 1);
                for (int call = 0; call < 5; call++) {
                    CHECK(remembering_multiply(ctx, &p, w.c, M) == 0, "wrong elements in call %d",
                          call);
                    w.a[test_random(&w.seed) % (M * K)] += 1.0f;
                }
                sim_fail(kinds[kind], 0, DUO_OK, 0);
                remembering_free(&w);
                const duo_status ended = duo_destroy(ctx);
                CHECK(ended == DUO_OK || ended == DUO_ERR_LOST, "%d", (int)ended);
                CHECK(sim_violations() == 0, "%d violations", sim_violations());
            }
}

/* In a child process nothing is remembered, and the parent's arrays stay. */
static void forked(void)
{
    if (test_mode_now() == MODE_GPU) {
        test_skip("a process with CUDA does not fork here");
        return;
    }
    test_case("fork");
    duo_context *const ctx = remembering();
    arrays w = remembering_arrays();
    for (int call = 0; call < 3; call++)
        (void)remembering_sent(ctx, &w, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const product p = remembering_whole(&w);
        w.a[5] += 1.0f;
        _exit(remembering_multiply(ctx, &p, w.c, M) == 0 &&
                      remembering_residence(ctx, 0) == DUO_AT_PAGEABLE
                  ? 0
                  : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
    (void)remembering_sent(ctx, &w, DUO_AT_REMEMBERED);
    remembering_free(&w);
    test_context_end(ctx);
}

static const test_entry tests[] = {
    {"is_sent_twice", is_sent_twice},
    {"is_used_twice", is_used_twice},
    {"one_of_two_changes", one_of_two_changes},
    {"the_program_chooses", the_program_chooses},
    {"is_rewritten", is_rewritten},
    {"results_are_forgotten", results_are_forgotten},
    {"parts", parts},
    {"same_array", same_array},
    {"room_is_short", room_is_short},
    {"table_is_full", table_is_full},
    {"device_fails", device_fails},
    {"forked", forked},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "remembered", tests); }
