/*
 * test_recording.c - the times of the steps of a streamed product, and the messages to its log.
 *
 * The steps have to be in the order of the plan's rules (data/plan.h) by the devices' own clocks:
 * virtual ones on the simulated device, events on a GPU.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call/context.h"
#include "data/recording.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/failing_memory.h"
#include "support/harness.h"

/* Seconds that a GPU's events may be off; the simulated clock counts nanoseconds. */
static double slack(void) { return test_on_sim() ? 1e-9 : 3e-6; }

enum { M = 1024, N = 896, K = 64 };

typedef struct operands {
    duo_context *ctx;
    bool pinned;
    float *a, *b, *c;
    void *block[3];
} operands;

static float *take(operands *o, int i, size_t floats, float value)
{
    float *x = NULL;
    if (o->pinned) {
        CHECK_STATUS(DUO_OK, duo_malloc_host(o->ctx, 4 * floats, &o->block[i]));
        x = o->block[i];
    } else {
        x = malloc(4 * floats);
        o->block[i] = x;
    }
    for (size_t e = 0; x != NULL && e < floats; e++) x[e] = value;
    return x;
}

static bool make(operands *o, duo_context *ctx, bool pinned)
{
    *o = (operands){.ctx = ctx, .pinned = pinned};
    o->a = take(o, 0, (size_t)M * K, 0.5f);
    o->b = take(o, 1, (size_t)K * N, 2.0f);
    o->c = take(o, 2, (size_t)M * N, NAN);
    return CHECK(o->a != NULL && o->b != NULL && o->c != NULL, "out of memory");
}

static void multiply(operands *o)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(o->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, M, N, K, 1.0f,
                                   o->a, M, o->b, K, 0.0f, o->c, M));
    int wrong = 0;
    for (size_t e = 0; e < (size_t)M * N; e++) wrong += !(o->c[e] == (float)K);
    CHECK(wrong == 0, "%d elements are wrong", wrong);
}

static void give_back(operands *o)
{
    for (int i = 0; i < 3; i++)
        if (o->pinned)
            CHECK_STATUS(DUO_OK, duo_free_host(o->ctx, o->block[i]));
        else
            free(o->block[i]);
}

/* ---- Recordings ---- */

/* When a step's first piece began, and its last one ended; by the row of its own kind. */
typedef struct times {
    int pieces;
    double begin, end;
} times;

static duo_row row_of(const duo_step *s)
{
    return s->kind == DUO_STEP_SEND    ? DUO_ROW_UP
           : s->kind == DUO_STEP_SHARE ? DUO_ROW_PEER
           : s->kind == DUO_STEP_FETCH ? DUO_ROW_DOWN
                                       : DUO_ROW_COMPUTE;
}

static times times_of(const duo_recording *r, const duo_plan *plan, int step)
{
    times t = {0, INFINITY, -INFINITY};
    for (int i = 0; i < r->count; i++) {
        const duo_record *const record = &r->record[i];
        if (record->step != step || record->row != row_of(&plan->step[step])) continue;
        t.pieces++;
        t.begin = fmin(t.begin, record->begin);
        t.end = fmax(t.end, record->end);
    }
    return t;
}

/* The pieces of a row follow each other. */
static void check_rows(const duo_recording *r)
{
    double ended[DUO_ROWS] = {0.0};
    for (int i = 0; i < r->count; i++) {
        const duo_record *const record = &r->record[i];
        CHECK(record->begin >= ended[record->row] - slack() &&
                  record->end >= record->begin - slack() && record->end < 60.0,
              "record %d, row %d: from %g to %g, after %g", i, (int)record->row, record->begin,
              record->end, ended[record->row]);
        ended[record->row] = record->end;
    }
}

/* The plan's rules, for a plan of one device. */
static void check_order(const duo_recording *r, const duo_plan *plan)
{
    double sent = 0.0;
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        const times t = times_of(r, plan, i);
        CHECK(t.pieces > 0, "step %d has no record", i);
        if (s->kind == DUO_STEP_SEND) sent = fmax(sent, t.end);
        if (row_of(s) == DUO_ROW_COMPUTE)
            CHECK(t.begin >= sent - slack(), "step %d began at %g, before %g", i, t.begin, sent);
        if (s->kind == DUO_STEP_FETCH)
            CHECK(t.begin >= times_of(r, plan, i - 1).end - slack(), "tile %d came early", i);
        if (s->follows >= 0)
            CHECK(t.begin >= times_of(r, plan, s->follows).end - slack(),
                  "step %d: %d was not done", i, s->follows);
    }
}

