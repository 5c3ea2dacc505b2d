/*
 * test_prepare_cpu.c - duo_prepare on the CPU: operands that its algorithms pack once.
 *
 * Whoever writes to a prepared array, the next product sees it. The tests change an array behind
 * the library's back: a product that goes on as before reads what was packed. All data are small
 * integers: every product is exact. That packing changes no bit is in test_product_order.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/ffma.h"
#include "cpu/kernels.h"
#include "data/locate.h"
#include "data/place.h"
#include "data/residency.h"
#include "support/calls.h"
#include "support/child.h"
#include "support/exact.h"
#include "support/graph_works.h"
#include "support/harness.h"
#include "support/places.h"

enum { M = 37, N = 29, K = 601 }; /* more than a segment; fill repeats after 45 */
enum { A_FLOATS = M * K, B_FLOATS = K * N };
static const int64_t floats_of[2] = {A_FLOATS, B_FLOATS};

/* On the CPU, by this library's own algorithm. */
static duo_context *cpu_context(void)
{
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    return ctx;
}

/* ---- Products ---- */

typedef struct problem {
    bool transa, transb;
    int64_t m, n, k, lda, ldb;
} problem;

static const problem usual = {false, false, M, N, K, M, K};

/* Multiplies what lies at a and b, and checks it against the values. */
static void check_problem(duo_context *ctx, const problem *p, const float *a, const float *a_values,
                          const float *b, const float *b_values)
{
    float *const c = new_floats(p->m * p->n);
    int64_t wrong = 0;
    for (int64_t i = 0; i < p->m * p->n; i++) c[i] = test_poison();
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, p->transa ? DUO_TRANS : DUO_NO_TRANS,
                                   p->transb ? DUO_TRANS : DUO_NO_TRANS, p->m, p->n, p->k, 1.0f, a,
                                   p->lda, b, p->ldb, 0.0f, c, p->m));
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            float sum = 0.0f;
            for (int64_t l = 0; l < p->k; l++)
                sum += (p->transa ? a_values[l + i * p->lda] : a_values[i + l * p->lda]) *
                       (p->transb ? b_values[j + l * p->ldb] : b_values[l + j * p->ldb]);
            wrong += !(c[i + j * p->m] == sum);
        }
    CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
    free(c);
}

/* Two factors at `at`, in kept arrays or in memory of duo_malloc, and their values. */
typedef struct factors {
    test_place place;
    float *at[2], *values[2];
} factors;

static size_t bytes_of(int i) { return (size_t)floats_of[i] * sizeof(float); }

static factors new_factors(duo_context *ctx, test_place place)
{
    factors f = {.place = place};
    for (int i = 0; i < 2; i++) {
        f.values[i] = new_floats(floats_of[i]);
        fill(f.values[i], floats_of[i], i);
        void *memory = NULL;
        if (place == PLACE_KEPT) {
            memory = new_floats(floats_of[i]);
            CHECK_STATUS(DUO_OK, duo_keep(ctx, memory, bytes_of(i)));
        } else {
            CHECK_STATUS(DUO_OK, duo_malloc(ctx, bytes_of(i), &memory));
        }
        f.at[i] = memory;
        CHECK_STATUS(DUO_OK, duo_copy(ctx, f.at[i], f.values[i], bytes_of(i)));
    }
    return f;
}

static void end_factors(duo_context *ctx, factors *f)
{
    for (int i = 0; i < 2; i++) {
        if (f->place == PLACE_KEPT) {
            CHECK_STATUS(DUO_OK, duo_release(ctx, f->at[i]));
            free(f->at[i]);
        } else {
            CHECK_STATUS(DUO_OK, duo_free(ctx, f->at[i]));
        }
        free(f->values[i]);
    }
}

static void prepare(duo_context *ctx, const factors *f)
{
    for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, duo_prepare(ctx, f->at[i], bytes_of(i)));
}

static void product(duo_context *ctx, const factors *f)
{
    check_problem(ctx, &usual, f->at[0], f->values[0], f->at[1], f->values[1]);
}

