/*
 * test_eviction.c - a device that is too small for all kept arrays: which copies make room, which
 * do not, and what happens to newer bytes in them. On the simulated device of 1 MiB, three arrays
 * of 300 KiB fit. Random sequences are in test_eviction_model.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/exact.h"
#include "support/harness.h"

enum { N = 75 << 10, BYTES = 4 * N, ARRAYS = 6, MEMORY = 1 << 20, EDGE = 32 };

/* ---- A small device ---- */

typedef struct small {
    duo_context *ctx;
    float *x[ARRAYS]; /* kept */
    int evictions;    /* number told so far, and the last */
    void *evicted;
    bool fetched;
} small;

static void hear(void *user, const char *line)
{
    small *const s = user;
    const char *const text = strstr(line, "event: GPU 0: evicted ");
    const char *const at = text != NULL ? strstr(text, " at 0x") : NULL;
    if (at == NULL) return;
    s->evictions++;
    s->evicted = (void *)(uintptr_t)strtoull(at + 4, NULL, 16);
    s->fetched = strstr(at, "fetched before") != NULL;
}

static small begin(int arrays)
{
    small s = {.evictions = 0};
    sim_reset();
    sim_set_memory(MEMORY);
    duo_backend_install(sim_backend());
    CHECK_STATUS(DUO_OK, duo_create(&s.ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(s.ctx, DUO_PATH_GPU));
    for (int i = 0; i < arrays; i++) {
        s.x[i] = new_floats(N);
        fill(s.x[i], N, i);
        CHECK_STATUS(DUO_OK, duo_keep(s.ctx, s.x[i], BYTES));
    }
    return s;
}

static void end(small *s)
{
    (void)duo_set_log(s->ctx, NULL, NULL);
    for (int i = 0; i < ARRAYS; i++) {
        if (s->x[i] == NULL) continue;
        CHECK_STATUS(DUO_OK, duo_release(s->ctx, s->x[i]));
        free(s->x[i]);
    }
    CHECK(duo_device_copies(0) == 0.0, "%g bytes of copies", duo_device_copies(0));
    end_without_leaks(s->ctx);
}

static void follow(small *s)
{
    s->evictions = 0;
    s->evicted = NULL;
    CHECK_STATUS(DUO_OK, duo_set_log(s->ctx, hear, s));
}

/* Uses the array as a whole. Checks whether its device copy was evicted before, and whether it is
 * sent. */
static void use(small *s, int i, bool on_gpu, bool sent)
{
    const uint64_t before = sim_uploaded_bytes();
    check_sum(s->ctx, s->x[i], N, sum_of(s->x[i], N));
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(s->ctx, &d));
    CHECK((d.side == DUO_SIDE_GPU) == on_gpu, "array %d: by %s", i, d.algorithm);
    CHECK(d.residence[0] == (on_gpu && !sent ? DUO_AT_KEPT : DUO_AT_STALE),
          "array %d: residence %d", i, (int)d.residence[0]);
    CHECK(sent_since(before) == (sent ? BYTES : 0), "array %d: %ju bytes sent", i,
          (uintmax_t)sent_since(before));
}

/* C := 1 * C, on the device: its copy is newer then. */
static void change_there(small *s, int i)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(s->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE,
                                   EDGE, 0.0f, NULL, EDGE, NULL, EDGE, 2.0f, s->x[i] + 100, EDGE));
}

static bool skip(void)
{
    if (!test_on_sim()) test_skip("needs the simulated device");
    return !test_on_sim();
}

/* ---- Which goes ---- */

static void oldest_first(void)
{
    if (skip()) return;
    small s = begin(3);
    test_case("evict/oldest-first");
    for (int i = 0; i < 3; i++) use(&s, i, true, true);
    use(&s, 0, true, false);
    follow(&s);
    s.x[3] = new_floats(N);
    fill(s.x[3], N, 3);
    CHECK_STATUS(DUO_OK, duo_keep(s.ctx, s.x[3], BYTES)); /* nothing was used since */
    use(&s, 3, true, true);
    CHECK(s.evictions == 1 && s.evicted == s.x[1] && !s.fetched, "%d evicted, the last %p",
          s.evictions, s.evicted);
    use(&s, 0, true, false);
    use(&s, 2, true, false);
    use(&s, 3, true, false);
    test_case("evict/those-in-use-stay");
    use(&s, 1, false, false);
    CHECK(s.evictions == 1, "%d evicted", s.evictions);
    test_case("evict/tried-again");
    use(&s, 1, true, true);
    CHECK(s.evictions == 2 && s.evicted == s.x[0], "%d evicted, the last %p", s.evictions,
          s.evicted);
    end(&s);
}

