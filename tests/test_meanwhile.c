/*
 * test_meanwhile.c - other callers use the arrays of a call between two of its steps: locating its
 * operands, bringing them to a side, launching, marking the output, fetching the result.
 *
 * The test's own backend lets another caller act just before or after a launch, or before it
 * opens a queue of the simulated device: it changes an array, computes into it, reads it, or loses
 * the device. The result must be right in the end, or reported as lost. If threads write to
 * disjoint parts of one array, none loses its data.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/exact.h"
#include "support/harness.h"

/* ---- Between bringing operands to the device and the launch ---- */

/* Called just before the next launch, and just after it; NULL: nothing is. */
static void (*come_between)(const duo_call *call), (*come_behind)(const duo_call *call);
static duo_context *intruder;
static float *intruder_result;

static duo_status launch_after(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                               uint64_t *pinned_result, uint32_t ticket)
{
    void (*const before)(const duo_call *) = come_between;
    void (*const behind)(const duo_call *) = come_behind;
    come_between = come_behind = NULL;
    if (before != NULL) before(call);
    const duo_status status = sim_backend()->launch(queue, algorithm, call, pinned_result, ticket);
    if (behind != NULL) behind(call);
    return status;
}

/* Before the next queue is opened: a call's operands are located, and none is placed. */
static void (*come_opening)(void);

static duo_status open_after(int device, void *stream, duo_priority priority, duo_queue **queue)
{
    void (*const come)(void) = come_opening;
    come_opening = NULL;
    if (come != NULL) come();
    return sim_backend()->open(device, stream, priority, queue);
}

static void watch_launches(void)
{
    static duo_backend backend;
    backend = *sim_backend();
    backend.launch = launch_after;
    backend.open = open_after;
    duo_backend_install(&backend);
}

/* Reads the element behind the kernel's output: it is in the same array, so that one follows the
 * other, but they have no value in common. */
static void read_behind(const duo_call *call)
{
    const duo_operand *const c = &call->operand[DUO_C];
    CHECK_STATUS(DUO_OK,
                 duo_ssum(intruder, 1, c->address + c->ld * c->columns, 1, intruder_result));
}

/* Two contexts write and read one array. The reader comes between the writer's claim of the device
 * copy and its launch, and again after the launch: then it must see the new values. */
static void claimed_meanwhile(void)
{
    enum { N = 24, ROUNDS = 30 };
    if (!test_on_sim()) {
        test_skip("needs a backend that can be watched");
        return;
    }
    watch_launches();
    duo_context *const writer = test_context(), *const reader = test_context();
    float *const a = new_floats(N * N), *const expected = new_floats(N * N);
    void *c = NULL, *result = NULL;
    const float behind = 3.0f;
    CHECK_STATUS(DUO_OK, duo_malloc(writer, (N * N + 1) * sizeof *a, &c));
    CHECK_STATUS(DUO_OK, duo_malloc(reader, sizeof *a, &result));
    CHECK_STATUS(DUO_OK, duo_copy(writer, (float *)c + N * N, &behind, sizeof behind));
    sim_set_delay(500);
    for (int round = 0; round < ROUNDS; round++) {
        test_case("contexts/between/%d", round);
        fill(a, N * N, round);
        multiply(N, a, a, expected);
        intruder_result = result;
        intruder = reader;
        come_between = read_behind;
        CHECK_STATUS(DUO_OK, square(writer, N, a, a, 0.0f, c));
        CHECK(come_between == NULL, "nobody came between");
        check_sum(reader, c, N * N, sum_of(expected, N * N));
        check_sum(reader, result, 1, behind);
    }
    sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_free(writer, c));
    CHECK_STATUS(DUO_OK, duo_free(reader, result));
    test_context_end(writer);
    end_without_leaks(reader);
    duo_backend_install(sim_backend());
    free(a);
    free(expected);
}

/* ---- Taking away ---- */

static const float *shared;
static int64_t shared_elements;
static float shared_sum;

static void read_shared(const duo_call *call)
{
    (void)call;
    check_sum(intruder, shared, shared_elements, shared_sum);
}

/* Between the moment when a call is given the device copy of a kept array and its launch, a reader
 * on another device would move that one copy to its own device. */