static bool overlap(const duo_recording *r, duo_row one, duo_row other)
{
    for (int i = 0; i < r->count; i++)
        for (int j = 0; j < r->count; j++)
            if (r->record[i].row == one && r->record[j].row == other &&
                r->record[i].begin < r->record[j].end && r->record[j].begin < r->record[i].end)
                return true;
    return false;
}

static int count_of(const duo_recording *r, duo_row row)
{
    int count = 0;
    for (int i = 0; i < r->count; i++) count += r->record[i].row == row;
    return count;
}

static void record_products(bool pinned, bool overlaps)
{
    operands o;
    duo_context *const ctx = test_context();
    duo_resources *const res = &duo_context_of(ctx)->resources;
    if (make(&o, ctx, pinned)) {
        multiply(&o);
        CHECK(res->plan.count > 0 && res->plan.ran, "the product was not streamed");
        duo_recording recording = {.count = 0};
        for (int turn = 0; turn < 2; turn++) { /* the second with the first one's stamps */
            res->recording = &recording;
            multiply(&o);
            res->recording = NULL;
            CHECK(recording.complete && recording.count >= res->plan.count,
                  "%d records of %d steps", recording.count, res->plan.count);
            check_rows(&recording);
            check_order(&recording, &res->plan);
        }
        CHECK((count_of(&recording, DUO_ROW_HOST) > 0) == !pinned, "%d copies by the host",
              count_of(&recording, DUO_ROW_HOST));
        const int before = recording.count;
        if (overlaps) {
            CHECK(overlap(&recording, DUO_ROW_UP, DUO_ROW_COMPUTE), "nothing was sent meanwhile");
            CHECK(overlap(&recording, DUO_ROW_DOWN, DUO_ROW_COMPUTE), "nothing came meanwhile");
        }
        multiply(&o);
        CHECK(recording.count == before, "a call was recorded that should not be");
        free(recording.record);
    }
    give_back(&o);
    test_context_end(ctx);
}

static void pinned(void)
{
    test_case("recording/pinned");
    record_products(true, false);
}

static void pageable(void)
{
    test_case("recording/pageable");
    record_products(false, false);
}

/* With little memory C is made in blocks, and each goes home while the next is made. */
static void in_blocks(void)
{
    if (!test_on_sim()) return;
    test_case("recording/blocks");
    sim_set_memory(3 << 20);
    duo_backend_install(sim_backend()); /* the device's properties are asked again */
    record_products(true, true);
}

/* A stamp that cannot be set makes the recording incomplete, and the product stays right. */
static void refused(void)
{
    operands o;
    if (!test_on_sim()) return;
    test_case("recording/refused");
    duo_context *const ctx = test_context();
    duo_recording recording = {.count = 0};
    if (make(&o, ctx, true)) {
        multiply(&o);
        duo_context_of(ctx)->resources.recording = &recording;
        sim_fail(SIM_MARK, 1, DUO_ERR_DEVICE, 1); /* the first is the stamp in the queue up */
        multiply(&o);
        CHECK(!recording.complete, "it is complete without its first stamp");
        multiply(&o);
        CHECK(recording.complete, "the next one is not complete");
    }
    give_back(&o);
    test_context_end(ctx);
    free(recording.record);
}

/* Whatever fails while a product is recorded, the product is right; the recording tells whether it
 * is complete. */
static void fails_in_between(void)
{
    static const sim_kind kinds[] = {SIM_MARK, SIM_WAIT, SIM_IDLE};
    if (!test_on_sim()) return;
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        bool reached = true;
        int incomplete = 0;
        for (int nth = 1; reached && nth < 400; nth += 1 + nth / 2) {
            operands o;
            test_reset();
            test_case("recording/fails/%d/%d", (int)kinds[kind], nth);
            duo_context *const ctx = test_context();
            duo_recording recording = {.count = 0};
            if (make(&o, ctx, true)) {
                duo_context_of(ctx)->resources.recording = &recording;
                const uint64_t before = sim_count(kinds[kind]);
                sim_fail(kinds[kind], nth, DUO_ERR_DEVICE, 2);
                multiply(&o);
                reached = sim_count(kinds[kind]) - before >= (uint64_t)nth;
                sim_fail(kinds[kind], 0, DUO_OK, 0);
                CHECK(recording.complete || reached, "it is not complete");
                incomplete += !recording.complete;
                duo_context_of(ctx)->resources.recording = NULL;
            }
            give_back(&o);
            (void)duo_destroy(ctx); /* a device that cannot be waited for is given up */
            free(recording.record);
            CHECK(sim_violations() == 0, "%d violations", sim_violations());
        }
        CHECK(incomplete > 0, "all were complete");
    }
}