static void by_turns(void)
{
    if (skip()) return;
    small s = begin(4);
    test_case("evict/by-turns");
    uint64_t before = sim_uploaded_bytes();
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 4; i++) check_sum(s.ctx, s.x[i], N, sum_of(s.x[i], N));
    CHECK(sent_since(before) == 3 * BYTES, "%ju bytes sent", (uintmax_t)sent_since(before));
    test_case("evict/without-the-first");
    before = sim_uploaded_bytes();
    for (int round = 0; round < 20; round++)
        for (int i = 1; i < 4; i++) check_sum(s.ctx, s.x[i], N, sum_of(s.x[i], N));
    CHECK(sent_since(before) == BYTES, "%ju bytes sent", (uintmax_t)sent_since(before));
    end(&s);
}

static void changed_copies(void)
{
    if (skip()) return;
    small s = begin(3);
    float *const want = new_floats(N);
    test_case("evict/clean-before-changed");
    for (int i = 0; i < 3; i++) use(&s, i, true, true);
    change_there(&s, 0);
    change_there(&s, 2);
    use(&s, 1, true, false); /* the newest, but nothing has to be fetched for it */
    follow(&s);
    void *memory[2] = {NULL, NULL};
    CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, BYTES, &memory[0]));
    CHECK(sim_is_device(memory[0]), "host memory");
    CHECK(s.evictions == 1 && s.evicted == s.x[1] && !s.fetched, "%d evicted, the last %p",
          s.evictions, s.evicted);
    test_case("evict/fetched-before");
    memcpy(want, s.x[0], BYTES);
    for (int i = 0; i < EDGE * EDGE; i++) want[100 + i] *= 2.0f;
    CHECK(!same_floats(want, s.x[0], N), "it was fetched already");
    CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, BYTES, &memory[1]));
    CHECK(sim_is_device(memory[1]), "host memory");
    CHECK(s.evictions == 2 && s.evicted == s.x[0] && s.fetched, "%d evicted, the last %p",
          s.evictions, s.evicted);
    CHECK(same_floats(want, s.x[0], N), "its newer bytes are not there");
    use(&s, 0, false, false);
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_free(s.ctx, memory[i]));
    use(&s, 0, true, true);
    free(want);
    end(&s);
}

static void more_than_all(void)
{
    if (skip()) return;
    small s = begin(3);
    float *const large = new_floats(MEMORY / 4 + 1), *const half = new_floats(200 << 10);
    fill(large, MEMORY / 4 + 1, 1);
    fill(half, 200 << 10, 2);
    for (int i = 0; i < 3; i++) use(&s, i, true, true);
    follow(&s);
    test_case("evict/too-large-alone");
    CHECK_STATUS(DUO_OK, duo_keep(s.ctx, large, MEMORY + 4));
    for (int i = 0; i < 2; i++) check_sum(s.ctx, large, 50, sum_of(large, 50));
    check_sum(s.ctx, large, MEMORY / 4 + 1, sum_of(large, MEMORY / 4 + 1));
    CHECK(s.evictions == 0, "%d evicted", s.evictions);
    CHECK_STATUS(DUO_OK, duo_release(s.ctx, large));
    test_case("evict/malloc-too-large");
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, MEMORY + 4, &memory));
    CHECK(!sim_is_device(memory) && s.evictions == 0, "%d evicted", s.evictions);
    CHECK_STATUS(DUO_OK, duo_free(s.ctx, memory));
    test_case("evict/several");
    CHECK_STATUS(DUO_OK, duo_keep(s.ctx, half, 800 << 10));
    check_sum(s.ctx, half, 200 << 10, sum_of(half, 200 << 10));
    CHECK(s.evictions == 3, "%d evicted", s.evictions);
    CHECK_STATUS(DUO_OK, duo_release(s.ctx, half));
    test_case("evict/others-use-the-device");
    /* By our own count there is room for the workspace; the driver knows better. */
    for (int i = 0; i < 2; i++) use(&s, i, true, true);
    sim_set_memory(700 << 10);
    fill(large, N, 7);
    check_sum(s.ctx, large, N, sum_of(large, N));
    CHECK(s.evictions == 4 && s.evicted == s.x[0], "%d evicted, the last %p", s.evictions,
          s.evicted);
    use(&s, 1, true, false);
    CHECK_STATUS(DUO_OK, duo_trim(s.ctx));
    use(&s, 0, true, true);
    free(large);
    free(half);
    end(&s);
}

