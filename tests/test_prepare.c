/*
 * test_prepare.c - duo_prepare: prepared factors are packed once, and nothing but the time shows
 * it.
 *
 * Every change of a prepared array has to reach the next product, whether the program, a call on
 * either side, or a kernel of the program's own wrote it. On the simulated device each algorithm
 * reads only its packed operands, so that an old one shows; and packings are counted. All data are
 * small integers: every product is exact. The model of test_residency_model prepares at random;
 * test_failures lets packing fail.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choice/algorithm.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/calls.h"
#include "support/child.h"
#include "support/exact.h"
#include "support/harness.h"
#include "support/places.h"

/* Large enough for the algorithms of a Hopper GPU that split. On the simulated device one thread
 * computes. */
static int64_t edge(void) { return test_mode_now() == MODE_GPU ? 600 : 24; }

/*
 * Number of operands packed since the last time. On the simulated device every algorithm packs, and
 * C is in host memory: each call packs operands that are not prepared once for itself.
 */
static uint64_t packed_written(void)
{
    static uint64_t before;
    const uint64_t now = sim_count(SIM_PACK), since = now >= before ? now - before : now;
    before = now;
    return since;
}

static void check_written(uint64_t expected)
{
    const uint64_t written = packed_written();
    if (test_on_sim())
        CHECK(written == expected, "%ju operands packed, expected %ju", (uintmax_t)written,
              (uintmax_t)expected);
}

/* C := op(A) * op(B) of n x n, by columns. */
static void multiply_as(int64_t n, bool transa, bool transb, const float *a, const float *b,
                        float *c)
{
    memset(c, 0, (size_t)(n * n) * sizeof *c);
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < n; p++) {
            const float scale = transb ? b[j + p * n] : b[p + j * n];
            for (int64_t i = 0; i < n; i++)
                c[i + j * n] += (transa ? a[p + i * n] : a[i + p * n]) * scale;
        }
}

/* Multiplies places `a` and `b` that now hold these values, and checks every element. */
static void check_product(duo_context *ctx, bool transa, bool transb, const float *a,
                          const float *a_values, const float *b, const float *b_values)
{
    const int64_t n = edge();
    float *const c = new_floats(n * n), *const expected = new_floats(n * n);
    for (int64_t i = 0; i < n * n; i++) c[i] = test_poison();
    multiply_as(n, transa, transb, a_values, b_values, expected);
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, transa ? DUO_TRANS : DUO_NO_TRANS,
                                   transb ? DUO_TRANS : DUO_NO_TRANS, n, n, n, 1.0f, a, n, b, n,
                                   0.0f, c, n));
    int64_t wrong = 0;
    for (int64_t i = 0; i < n * n; i++) wrong += !(c[i] == expected[i]);
    CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
    free(c);
    free(expected);
}

/* Two factors, kept or on the device, and their values. */
typedef struct factors {
    test_place place;
    size_t bytes;
    float *host[2], *values[2], *at[2];
} factors;

static factors new_factors(duo_context *ctx, test_place place)
{
    const int64_t n = edge();
    factors f = {.place = place, .bytes = (size_t)(n * n) * sizeof(float)};
    for (int i = 0; i < 2; i++) {
        f.host[i] = new_floats(n * n);
        f.values[i] = new_floats(n * n);
        fill(f.host[i], n * n, i);
        memcpy(f.values[i], f.host[i], f.bytes);
        f.at[i] = f.host[i];
        if (place == PLACE_KEPT) {
            CHECK_STATUS(DUO_OK, duo_keep(ctx, f.host[i], f.bytes));
            continue;
        }
        void *memory = NULL;
        CHECK_STATUS(DUO_OK, duo_malloc(ctx, f.bytes, &memory));
        f.at[i] = memory;
        CHECK_STATUS(DUO_OK, duo_copy(ctx, f.at[i], f.host[i], f.bytes));
    }
    return f;
}

static void end_factors(duo_context *ctx, factors *f)
{
    for (int i = 0; i < 2; i++) {
        if (f->place == PLACE_KEPT)
            CHECK_STATUS(DUO_OK, duo_release(ctx, f->host[i]));
        else
            CHECK_STATUS(DUO_OK, duo_free(ctx, f->at[i]));
        free(f->host[i]);
        free(f->values[i]);
    }
}

