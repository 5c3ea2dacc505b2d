/*
 * test_batched_kernels.c - every kernel of batches and groups (gpu/batched/plan.h), on shapes for
 * which it is chosen, by strides and by lists: products of six kinds of data in turn, among them
 * Inf and NaN, in gaps that stay as they were. Each kind's first product is compared with the
 * oracle, all others with it: the same kernel gives the same bits. Kernels by FMA also give the
 * bits of a single product in DUO_MATH_IEEE.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/backend/backend.h"
#include "gpu/batched/plan_groups.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/oracle.h"

enum { OPERANDS = 3, KINDS = 6, DRAWS = 200000, WAYS = 16 };

static const char *const names[DUO_BATCHED_KERNELS] = {
    [DUO_BATCHED_TILE_8] = "tile_8",     [DUO_BATCHED_TILE_16] = "tile_16",
    [DUO_BATCHED_TILE_32] = "tile_32",   [DUO_BATCHED_TILE_48] = "tile_48",
    [DUO_BATCHED_TILE_64] = "tile_64",   [DUO_BATCHED_TILE_128] = "tile_128",
    [DUO_BATCHED_OUTER_8] = "outer_8",   [DUO_BATCHED_OUTER_64] = "outer_64",
    [DUO_BATCHED_VECTOR_1] = "vector_1", [DUO_BATCHED_VECTOR_8] = "vector_8",
    [DUO_BATCHED_WARPS_1] = "warps_1",   [DUO_BATCHED_WARPS_2] = "warps_2",
    [DUO_BATCHED_WARPS_4] = "warps_4",   [DUO_BATCHED_WARPS_8] = "warps_8",
    [DUO_BATCHED_STRIPS_1] = "strips_1", [DUO_BATCHED_STRIPS_2] = "strips_2",
    [DUO_BATCHED_STRIPS_4] = "strips_4", [DUO_BATCHED_STRIPS_8] = "strips_8",
    [DUO_BATCHED_WGMMA_32] = "wgmma_32", [DUO_BATCHED_WGMMA_64] = "wgmma_64",
    [DUO_BATCHED_WGMMA_96] = "wgmma_96", [DUO_BATCHED_WGMMA_128] = "wgmma_128"};

typedef struct batch {
    duo_context *ctx;
    duo_transpose transa, transb;
    int64_t m, n, k, ld[OPERANDS], floats[OPERANDS]; /* of a product */
    int64_t gap;                                     /* behind a product */
    int64_t count;
    bool strided; /* else lists, of KINDS products of A and B */
    bool groups;  /* in two groups, of half of the products each, by lists */
    float alpha, beta;
    float *host[OPERANDS], *device[OPERANDS];
    float **list[OPERANDS];
    float *after; /* C */
} batch;

static void *must(void *p)
{
    if (p == NULL) abort();
    return p;
}

/* ---- Shapes ---- */

/* A size of any magnitude. */
static int64_t size_up_to(test_rng *rng, int64_t most)
{
    return 1 + (int64_t)(exp(test_unit(rng) * log((double)most)) - 0.5);
}

static batch draw(test_rng *rng)
{
    enum { MOST = 600, COUNT = 20000, FEW = 40, LONG = 4000 };
    const bool few = test_random(rng) % 2 == 0; /* products, perhaps of long k */
    batch b = {.transa = test_random(rng) % 2 ? DUO_TRANS : DUO_NO_TRANS,
               .transb = test_random(rng) % 2 ? DUO_TRANS : DUO_NO_TRANS,
               .m = size_up_to(rng, MOST),
               .n = size_up_to(rng, MOST),
               .k = size_up_to(rng, few ? LONG : MOST),
               .count = KINDS + size_up_to(rng, few ? FEW : COUNT),
               .alpha = test_random(rng) % 2 ? 1.0f : (float)(2.0 * test_unit(rng) - 1.0),
               .beta = test_random(rng) % 2 ? 0.0f : (float)test_unit(rng)};
    const bool ta = b.transa != DUO_NO_TRANS, tb = b.transb != DUO_NO_TRANS;
    const int64_t rows[] = {ta ? b.k : b.m, tb ? b.n : b.k, b.m};
    const int64_t columns[] = {ta ? b.m : b.k, tb ? b.k : b.n, b.n};
    const bool wide = test_random(rng) % 2 == 0; /* all columns are on 16 bytes */
    for (int i = 0; i < OPERANDS; i++) {
        b.ld[i] = rows[i] + (test_random(rng) % 2 ? 0 : test_between(rng, 1, 6));
        if (wide) b.ld[i] = (b.ld[i] + 3) / 4 * 4;
        b.floats[i] = b.ld[i] * columns[i];
    }
    b.gap = wide ? 0 : test_between(rng, 0, 3);
    b.strided = test_random(rng) % 2 == 0;
    return b;
}

