/*
 * test_sim_clock.c - the base of the tests of overlap: queues that follow marks, polls, copies
 * between devices, and the virtual time and the log of the simulated devices (sim/clock.h).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "sim/clock.h"
#include "sim/engine.h"
#include "support/data.h"
#include "support/exact.h"
#include "support/harness.h"

enum { KB = 1000, N = 100, TILE = N * N, TILE_BYTES = TILE * (int)sizeof(float) };

/* 1000 bytes per microsecond in every direction: a copy takes as many ns as it has bytes. A product
 * of tiles takes 2 N^3 = 2 000 000 operations, 40 000 ns, as long as the copy of one. */
static void set_rates(void) { sim_set_rates(1000, 1000, 1000, 50000); }

static const duo_backend *gpu(void) { return duo_backend_current(); }

static duo_queue *open_queue(int device)
{
    duo_queue *queue = NULL;
    CHECK_STATUS(DUO_OK, duo_queue_open(device, NULL, DUO_PRIORITY_NORMAL, &queue));
    return queue;
}

static void close_queue(duo_queue *queue) { CHECK_STATUS(DUO_OK, gpu()->close(queue)); }

static void *pin(size_t bytes)
{
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, gpu()->pin(0, bytes, &memory));
    return memory;
}

static void *allocate(int device, size_t bytes)
{
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, gpu()->allocate(device, bytes, &memory));
    return memory;
}

static void release(int device, void *memory)
{
    CHECK_STATUS(DUO_OK, gpu()->release(device, memory));
}

static duo_status copy(duo_queue *queue, void *dst, const void *src, size_t bytes)
{
    return duo_queue_copy(queue, dst, bytes, src, bytes, bytes, 1);
}

/* C = A B of tiles in device memory. */
static duo_status product(duo_queue *queue, float *a, float *b, float *c)
{
    duo_call call = duo_call_sgemm(false, false, N, N, N, 1.0f, 0.0f);
    call.operand[DUO_A].address = a;
    call.operand[DUO_B].address = b;
    call.operand[DUO_C].address = c;
    return gpu()->launch(queue, DUO_sgemm_gpu_tiled, &call, NULL, 0);
}

/* The ith operation of the log, which must have taken that time. */
static sim_operation operation(size_t i, sim_operation_kind kind, uint64_t start, uint64_t end)
{
    const sim_operation *log;
    const size_t count = sim_log(&log);
    if (!CHECK(i < count, "%zu operations", count)) return (sim_operation){.device = -1};
    CHECK(log[i].kind == kind && log[i].start == start && log[i].end == end,
          "operation %zu of kind %d: %llu to %llu", i, (int)log[i].kind,
          (unsigned long long)log[i].start, (unsigned long long)log[i].end);
    return log[i];
}

static void check_clock(const char *what, uint64_t expected, uint64_t got)
{
    CHECK(expected == got, "%s: %llu, not %llu", what, (unsigned long long)got,
          (unsigned long long)expected);
}