/* The program writes new values of its own to elements [from, to) of factor i. */
static void change(duo_context *ctx, factors *f, int i, int64_t from, int64_t to, int64_t seed)
{
    const size_t bytes = (size_t)(to - from) * sizeof(float);
    fill(f->values[i] + from, to - from, seed);
    if (f->place == PLACE_KEPT) {
        memcpy(f->host[i] + from, f->values[i] + from, bytes);
        CHECK_STATUS(DUO_OK, duo_changed(ctx, f->host[i] + from, bytes));
    } else {
        CHECK_STATUS(DUO_OK, duo_copy(ctx, f->at[i] + from, f->values[i] + from, bytes));
    }
}

static void product(duo_context *ctx, const factors *f)
{
    check_product(ctx, false, false, f->at[0], f->values[0], f->at[1], f->values[1]);
}

static const test_place places[] = {PLACE_KEPT, PLACE_DEVICE};

/* Does the algorithm of the last call pack? On a GPU, algorithms for Hopper do. */
static void check_packed(duo_context *ctx)
{
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    if (!test_gpu_side() || duo_device_capability(0) != 90) return;
    const duo_call call = test_sgemm_call(false, false, edge(), edge(), edge(), 1.0f, NULL, edge(),
                                          NULL, edge(), 0.0f, NULL, edge());
    size_t bytes = 0;
    for (int id = 0; id < DUO_ALGORITHMS; id++)
        if (strcmp(duo_algorithm_name((duo_algorithm_id)id), d.algorithm) == 0)
            bytes = duo_backend_current()->packed_bytes((duo_algorithm_id)id, &call, DUO_A);
    CHECK(bytes > 0, "%s ran, which does not pack", d.algorithm);
}

static void split_once(void)
{
    for (int p = 0; p < 2; p++)
        for (int which = 1; which < 4; which++) { /* A, B, both */
            test_case("prepare/%s/%d", test_place_name(places[p]), which);
            duo_context *const ctx = test_context();
            factors f = new_factors(ctx, places[p]);
            for (int i = 0; i < 2; i++)
                if ((which >> i & 1) != 0) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], f.bytes));
            (void)packed_written();
            product(ctx, &f);
            check_written(2);
            check_packed(ctx);
            for (int again = 0; again < 3; again++) product(ctx, &f);
            check_written(which == 3 ? 0 : 3);
            end_factors(ctx, &f);
            end_without_leaks(ctx);
        }
}

/* A matrix has one packed operand for each way of use; A transposed is B as it is. */
static void ways(void)
{
    test_case("prepare/ways");
    duo_context *const ctx = test_context();
    factors f = new_factors(ctx, PLACE_DEVICE);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[0], f.bytes));
    (void)packed_written();
    for (int round = 0; round < 2; round++) {
        for (int way = 0; way < 4; way++)
            check_product(ctx, (way & 1) != 0, (way & 2) != 0, f.at[0], f.values[0], f.at[0],
                          f.values[0]);
        check_written(round == 0 ? 2 : 0);
    }
    end_factors(ctx, &f);
    end_without_leaks(ctx);
}

static void changes_are_seen(void)
{
    const int64_t n = edge();
    for (int p = 0; p < 2; p++) {
        duo_context *const ctx = test_context();
        factors f = new_factors(ctx, places[p]);
        for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], f.bytes));
        product(ctx, &f);
        (void)packed_written();
        const char *const name = test_place_name(places[p]);
        test_case("prepare/%s/changed", name);
        change(ctx, &f, 0, 0, n * n, 5);
        product(ctx, &f);
        check_written(1);
        test_case("prepare/%s/changed in part", name);
        change(ctx, &f, 1, n * n / 2, n * n / 2 + 3, 6);
        product(ctx, &f);
        check_written(1);

        test_case("prepare/%s/written by sgemm", name);
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n,
                                       0.0f, NULL, n, NULL, n, -1.0f, f.at[0], n));
        for (int64_t i = 0; i < n * n; i++) f.values[0][i] *= -1.0f;
        product(ctx, &f);
        check_written(1);

        test_case("prepare/%s/written by a reduction", name);
        CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, f.at[1], 1, f.at[0] + n));
        f.values[0][n] = f.values[1][0] + f.values[1][1] + f.values[1][2];
        product(ctx, &f);
        check_written(1);

        test_case("prepare/%s/written by the CPU", name);
        CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n,
                                       0.0f, NULL, n, NULL, n, 2.0f, f.at[1], n));
        for (int64_t i = 0; i < n * n; i++) f.values[1][i] *= 2.0f;
        if (test_gpu_side()) CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
        product(ctx, &f);
        check_written(1);
        end_factors(ctx, &f);
        end_without_leaks(ctx);
    }
}