/* Products of this operand in memory. */
static int64_t products_of(const batch *b, int i)
{
    return i == 2 || b->strided ? b->count : KINDS;
}

static bool is_small(const batch *b)
{
    const int64_t floats = 1 << 23, work = 1000000000;
    for (int i = 0; i < OPERANDS; i++)
        if (products_of(b, i) * (b->floats[i] + b->gap) > floats) return false;
    return b->count * b->m * b->n * b->k <= work;
}

/* As the library describes it to the plan. */
static duo_batched_size size_of(const batch *b)
{
    duo_call call = {.operation = DUO_SGEMM,
                     .m = b->m,
                     .n = b->n,
                     .k = b->k,
                     .transa = b->transa != DUO_NO_TRANS,
                     .transb = b->transb != DUO_NO_TRANS,
                     .alpha = b->alpha,
                     .beta = b->beta};
    duo_batch of = {.count = b->count};
    for (int i = 0; i < OPERANDS; i++) {
        call.operand[i] = (duo_operand){.rows = i == 2        ? b->m
                                                : i == 0      ? (call.transa ? b->k : b->m)
                                                : call.transb ? b->n
                                                              : b->k,
                                        .columns = b->floats[i] / b->ld[i],
                                        .ld = b->ld[i],
                                        .read = i < 2};
        of.stride[i] = b->floats[i] + b->gap;
        if (b->strided) continue;
        of.pointer[i] = b->list[i]; /* whose memory is not there yet */
        of.list[i].bits = (uintptr_t)of.stride[i] * sizeof(float);
    }
    return duo_batched_size_of(&call, &of);
}

static duo_batched_device first_device(void)
{
    duo_device_info info = {.size = sizeof info};
    CHECK_STATUS(DUO_OK, duo_device_describe(0, &info));
    return (duo_batched_device){info.multiprocessors,
                                10 * info.capability_major + info.capability_minor, 227 << 10,
                                duo_memory_rate(info.memory_clock_khz, info.memory_bus_bits)};
}

/* How wgmma copies A and B: by chunks, by tensor copies, by these in quarters, and the same of
 * products that run on. */
static int copies_of(const batch *b, const duo_batched_size *size)
{
    bool runs_on = false;
    if (!size->boxes) return 0;
    if (!size->shifted_a && !size->shifted_b) return 1;
    for (int i = 0; i < 2; i++) {
        const int64_t stride = b->floats[i] + b->gap;
        runs_on |= stride % 4 != 0 && stride % b->ld[i] == 0;
    }
    return runs_on ? 3 : 2;
}

/* Of wgmma, which besides takes products in two ways, and may cut k in parts. */
static bool goes_so(const batch *b, const duo_batched_size *size, const duo_batched_device *device,
                    duo_batched_kernel kernel, int way)
{
    const bool turned = way / 4 % 2 == 1, parts = way / 8 == 1;
    if (kernel < DUO_BATCHED_WGMMA_32) return true;
    const duo_batched_cut cut = duo_batched_cut_of(size->m, size->n, size->k, size->count,
                                                   duo_batched_wgmma_rows(kernel), device);
    return copies_of(b, size) == way % 4 && (cut.parts > 1) == parts &&
           (cut.turned == turned || kernel > DUO_BATCHED_WGMMA_64);
}

/* A batch that this kernel does, and no kernel of the other kind nearly as fast; false: there is
 * none. way: below WAYS, of wgmma. */
static bool find(test_rng *rng, duo_batched_kernel kernel, int way, batch *b)
{
    const double clearly = 0.95;
    const duo_batched_device device = first_device();
    const bool tensor = kernel >= DUO_BATCHED_TENSOR;
    for (int i = 0; i < DRAWS; i++) {
        double seconds, others = INFINITY;
        *b = draw(rng);
        if (!is_small(b)) continue;
        b->list[0] = b->list[1] = b->list[2] = &b->after; /* any */
        const duo_batched_size size = size_of(b);
        if (!goes_so(b, &size, &device, kernel, way)) continue;
        const duo_batched_kernel first = tensor ? DUO_BATCHED_TENSOR : DUO_BATCHED_TILE_8;
        const duo_batched_kernel end = tensor ? DUO_BATCHED_KERNELS : DUO_BATCHED_TENSOR;
        if (duo_batched_least(&size, &device, first, end, &seconds) != kernel) continue;
        if (tensor)
            (void)duo_batched_least(&size, &device, DUO_BATCHED_TILE_8, DUO_BATCHED_TENSOR,
                                    &others);
        if (isfinite(seconds) && seconds < clearly * others) return true;
    }
    return false;
}