static void moved_meanwhile(void)
{
    enum { N = 24, ROUNDS = 10 };
    if (!test_on_sim()) {
        test_skip("needs two devices");
        return;
    }
    sim_set_devices(2);
    watch_launches();
    duo_context *const first = test_context(), *const second = test_context();
    CHECK_STATUS(DUO_OK, duo_set_device(second, 1));
    float *const a = new_floats(N * N), *const c = new_floats(N * N);
    float *const expected = new_floats(N * N);
    fill(a, N * N, 1);
    multiply(N, a, a, expected);
    CHECK_STATUS(DUO_OK, duo_keep(first, a, N * N * sizeof *a));
    sim_set_delay(500);
    for (int round = 0; round < ROUNDS; round++) {
        test_case("devices/meanwhile/%d", round);
        duo_context *const one = round % 2 == 0 ? first : second;
        intruder = round % 2 == 0 ? second : first;
        come_between = read_shared;
        shared = a;
        shared_elements = N * N;
        shared_sum = sum_of(a, N * N);
        test_fill_poison(c, N * N);
        CHECK_STATUS(DUO_OK, square(one, N, a, a, 0.0f, c));
        CHECK(come_between == NULL, "nobody came between");
        CHECK(same_floats(c, expected, N * N), "wrong values");
        check_sum(one, a, N * N, shared_sum); /* and later it moves as ever */
    }
    sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_release(second, a));
    test_context_end(first);
    end_without_leaks(second);
    duo_backend_install(sim_backend());
    free(a);
    free(c);
    free(expected);
}

/* ---- Two write to one kept array ---- */

/* An array of three parts of E x E: the middle one is a call's C while others use the array. */
enum { E = 12, PART = E * E };
static float *parts, *right;

/* The sum of the first part sends the changes there. It must not send the bytes between the two
 * changed parts, where the launch writes. */
static void change_around(const duo_call *call)
{
    (void)call;
    for (int part = 0; part < 3; part += 2) {
        fill(right + part * PART, PART, 70 + part);
        memcpy(parts + part * PART, right + part * PART, PART * sizeof *parts);
        CHECK_STATUS(DUO_OK, duo_changed(intruder, parts + part * PART, PART * sizeof *parts));
    }
    check_sum(intruder, parts, PART, sum_of(right, PART));
}

static void multiply_around(const duo_call *call)
{
    (void)call;
    multiply(E, right, right, right + 2 * PART);
    CHECK_STATUS(DUO_OK, square(intruder, E, parts, parts, 0.0f, parts + 2 * PART));
}

static void read_around(const duo_call *call)
{
    (void)call;
    check_sum(intruder, parts, PART, sum_of(right, PART));
}

/* Another context is now the last user of the array, and the device is lost during the wait for its
 * work. */
static void lose_device(const duo_call *call)
{
    read_around(call);
    sim_fail(SIM_AFTER, 1, DUO_ERR_LOST, 1);
}

/* Others change an array, write to it and read it, before and after a launch that writes to it. */
static void written_meanwhile(void)
{
    static const struct {
        const char *name;
        void (*before)(const duo_call *), (*behind)(const duo_call *);
        bool across; /* the other context is on another device; with lost, it moves there */
        bool lost;
    } kinds[] = {
        {"changed before", .before = change_around},
        {"changed behind", .behind = change_around},
        {"computed before", .before = multiply_around},
        {"computed behind", .behind = multiply_around},
        {"read behind, across", .behind = read_around, .across = true},
        {"lost", .before = lose_device, .lost = true},
        {"lost, across", .before = lose_device, .across = true, .lost = true},
    };
    if (!test_on_sim()) {
        test_skip("needs a backend that can be watched");
        return;
    }
    const size_t bytes = 3 * PART * sizeof *parts;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const bool lost = kinds[k].lost;
        test_case("meanwhile/%s", kinds[k].name);
        sim_reset();
        sim_set_devices(2);
        watch_launches();
        duo_context *const one = test_context();
        intruder = test_context();
        if (kinds[k].across && !lost) CHECK_STATUS(DUO_OK, duo_set_device(intruder, 1));
        float *const a = new_floats(PART);
        parts = new_floats(3 * PART);
        right = new_floats(3 * PART);
        fill(a, PART, 2);
        fill(right, 3 * PART, 1);
        memcpy(parts, right, bytes);
        CHECK_STATUS(DUO_OK, duo_keep(one, parts, bytes));
        check_sum(one, parts, 3 * PART, sum_of(right, 3 * PART));
        come_between = kinds[k].before;
        come_behind = kinds[k].behind;
        CHECK_STATUS(DUO_OK, square(one, E, a, a, 0.0f, parts + PART));
        CHECK(come_between == NULL && come_behind == NULL, "nobody came");
        multiply(E, a, a, right + PART);
        if (kinds[k].across && lost) CHECK_STATUS(DUO_OK, duo_set_device(intruder, 1));
        float sum = test_poison();
        const duo_status expected = lost ? DUO_ERR_LOST : DUO_OK;
        CHECK_STATUS(expected, duo_ssum(intruder, PART, parts + PART, 1, &sum));
        if (!lost) CHECK(sum == sum_of(right + PART, PART), "a sum of old values");
        if (!lost) check_sum(one, parts + 2 * PART, PART, sum_of(right + 2 * PART, PART));
        CHECK_STATUS(expected, duo_fetch(one, parts, bytes));
        CHECK(lost || same_floats(parts, right, 3 * PART), "wrong values");
        CHECK_STATUS(expected, duo_release(one, parts));
        (void)duo_destroy(intruder);
        (void)duo_destroy(one);
        CHECK(lost || sim_leaks() == 0, "%d things are still alive", sim_leaks());
        CHECK(sim_violations() == 0, "the backend's rules were broken");
        duo_backend_install(sim_backend());
        free(a);
        free(parts);
        free(right);
    }
}