/* Kernels of the program's own write to device memory; it tells of that. */
static void foreign_writes(void)
{
    if (!test_gpu_side()) {
        test_skip("needs a device");
        return;
    }
    const int64_t n = edge();
    const duo_backend *const backend = duo_backend_current();
    duo_context *const ctx = test_context();
    factors f = new_factors(ctx, PLACE_DEVICE);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[0], f.bytes));
    product(ctx, &f);
    test_case("prepare/foreign writes");
    duo_queue *queue = NULL;
    void *pinned = NULL;
    CHECK_STATUS(DUO_OK, backend->open(0, NULL, DUO_PRIORITY_NORMAL, &queue));
    CHECK_STATUS(DUO_OK, backend->pin(0, f.bytes, &pinned));
    fill(f.values[0], n * n, 8);
    memcpy(pinned, f.values[0], f.bytes);
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, backend->copy(queue, f.at[0], f.bytes, pinned, f.bytes, f.bytes, 1));
    CHECK_STATUS(DUO_OK, backend->finish(queue));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, f.at[0], f.bytes));
    product(ctx, &f);
    CHECK_STATUS(DUO_OK, backend->close(queue));
    CHECK_STATUS(DUO_OK, backend->unpin(pinned));
    end_factors(ctx, &f);
    end_without_leaks(ctx);
}

/* Of an array with a matrix in each half one half changes: the other's packed operand stays. */
static void parts(void)
{
    const int64_t n = edge();
    const size_t bytes = (size_t)(n * n) * sizeof(float);
    duo_context *const ctx = test_context();
    float *const both = new_floats(2 * n * n), *const values = new_floats(2 * n * n);
    fill(both, 2 * n * n, 1);
    memcpy(values, both, 2 * bytes);
    test_case("prepare/parts");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, both, 2 * bytes));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, both, bytes));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, both + n * n, bytes));
    (void)packed_written();
    check_product(ctx, false, false, both, values, both + n * n, values + n * n);
    check_written(2);
    fill(values + n * n, n * n, 2);
    memcpy(both + n * n, values + n * n, bytes);
    CHECK_STATUS(DUO_OK, duo_changed(ctx, both + n * n, bytes));
    check_product(ctx, false, false, both, values, both + n * n, values + n * n);
    check_written(1);
    test_case("prepare/parts/between");
    check_product(ctx, false, false, both + n, values + n, both + n * n, values + n * n);
    check_written(1);
    CHECK_STATUS(DUO_OK, duo_release(ctx, both));
    CHECK(memcmp(both, values, 2 * bytes) == 0, "the array was changed");
    end_without_leaks(ctx);
    free(both);
    free(values);
}

static void taken_back(void)
{
    for (int p = 0; p < 2; p++) {
        test_case("prepare/%s/taken back", test_place_name(places[p]));
        duo_context *const ctx = test_context();
        factors f = new_factors(ctx, places[p]);
        product(ctx, &f);
        const uint64_t before = test_on_sim() ? sim_allocated_bytes(0) : 0;
        for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], f.bytes));
        product(ctx, &f);
        if (test_on_sim())
            CHECK(sim_allocated_bytes(0) >= before + 2 * f.bytes, "no memory was taken");
        for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], 0));
        if (test_on_sim())
            CHECK(sim_allocated_bytes(0) == before, "%ju bytes, expected %ju",
                  (uintmax_t)sim_allocated_bytes(0), (uintmax_t)before);
        (void)packed_written();
        product(ctx, &f);
        check_written(2);
        end_factors(ctx, &f);
        end_without_leaks(ctx);
    }
}

/* Preparing is a hint: without memory the products go on without it. */
static void no_room(void)
{
    if (!test_on_sim()) {
        test_skip("needs a device whose memory can be made small");
        return;
    }
    test_case("prepare/no room");
    duo_context *const ctx = test_context();
    factors f = new_factors(ctx, PLACE_DEVICE);
    product(ctx, &f);
    sim_set_memory(sim_allocated_bytes(0) + f.bytes / 2);
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], f.bytes));
    (void)packed_written();
    const uint64_t asked = sim_count(SIM_ALLOCATE);
    for (int again = 0; again < 3; again++) product(ctx, &f);
    check_written(3 * 2);
    CHECK(sim_count(SIM_ALLOCATE) == asked + 2, "asked %ju times for memory",
          (uintmax_t)(sim_count(SIM_ALLOCATE) - asked));
    sim_set_memory((uint64_t)1 << 30);
    end_factors(ctx, &f);
    end_without_leaks(ctx);
}