/* The packed operands in host memory of the array at this address. */
static int packed_count(const void *address)
{
    bool crosses;
    int count = 0;
    duo_residency_lock();
    const duo_region *const region =
        duo_residency_find((uintptr_t)address, (uintptr_t)address + 1, &crosses);
    for (const duo_packed *p = region->packed.first; p != NULL; p = p->next)
        count += duo_algorithm_side(p->algorithm) == DUO_SIDE_CPU;
    duo_residency_unlock();
    return count;
}

/* Is factor i read where it is packed? Then a change that nobody tells of does not show. */
static void check_read(duo_context *ctx, const factors *f, int i, bool packed)
{
    f->at[i][3] += 1.0f;
    if (!packed) f->values[i][3] += 1.0f;
    product(ctx, f);
    f->at[i][3] -= 1.0f;
    if (!packed) f->values[i][3] -= 1.0f;
}

static const test_place places[] = {PLACE_KEPT, PLACE_DEVICE};

static void packed_once(void)
{
    static const duo_math maths[] = {DUO_MATH_IEEE, DUO_MATH_FLOAT64};
    for (int p = 0; p < 2; p++)
        for (int maths_at = 0; maths_at < 2; maths_at++)
            for (int which = 0; which < 4; which++) { /* none, A, B, both */
                test_case("prepare_cpu/%s/%d/%d", test_place_name(places[p]), maths_at, which);
                duo_context *const ctx = cpu_context();
                CHECK_STATUS(DUO_OK, duo_set_math(ctx, maths[maths_at]));
                factors f = new_factors(ctx, places[p]);
                for (int i = 0; i < 2; i++)
                    if ((which >> i & 1) != 0)
                        CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[i], bytes_of(i)));
                for (int again = 0; again < 3; again++) product(ctx, &f);
                for (int i = 0; i < 2; i++) {
                    CHECK(packed_count(f.at[i]) == (which >> i & 1), "%d packed operands",
                          packed_count(f.at[i]));
                    check_read(ctx, &f, i, (which >> i & 1) != 0);
                }
                end_factors(ctx, &f);
                end_without_leaks(ctx);
            }
}

/* A part of an array has one packed operand for each way of use. */
static void ways(void)
{
    enum { EDGE = 90, SIDE = 70, LD = EDGE };
    duo_context *const ctx = cpu_context();
    float *const x = new_floats(EDGE * EDGE), *const values = new_floats(EDGE * EDGE);
    fill(x, EDGE * EDGE, 2);
    memcpy(values, x, EDGE * EDGE * sizeof *x);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, x, EDGE * EDGE * sizeof *x));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, x, EDGE * EDGE * sizeof *x));
    for (int round = 0; round < 2; round++) {
        for (int way = 0; way < 4; way++) {
            test_case("prepare_cpu/ways/%d/%d", round, way);
            const problem p = {(way & 1) != 0, (way & 2) != 0, SIDE, SIDE, SIDE, LD, LD};
            check_problem(ctx, &p, x, values, x, values);
        }
        CHECK(packed_count(x) == 4, "%d packed operands", packed_count(x));
    }
    test_case("prepare_cpu/ways/changed");
    const problem turned = {false, true, SIDE, SIDE, SIDE, LD, LD};
    fill(x, EDGE, 5);
    memcpy(values, x, EDGE * sizeof *x);
    CHECK_STATUS(DUO_OK, duo_changed(ctx, x, EDGE * sizeof *x));
    check_problem(ctx, &turned, x, values, x, values);
    x[0] += 1.0f; /* is not seen: both are packed anew */
    check_problem(ctx, &turned, x, values, x, values);
    x[0] -= 1.0f;
    test_case("prepare_cpu/ways/parts");
    const problem block = {false, false, SIDE, SIDE, SIDE, LD, LD};
    check_problem(ctx, &block, x + 1, values + 1, x + 5 * LD, values + 5 * LD);
    const problem wider = {false, false, SIDE, SIDE, SIDE + 3, LD, LD};
    check_problem(ctx, &wider, x, values, x, values);
    const problem denser = {false, false, SIDE, SIDE, SIDE, LD - 1, LD - 2};
    check_problem(ctx, &denser, x, values, x, values);
    test_case("prepare_cpu/ways/another n and m");
    const problem longer = {false, false, SIDE, SIDE - 1, SIDE, LD, LD};
    const int before = packed_count(x);
    check_problem(ctx, &longer, x, values, x, values);
    CHECK(packed_count(x) == before + 1, "A is packed for every n");
    CHECK_STATUS(DUO_OK, duo_release(ctx, x));
    end_without_leaks(ctx);
    free(x);
    free(values);
}