/* A batch with device memory for a few products: more records than there is room for at first. */
static void many_records(void)
{
    enum { EDGE = 16, SIZE = EDGE * EDGE, PRODUCTS = 300, ALL = PRODUCTS * SIZE };
    static float a[ALL], c[ALL];
    if (!test_on_sim()) return;
    sim_set_memory(24 << 10);
    duo_backend_install(sim_backend());
    duo_context *const ctx = test_context();
    duo_resources *const res = &duo_context_of(ctx)->resources;
    for (int i = 0; i < ALL; i++) a[i] = 1.0f;
    for (int nth = 0; nth <= 2 && (nth == 0 || fail_memory_at(0)); nth++) {
        duo_recording recording = {.count = 0};
        int wrong = 0;
        test_case("recording/many records/%d", nth);
        memset(c, 0, sizeof c);
        CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
        res->recording = &recording;
        (void)fail_memory_at(nth);
        CHECK_STATUS(DUO_OK,
                     duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE,
                                               EDGE, EDGE, 1.0f, a, EDGE, SIZE, a, EDGE, SIZE, 0.0f,
                                               c, EDGE, SIZE, PRODUCTS));
        (void)fail_memory_at(0);
        res->recording = NULL;
        for (int i = 0; i < ALL; i++) wrong += !(c[i] == (float)EDGE);
        CHECK(wrong == 0, "%d elements are wrong", wrong);
        if (nth == 0)
            CHECK(recording.complete && recording.count > 256, "%d records", recording.count);
        else
            CHECK(!recording.complete, "it is complete without memory");
        free(recording.record);
    }
    test_context_end(ctx);
}

/* ---- Progress ---- */

typedef struct told {
    int lines;
    double share, seconds; /* of the last line */
    bool rising, worded;
} told;

/* Lets the device work from the first line on. */
static void hear(void *user, const char *line)
{
    told *const t = user;
    double share, seconds;
    const char *const event = strstr(line, "duoblas: event: sgemm m=1024 n=896 k=64: ");
    if (event == NULL) return;
    if (sscanf(event, "duoblas: event: sgemm m=1024 n=896 k=64: %lf %% after %lf s", &share,
               &seconds) != 2) {
        t->worded = false;
        return;
    }
    t->rising = t->rising && share >= t->share && seconds > t->seconds && share <= 100.0;
    t->worded = t->worded && (share > 0.0) == (strstr(event, " s left") != NULL);
    t->share = share;
    t->seconds = seconds;
    t->lines++;
    /* Some 30 operations in the compute queue, each 0.1 s on average: the next line comes between
     * them, or, if the processors are busy with other work, soon after. */
    if (t->lines == 1) sim_set_delay(200000);
    if (t->lines == 1) sim_hold(false);
    if (t->share > 0.0) sim_set_delay(0);
}

static void progress_of(bool pinned)
{
    operands o;
    told t = {.rising = true, .worded = true};
    sim_set_memory(3 << 20);
    duo_backend_install(sim_backend()); /* the device's properties are asked again */
    duo_context *const ctx = test_context();
    if (make(&o, ctx, pinned)) {
        multiply(&o);
        CHECK_STATUS(DUO_OK, duo_set_log(ctx, hear, &t));
        sim_hold(true);
        multiply(&o);
        sim_hold(false); /* also where no line came */
        sim_set_delay(0);
        CHECK(t.lines >= 2 && t.rising && t.worded, "%d lines, the last of %g %% after %g s",
              t.lines, t.share, t.seconds);
        CHECK(t.seconds >= 1.9 && t.seconds < 20.0 && t.share > 0.0 && t.share < 100.0,
              "%g %% after %g s", t.share, t.seconds);
        CHECK_STATUS(DUO_OK, duo_set_log(ctx, NULL, NULL));
    }
    give_back(&o);
    test_context_end(ctx);
}

static void progress(void)
{
    if (!test_on_sim()) return;
    (void)alarm(60); /* the device is held until the first line */
    test_case("progress/pinned");
    progress_of(true);
    test_case("progress/pageable");
    progress_of(false);
    (void)alarm(0);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"pinned", pinned},
                                       {"pageable", pageable},
                                       {"blocks", in_blocks},
                                       {"refused", refused},
                                       {"fails_in_between", fails_in_between},
                                       {"many_records", many_records},
                                       {"progress", progress},
                                       {NULL, NULL}};
    return test_main(argc, argv, "recording", tests);
}