/* Half of the batch, as a group. */
static duo_batched_size half_size_of(const batch *b, bool second)
{
    batch half = *b;
    half.count = second ? b->count - b->count / 2 : b->count / 2;
    return size_of(&half);
}

/* The same for two groups, and a kernel of groups. */
static bool find_groups(test_rng *rng, duo_batched_kernel kernel, batch *b)
{
    const double clearly = 0.8;
    const duo_batched_device device = first_device();
    const bool tensor = kernel >= DUO_BATCHED_TENSOR;
    const duo_batched_way way = tensor ? DUO_BATCHED_BY_TENSOR : DUO_BATCHED_BY_FMA;
    for (int i = 0; i < DRAWS; i++) {
        duo_batched_sums sums = {.alone = 0.0}, fma = {.alone = 0.0};
        double microseconds;
        *b = draw(rng);
        b->groups = true;
        b->strided = false;
        b->list[0] = b->list[1] = b->list[2] = &b->after; /* any */
        if (!is_small(b)) continue;
        for (int half = 0; half < 2; half++) {
            const duo_batched_size size = half_size_of(b, half == 1);
            duo_batched_add(&sums, &size, &device, tensor);
            duo_batched_add(&fma, &size, &device, false);
        }
        if (!sums.any[way] || duo_batched_least_for(&sums, way, &microseconds) != kernel) continue;
        if (!tensor || duo_batched_total(&sums) < clearly * duo_batched_total(&fma)) return true;
    }
    return false;
}

/* ---- Data ---- */

static void fill_kind(test_rng *rng, int kind, int operand, float *x, int64_t count)
{
    static const test_data data[KINDS] = {DATA_NORMAL, DATA_WIDE,   DATA_SIGNED,
                                          DATA_NORMAL, DATA_NORMAL, DATA_UNIT};
    test_fill(rng, data[kind], x, count);
    for (int64_t i = 0; i < count && kind == 3; i++) /* a few are far larger */
        if (test_random(rng) % 50 == 0) x[i] *= 1e8f;
    for (int64_t i = 0; i < count && kind == 4; i++) /* near underflow, and far from it */
        x[i] = ldexpf(x[i], operand == 0 ? -100 : 60);
}

/* In the last kind's product a few elements are Inf or NaN. */
static void open_data(batch *b, test_rng *rng)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    for (int i = 0; i < OPERANDS; i++) {
        const int64_t each = b->floats[i] + b->gap, products = products_of(b, i);
        const size_t bytes = (size_t)(products * each) * sizeof(float);
        void *device = NULL;
        b->host[i] = must(malloc(bytes));
        b->list[i] = must(malloc((size_t)b->count * sizeof(float *)));
        for (int64_t p = 0; p < products; p++)
            if (p < KINDS)
                fill_kind(rng, i == 2 ? 2 : (int)p, i, b->host[i] + p * each, each);
            else
                memcpy(b->host[i] + p * each, b->host[i] + p % KINDS * each,
                       (size_t)each * sizeof(float));
        if (i < 2)
            for (int times = 0; times < 2; times++) {
                const int64_t at = test_between(rng, 0, b->floats[i] - 1);
                const float value = odd[test_random(rng) % 3];
                for (int64_t p = KINDS - 1; p < products; p += KINDS)
                    b->host[i][p * each + at] = value;
            }
        CHECK_STATUS(DUO_OK, duo_malloc(b->ctx, bytes, &device));
        b->device[i] = device;
        CHECK_STATUS(DUO_OK, duo_copy(b->ctx, device, b->host[i], bytes));
        for (int64_t p = 0; p < b->count; p++) b->list[i][p] = b->device[i] + p % products * each;
    }
    b->after = must(malloc((size_t)(b->count * (b->floats[2] + b->gap)) * sizeof(float)));
}

static void close_data(batch *b)
{
    for (int i = 0; i < OPERANDS; i++) {
        CHECK_STATUS(DUO_OK, duo_free(b->ctx, b->device[i]));
        free(b->host[i]);
        free(b->list[i]);
    }
    free(b->after);
}

/* ---- Checks ---- */