/* Too few rows, columns or steps; and an operand that is not promised as a whole. */
static void not_packed(void)
{
    static const problem few[] = {{false, false, 8, N, K, M, K},
                                  {false, false, M, 8, K, M, K},
                                  {false, true, M, N, 63, M, N}};
    duo_context *const ctx = cpu_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    prepare(ctx, &f);
    for (int i = 0; i < 3; i++) {
        test_case("prepare_cpu/not packed/%d", i);
        check_problem(ctx, &few[i], f.at[0], f.values[0], f.at[1], f.values[1]);
        CHECK(packed_count(f.at[0]) + packed_count(f.at[1]) == 0, "something was packed");
    }
    end_factors(ctx, &f);
    test_case("prepare_cpu/not packed/beside the promise");
    f = new_factors(ctx, PLACE_KEPT);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[0], bytes_of(0) - sizeof(float)));
    product(ctx, &f);
    CHECK(packed_count(f.at[0]) == 0, "something was packed");
    end_factors(ctx, &f);
    end_without_leaks(ctx);
}

/* Each clone has a form of its own. */
static void clones(void)
{
    duo_context *const ctx = cpu_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    prepare(ctx, &f);
    for (int round = 0; round < 2; round++)
        for (int i = 0; duo_ffma_clone(i) != NULL; i++) {
            test_case("prepare_cpu/clones/%s", duo_ffma_set(duo_ffma_clone(i))->isa);
            product(ctx, &f);
        }
    duo_ffma_set(NULL);
    end_factors(ctx, &f);
    end_without_leaks(ctx);
}

/* ---- Writes ---- */

static void by_program(duo_context *ctx, factors *f)
{
    if (f->place != PLACE_KEPT) return;
    fill(f->values[0], 5, 5);
    memcpy(f->at[0], f->values[0], 5 * sizeof(float));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, f->at[0], 5 * sizeof(float)));
}

static void by_copy(duo_context *ctx, factors *f)
{
    fill(f->values[1] + 7, 11, 8);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, f->at[1] + 7, f->values[1] + 7, 11 * sizeof(float)));
}

static void negate(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] = -x[i];
}

static void by_product(duo_context *ctx, factors *f)
{
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, M, K, 0, 1.0f,
                                   NULL, M, NULL, 1, -1.0f, f->at[0], M));
    negate(f->values[0], A_FLOATS);
}

static void by_reduction(duo_context *ctx, factors *f)
{
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, 3, f->at[0], 1, f->at[1] + K));
    f->values[1][K] = f->values[0][0] + f->values[0][1] + f->values[0][2];
}

static void by_batch(duo_context *ctx, factors *f)
{
    CHECK_STATUS(DUO_OK,
                 duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 2, 2, 0,
                                           1.0f, NULL, 2, 0, NULL, 1, 0, -1.0f, f->at[1], 2, 4, 3));
    negate(f->values[1], 12);
}

/* A list that leads to both arrays, and to plain memory. */
static void by_list(duo_context *ctx, factors *f)
{
    float plain[4] = {1, 2, 3, 4};
    float *const c[] = {f->at[0], f->at[1] + 8, plain};
    CHECK_STATUS(DUO_OK, duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 2, 2, 0,
                                           1.0f, NULL, 2, NULL, 1, -1.0f, c, 2, 3));
    negate(f->values[0], 4);
    negate(f->values[1] + 8, 4);
}

static void by_graph(duo_context *ctx, factors *f)
{
    if (f->place == PLACE_KEPT) return; /* a graph takes none */
    const duo_work work = {.size = sizeof work,
                           .kind = DUO_WORK_SET,
                           .dst = f->at[0] + 2,
                           .dst_pitch = 12,
                           .value = 0,
                           .width = 4,
                           .height = 3};
    duo_graph *const graph = graph_built(ctx, &work, 1, false, NULL);
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    for (int i = 0; i < 3; i++) f->values[0][2 + 3 * i] = 0.0f;
}

