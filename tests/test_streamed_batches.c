/*
 * test_streamed_batches.c - batches with operands in host memory: sent, multiplied and fetched at
 * the same time, by the simulated device's clock, and in memory that stays for the next call; and
 * how the host packs what it sends.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "call/context.h"
#include "data/runs.h"
#include "gpu/backend/devices.h"
#include "sim/clock.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"

enum { EDGE = 96, COUNT = 1024, FLOATS = EDGE * EDGE };

/* A batch of squares, from lists with neighbours swapped or at equal distances. */
typedef struct squares {
    duo_context *ctx;
    float *at[DUO_OPERANDS], *list[DUO_OPERANDS][COUNT];
    bool pinned;
} squares;

static void *must(void *p)
{
    if (p == NULL) abort();
    return p;
}

/* Ones, so that every element of a product is EDGE; C has NaNs. */
static void squares_open(squares *s, bool pinned)
{
    *s = (squares){.ctx = test_context(), .pinned = pinned};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const size_t bytes = (size_t)COUNT * FLOATS * sizeof(float);
        void *memory = pinned ? NULL : must(malloc(bytes));
        if (pinned) CHECK_STATUS(DUO_OK, duo_malloc_host(s->ctx, bytes, &memory));
        s->at[i] = memory;
        if (i == DUO_C) memset(memory, 0xff, bytes);
        for (int64_t e = 0; e < COUNT * FLOATS && i != DUO_C; e++) s->at[i][e] = 1.0f;
        for (int64_t p = 0; p < COUNT; p++) s->list[i][p] = s->at[i] + (p ^ 1) * FLOATS;
    }
}

static void squares_close(squares *s)
{
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (s->pinned)
            CHECK_STATUS(DUO_OK, duo_free_host(s->ctx, s->at[i]));
        else
            free(s->at[i]);
    test_context_end(s->ctx);
}

/* count: at most COUNT. */
static duo_status multiply(const squares *s, bool lists, int64_t count)
{
    if (!lists)
        return duo_sgemm_strided_batched(s->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE,
                                         EDGE, EDGE, 1.0f, s->at[DUO_A], EDGE, FLOATS, s->at[DUO_B],
                                         EDGE, FLOATS, 0.0f, s->at[DUO_C], EDGE, FLOATS, count);
    return duo_sgemm_batched(s->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE,
                             1.0f, (const float *const *)s->list[DUO_A], EDGE,
                             (const float *const *)s->list[DUO_B], EDGE, 0.0f, s->list[DUO_C], EDGE,
                             count);
}

/* Products of the simulated device are timed by their size, and computed as if alpha were 0. */
static duo_status launch_only(duo_queue *queue, duo_algorithm_id algorithm, const duo_group *group,
                              int64_t groups)
{
    duo_group scaled = *group;
    CHECK(groups == 1, "%jd groups", (intmax_t)groups);
    scaled.call.alpha = 0.0f;
    scaled.call.batch = &scaled.batch;
    return sim_backend()->launch_batch(queue, algorithm, &scaled, 1);
}

/* Each product begins after its matrices arrived. Matrices go up while others are multiplied, and
 * while others come home. */
static void check_order(const sim_operation *log, size_t count)
{
    int early = 0, multiplies = 0, both_ways = 0;
    for (size_t i = 0; i < count; i++) {
        if (log[i].kind != SIM_UP) continue;
        bool beside_product = false, beside_fetch = false;
        for (size_t j = 0; j < count; j++) {
            const sim_operation *const op = &log[j];
            const bool reads = sim_span_meets(log[i].written, op->read[DUO_A]) ||
                               sim_span_meets(log[i].written, op->read[DUO_B]);
            /* A later SEND may overwrite the slot only when this product is done. */
            if (op->kind == SIM_COMPUTE && reads) early += sim_overlap(&log[i], op);
            beside_product |= op->kind == SIM_COMPUTE && sim_overlap(&log[i], op);
            beside_fetch |= op->kind == SIM_DOWN && sim_overlap(&log[i], op);
        }
        multiplies += beside_product;
        both_ways += beside_fetch;
    }
    CHECK(early == 0, "%d products run while their matrices are sent", early);
    CHECK(multiplies > 0, "nothing is multiplied while matrices go up");
    CHECK(both_ways > 0, "nothing comes home while matrices go up");
}