enum { WRITERS = 3, BAND = 5, WIDE = WRITERS * BAND, LONG = 4000 };

typedef struct band {
    duo_context *ctx;
    float *matrix, *a; /* this writer's rows of a kept matrix; a factor */
    int rounds;
} band;

static void *write_band(void *argument)
{
    const band *const b = argument;
    for (int round = 0; round < b->rounds; round++) {
        CHECK_STATUS(DUO_OK, duo_sgemm(b->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, BAND,
                                       LONG, 1, 1.0f, b->a, BAND, b->a, 1, 1.0f, b->matrix, WIDE));
        if (round % 3 == 0) CHECK_STATUS(DUO_OK, duo_fetch(b->ctx, b->matrix, sizeof(float)));
    }
    return NULL;
}

/* Rows of one matrix are written by threads of their own, on both sides: the columns of each lie
 * between those of the others. */
static void both_sides_write(void)
{
    enum { ROUNDS = 100 };
    test_case("meanwhile/both sides");
    float *const matrix = new_floats(WIDE * LONG), *const a = new_floats(LONG);
    for (int i = 0; i < WIDE * LONG; i++) matrix[i] = 0.0f;
    for (int i = 0; i < LONG; i++) a[i] = (float)(i % 4 - 1);
    band bands[WRITERS];
    pthread_t threads[WRITERS];
    duo_context *const keeper = test_context();
    CHECK_STATUS(DUO_OK, duo_keep(keeper, matrix, WIDE * LONG * sizeof *matrix));
    if (test_on_sim()) sim_set_delay(30);
    for (int w = 0; w < WRITERS; w++) {
        bands[w] = (band){test_context(), matrix + w * BAND, a, ROUNDS};
        if (w == 0) CHECK_STATUS(DUO_OK, duo_set_path(bands[w].ctx, DUO_PATH_CPU));
        if (pthread_create(&threads[w], NULL, write_band, &bands[w]) != 0) abort();
    }
    for (int w = 0; w < WRITERS; w++) {
        pthread_join(threads[w], NULL);
        test_context_end(bands[w].ctx);
    }
    if (test_on_sim()) sim_set_delay(0);
    CHECK_STATUS(DUO_OK, duo_release(keeper, matrix));
    int wrong = 0;
    for (int j = 0; j < LONG; j++)
        for (int i = 0; i < WIDE; i++)
            wrong += !(matrix[i + j * WIDE] == (float)ROUNDS * a[i % BAND] * a[j]);
    CHECK(wrong == 0, "%d elements are wrong", wrong);
    end_without_leaks(keeper);
    free(matrix);
    free(a);
}

/* ---- Between locating, placing and marking ---- */

enum { MOST_CONTEXTS = 3 };

/* Contexts, an array of three parts that is kept and on the device, and a factor of ones. */
typedef struct scene {
    duo_context *ctx[MOST_CONTEXTS];
    float array[3 * PART], ones[PART];
} scene;

static scene *now;