static void by_device(duo_context *ctx, factors *f)
{
    if (f->place != PLACE_KEPT || !test_gpu_side()) return;
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_GPU));
    by_product(ctx, f);
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
}

static void writes(void)
{
    static const struct {
        const char *name;
        void (*write)(duo_context *ctx, factors *f);
    } ways_to_write[] = {{"the program", by_program}, {"duo_copy", by_copy},
                         {"a product", by_product},   {"a reduction", by_reduction},
                         {"a batch", by_batch},       {"a list", by_list},
                         {"a graph", by_graph},       {"the device", by_device}};
    for (int p = 0; p < 2; p++) {
        duo_context *const ctx = cpu_context();
        factors f = new_factors(ctx, places[p]);
        prepare(ctx, &f);
        product(ctx, &f);
        for (size_t w = 0; w < sizeof ways_to_write / sizeof ways_to_write[0]; w++) {
            test_case("prepare_cpu/%s/written by %s", test_place_name(places[p]),
                      ways_to_write[w].name);
            ways_to_write[w].write(ctx, &f);
            product(ctx, &f);
            CHECK(packed_count(f.at[0]) == 1 && packed_count(f.at[1]) == 1,
                  "%d and %d packed operands", packed_count(f.at[0]), packed_count(f.at[1]));
            check_read(ctx, &f, 0, true);
            check_read(ctx, &f, 1, true);
        }
        end_factors(ctx, &f);
        end_without_leaks(ctx);
    }
}

/* ---- Batches ---- */

/* All products share A. */
static void shared_in_batch(void)
{
    enum { COUNT = 9 };
    duo_context *const ctx = cpu_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    float *const c = new_floats((int64_t)COUNT * M * N), *const expected = new_floats(M * N);
    float *b = new_floats((int64_t)COUNT * B_FLOATS);
    for (int i = 0; i < COUNT; i++) memcpy(b + i * B_FLOATS, f.values[1], bytes_of(1));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, M, N, K, 1.0f,
                                   f.values[0], M, b, K, 0.0f, expected, M));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[0], bytes_of(0)));
    for (int round = 0; round < 2; round++) {
        test_case("prepare_cpu/batch/%d", round);
        CHECK_STATUS(DUO_OK, duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS,
                                                       DUO_NO_TRANS, M, N, K, 1.0f, f.at[0], M, 0,
                                                       b, K, B_FLOATS, 0.0f, c, M, M * N, COUNT));
        for (int i = 0; i < COUNT; i++)
            CHECK(same_floats(c + i * M * N, expected, M * N), "product %d is wrong", i);
        CHECK(packed_count(f.at[0]) == 1, "%d packed operands", packed_count(f.at[0]));
        f.at[0][5] += 1.0f; /* is not seen */
    }
    end_factors(ctx, &f);
    test_case("prepare_cpu/batch/not shared");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, b, COUNT * bytes_of(1)));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, b, COUNT * bytes_of(1)));
    float *const a = new_floats(A_FLOATS);
    fill(a, A_FLOATS, 0);
    for (int i = 1; i < COUNT; i++) negate(b + i * B_FLOATS, B_FLOATS);
    CHECK_STATUS(DUO_OK, duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS,
                                                   M, N, K, 1.0f, a, M, 0, b, K, B_FLOATS, 0.0f, c,
                                                   M, M * N, COUNT));
    CHECK(same_floats(c, expected, M * N), "product 0 is wrong");
    negate(expected, M * N);
    for (int i = 1; i < COUNT; i++)
        CHECK(same_floats(c + i * M * N, expected, M * N), "product %d is wrong", i);
    CHECK_STATUS(DUO_OK, duo_release(ctx, b));
    end_without_leaks(ctx);
    free(a);
    free(b);
    free(c);
    free(expected);
}

/* ---- Memory ---- */