static void overlap_of(bool pinned, bool lists)
{
    squares *const s = must(malloc(sizeof *s));
    test_case("streamed-batches/overlap/%s/%s", pinned ? "pinned" : "pageable",
              lists ? "lists" : "strided");
    squares_open(s, pinned);
    for (int again = 0; again < 2; again++) {
        const uint64_t began = sim_clock_host();
        sim_log_reset();
        CHECK_STATUS(DUO_OK, multiply(s, lists, COUNT));
        const double seconds = 1e-9 * (double)(sim_clock_host() - began);
        const double bound = sim_clock_bound(&duo_context_of(s->ctx)->resources.plan);
        const sim_operation *log;
        const size_t count = sim_log(&log);
        check_order(log, count);
        CHECK(seconds >= bound && seconds <= 1.3 * bound, "%g s, bound %g s", seconds, bound);
    }
    squares_close(s);
    free(s);
}

static void overlap(void)
{
    if (!test_on_sim()) {
        test_skip("a GPU has no log");
        return;
    }
    duo_backend backend = *sim_backend();
    backend.launch_batch = launch_only;
    duo_backend_install(&backend);
    for (int way = 0; way < 4; way++) overlap_of(way / 2 == 0, way % 2 != 0);
    duo_backend_install(sim_backend());
}

/* The second call allocates nothing; every element comes home, and none behind the last one. */
static void second_call(void)
{
    static const sim_kind kinds[] = {SIM_ALLOCATE, SIM_PIN, SIM_OPEN, SIM_RELEASE};
    enum { FEW = 40, KINDS = sizeof kinds / sizeof kinds[0] };
    squares *const s = must(malloc(sizeof *s));
    for (int way = 0; way < 4; way++) {
        test_case("streamed-batches/again/%s/%s", way / 2 == 0 ? "pinned" : "pageable",
                  way % 2 != 0 ? "lists" : "strided");
        squares_open(s, way / 2 == 0);
        CHECK_STATUS(DUO_OK, multiply(s, way % 2 != 0, FEW));
        uint64_t before[KINDS];
        for (int k = 0; k < KINDS; k++) before[k] = sim_count(kinds[k]);
        CHECK_STATUS(DUO_OK, multiply(s, way % 2 != 0, FEW));
        for (int k = 0; k < KINDS && test_on_sim(); k++)
            CHECK(sim_count(kinds[k]) == before[k], "%ju calls of kind %d",
                  (uintmax_t)(sim_count(kinds[k]) - before[k]), (int)kinds[k]);
        int wrong = 0;
        for (int64_t e = 0; e < FEW * FLOATS; e++) wrong += !(s->at[DUO_C][e] == (float)EDGE);
        CHECK(wrong == 0, "%d elements are wrong", wrong);
        CHECK(isnan(s->at[DUO_C][FEW * FLOATS]), "wrote behind the last product");
        squares_close(s);
    }
    free(s);
}

/* Product p is p % 7 + 1 times ones. One of its operands is in device memory: each piece of the
 * batch begins there with its own first product. */
static void one_on_device(void)
{
    enum { FEW = 300 };
    const size_t bytes = (size_t)FEW * FLOATS * sizeof(float);
    squares *const s = must(malloc(sizeof *s));
    float *const c = must(malloc(bytes));
    for (int i = 0; i < DUO_OPERANDS; i++)
        for (int way = 0; way < 3; way++) {
            void *device = NULL;
            const char *const ways[] = {"strided", "even-lists", "lists"};
            test_case("streamed-batches/on-device/%c/%s", "abc"[i], ways[way]);
            squares_open(s, true);
            float *const host = s->at[i];
            for (int64_t p = 0; p < FEW; p++)
                for (int64_t e = 0; e < FLOATS; e++)
                    s->at[i == DUO_B ? DUO_B : DUO_A][p * FLOATS + e] = (float)(p % 7 + 1);
            CHECK_STATUS(DUO_OK, duo_malloc(s->ctx, bytes, &device));
            CHECK_STATUS(DUO_OK, duo_copy(s->ctx, device, host, bytes));
            s->at[i] = device;
            for (int x = 0; x < DUO_OPERANDS; x++)
                for (int64_t p = 0; p < FEW; p++)
                    s->list[x][p] = s->at[x] + (way == 2 ? p ^ 1 : p) * FLOATS;
            CHECK_STATUS(DUO_OK, multiply(s, way > 0, FEW));
            const duo_plan *const plan = &duo_context_of(s->ctx)->resources.plan;
            int pieces = 0, wrong = 0;
            for (int step = 0; step < plan->count; step++)
                pieces += plan->step[step].kind == DUO_STEP_MULTIPLY;
            CHECK(pieces > 1 || !test_on_sim(), "%d piece", pieces);
            CHECK_STATUS(DUO_OK, duo_copy(s->ctx, c, s->at[DUO_C], bytes));
            for (int64_t e = 0; e < FEW * FLOATS; e++)
                wrong += !(c[e] == (float)(EDGE * (e / FLOATS % 7 + 1)));
            CHECK(wrong == 0, "%d elements are wrong", wrong);
            CHECK_STATUS(DUO_OK, duo_free(s->ctx, device));
            s->at[i] = host;
            squares_close(s);
        }
    free(c);
    free(s);
}