static duo_status call_for(const batch *b)
{
    const float *const *const list_a = (const float *const *)b->list[0];
    const float *const *const list_b = (const float *const *)b->list[1];
    if (b->strided)
        return duo_sgemm_strided_batched(
            b->ctx, DUO_COL_MAJOR, b->transa, b->transb, b->m, b->n, b->k, b->alpha, b->device[0],
            b->ld[0], b->floats[0] + b->gap, b->device[1], b->ld[1], b->floats[1] + b->gap, b->beta,
            b->device[2], b->ld[2], b->floats[2] + b->gap, b->count);
    if (!b->groups)
        return duo_sgemm_batched(b->ctx, DUO_COL_MAJOR, b->transa, b->transb, b->m, b->n, b->k,
                                 b->alpha, list_a, b->ld[0], list_b, b->ld[1], b->beta, b->list[2],
                                 b->ld[2], b->count);
    const duo_transpose ta[] = {b->transa, b->transa}, tb[] = {b->transb, b->transb};
    const int64_t m[] = {b->m, b->m}, n[] = {b->n, b->n}, k[] = {b->k, b->k},
                  lda[] = {b->ld[0], b->ld[0]}, ldb[] = {b->ld[1], b->ld[1]},
                  ldc[] = {b->ld[2], b->ld[2]}, size[] = {b->count / 2, b->count - b->count / 2};
    const float alpha[] = {b->alpha, b->alpha}, beta[] = {b->beta, b->beta};
    return duo_sgemm_grouped(b->ctx, DUO_COL_MAJOR, 2, ta, tb, m, n, k, alpha, list_a, lda, list_b,
                             ldb, beta, b->list[2], ldc, size);
}

static void multiply(batch *b, bool tensor)
{
    const size_t bytes = (size_t)(b->count * (b->floats[2] + b->gap)) * sizeof(float);
    duo_decision decision = {.size = sizeof decision};
    CHECK_STATUS(DUO_OK, duo_set_math(b->ctx, tensor ? DUO_MATH_ACCURATE : DUO_MATH_IEEE));
    CHECK_STATUS(DUO_OK, call_for(b));
    CHECK_STATUS(DUO_OK, duo_explain_last(b->ctx, &decision));
    CHECK(decision.algorithm != NULL &&
              strcmp(decision.algorithm, tensor ? "sgemm_gpu_mma" : "sgemm_gpu_ffma") == 0,
          "%s", decision.algorithm != NULL ? decision.algorithm : "none");
    CHECK_STATUS(DUO_OK, duo_copy(b->ctx, b->after, b->device[2], bytes));
    CHECK_STATUS(DUO_OK, duo_synchronize(b->ctx));
}

/* The first product of this kind; gaps stay as they were. */
static void check_kind(const batch *b, int kind)
{
    const int64_t each = b->floats[2] + b->gap;
    const float *const before = b->host[2] + kind * each, *const got = b->after + kind * each;
    const oracle_product product = {DUO_COL_MAJOR, b->transa,
                                    b->transb,     b->m,
                                    b->n,          b->k,
                                    b->alpha,      b->host[0] + kind * (b->floats[0] + b->gap),
                                    b->ld[0],      b->host[1] + kind * (b->floats[1] + b->gap),
                                    b->ld[1],      b->beta,
                                    before,        b->ld[2]};
    /* What a subnormal sum may lose beside the bound. */
    const double lost = (double)(b->k + 3) * 0x1p-149;
    double *const want = must(calloc((size_t)(b->m * b->n), sizeof *want));
    double *const bound = must(calloc((size_t)(b->m * b->n), sizeof *bound));
    int64_t wrong = 0, changed = 0;
    oracle_sgemm(&product, want, bound);
    for (int64_t at = 0; at < each; at++) {
        const int64_t i = at % b->ld[2], j = at / b->ld[2];
        if (i < b->m && j < b->n)
            wrong += !oracle_close(want[i * b->n + j], bound[i * b->n + j] + lost, got[at]);
        else
            changed += !test_same(before[at], got[at]);
    }
    CHECK(wrong == 0, "kind %d: %jd of %jd elements are wrong", kind, (intmax_t)wrong,
          (intmax_t)(b->m * b->n));
    CHECK(changed == 0, "kind %d: %jd floats in gaps have changed", kind, (intmax_t)changed);
    free(want);
    free(bound);
}

static void check_others(const batch *b)
{
    const int64_t each = b->floats[2] + b->gap;
    int64_t different = 0;
    for (int64_t p = KINDS; p < b->count; p++)
        different += memcmp(b->after + p * each, b->after + p % KINDS * each,
                            (size_t)each * sizeof(float)) != 0;
    CHECK(different == 0, "%jd of %jd products have other bits", (intmax_t)different,
          (intmax_t)b->count);
}