/* If the array is the program's own device memory, only packed operands are evicted. All operands
 * here are, so that nothing else is packed. */
static void packed_operands(void)
{
    enum { E = 128, PACKED = 4 * E * E };
    if (skip()) return;
    small s = begin(1);
    float *const a = new_floats(E * E), *const c = new_floats(E * E),
                 *const want = new_floats(E * E);
    fill(a, E * E, 4);
    multiply(E, a, a, want);
    void *there[3], *rest = NULL;
    test_case("evict/packed");
    for (int i = 0; i < 3; i++) CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, PACKED, &there[i]));
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_copy(s.ctx, there[i], a, PACKED));
    CHECK_STATUS(DUO_OK, duo_prepare(s.ctx, there[0], PACKED));
    const uint64_t packed = sim_count(SIM_PACK);
    follow(&s);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(DUO_OK, square(s.ctx, E, there[0], there[1], 0.0f, there[2]));
        CHECK_STATUS(DUO_OK, duo_copy(s.ctx, c, there[2], PACKED));
        CHECK(same_floats(c, want, E * E), "wrong values");
        CHECK(sim_count(SIM_PACK) == packed + (i < 2 ? 1 : 2), "packed %ju times",
              (uintmax_t)(sim_count(SIM_PACK) - packed));
        if (i != 1) continue;
        CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, MEMORY - 3 * PACKED, &rest));
        CHECK(sim_is_device(rest) && s.evictions == 1 && s.evicted == there[0],
              "%d evicted, the last %p", s.evictions, s.evicted);
        CHECK_STATUS(DUO_OK, duo_free(s.ctx, rest));
    }
    for (int i = 0; i < 3; i++) CHECK_STATUS(DUO_OK, duo_free(s.ctx, there[i]));
    free(a);
    free(c);
    free(want);
    end(&s);
}

/* ---- Pending calls ---- */

static small *now;
static duo_context *intruder;

static duo_status launch_after(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                               uint64_t *pinned_result, uint32_t ticket)
{
    if (intruder != NULL) {
        duo_context *const ctx = intruder;
        void *memory = NULL;
        intruder = NULL;
        CHECK_STATUS(DUO_OK, duo_malloc(ctx, MEMORY / 2, &memory));
        CHECK(!sim_is_device(memory) && now->evictions == 0, "%p went", now->evicted);
        CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
        CHECK_STATUS(DUO_OK, duo_malloc(ctx, BYTES, &memory)); /* the third array goes */
        CHECK(sim_is_device(memory) && now->evicted == now->x[2], "%p went", now->evicted);
        CHECK_STATUS(DUO_OK, duo_free(ctx, memory));
    }
    return sim_backend()->launch(queue, algorithm, call, pinned_result, ticket);
}

static void pending_arrays(void)
{
    if (skip()) return;
    small s = begin(3);
    duo_context *const other = test_context();
    duo_backend backend = *sim_backend();
    test_case("evict/pending");
    backend.launch = launch_after;
    duo_backend_install(&backend);
    check_sum(other, s.x[0], 10, sum_of(s.x[0], 10)); /* its queue is there */
    for (int i = 1; i < 3; i++) use(&s, i, true, true);
    CHECK_STATUS(DUO_OK, duo_set_log(other, hear, &s));
    now = &s;
    intruder = other;
    float dot = test_poison(), want = 0.0f;
    for (int i = 0; i < 1000; i++) want += s.x[0][i] * s.x[1][i];
    CHECK_STATUS(DUO_OK, duo_sdot(s.ctx, 1000, s.x[0], 1, s.x[1], 1, &dot));
    CHECK(dot == want && intruder == NULL, "%g, expected %g", (double)dot, (double)want);
    CHECK(s.evictions == 1, "%d evicted", s.evictions);
    duo_backend_install(sim_backend());
    CHECK_STATUS(DUO_OK, duo_destroy(other));
    (void)duo_set_log(s.ctx, NULL, NULL);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(DUO_OK, duo_release(s.ctx, s.x[i]));
        free(s.x[i]);
    }
    end_without_leaks(s.ctx);
}

/* ---- Several threads ---- */

enum { THREADS = 4, ROUNDS = 60 };

typedef struct worker {
    const small *s; /* all threads read its arrays */
    int number;
} worker;

/* Reads the shared arrays in turn, twice each so that they get room, and writes to one of its own
 * on the device: other threads evict its newer bytes. */