static void begin_scene(scene *s, int devices)
{
    now = s;
    sim_reset();
    sim_set_devices(devices);
    watch_launches();
    for (int i = 0; i < MOST_CONTEXTS; i++) s->ctx[i] = test_context();
    for (int i = 0; i < 3 * PART; i++) s->array[i] = 5.0f;
    for (int i = 0; i < PART; i++) s->ones[i] = 1.0f;
}

static void keep_scene(scene *s)
{
    CHECK_STATUS(DUO_OK, duo_keep(s->ctx[0], s->array, sizeof s->array));
    check_sum(s->ctx[0], s->array, 3 * PART, 5.0f * 3 * PART);
}

static void end_scene(scene *s)
{
    CHECK(come_between == NULL && come_behind == NULL && come_opening == NULL, "nobody came");
    CHECK(sim_violations() == 0, "the backend's rules were broken");
    for (int i = 0; i < MOST_CONTEXTS; i++) (void)duo_destroy(s->ctx[i]);
    duo_backend_install(sim_backend());
}

/* Device 0 is found lost by another thread's call. */
static void find_loss(void)
{
    float sum;
    sim_lose(0);
    CHECK_STATUS(DUO_OK, duo_ssum(now->ctx[2], PART, now->ones, 1, &sum));
}

static void find_loss_and_move(const duo_call *call)
{
    (void)call;
    find_loss();
    check_sum(now->ctx[1], now->array, PART, 5.0f * PART);
}

/* Device 0, not used before, is too small for the array. */
static void refuse_array(void)
{
    sim_set_memory(sizeof now->array - 1);
    check_sum(now->ctx[0], now->array, 10, 50.0f);
    sim_set_memory((uint64_t)1 << 30);
}

static void compute_and_fail(const duo_call *call)
{
    (void)call;
    CHECK_STATUS(DUO_OK, square(now->ctx[1], E, now->ones, now->ones, 0.0f, now->array + 2 * PART));
    sim_fail(SIM_COPY, 1, DUO_ERR_DEVICE, 2);
}

/* Data that were only on the lost device are reported as lost, and older content does not replace
 * them. */
static void lost_meanwhile(void)
{
    if (!test_on_sim()) {
        test_skip("needs a backend that can be watched");
        return;
    }
    static scene s;
    float sum, c[PART];
    test_case("meanwhile/lost and moved behind the launch");
    begin_scene(&s, 2);
    CHECK_STATUS(DUO_OK, duo_set_device(s.ctx[1], 1));
    keep_scene(&s);
    come_behind = find_loss_and_move;
    CHECK_STATUS(DUO_OK, square(s.ctx[0], E, s.ones, s.ones, 0.0f, s.array + PART));
    CHECK_STATUS(DUO_ERR_LOST, duo_ssum(s.ctx[1], PART, s.array + PART, 1, &sum));
    CHECK_STATUS(DUO_ERR_LOST, duo_release(s.ctx[1], s.array));
    end_scene(&s);

    test_case("meanwhile/lost between locating and placing");
    begin_scene(&s, 2);
    CHECK_STATUS(DUO_OK, duo_set_device(s.ctx[1], 1));
    keep_scene(&s);
    CHECK_STATUS(DUO_OK, square(s.ctx[0], E, s.ones, s.ones, 0.0f, s.array + PART));
    come_opening = find_loss;
    CHECK_STATUS(DUO_ERR_LOST, square(s.ctx[1], E, s.ones, s.array + PART, 0.0f, c));
    CHECK_STATUS(DUO_ERR_LOST, duo_release(s.ctx[1], s.array));
    end_scene(&s);

    test_case("meanwhile/refused between locating and placing");
    begin_scene(&s, 2);
    CHECK_STATUS(DUO_OK, duo_set_device(s.ctx[1], 1));
    CHECK_STATUS(DUO_OK, duo_keep(s.ctx[0], s.array, sizeof s.array));
    come_opening = refuse_array;
    CHECK_STATUS(DUO_OK, square(s.ctx[1], E, s.ones, s.ones, 0.0f, s.array + PART));
    check_sum(s.ctx[1], s.array + PART, PART, (float)E * PART);
    CHECK_STATUS(DUO_OK, duo_release(s.ctx[0], s.array));
    CHECK(s.array[PART] == (float)E, "%g", (double)s.array[PART]);
    end_scene(&s);

    /* One result cannot be sent, and the device is well: nothing is lost by that. */
    for (int nth = 1; nth < 4; nth++) {
        test_case("meanwhile/result not sent/%d", nth);
        begin_scene(&s, 2);
        CHECK_STATUS(DUO_OK, duo_set_device(s.ctx[1], 1));
        keep_scene(&s);
        check_sum(s.ctx[1], s.ones, PART, PART);
        CHECK_STATUS(DUO_OK, square(s.ctx[0], E, s.ones, s.ones, 0.0f, s.array + PART));
        sim_fail(SIM_COPY, nth, DUO_ERR_DEVICE, 2);
        CHECK_STATUS(DUO_OK, duo_ssum(s.ctx[1], PART, s.ones, 1, s.array + 3));
        sim_fail(SIM_COPY, 0, DUO_OK, 0);
        CHECK_STATUS(DUO_OK, duo_fetch(s.ctx[0], s.array, sizeof s.array));
        CHECK(s.array[3] == PART && s.array[PART] == (float)E, "%g %g", (double)s.array[3],
              (double)s.array[PART]);
        CHECK_STATUS(DUO_OK, duo_release(s.ctx[0], s.array));
        end_scene(&s);
    }

    /* It is no operand either when the CPU does the call again. */
    test_case("meanwhile/result among the operands");
    begin_scene(&s, 1);
    CHECK_STATUS(DUO_OK, duo_keep(s.ctx[0], s.array, sizeof s.array));
    come_behind = compute_and_fail;
    CHECK_STATUS(DUO_OK, duo_ssum(s.ctx[0], PART, s.array, 1, s.array));
    sim_fail(SIM_COPY, 0, DUO_OK, 0);
    CHECK_STATUS(DUO_OK, duo_release(s.ctx[0], s.array));
    CHECK(s.array[0] == 5.0f * PART && s.array[2 * PART] == (float)E, "%g %g", (double)s.array[0],
          (double)s.array[2 * PART]);
    end_scene(&s);
}