/* DUO_MATH_IEEE: a product alone. */
static void check_alone(batch *b, int kind)
{
    const int64_t each = b->floats[2] + b->gap;
    const size_t bytes = (size_t)each * sizeof(float);
    float *const alone = must(malloc(bytes));
    CHECK_STATUS(DUO_OK, duo_copy(b->ctx, b->list[2][kind], b->host[2] + kind * each, bytes));
    CHECK_STATUS(DUO_OK, duo_sgemm(b->ctx, DUO_COL_MAJOR, b->transa, b->transb, b->m, b->n, b->k,
                                   b->alpha, b->list[0][kind], b->ld[0], b->list[1][kind], b->ld[1],
                                   b->beta, b->list[2][kind], b->ld[2]));
    CHECK_STATUS(DUO_OK, duo_copy(b->ctx, alone, b->list[2][kind], bytes));
    CHECK_STATUS(DUO_OK, duo_synchronize(b->ctx));
    CHECK(memcmp(alone, b->after + kind * each, bytes) == 0, "kind %d has other bits alone", kind);
    free(alone);
}

static void one_batch(duo_context *ctx, test_rng *rng, duo_batched_kernel kernel, batch *b)
{
    const bool tensor = kernel >= DUO_BATCHED_TENSOR;
    test_case("batched_kernels/%s%s/%jdx%jdx%jd/%s%s/ld %jd %jd %jd/a=%g,b=%g x %jd %s",
              names[kernel], b->groups ? "/groups" : "", (intmax_t)b->m, (intmax_t)b->n,
              (intmax_t)b->k, b->transa == DUO_NO_TRANS ? "n" : "t",
              b->transb == DUO_NO_TRANS ? "n" : "t", (intmax_t)b->ld[0], (intmax_t)b->ld[1],
              (intmax_t)b->ld[2], (double)b->alpha, (double)b->beta, (intmax_t)b->count,
              b->strided ? "strided" : "lists");
    b->ctx = ctx;
    open_data(b, rng);
    multiply(b, tensor);
    for (int kind = 0; kind < KINDS; kind++) check_kind(b, kind);
    check_others(b);
    for (int kind = 0; kind < KINDS && !tensor; kind++) check_alone(b, kind);
    close_data(b);
}

static void every_kernel(void)
{
    test_rng rng = test_rng_for("kernels");
    /* The plan has the times of an H100: there it takes every kernel. */
    const duo_batched_device device = first_device();
    const bool fitted = device.capability == DUO_BATCHED_WGMMA_CAPABILITY && !test_on_sim();
    for (int kernel = 0; kernel < DUO_BATCHED_KERNELS; kernel++) {
        const int ways = kernel < DUO_BATCHED_WGMMA_32 ? 4 : WAYS;
        const int rounds = test_amount(ways, 2 * ways, 15 * ways);
        int done = 0;
        for (int round = 0; round < rounds; round++) {
            batch b;
            duo_context *const ctx = test_context(); /* it has learned nothing */
            if (find(&rng, (duo_batched_kernel)kernel, round % WAYS, &b)) {
                one_batch(ctx, &rng, (duo_batched_kernel)kernel, &b);
                done++;
            }
            test_context_end(ctx);
        }
        printf("  %s: %d batches\n", names[kernel], done);
        test_case("batched_kernels/%s", names[kernel]);
        CHECK(done == rounds || !fitted, "the plan took it for %d of %d batches", done, rounds);
    }
}

static void every_kernel_of_groups(void)
{
    test_rng rng = test_rng_for("groups");
    const int rounds = test_amount(1, 8, 60);
    const duo_batched_device device = first_device();
    const bool fitted = device.capability == DUO_BATCHED_WGMMA_CAPABILITY && !test_on_sim();
    for (int kernel = 0; kernel < DUO_BATCHED_KERNELS; kernel++) {
        int done = 0;
        if (!duo_batched_groups((duo_batched_kernel)kernel)) continue;
        for (int round = 0; round < rounds; round++) {
            batch b;
            duo_context *const ctx = test_context();
            if (find_groups(&rng, (duo_batched_kernel)kernel, &b)) {
                one_batch(ctx, &rng, (duo_batched_kernel)kernel, &b);
                done++;
            }
            test_context_end(ctx);
        }
        printf("  %s: %d times groups\n", names[kernel], done);
        test_case("batched_kernels/%s/groups", names[kernel]);
        CHECK(done == rounds || !fitted, "the plan took it for %d of %d", done, rounds);
    }
}

static const test_entry tests[] = {{"every_kernel", every_kernel},
                                   {"every_kernel_of_groups", every_kernel_of_groups},
                                   {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "batched_kernels", tests); }