static void taken_back(void)
{
    test_case("prepare_cpu/taken back");
    duo_context *const ctx = cpu_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    prepare(ctx, &f);
    product(ctx, &f);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[0], 0));
    CHECK(packed_count(f.at[0]) == 0, "packed operands stay");
    CHECK(packed_count(f.at[1]) == 1, "the other array's are gone");
    product(ctx, &f);
    check_read(ctx, &f, 0, false);
    end_factors(ctx, &f);
    end_without_leaks(ctx);
}

/* Ever other parts of an array are factors: the memory for packed operands stays limited, and
 * products that find no room read the array. */
static void many_parts(void)
{
    enum { ROWS = 64, STEPS = 80, COLUMNS = 9, USES = 300 };
    duo_context *const ctx = cpu_context();
    const int64_t count = ROWS * STEPS + USES;
    float *const a = new_floats(count), *const values = new_floats(count), b[STEPS * COLUMNS];
    fill(a, count, 3);
    fill(b, STEPS * COLUMNS, 4);
    memcpy(values, a, (size_t)count * sizeof *a);
    test_case("prepare_cpu/many parts");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, a, (size_t)count * sizeof *a));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, a, (size_t)count * sizeof *a));
    const problem p = {false, false, ROWS, COLUMNS, STEPS, ROWS, STEPS};
    for (int use = 0; use < USES; use++) check_problem(ctx, &p, a + use, values + use, b, b);
    const int packed = packed_count(a), most = 4 + (1 << 18) / (ROWS * STEPS * 4) + 1;
    CHECK(packed > 4 && packed <= most, "%d packed operands", packed);
    a[USES] += 1.0f;
    CHECK_STATUS(DUO_OK, duo_changed(ctx, a, (size_t)count * sizeof *a));
    values[USES] += 1.0f;
    for (int use = 0; use < USES; use += 10) check_problem(ctx, &p, a + use, values + use, b, b);
    CHECK_STATUS(DUO_OK, duo_release(ctx, a));
    end_without_leaks(ctx);
    free(a);
    free(values);
}

/* ---- Other threads, other processes ---- */

/* A call that was placed, as another thread would find it. */
static duo_call placed(const factors *f, float *c)
{
    duo_call call =
        test_sgemm_call(false, false, M, N, K, 1.0f, f->at[0], M, f->at[1], K, 0.0f, c, M);
    CHECK_STATUS(DUO_OK, duo_locate(0, &call));
    duo_place_packed(DUO_sgemm_cpu_ffma, &call);
    CHECK(call.operand[DUO_A].packed != NULL && call.operand[DUO_B].packed != NULL,
          "nothing is packed");
    return call;
}

/* While a call reads packed operands they are not freed, and not written. */
static void in_use(void)
{
    duo_context *const ctx = cpu_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    float *const c = new_floats(M * N), *const expected = new_floats(M * N);
    prepare(ctx, &f);
    duo_call call = placed(&f, c);
    CHECK(duo_sgemm_cpu_ffma(&call) == DUO_OK, "declined");
    memcpy(expected, c, M * N * sizeof *c);

    test_case("prepare_cpu/in use/changed");
    by_program(ctx, &f);
    product(ctx, &f);
    CHECK(duo_sgemm_cpu_ffma(&call) == DUO_OK, "declined");
    CHECK(same_floats(c, expected, M * N), "a packed operand was written while it was read");
    duo_place_let_go(&call);
    product(ctx, &f);
    check_read(ctx, &f, 0, true);

    test_case("prepare_cpu/in use/taken back");
    call = placed(&f, c);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[0], 0));
    CHECK(packed_count(f.at[0]) == 1, "a packed operand was freed while it was read");
    product(ctx, &f);
    duo_place_let_go(&call);
    CHECK(packed_count(f.at[0]) == 0, "a packed operand stays");
    end_factors(ctx, &f);
    end_without_leaks(ctx);
    free(c);
    free(expected);
}

typedef struct company {
    factors f;
    atomic_bool over;
} company;