/* C := C + 1 comes home in tiles, each in pieces, into an array whose first part is kept. The nth
 * call of that kind fails, and the rest is computed again: the device's copy of the kept part is
 * old everywhere. False: the product makes fewer calls of that kind. */
enum { PIECES_ROWS = 1024, PIECES_KEPT = 100, PIECES_COLUMNS = 5200 };

static bool add_in_pieces(sim_kind kind, int nth, const float *ones, float *c)
{
    enum { M = PIECES_ROWS, N = PIECES_COLUMNS, KEPT = PIECES_KEPT };
    test_reset();
    duo_context *const ctx = test_context();
    for (int64_t i = 0; i < M * N; i++) c[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_keep(ctx, c, (size_t)M * KEPT * sizeof *c));
    check_sum(ctx, c, M * KEPT, M * KEPT);
    const uint64_t before = sim_count(kind);
    sim_fail(kind, nth, DUO_ERR_DEVICE, 2); /* every call is tried twice */
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, M, N, 1, 1.0f,
                                   ones, M, ones, 1, 1.0f, c, M));
    sim_fail(kind, 0, DUO_OK, 0);
    const bool reached = sim_count(kind) - before >= (uint64_t)nth;
    check_sum(ctx, c, M * KEPT, 2.0f * M * KEPT);
    int wrong = 0;
    for (int64_t i = 0; i < M * N; i++) wrong += !(c[i] == 2.0f);
    CHECK(wrong == 0, "%d elements are wrong", wrong);
    CHECK_STATUS(DUO_OK, duo_release(ctx, c));
    (void)duo_destroy(ctx);
    return reached;
}

static void crossing_in_pieces(void)
{
    static const struct {
        const char *name;
        sim_kind kind;
        int least, most; /* calls of the kind that fail, each in a run of its own */
    } kinds[] = {
        {"wait", SIM_WAIT, 2, 100},
        {"copy", SIM_COPY, 8, 100},
        {"passed", SIM_IDLE, 1, 12}, /* the machine's speed decides how often it is asked */
    };
    if (!test_on_sim()) {
        test_skip("needs a device that can be told to fail");
        return;
    }
    float *const c = new_floats(PIECES_ROWS * PIECES_COLUMNS);
    float *const ones = new_floats(PIECES_COLUMNS);
    for (int i = 0; i < PIECES_COLUMNS; i++) ones[i] = 1.0f;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int nth = 1; nth <= kinds[k].most; nth++) {
            test_case("crossing/pieces/%s/%d", kinds[k].name, nth);
            if (add_in_pieces(kinds[k].kind, nth, ones, c)) continue;
            CHECK(nth > kinds[k].least, "the product comes in too few pieces");
            break;
        }
    free(c);
    free(ones);
}