/* Operands have their places before anything is packed: kept arrays fit as before. */
static void places_first(void)
{
    if (!test_on_sim()) {
        test_skip("needs a device whose memory can be made small");
        return;
    }
    test_case("prepare/places first");
    const int64_t n = edge();
    duo_context *const ctx = test_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    float *const c = new_floats(n * n);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, f.bytes));
    float one = 1.0f, sum;
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 1, &one, 1, &sum)); /* the queue is there */
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], f.bytes));
    sim_set_memory(sim_allocated_bytes(0) + 3 * f.bytes + f.bytes / 2);
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n, 1.0f,
                                   f.at[0], n, f.at[1], n, 0.0f, c, n));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.side == DUO_SIDE_GPU, "%s ran", d.algorithm);
    sim_set_memory((uint64_t)1 << 30);
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    end_factors(ctx, &f);
    end_without_leaks(ctx);
    free(c);
}

/* One device has no room for packed operands; another one has. */
static void room_elsewhere(void)
{
    if (!test_on_sim()) {
        test_skip("needs two devices");
        return;
    }
    test_case("prepare/room elsewhere");
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    duo_context *const one = test_context(), *const other = test_context();
    CHECK_STATUS(DUO_OK, duo_set_device(other, 1));
    factors f = new_factors(one, PLACE_KEPT);
    product(one, &f);
    CHECK_STATUS(DUO_OK, duo_prepare(one, f.at[0], f.bytes));
    sim_set_memory(sim_allocated_bytes(0) + f.bytes / 2);
    (void)packed_written();
    product(one, &f);
    check_written(2);
    sim_set_memory((uint64_t)1 << 30);
    product(one, &f);
    check_written(2);
    product(other, &f); /* moves it */
    check_written(2);
    for (int again = 0; again < 3; again++) product(other, &f);
    check_written(1 + 3);
    end_factors(one, &f);
    test_context_end(one);
    end_without_leaks(other);
}

/* The context that packed them is gone. */
static void written_by_another(void)
{
    for (int p = 0; p < 2; p++) {
        test_case("prepare/%s/written by another", test_place_name(places[p]));
        duo_context *const one = test_context(), *const other = test_context();
        factors f = new_factors(one, places[p]);
        for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(one, f.at[i], f.bytes));
        if (test_on_sim()) sim_set_delay(300);
        product(one, &f);
        test_context_end(one);
        (void)packed_written();
        product(other, &f);
        check_written(0);
        if (test_on_sim()) sim_set_delay(0);
        end_factors(other, &f);
        end_without_leaks(other);
    }
}

static duo_context *taker;
static float *taken;
static duo_status take_back(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                            uint64_t *pinned_result, uint32_t ticket)
{
    CHECK_STATUS(DUO_OK, duo_prepare(taker, taken, 0));
    return sim_backend()->launch(queue, algorithm, call, pinned_result, ticket);
}

/* Another thread takes the promise of duo_prepare back while a call is about to be launched: the
 * call still finds its packed operands. */
static void taken_back_meanwhile(void)
{
    if (!test_on_sim()) {
        test_skip("needs a backend that can be watched");
        return;
    }
    test_case("prepare/taken back meanwhile");
    duo_backend backend = *sim_backend();
    backend.launch = take_back;
    duo_backend_install(&backend);
    duo_context *const ctx = test_context();
    taker = test_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], f.bytes));
    taken = f.at[0];
    for (int again = 0; again < 3; again++) product(ctx, &f);
    CHECK(sim_violations() == 0, "a packed operand was gone");
    end_factors(ctx, &f);
    test_context_end(taker);
    end_without_leaks(ctx);
    duo_backend_install(sim_backend());
}

/* A child computes on the CPU, and forgets what its parent prepared. */
static void forked(void)
{
    test_case("prepare/forked");
    duo_context *const ctx = test_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], f.bytes));
    product(ctx, &f);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int64_t n = edge();
        float *const c = new_floats(n * n), *const expected = new_floats(n * n);
        multiply_as(n, false, false, f.values[0], f.values[1], expected);
        bool right = duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n, 1.0f,
                               f.at[0], n, f.at[1], n, 0.0f, c, n) == DUO_OK &&
                     memcmp(c, expected, f.bytes) == 0;
        right = right && duo_prepare(NULL, f.at[0], f.bytes) == DUO_OK;
        right = right && duo_prepare(NULL, f.at[0], 0) == DUO_OK;
        right = right && duo_release(NULL, f.at[0]) == DUO_OK;
        right = right && duo_release(NULL, f.at[1]) == DUO_OK;
        _exit(right ? 0 : 1);
    }
    CHECK(test_child_wait(child, 60) == 0, "the child went wrong");
    product(ctx, &f);
    end_factors(ctx, &f);
    end_without_leaks(ctx);
}