static void check_clean(void)
{
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
    CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* ---- Clocks ---- */

static void one_queue(void)
{
    test_case("clock/one-queue");
    set_rates();
    char *const host = pin(8 * KB), *const device = allocate(0, 8 * KB);
    duo_queue *const queue = open_queue(0);
    CHECK_STATUS(DUO_OK, copy(queue, device, host, KB)); /* before the log begins */
    sim_log_reset();
    CHECK_STATUS(DUO_OK, copy(queue, device, host, 2 * KB));
    CHECK_STATUS(DUO_OK, duo_queue_mark(queue, DUO_MARKS - 1));
    CHECK_STATUS(DUO_OK, copy(queue, host + 4 * KB, device, KB));
    const sim_operation up = operation(0, SIM_UP, 1000, 3000);
    CHECK(up.device == 0 && up.other == -1 && up.bytes == 2 * KB, "the copy up");
    CHECK(up.written.low == device && up.written.high == device + 2 * KB, "written");
    CHECK(up.read[0].low == host && up.read[0].high == host + 2 * KB, "read");
    (void)operation(1, SIM_DOWN, 3000, 4000);
    check_clock("device", 4000, sim_clock(0));
    check_clock("host, before it waits", 0, sim_clock_host());
    CHECK_STATUS(DUO_OK, duo_queue_wait_mark(queue, DUO_MARKS - 1));
    check_clock("host, behind the mark", 3000, sim_clock_host());
    CHECK_STATUS(DUO_OK, duo_queue_finish(queue));
    check_clock("host, at the end", 4000, sim_clock_host());

    test_case("clock/queued-later");
    duo_queue *const second = open_queue(0);
    CHECK_STATUS(DUO_OK, copy(second, device, host, KB)); /* a new queue, but the host is late */
    (void)operation(2, SIM_UP, 4000, 5000);
    CHECK_STATUS(DUO_OK, duo_queue_copy_now(second, device, KB, host, KB, KB, 2));
    check_clock("host, after copy_now", 7000, sim_clock_host());
    close_queue(queue);
    close_queue(second);
    release(0, device);
    CHECK_STATUS(DUO_OK, gpu()->unpin(host));
    check_clean();

    test_case("clock/reset");
    sim_reset();
    const sim_operation *log;
    check_clock("host", 0, sim_clock_host());
    CHECK(sim_log(&log) == 0, "the log is not empty");
}

/* Two queues want one engine: they take turns. An operation that is ready earlier takes the gap
 * before one that is not. */
static void one_engine(void)
{
    test_case("engine/gap");
    set_rates();
    char *const host = pin(8 * KB), *const device = allocate(0, 8 * KB);
    duo_queue *const one = open_queue(0), *const two = open_queue(0);
    sim_log_reset();
    CHECK_STATUS(DUO_OK, copy(one, host, device, 3 * KB));
    CHECK_STATUS(DUO_OK, copy(one, device, host, KB));
    CHECK_STATUS(DUO_OK, copy(two, device + 4 * KB, host + 4 * KB, 2 * KB));
    CHECK_STATUS(DUO_OK, copy(two, device + 6 * KB, host + 6 * KB, 2 * KB));
    (void)operation(0, SIM_DOWN, 0, 3000);
    (void)operation(1, SIM_UP, 3000, 4000);
    (void)operation(2, SIM_UP, 0, 2000); /* not behind an upload that has to wait */
    (void)operation(3, SIM_UP, 4000, 6000);
    close_queue(one);
    close_queue(two);
    release(0, device);
    CHECK_STATUS(DUO_OK, gpu()->unpin(host));
    check_clean();
}

/* Against a list of all that was placed. */
static void engine_against_list(void)
{
    enum { PLACED = 60 };
    struct {
        uint64_t start, end;
    } placed[PLACED];
    for (int round = 0; round < 200; round++) {
        test_case("engine/list/%d", round);
        sim_engine engine = {.gaps = 0};
        int wrong = 0;
        for (int i = 0; i < PLACED; i++) {
            const uint64_t ready = (uint64_t)(rand() % 300), duration = 1 + (uint64_t)(rand() % 9);
            uint64_t first = ready; /* the first free time */
            for (int j = 0; j < i; j++)
                if (placed[j].start < first + duration && first < placed[j].end) {
                    first = placed[j].end;
                    j = -1;
                }
            const uint64_t start = sim_engine_fit(&engine, ready, duration);
            wrong += start != first;
            sim_engine_take(&engine, start, duration);
            placed[i].start = start;
            placed[i].end = start + duration;
        }
        CHECK(wrong == 0, "%d of %d are elsewhere", wrong, PLACED);
    }
    test_case("engine/forgets-gaps");
    sim_engine engine = {.gaps = 0};
    for (uint64_t i = 0; i < 3 * SIM_GAPS; i++) sim_engine_take(&engine, 10 * i + 5, 5);
    CHECK(engine.gaps == SIM_GAPS, "%d gaps", engine.gaps);
    const uint64_t start = sim_engine_fit(&engine, 0, 5);
    check_clock("the first that it knows", 10 * 2 * SIM_GAPS, start);
    sim_engine_take(&engine, start + 1, 3); /* leaves two for one: there is room for one */
    CHECK(engine.gaps == SIM_GAPS, "%d gaps", engine.gaps);
    check_clock("what is left of it", start + 4, sim_engine_fit(&engine, 0, 1));
}

/* ---- A pipeline of three queues ---- */

enum { TILES = 6 };

typedef struct pipeline {
    duo_queue *up, *compute, *down;
    float *a, *b, *c;          /* pinned: TILES tiles each of A and C; B is one */
    float *on_a, *on_b, *on_c; /* on the device; A has two stages */
    sim_operation log[3 * TILES + 1];
    size_t logged;
} pipeline;

/* Every tile: up, times B, down. Tile t + 2 follows the product that has read its stage. */
static void run_pipeline(pipeline *p)
{
    enum { ARRIVED = 0, MULTIPLIED = TILES }; /* marks of up and compute, for each tile */
    sim_log_reset();
    CHECK_STATUS(DUO_OK, copy(p->up, p->on_b, p->b, TILE_BYTES));
    for (int t = 0; t < TILES; t++) {
        float *const stage = p->on_a + t % 2 * TILE;
        if (t >= 2)
            CHECK_STATUS(DUO_OK, duo_queue_after_mark(p->up, p->compute, MULTIPLIED + t - 2));
        CHECK_STATUS(DUO_OK, copy(p->up, stage, p->a + t * TILE, TILE_BYTES));
        CHECK_STATUS(DUO_OK, duo_queue_mark(p->up, ARRIVED + t));
        CHECK_STATUS(DUO_OK, duo_queue_after_mark(p->compute, p->up, ARRIVED + t));
        CHECK_STATUS(DUO_OK, product(p->compute, stage, p->on_b, p->on_c + t * TILE));
        CHECK_STATUS(DUO_OK, duo_queue_mark(p->compute, MULTIPLIED + t));
        CHECK_STATUS(DUO_OK, duo_queue_after_mark(p->down, p->compute, MULTIPLIED + t));
        CHECK_STATUS(DUO_OK, copy(p->down, p->c + t * TILE, p->on_c + t * TILE, TILE_BYTES));
    }
    const sim_operation *log;
    p->logged = sim_log(&log);
    if (CHECK(p->logged == 3 * TILES + 1, "%zu operations", p->logged))
        memcpy(p->log, log, p->logged * sizeof *log);
    CHECK_STATUS(DUO_OK, duo_queue_finish(p->down));
}

static void overlap(void)
{
    pipeline p = {.up = open_queue(0), .compute = open_queue(0), .down = open_queue(0)};
    set_rates();
    p.a = pin(TILES * TILE_BYTES);
    p.b = pin(TILE_BYTES);
    p.c = pin(TILES * TILE_BYTES);
    p.on_a = allocate(0, 2 * TILE_BYTES);
    p.on_b = allocate(0, TILE_BYTES);
    p.on_c = allocate(0, TILES * TILE_BYTES);
    fill(p.a, TILES * TILE, 1);
    memset(p.b, 0, TILE_BYTES);
    for (int i = 0; i < N; i++) p.b[i * N + i] = 1.0f;

    test_case("pipeline/times");
    run_pipeline(&p);
    CHECK(same_floats(p.a, p.c, TILES * TILE), "wrong values");
    const uint64_t step = TILE_BYTES; /* ns; every operation takes one */
    for (uint64_t t = 0; t < TILES; t++) {
        (void)operation(1 + 3 * t, SIM_UP, (t + 1) * step, (t + 2) * step);
        (void)operation(2 + 3 * t, SIM_COMPUTE, (t + 2) * step, (t + 3) * step);
        (void)operation(3 + 3 * t, SIM_DOWN, (t + 3) * step, (t + 4) * step);
    }
    check_clock("makespan", (TILES + 3) * step, sim_clock(0));
    for (size_t t = 0; t + 2 < TILES; t++) {
        const sim_operation *const home = &p.log[3 + 3 * t], *const next = &p.log[1 + 3 * (t + 2)];
        CHECK(sim_overlap(home, next), "tile %zu came home alone", t);
        CHECK(!sim_overlap(&p.log[2 + 3 * t], next), "tile %zu was overwritten", t);
        CHECK(sim_span_meets(p.log[2 + 3 * t].read[DUO_A], next->written), "another stage");
        CHECK(!sim_span_meets(p.log[2 + 3 * t].read[DUO_A], p.log[4 + 3 * t].written), "the same");
    }

    /* The times are the same at any speed of the workers. */
    for (int round = 0; round < 5; round++) {
        test_case("pipeline/again/%d", round);
        const pipeline first = p;
        sim_set_delay(round * 100);
        memset(p.c, 0, TILES * TILE_BYTES);
        run_pipeline(&p);
        CHECK(same_floats(p.a, p.c, TILES * TILE), "wrong values");
        for (size_t i = 0; i < p.logged; i++)
            CHECK(p.log[i].start - p.log[0].start == first.log[i].start - first.log[0].start,
                  "operation %zu", i);
        check_clock("host", sim_clock(0), sim_clock_host());
    }
    sim_set_delay(0);
    close_queue(p.up);
    close_queue(p.compute);
    close_queue(p.down);
    release(0, p.on_a);
    release(0, p.on_b);
    release(0, p.on_c);
    CHECK_STATUS(DUO_OK, gpu()->unpin(p.a));
    CHECK_STATUS(DUO_OK, gpu()->unpin(p.b));
    CHECK_STATUS(DUO_OK, gpu()->unpin(p.c));
    check_clean();
}

/* ---- Marks ---- */

static void polls(void)
{
    set_rates();
    char *const host = pin(4 * KB), *const device = allocate(0, 4 * KB);
    duo_queue *const queue = open_queue(0), *const later = open_queue(0);
    bool passed = true, idle = true;
    test_case("passed/not-yet");
    sim_hold(true);
    CHECK_STATUS(DUO_OK, copy(queue, device, host, KB));
    CHECK_STATUS(DUO_OK, duo_queue_mark(queue, 5));
    CHECK_STATUS(DUO_OK, copy(queue, device + 2 * KB, host, 2 * KB));
    CHECK_STATUS(DUO_OK, duo_queue_passed(queue, 5, &passed));
    CHECK_STATUS(DUO_OK, gpu()->idle(queue, &idle));
    CHECK(!passed && !idle, "%d %d", passed, idle);
    check_clock("host", 0, sim_clock_host());

    test_case("passed/set-again");
    CHECK_STATUS(DUO_OK, duo_queue_after_mark(later, queue, 5));
    CHECK_STATUS(DUO_OK, duo_queue_mark(queue, 5));
    sim_log_reset();
    CHECK_STATUS(DUO_OK, copy(later, host + 2 * KB, device, KB));
    (void)operation(0, SIM_DOWN, 1000, 2000); /* behind where the mark was */
    CHECK_STATUS(DUO_OK, duo_queue_after_mark(later, queue, 5));
    CHECK_STATUS(DUO_OK, copy(later, host + 2 * KB, device, KB));
    (void)operation(1, SIM_DOWN, 3000, 4000);

    test_case("passed/at-last");
    sim_hold(false);
    for (passed = false; !passed; usleep(100))
        if (!CHECK_STATUS(DUO_OK, duo_queue_passed(queue, 5, &passed))) break;
    check_clock("host", 3000, sim_clock_host());
    for (idle = false; !idle; usleep(100))
        if (!CHECK_STATUS(DUO_OK, gpu()->idle(later, &idle))) break;
    check_clock("host", 4000, sim_clock_host());
    close_queue(queue);
    close_queue(later);
    release(0, device);
    CHECK_STATUS(DUO_OK, gpu()->unpin(host));
    check_clean();
}

/* after_mark really holds back: the later queue has nothing to do but wait. */
static void follows(void)
{
    float *const host = pin(TILE_BYTES), *const home = pin(TILE_BYTES);
    float *const device = allocate(0, TILE_BYTES);
    duo_queue *const up = open_queue(0), *const down = open_queue(0);
    sim_set_delay(2000);
    for (int round = 0; round < 20; round++) {
        test_case("after_mark/%d", round);
        fill(host, TILE, round);
        CHECK_STATUS(DUO_OK, copy(up, device, host, TILE_BYTES));
        CHECK_STATUS(DUO_OK, duo_queue_mark(up, round));
        CHECK_STATUS(DUO_OK, duo_queue_after_mark(down, up, round));
        CHECK_STATUS(DUO_OK, copy(down, home, device, TILE_BYTES));
        CHECK_STATUS(DUO_OK, duo_queue_finish(down));
        CHECK(same_floats(host, home, TILE), "it went before");
    }
    sim_set_delay(0);
    close_queue(up);
    close_queue(down);
    release(0, device);
    CHECK_STATUS(DUO_OK, gpu()->unpin(host));
    CHECK_STATUS(DUO_OK, gpu()->unpin(home));
    check_clean();
}

/* ---- Several devices ---- */

static void across(void)
{
    sim_set_devices(2);
    sim_set_rates(1000, 500, 4000, 50000);
    char *const host = pin(8 * KB);
    char *const one = allocate(0, 10 * KB), *const two = allocate(1, 10 * KB);
    duo_queue *const queue[2] = {open_queue(0), open_queue(1)};
    duo_queue *const back = open_queue(0);
    for (int i = 0; i < 8 * KB; i++) host[i] = (char)(i % 101);
    sim_log_reset();

    test_case("across/engines-of-each");
    CHECK_STATUS(DUO_OK, copy(queue[0], one, host, 4 * KB));
    CHECK_STATUS(DUO_OK, copy(queue[1], two, host, 4 * KB));
    (void)operation(0, SIM_UP, 0, 4000);
    (void)operation(1, SIM_UP, 0, 4000);

    test_case("across/through-the-host");
    CHECK_STATUS(DUO_OK, duo_queue_after(queue[0], queue[1]));
    CHECK_STATUS(DUO_OK, copy(queue[0], one + 4 * KB, two, 2 * KB)); /* the destination's queue */
    const sim_operation through = operation(2, SIM_ACROSS, 4000, 8000);
    CHECK(through.device == 0 && through.other == 1 && through.bytes == 2 * KB, "which");
    CHECK_STATUS(DUO_OK, duo_queue_mark(queue[0], 0));
    CHECK_STATUS(DUO_OK, copy(back, one + 7 * KB, host, KB)); /* before, but not beside */
    (void)operation(3, SIM_UP, 8000, 9000);

    test_case("across/link");
    bool direct = false;
    CHECK_STATUS(DUO_OK, duo_device_link(0, 1, &direct));
    CHECK(direct, "not direct");
    CHECK_STATUS(DUO_OK, duo_device_link(0, 0, &direct));
    CHECK(direct, "not direct to itself");
    CHECK_STATUS(DUO_OK, duo_queue_after_mark(queue[1], queue[0], 0)); /* of another device */
    CHECK_STATUS(DUO_OK, copy(queue[0], two + 4 * KB, one + 4 * KB, 2 * KB)); /* the source's */
    CHECK_STATUS(DUO_OK, copy(back, one + 8 * KB, two + 8 * KB, 2 * KB));
    (void)operation(4, SIM_ACROSS, 8000, 8500);
    (void)operation(5, SIM_ACROSS, 9000, 9500);
    CHECK_STATUS(DUO_OK, copy(queue[1], two, one, 2 * KB)); /* device 1 was not linked to 0 */
    (void)operation(6, SIM_ACROSS, 8000, 12000);
    for (int d = 0; d < 2; d++) CHECK_STATUS(DUO_OK, duo_queue_finish(queue[d]));
    char got[2 * KB];
    sim_read(got, two + 4 * KB, sizeof got);
    CHECK(memcmp(got, host, sizeof got) == 0, "wrong bytes");

    test_case("across/no-link");
    sim_set_links(false);
    direct = true;
    CHECK_STATUS(DUO_OK, duo_device_link(1, 0, &direct));
    CHECK(!direct, "direct");
    for (int d = 0; d < 2; d++) close_queue(queue[d]);
    close_queue(back);
    release(0, one);
    release(1, two);
    CHECK_STATUS(DUO_OK, gpu()->unpin(host));
    check_clean();
}

/* One of two devices is lost: told when the copy is queued; not told when it is only carried
 * out. */
static void lost(void)
{
    for (int queued = 0; queued < 2; queued++) {
        test_case("across/lost/%s", queued ? "after" : "before");
        test_reset();
        sim_set_devices(2);
        char *const host = pin(KB), *const one = allocate(0, KB), *const two = allocate(1, KB);
        duo_queue *const queue = open_queue(0);
        bool direct = true;
        memset(host, 7, KB);
        CHECK_STATUS(DUO_OK, copy(queue, one, host, KB));
        CHECK_STATUS(DUO_OK, duo_queue_finish(queue));
        sim_hold(queued != 0);
        if (queued) CHECK_STATUS(DUO_OK, copy(queue, one, two, KB));
        sim_lose(1);
        sim_hold(false);
        if (!queued) CHECK_STATUS(DUO_ERR_LOST, copy(queue, one, two, KB));
        CHECK_STATUS(DUO_ERR_LOST, gpu()->link(0, 1, &direct));
        CHECK(!direct, "direct");
        CHECK_STATUS(DUO_OK, duo_queue_finish(queue)); /* device 0's works on */
        char got[KB];
        sim_read(got, one, KB);
        CHECK(memcmp(got, host, KB) == 0, "it was copied");
        close_queue(queue);
        release(0, one);
        CHECK_STATUS(DUO_ERR_LOST, gpu()->release(1, two));
        CHECK_STATUS(DUO_OK, gpu()->unpin(host));
        check_clean();
    }
}

/* ---- Violations ---- */

static int violations_before;

static void expect_violation(void)
{
    violations_before = sim_violations();
    test_capture_begin();
}

static void check_violation(const char *text, duo_status status)
{
    char told[400];
    (void)test_capture_end(told, sizeof told);
    CHECK(status == DUO_ERR_DEVICE, "status %d", (int)status);
    CHECK(sim_violations() == violations_before + 1, "%d violations after %d", sim_violations(),
          violations_before);
    test_contains(told, text);
}

static void violations(void)
{
    sim_set_devices(3);
    char *const one = allocate(1, KB), *const two = allocate(2, KB);
    duo_queue *const queue = open_queue(0), *const other = open_queue(1);
    bool answer = true;
    CHECK_STATUS(DUO_OK, duo_queue_mark(queue, 3));

    test_case("violation/mark-never-set");
    expect_violation();
    check_violation("never set", gpu()->wait_mark(queue, 4));
    expect_violation();
    check_violation("never set", gpu()->passed(queue, 4, &answer));
    CHECK(!answer, "it has passed");
    expect_violation();
    check_violation("never set", gpu()->after_mark(queue, other, 3)); /* set in the other one */
    expect_violation();
    check_violation("never set", gpu()->passed(queue, DUO_MARKS, &answer));
    expect_violation();
    check_violation("mark", gpu()->mark(queue, DUO_MARKS));

    test_case("violation/no-such-device");
    expect_violation();
    check_violation("link", gpu()->link(0, 3, &answer));
    test_case("violation/released");
    release(2, two);
    expect_violation();
    check_violation("live", gpu()->copy(other, one, KB, two, KB, KB, 1));
    close_queue(queue);
    close_queue(other);
    release(1, one);
    CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    sim_reset(); /* the violations were meant */
}

static const test_entry tests[] = {
    {"one_queue", one_queue},
    {"one_engine", one_engine},
    {"engine_against_list", engine_against_list},
    {"overlap", overlap},
    {"polls", polls},
    {"follows", follows},
    {"across", across},
    {"lost", lost},
    {"violations", violations},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "sim_clock", tests); }