/* A matrix of two blocks of rows: each has one half of every column. */
enum { ROWS_EACH = 4, COLUMNS_ALL = 40, COLUMNS_KEPT = 30, LD = 2 * ROWS_EACH };
static float halves[LD * COLUMNS_ALL];

static void add_ones(duo_context *ctx, const float *ones, int64_t columns, float *c)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, ROWS_EACH,
                                   columns, 1, 1.0f, ones, ROWS_EACH, ones, 1, 1.0f, c, LD));
}

static void add_to_other_rows(const duo_call *call)
{
    (void)call;
    add_ones(now->ctx[1], now->ones, COLUMNS_KEPT, halves + ROWS_EACH);
}

/* A call with a C that reaches beyond the end of a kept array writes to the host's copy, while
 * another call writes the rows between the rows of C. */
static void rows_between(void)
{
    if (!test_on_sim()) {
        test_skip("needs a backend that can be watched");
        return;
    }
    static scene s;
    test_case("crossing/rows between");
    begin_scene(&s, 1);
    for (int i = 0; i < LD * COLUMNS_ALL; i++) halves[i] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_keep(s.ctx[0], halves, LD * COLUMNS_KEPT * sizeof *halves));
    come_between = add_to_other_rows;
    add_ones(s.ctx[0], s.ones, COLUMNS_ALL, halves);
    CHECK_STATUS(DUO_OK, duo_release(s.ctx[0], halves));
    int wrong = 0;
    for (int j = 0; j < COLUMNS_ALL; j++)
        for (int i = 0; i < LD; i++)
            wrong += !(halves[i + j * LD] == (i < ROWS_EACH || j < COLUMNS_KEPT ? 2.0f : 1.0f));
    CHECK(wrong == 0, "%d elements are wrong", wrong);
    end_scene(&s);
}

static pthread_t other_thread;
static float strip[5 * E];

static void *write_even_columns(void *unused)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(now->ctx[1], DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, 3, E,
                                   1.0f, now->ones, E, now->ones, E, 0.0f, strip, 2 * E));
    return unused;
}

static void start_even_columns(const duo_call *call)
{
    (void)call;
    if (pthread_create(&other_thread, NULL, write_even_columns, NULL) != 0) abort();
    usleep(500);
}

/* One column is kept, computed into and released, while another thread writes to the columns around
 * it. */
static void columns_between(void)
{
    enum { ROUNDS = 100 };
    if (!test_on_sim()) {
        test_skip("needs a backend that can be watched");
        return;
    }
    static scene s;
    begin_scene(&s, 1);
    CHECK_STATUS(DUO_OK, duo_set_path(s.ctx[1], DUO_PATH_CPU));
    for (int round = 0; round < ROUNDS; round++) {
        test_case("crossing/columns between/%d", round);
        test_fill_poison(strip, 5 * E);
        CHECK_STATUS(DUO_OK, duo_keep(s.ctx[0], strip + E, E * sizeof *strip));
        come_between = start_even_columns;
        CHECK_STATUS(DUO_OK, duo_sgemm(s.ctx[0], DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, E, 1, E,
                                       1.0f, s.ones, E, s.ones, E, 0.0f, strip + E, E));
        CHECK_STATUS(DUO_OK, duo_release(s.ctx[0], strip + E));
        pthread_join(other_thread, NULL);
        for (int column = 0; column < 5; column++)
            CHECK(column == 3 ? test_is_poison(strip[3 * E]) : strip[column * E] == (float)E,
                  "column %d: %g", column, (double)strip[column * E]);
    }
    end_scene(&s);
}

static const test_entry tests[] = {
    {"claimed_meanwhile", claimed_meanwhile},
    {"moved_meanwhile", moved_meanwhile},
    {"written_meanwhile", written_meanwhile},
    {"both_sides_write", both_sides_write},
    {"lost_meanwhile", lost_meanwhile},
    {"crossing_in_pieces", crossing_in_pieces},
    {"rows_between", rows_between},
    {"columns_between", columns_between},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "meanwhile", tests); }