/* Each product uses other parts of an array as factors: the memory for packed operands does not
 * grow without end. */
static void many_parts(void)
{
    enum { ROWS = 64, COLUMNS = 64, USES = 400 };
    duo_context *const ctx = test_context();
    const int64_t count = ROWS * COLUMNS + USES;
    const size_t bytes = (size_t)count * sizeof(float);
    float *const a = new_floats(count), b[COLUMNS], c[ROWS];
    fill(a, count, 3);
    fill(b, COLUMNS, 4);
    test_case("prepare/many parts");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, a, bytes));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, a, bytes));
    for (int use = 0; use < USES; use++) {
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, ROWS, 1,
                                       COLUMNS, 1.0f, a + use, ROWS, b, COLUMNS, 0.0f, c, ROWS));
        float expected = 0.0f;
        for (int p = 0; p < COLUMNS; p++) expected += a[use + p * ROWS] * b[p];
        CHECK(c[0] == expected, "use %d: %g, expected %g", use, (double)c[0], (double)expected);
    }
    if (test_on_sim())
        CHECK(sim_allocated_bytes(0) < 8 * bytes + (1 << 20), "%ju bytes are held",
              (uintmax_t)sim_allocated_bytes(0));
    CHECK_STATUS(DUO_OK, duo_release(ctx, a));
    end_without_leaks(ctx);
    free(a);
}

/* One context packs an operand, another uses it at once; then the other way about. */
static void two_contexts(void)
{
    const int64_t n = edge();
    duo_context *const one = test_context(), *const other = test_context();
    factors f = new_factors(one, PLACE_KEPT);
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(one, f.at[i], f.bytes));
    if (test_on_sim()) sim_set_delay(300);
    void *c = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(one, f.bytes, &c));
    for (int round = 0; round < 12; round++) {
        test_case("prepare/two contexts/%d", round);
        duo_context *const first = round % 2 == 0 ? one : other;
        duo_context *const second = round % 2 == 0 ? other : one;
        change(first, &f, round % 3 == 0, 0, n * n, round);
        /* Its result stays on the device, so that it returns before they are packed. */
        CHECK_STATUS(DUO_OK, duo_sgemm(first, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n,
                                       1.0f, f.at[0], n, f.at[1], n, 0.0f, c, n));
        (void)packed_written();
        product(second, &f);
        check_written(0);
    }
    if (test_on_sim()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_free(one, c));
    end_factors(other, &f);
    test_context_end(one);
    end_without_leaks(other);
}

static void two_devices(void)
{
    if (!test_on_sim()) {
        test_skip("needs two devices");
        return;
    }
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    duo_context *const one = test_context(), *const other = test_context();
    CHECK_STATUS(DUO_OK, duo_set_device(other, 1));
    factors f = new_factors(one, PLACE_KEPT);
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(one, f.at[i], f.bytes));
    (void)packed_written();
    for (int round = 0; round < 4; round++) {
        test_case("prepare/two devices/%d", round);
        product(round % 2 == 0 ? one : other, &f);
        product(round % 2 == 0 ? one : other, &f);
        check_written(2);
    }
    end_factors(one, &f);
    test_context_end(one);
    end_without_leaks(other);
}

static void lost_device(void)
{
    if (!test_on_sim()) {
        test_skip("needs a device that can be lost");
        return;
    }
    test_case("prepare/lost");
    duo_context *const ctx = test_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], f.bytes));
    product(ctx, &f);
    sim_lose(0);
    for (int again = 0; again < 2; again++) product(ctx, &f);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[0], f.bytes));
    product(ctx, &f);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[0], 0));
    end_factors(ctx, &f);
    (void)duo_destroy(ctx);
}

static const test_entry tests[] = {
    {"split_once", split_once},
    {"ways", ways},
    {"changes_are_seen", changes_are_seen},
    {"foreign_writes", foreign_writes},
    {"parts", parts},
    {"taken_back", taken_back},
    {"no_room", no_room},
    {"places_first", places_first},
    {"room_elsewhere", room_elsewhere},
    {"written_by_another", written_by_another},
    {"taken_back_meanwhile", taken_back_meanwhile},
    {"forked", forked},
    {"many_parts", many_parts},
    {"two_contexts", two_contexts},
    {"two_devices", two_devices},
    {"lost_device", lost_device},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "prepare", tests); }