static void *work(void *argument)
{
    const worker *const w = argument;
    duo_context *const ctx = test_context();
    float *const own = new_floats(N);
    fill(own, N, w->number);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, own, BYTES));
    float sum = sum_of(own, EDGE * EDGE);
    for (int round = 0; round < ROUNDS; round++) {
        const float *const x = w->s->x[(w->number + round / 2) % ARRAYS];
        check_sum(ctx, x, N, sum_of(x, N));
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE,
                                       EDGE, 0.0f, NULL, EDGE, NULL, EDGE, -1.0f, own, EDGE));
        sum = -sum;
        check_sum(ctx, own, EDGE * EDGE, sum);
        if (round % 8 != 7) continue;
        CHECK_STATUS(DUO_OK, duo_fetch(ctx, own, BYTES));
        CHECK(sum_of(own, EDGE * EDGE) == sum, "newer bytes are gone");
    }
    CHECK_STATUS(DUO_OK, duo_release(ctx, own));
    free(own);
    test_context_end(ctx);
    return NULL;
}

static void several_threads(void)
{
    if (skip()) return;
    small s = begin(ARRAYS);
    pthread_t thread[THREADS];
    worker job[THREADS];
    test_case("evict/threads");
    for (int i = 0; i < THREADS; i++) {
        job[i] = (worker){.s = &s, .number = i};
        if (pthread_create(&thread[i], NULL, work, &job[i]) != 0) abort();
    }
    for (int i = 0; i < THREADS; i++) (void)pthread_join(thread[i], NULL);
    CHECK(sim_count(SIM_RELEASE) > 2 * ARRAYS, "%ju releases: nothing was evicted",
          (uintmax_t)sim_count(SIM_RELEASE));
    end(&s);
}

/* ---- Failures while evicting ---- */

static void write_back_fails(void)
{
    if (skip()) return;
    /* Every transfer home fails for now: nothing goes, and the call is done on the CPU. */
    small s = begin(3);
    test_case("evict/refused-for-now");
    for (int i = 0; i < 3; i++) {
        use(&s, i, true, true);
        change_there(&s, i);
    }
    float *const want = new_floats(N);
    memcpy(want, s.x[0], BYTES);
    for (int i = 0; i < EDGE * EDGE; i++) want[100 + i] *= 2.0f;
    float *const plain = new_floats(N);
    fill(plain, N, 9);
    sim_fail(SIM_COPY, 1, DUO_ERR_DEVICE, 2);
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, BYTES, &memory));
    CHECK(!sim_is_device(memory), "a changed copy went without being fetched");
    CHECK_STATUS(DUO_OK, duo_free(s.ctx, memory));
    check_sum(s.ctx, plain, N, sum_of(plain, N));
    CHECK_STATUS(DUO_OK, duo_fetch(s.ctx, s.x[0], BYTES));
    CHECK(same_floats(want, s.x[0], N), "newer bytes are gone");
    for (int i = 1; i < 3; i++) CHECK_STATUS(DUO_OK, duo_fetch(s.ctx, s.x[i], BYTES));
    end(&s);

    /* Eviction loses the device: the call that wanted room is right, the newer bytes are lost. */
    s = begin(3);
    test_case("evict/lost");
    for (int i = 0; i < 3; i++) {
        use(&s, i, true, true);
        change_there(&s, i);
    }
    sim_fail(SIM_COPY, 1, DUO_ERR_LOST, 1);
    CHECK_STATUS(DUO_OK, duo_malloc(s.ctx, BYTES, &memory));
    CHECK(!sim_is_device(memory), "memory of a lost device");
    CHECK_STATUS(DUO_OK, duo_free(s.ctx, memory));
    check_sum(s.ctx, plain, N, sum_of(plain, N));
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(s.ctx, &d));
    CHECK(d.side == DUO_SIDE_CPU, "%s after a loss", d.algorithm);
    for (int i = 0; i < 3; i++) {
        float sum = test_poison();
        CHECK_STATUS(DUO_ERR_LOST, duo_ssum(s.ctx, N, s.x[i], 1, &sum));
        CHECK(test_is_poison(sum), "a result of what is lost");
        CHECK_STATUS(DUO_ERR_LOST, duo_release(s.ctx, s.x[i]));
        free(s.x[i]);
    }
    (void)duo_synchronize(s.ctx);
    (void)duo_destroy(s.ctx);
    CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    free(want);
    free(plain);
}

static const test_entry tests[] = {
    {"oldest_first", oldest_first},
    {"by_turns", by_turns},
    {"changed_copies", changed_copies},
    {"more_than_all", more_than_all},
    {"packed_operands", packed_operands},
    {"pending_arrays", pending_arrays},
    {"several_threads", several_threads},
    {"write_back_fails", write_back_fails},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "eviction", tests); }