/* C is in new memory, which has no pages yet. */
static void new_memory(void)
{
    squares *const s = must(malloc(sizeof *s));
    const size_t bytes = (size_t)COUNT * FLOATS * sizeof(float);
    test_case("streamed-batches/new-memory");
    squares_open(s, false);
    float *const old = s->at[DUO_C];
    void *const fresh =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (CHECK(fresh != MAP_FAILED, "no memory")) {
        enum { FEW = 100 };
        s->at[DUO_C] = fresh;
        CHECK_STATUS(DUO_OK, multiply(s, false, FEW));
        int wrong = 0;
        for (int64_t e = 0; e < FEW * FLOATS; e++) wrong += !(s->at[DUO_C][e] == (float)EDGE);
        CHECK(wrong == 0, "%d elements are wrong", wrong);
        munmap(fresh, bytes);
    }
    s->at[DUO_C] = old;
    squares_close(s);
    free(s);
}

/* Runs are packed and unpacked in every way; what lies between them is neither read nor written. */
static void every_way(void)
{
    enum { MOST = 40000 };
    test_rng rng = test_rng_for("ways");
    float *const host = must(malloc(MOST * sizeof *host)), *const packed =
                                                               must(malloc(MOST * sizeof *packed));
    for (int i = 0; i < 200; i++) {
        const int64_t rows = test_between(&rng, 1, 600), columns = test_between(&rng, 1, 20);
        const duo_runs r = {
            .rows = rows, .columns = columns, .ld = rows + test_between(&rng, 0, 100)};
        const int64_t from = test_between(&rng, 0, rows * columns - 1);
        const int64_t count = test_between(&rng, 1, rows * columns - from);
        const duo_packing_way packing = i % 2 == 0 ? DUO_PACK : DUO_PACK_PAST_CACHES;
        int wrong = 0;
        test_case("streamed-batches/ways/%jdx%jd/%jd/%d", (intmax_t)rows, (intmax_t)columns,
                  (intmax_t)r.ld, i % 2);
        for (int64_t e = 0; e < MOST; e++) host[e] = (float)e;
        test_fill_poison(packed, MOST);
        duo_runs_pack(&r, host, packed, from, count, packing, 2);
        for (int64_t e = 0; e < count; e++)
            wrong += !(packed[e] == (float)((from + e) / rows * r.ld + (from + e) % rows));
        wrong += !isnan(packed[count]);
        test_fill_poison(host, MOST);
        duo_runs_pack(&r, host, packed, from, count, duo_unpacking_way_of(packing), 2);
        int64_t written = 0;
        for (int64_t e = 0; e < MOST; e++) {
            written += !isnan(host[e]);
            wrong += !isnan(host[e]) && !(host[e] == (float)e);
        }
        CHECK(wrong == 0 && written == count, "%d elements are wrong, %jd of %jd written", wrong,
              (intmax_t)written, (intmax_t)count);
    }
    free(host);
    free(packed);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"overlap", overlap},
                                       {"second_call", second_call},
                                       {"one_on_device", one_on_device},
                                       {"one_on_device", one_on_device},
                                       {"new_memory", new_memory},
                                       {"every_way", every_way},
                                       {NULL, NULL}};
    return test_main(argc, argv, "streamed_batches", tests);
}