static void *change_gaps(void *user)
{
    company *const c = user;
    duo_context *const ctx = cpu_context();
    for (int round = 0; !atomic_load(&c->over); round++) {
        const int i = round % 2;
        if (round % 7 == 0) CHECK_STATUS(DUO_OK, duo_prepare(ctx, c->f.at[i], 0));
        if (round % 3 == 0) CHECK_STATUS(DUO_OK, duo_prepare(ctx, c->f.at[i], bytes_of(i)));
        CHECK_STATUS(DUO_OK, duo_changed(ctx, c->f.at[i], bytes_of(i)));
    }
    test_context_end(ctx);
    return NULL;
}

static void *multiply_often(void *user)
{
    const company *const c = user;
    duo_context *const ctx = cpu_context();
    for (int round = 0; round < test_amount(30, 100, 3000); round++) product(ctx, &c->f);
    test_context_end(ctx);
    return NULL;
}

/* Several threads multiply; another one packs and unpacks all the while. */
static void threads(void)
{
    enum { THREADS = 3 };
    test_case("prepare_cpu/threads");
    duo_context *const ctx = cpu_context();
    company c = {.f = new_factors(ctx, PLACE_KEPT)};
    pthread_t changer, thread[THREADS];
    prepare(ctx, &c.f);
    CHECK(pthread_create(&changer, NULL, change_gaps, &c) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, multiply_often, &c) == 0, "no thread");
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(thread[i], NULL) == 0, "join");
    atomic_store(&c.over, true);
    CHECK(pthread_join(changer, NULL) == 0, "join");
    product(ctx, &c.f);
    end_factors(ctx, &c.f);
    end_without_leaks(ctx);
}

static void say(int pipe) { CHECK(write(pipe, "", 1) == 1, "write"); }
static void hear(int pipe)
{
    char byte;
    CHECK(read(pipe, &byte, 1) == 1, "read");
}

/* A child shares memory with its parent, which goes on writing there. */
static void forked(void)
{
    test_case("prepare_cpu/forked");
    int pipes[2];
    CHECK(pipe(pipes) == 0, "pipe");
    duo_context *const ctx = cpu_context();
    factors f = new_factors(ctx, PLACE_KEPT);
    float *const shared =
        mmap(NULL, bytes_of(0), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED, "mmap");
    memcpy(shared, f.values[0], bytes_of(0));
    CHECK_STATUS(DUO_OK, duo_keep(ctx, shared, bytes_of(0)));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, shared, bytes_of(0)));
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, f.at[1], bytes_of(1)));
    check_problem(ctx, &usual, shared, f.values[0], f.at[1], f.values[1]);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        float *const c = new_floats(M * N);
        hear(pipes[0]);
        const bool right = duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, M, N, K, 1.0f,
                                     shared, M, f.at[1], K, 0.0f, c, M) == DUO_OK &&
                           c[0] == 0.0f && c[M * N - 1] == 0.0f && packed_count(shared) == 1 &&
                           duo_prepare(ctx, shared, 0) == DUO_OK && packed_count(shared) == 0 &&
                           duo_release(ctx, f.at[1]) == DUO_OK;
        _exit(right ? 0 : 1);
    }
    memset(shared, 0, bytes_of(0));
    CHECK_STATUS(DUO_OK, duo_changed(ctx, shared, bytes_of(0)));
    say(pipes[1]);
    CHECK(test_child_wait(child, 60) == 0, "the child went wrong");
    memcpy(f.values[0], shared, bytes_of(0));
    check_problem(ctx, &usual, shared, f.values[0], f.at[1], f.values[1]);
    CHECK_STATUS(DUO_OK, duo_release(ctx, shared));
    CHECK(munmap(shared, bytes_of(0)) == 0, "munmap");
    for (int i = 0; i < 2; i++) CHECK(close(pipes[i]) == 0, "close");
    end_factors(ctx, &f);
    end_without_leaks(ctx);
}

static const test_entry tests[] = {
    {"packed_once", packed_once}, {"ways", ways},
    {"not_packed", not_packed},   {"clones", clones},
    {"writes", writes},           {"shared_in_batch", shared_in_batch},
    {"taken_back", taken_back},   {"many_parts", many_parts},
    {"in_use", in_use},           {"threads", threads},
    {"forked", forked},           {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "prepare_cpu", tests); }
