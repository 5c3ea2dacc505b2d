/*
 * test_sgemm_grouped.c - groups of products of different shapes, and lists of addresses in device
 * memory: each product against the oracle, wherever its operands are, and nothing written between
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/harness.h"
#include "support/oracle.h"
#include "support/places.h"

enum { OPERANDS = 3, MOST_GROUPS = 6, MOST_SIZE = 7, MOST = MOST_GROUPS * MOST_SIZE };

/* Operands of all products in one place, or every second product's in another. */
typedef struct where {
    const char *name;
    test_place place[2];
} where;

static const where on_device = {"device", {PLACE_DEVICE, PLACE_DEVICE}};
static const where in_host = {"host", {PLACE_PAGEABLE, PLACE_PAGEABLE}};
static const where places[] = {{"device", {PLACE_DEVICE, PLACE_DEVICE}},
                               {"host", {PLACE_PAGEABLE, PLACE_PAGEABLE}},
                               {"pinned", {PLACE_PINNED, PLACE_PINNED}},
                               {"kept", {PLACE_KEPT, PLACE_KEPT}},
                               {"device and host", {PLACE_DEVICE, PLACE_PAGEABLE}},
                               {"device and kept", {PLACE_DEVICE, PLACE_KEPT}}};
enum { WHERES = sizeof places / sizeof places[0] };

typedef struct product {
    test_array array[OPERANDS], before; /* before: C */
    test_placed placed[OPERANDS];
} product;

typedef struct grouped {
    duo_context *ctx;
    duo_layout layout;
    int64_t groups, count;
    duo_transpose transa[MOST_GROUPS], transb[MOST_GROUPS];
    int64_t m[MOST_GROUPS], n[MOST_GROUPS], k[MOST_GROUPS], size[MOST_GROUPS];
    int64_t ld[OPERANDS][MOST_GROUPS];
    float alpha[MOST_GROUPS], beta[MOST_GROUPS];
    product product[MOST];
    float *list[OPERANDS][MOST];
    void *device_list[OPERANDS]; /* NULL: the list in host memory counts */
} grouped;

/* ---- Groups ---- */

static float some_factor(test_rng *rng)
{
    const int which = (int)(test_random(rng) % 4);
    return which == 0 ? 0.0f : which == 1 ? 1.0f : (float)(4.0 * test_unit(rng) - 2.0);
}

static int64_t some_size(test_rng *rng)
{
    const int which = (int)(test_random(rng) % 8);
    return which == 0   ? test_between(rng, 0, 2)
           : which <= 2 ? 4 * test_between(rng, 1, 18)
           : which == 3 ? test_between(rng, 60, 140)
                        : test_between(rng, 1, 40);
}

static void draw_group(grouped *x, int64_t g, test_rng *rng)
{
    x->transa[g] = test_random(rng) % 2 ? DUO_TRANS : DUO_NO_TRANS;
    x->transb[g] = test_random(rng) % 2 ? DUO_TRANS : DUO_NO_TRANS;
    x->m[g] = some_size(rng);
    x->n[g] = some_size(rng);
    x->k[g] = some_size(rng);
    x->size[g] = test_random(rng) % 5 == 0 ? 0 : test_between(rng, 1, MOST_SIZE);
    x->alpha[g] = some_factor(rng);
    x->beta[g] = some_factor(rng);
}

/* The memory of a group's products; C is poison where beta does not read it. */
static void make_products(grouped *x, int64_t g, test_rng *rng)
{
    const bool row = x->layout == DUO_ROW_MAJOR;
    const bool ta = x->transa[g] != DUO_NO_TRANS, tb = x->transb[g] != DUO_NO_TRANS;
    int64_t extra[OPERANDS];
    const int64_t offset = (int64_t)(test_random(rng) % 3);
    for (int i = 0; i < OPERANDS; i++)
        extra[i] = test_random(rng) % 2 ? 0 : test_between(rng, 1, 5);
    for (int64_t s = 0; s < x->size[g]; s++) {
        product *const p = &x->product[x->count + s];
        p->array[0] = test_array_matrix(row, ta, x->m[g], x->k[g], extra[0], offset);
        p->array[1] = test_array_matrix(row, tb, x->k[g], x->n[g], extra[1], offset);
        p->array[2] = test_array_matrix(row, false, x->m[g], x->n[g], extra[2], offset);
        for (int i = 0; i < OPERANDS; i++)
            if (i < 2 || x->beta[g] != 0.0f) test_array_fill(&p->array[i], rng, DATA_SIGNED);
        p->before = test_array_copy(&p->array[2]);
    }
    const int64_t rows[OPERANDS] = {ta != row ? x->k[g] : x->m[g], tb != row ? x->n[g] : x->k[g],
                                    row ? x->n[g] : x->m[g]};
    for (int i = 0; i < OPERANDS; i++) x->ld[i][g] = (rows[i] > 0 ? rows[i] : 1) + extra[i];
    x->count += x->size[g];
}

static grouped new_groups(duo_context *ctx, test_rng *rng, int64_t groups)
{
    grouped x = {.ctx = ctx,
                 .layout = test_random(rng) % 2 ? DUO_COL_MAJOR : DUO_ROW_MAJOR,
                 .groups = groups};
    for (int64_t g = 0; g < groups; g++) {
        draw_group(&x, g, rng);
        make_products(&x, g, rng);
    }
    return x;
}

/* there: operands, a bit for each, that are on the device anyway. */
static void put(grouped *x, const where *at, unsigned there)
{
    for (int64_t p = 0; p < x->count; p++)
        for (int i = 0; i < OPERANDS; i++) {
            product *const one = &x->product[p];
            const where *const of = there >> i & 1u ? &on_device : at;
            one->placed[i] = test_put(x->ctx, of->place[p % 2], &one->array[i]);
            x->list[i][p] = one->placed[i].address;
        }
}

/* Copies the lists of these operands, a bit for each, to the device. */
static void send_lists(grouped *x, unsigned operands)
{
    for (int i = 0; i < OPERANDS; i++) {
        const size_t bytes = (size_t)x->count * sizeof(float *);
        if ((operands >> i & 1u) == 0 || x->count == 0) continue;
        CHECK_STATUS(DUO_OK, duo_malloc(x->ctx, bytes, &x->device_list[i]));
        CHECK_STATUS(DUO_OK, duo_copy(x->ctx, x->device_list[i], x->list[i], bytes));
    }
}

static float **list_of(grouped *x, int i)
{
    return x->device_list[i] != NULL ? x->device_list[i] : x->list[i];
}

static duo_status run(grouped *x)
{
    return duo_sgemm_grouped(x->ctx, x->layout, x->groups, x->transa, x->transb, x->m, x->n, x->k,
                             x->alpha, (const float *const *)list_of(x, 0), x->ld[0],
                             (const float *const *)list_of(x, 1), x->ld[1], x->beta, list_of(x, 2),
                             x->ld[2], x->size);
}

/* ---- Checks ---- */

static bool is_right(const grouped *x, int64_t g, const product *p)
{
    const size_t elements = (size_t)(x->m[g] * x->n[g]);
    double *const want = calloc(elements + 1, sizeof *want), *const bound = calloc(elements + 1,
                                                                                   sizeof *bound);
    const oracle_product of = {.layout = x->layout,
                               .transa = x->transa[g],
                               .transb = x->transb[g],
                               .m = x->m[g],
                               .n = x->n[g],
                               .k = x->k[g],
                               .alpha = x->alpha[g],
                               .beta = x->beta[g],
                               .a = p->array[0].data,
                               .lda = x->ld[0][g],
                               .b = p->array[1].data,
                               .ldb = x->ld[1][g],
                               .c = p->before.data,
                               .ldc = x->ld[2][g]};
    bool right = want != NULL && bound != NULL && test_array_intact(&p->array[2]);
    if (right && elements > 0) oracle_sgemm(&of, want, bound);
    for (int64_t i = 0; i < x->m[g] && right; i++)
        for (int64_t j = 0; j < x->n[g]; j++)
            right &= oracle_close(want[i * x->n[g] + j], bound[i * x->n[g] + j],
                                  p->array[2].data[oracle_index(x->layout, i, j, x->ld[2][g])]);
    free(want);
    free(bound);
    return right;
}

/* Brings all back. */
static void take(grouped *x)
{
    for (int64_t p = 0; p < x->count; p++)
        for (int i = 0; i < OPERANDS; i++) test_take(x->ctx, &x->product[p].placed[i]);
    for (int i = 0; i < OPERANDS; i++)
        if (x->device_list[i] != NULL) CHECK_STATUS(DUO_OK, duo_free(x->ctx, x->device_list[i]));
}

static void check_all(const grouped *x)
{
    for (int64_t g = 0, p = 0; g < x->groups; g++)
        for (int64_t s = 0; s < x->size[g]; s++, p++)
            CHECK(is_right(x, g, &x->product[p]),
                  "product %jd of group %jd: %s%s %jdx%jdx%jd, a=%g, b=%g", (intmax_t)s,
                  (intmax_t)g, x->transa[g] == DUO_NO_TRANS ? "n" : "t",
                  x->transb[g] == DUO_NO_TRANS ? "n" : "t", (intmax_t)x->m[g], (intmax_t)x->n[g],
                  (intmax_t)x->k[g], (double)x->alpha[g], (double)x->beta[g]);
}

static bool unchanged(const grouped *x)
{
    bool same = true;
    for (int64_t p = 0; p < x->count; p++)
        same &= test_array_equal(&x->product[p].array[2], &x->product[p].before) &&
                test_array_intact(&x->product[p].array[2]);
    return same;
}

static void end_groups(grouped *x)
{
    for (int64_t p = 0; p < x->count; p++) {
        for (int i = 0; i < OPERANDS; i++) test_array_free(&x->product[p].array[i]);
        test_array_free(&x->product[p].before);
    }
}

static bool has_work(const grouped *x, int64_t g)
{
    return x->size[g] > 0 && x->m[g] > 0 && x->n[g] > 0 &&
           ((x->k[g] > 0 && x->alpha[g] != 0.0f) || x->beta[g] != 1.0f);
}

static int64_t groups_with_work(const grouped *x)
{
    int64_t groups = 0;
    for (int64_t g = 0; g < x->groups; g++) groups += has_work(x, g);
    return groups;
}

static void check_launches(uint64_t before, uint64_t least, uint64_t most)
{
    const uint64_t launches = sim_count(SIM_LAUNCH) - before;
    CHECK(launches >= least && launches <= most, "%ju launches", (uintmax_t)launches);
}

/* ---- Results ---- */

static void random_groups(void)
{
    test_rng rng = test_rng_for("grouped");
    duo_context *const ctx = test_context();
    static const duo_math maths[] = {DUO_MATH_ACCURATE, DUO_MATH_IEEE};
    const int rounds = test_amount(24, 120, 600);
    for (int round = 0; round < rounds; round++) {
        const where *const at = &places[test_random(&rng) % WHERES];
        const duo_math math = maths[test_random(&rng) % 2];
        grouped x = new_groups(ctx, &rng, test_between(&rng, 0, MOST_GROUPS));
        test_case("grouped/random/%d/%s/%s/%jd groups, %jd products", round, at->name,
                  math == DUO_MATH_IEEE ? "ieee" : "accurate", (intmax_t)x.groups,
                  (intmax_t)x.count);
        put(&x, at, 0);
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, math));
        const uint64_t launches = sim_count(SIM_LAUNCH);
        CHECK_STATUS(DUO_OK, run(&x));
        if (test_on_sim() && at == &places[0])
            check_launches(launches, groups_with_work(&x) > 0, groups_with_work(&x) > 0);
        take(&x);
        check_all(&x);
        end_groups(&x);
    }
    test_context_end(ctx);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
}

/* Lists on the device: of any operands, which may also be in host memory. */
static void lists_on_device(void)
{
    test_rng rng = test_rng_for("lists");
    duo_context *const ctx = test_context();
    const int rounds = test_amount(16, 80, 400);
    for (int round = 0; round < rounds; round++) {
        const where *const at = round % 2 == 0 ? &on_device : &places[test_random(&rng) % WHERES];
        const unsigned operands = (unsigned)test_between(&rng, 1, 7);
        grouped x = new_groups(ctx, &rng, test_between(&rng, 1, MOST_GROUPS));
        test_case("grouped/lists/%d/%s/operands %u/%jd products", round, at->name, operands,
                  (intmax_t)x.count);
        put(&x, at, operands);
        send_lists(&x, operands);
        if (test_on_sim()) sim_set_delay(100);
        const uint64_t launches = sim_count(SIM_LAUNCH), waits = sim_count(SIM_WAIT),
                       copies = sim_count(SIM_COPY);
        CHECK_STATUS(DUO_OK, run(&x));
        if (test_on_sim() && at == &on_device && groups_with_work(&x) > 0) {
            check_launches(launches, 1, 1);
            CHECK(sim_count(SIM_WAIT) == waits && sim_count(SIM_COPY) == copies,
                  "the host waited for a list");
        }
        if (test_on_sim()) sim_set_delay(0);
        take(&x);
        check_all(&x);
        end_groups(&x);
    }
    test_context_end(ctx);
}

/* Every product with the bits that it has alone. */
static void same_bits(void)
{
    test_rng rng = test_rng_for("bits");
    duo_context *const ctx = test_context();
    const where *const at = test_gpu_side() ? &on_device : &in_host;
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, DUO_MATH_IEEE));
    for (int round = 0; round < test_amount(4, 20, 100); round++) {
        grouped x = new_groups(ctx, &rng, MOST_GROUPS);
        test_case("grouped/bits/%d", round);
        put(&x, at, 0);
        CHECK_STATUS(DUO_OK, run(&x));
        for (int64_t g = 0, p = 0; g < x.groups; g++)
            for (int64_t s = 0; s < x.size[g]; s++, p++) {
                test_array alone = test_array_copy(&x.product[p].before);
                test_placed c = test_put(ctx, at->place[0], &alone);
                CHECK_STATUS(DUO_OK,
                             duo_sgemm(ctx, x.layout, x.transa[g], x.transb[g], x.m[g], x.n[g],
                                       x.k[g], x.alpha[g], x.list[0][p], x.ld[0][g], x.list[1][p],
                                       x.ld[1][g], x.beta[g], c.address, x.ld[2][g]));
                test_take(ctx, &c);
                test_take(ctx, &x.product[p].placed[2]);
                CHECK(test_array_equal(&alone, &x.product[p].array[2]),
                      "product %jd has other bits than alone", (intmax_t)p);
                test_array_free(&alone);
                x.product[p].placed[2] = test_put(ctx, at->place[0], &x.product[p].array[2]);
            }
        take(&x);
        end_groups(&x);
    }
    test_context_end(ctx);
}

/* Another context fills an array on the device, which comes late. memory: what that takes. */
static void fill_late(duo_context *writer, const test_placed *placed, test_rng *rng,
                      void *memory[2])
{
    const size_t bytes = placed->array->bytes;
    test_array_fill(placed->array, rng, DATA_SIGNED);
    CHECK_STATUS(DUO_OK, duo_malloc(writer, bytes, &memory[0]));
    CHECK_STATUS(DUO_OK, duo_malloc(writer, bytes, &memory[1]));
    CHECK_STATUS(DUO_OK, duo_copy(writer, memory[0], placed->array->data, bytes));
    if (test_on_sim()) sim_set_delay(200);
    for (int i = 0; i < 100; i++)
        CHECK_STATUS(DUO_OK,
                     duo_copy(writer, i < 99 ? memory[1] : placed->address, memory[0], bytes));
}

/* A thousand groups of one product or a few: more than a warp's lanes find in one step. All of an
 * operand is in one array, and A comes late. */
static void many_groups(void)
{
    enum { GROUPS = 1100, EACH = 2, FLOATS = 12 * 12 };
    static duo_transpose plain[GROUPS];
    static int64_t m[GROUPS], n[GROUPS], k[GROUPS], size[GROUPS];
    static float one[GROUPS], zero[GROUPS];
    static float *list[OPERANDS][GROUPS * EACH];
    test_rng rng = test_rng_for("many");
    duo_context *const ctx = test_context(), *const writer = test_context();
    const test_place at = test_gpu_side() ? PLACE_DEVICE : PLACE_PAGEABLE;
    test_array all[OPERANDS];
    test_placed placed[OPERANDS];
    void *memory[2] = {NULL};
    test_case("grouped/many");
    for (int i = 0; i < OPERANDS; i++) {
        all[i] = test_array_new(FLOATS, GROUPS * EACH, FLOATS, 0);
        if (i == 1) test_array_fill(&all[i], &rng, DATA_SIGNED);
        placed[i] = test_put(ctx, at, &all[i]);
        for (int p = 0; p < GROUPS * EACH; p++) list[i][p] = placed[i].address + p * FLOATS;
    }
    if (test_gpu_side())
        fill_late(writer, &placed[0], &rng, memory);
    else
        test_array_fill(&all[0], &rng, DATA_SIGNED);
    for (int g = 0; g < GROUPS; g++) {
        plain[g] = DUO_NO_TRANS;
        m[g] = 2 + g % 11;
        n[g] = 2 + g / 11 % 11;
        k[g] = 1 + g / 7 % 12;
        size[g] = EACH;
        one[g] = 1.0f;
    }
    CHECK_STATUS(DUO_OK,
                 duo_sgemm_grouped(ctx, DUO_COL_MAJOR, GROUPS, plain, plain, m, n, k, one,
                                   (const float *const *)list[0], m, (const float *const *)list[1],
                                   k, zero, list[2], m, size));
    for (int i = 0; i < OPERANDS; i++) test_take(ctx, &placed[i]);
    if (test_on_sim()) sim_set_delay(0);
    int64_t wrong = 0;
    for (int g = 0; g < GROUPS; g++)
        for (int p = g * EACH; p < (g + 1) * EACH; p++) {
            double want[FLOATS], bound[FLOATS];
            const oracle_product of = {.layout = DUO_COL_MAJOR,
                                       .transa = DUO_NO_TRANS,
                                       .transb = DUO_NO_TRANS,
                                       .m = m[g],
                                       .n = n[g],
                                       .k = k[g],
                                       .alpha = 1.0f,
                                       .a = all[0].data + p * FLOATS,
                                       .lda = m[g],
                                       .b = all[1].data + p * FLOATS,
                                       .ldb = k[g],
                                       .c = all[2].data + p * FLOATS,
                                       .ldc = m[g]};
            oracle_sgemm(&of, want, bound);
            for (int64_t i = 0; i < m[g]; i++)
                for (int64_t j = 0; j < n[g]; j++)
                    wrong += !oracle_close(want[i * n[g] + j], bound[i * n[g] + j],
                                           all[2].data[p * FLOATS + i + j * m[g]]);
            wrong += !test_all_poison(all[2].data + p * FLOATS + m[g] * n[g], FLOATS - m[g] * n[g]);
        }
    CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
    for (int i = 0; i < OPERANDS; i++) test_array_free(&all[i]);
    for (int i = 0; i < 2 && test_gpu_side(); i++)
        CHECK_STATUS(DUO_OK, duo_free(writer, memory[i]));
    test_context_end(writer);
    test_context_end(ctx);
}

/* ---- What is told ---- */

/* Two groups of small products, without gaps. */
static grouped two_groups(duo_context *ctx, test_rng *rng)
{
    grouped x = {.ctx = ctx, .layout = DUO_COL_MAJOR, .groups = 2};
    for (int64_t g = 0; g < 2; g++) {
        x.transa[g] = x.transb[g] = DUO_NO_TRANS;
        x.m[g] = 12 + g;
        x.n[g] = 9;
        x.k[g] = 7 + 3 * g;
        x.size[g] = 3 + g;
        x.alpha[g] = 1.5f;
        x.beta[g] = -1.0f;
        make_products(&x, g, rng);
    }
    return x;
}

static void count_lines(void *user, const char *line)
{
    *(int *)user += strstr(line, " count=7 ") != NULL;
}

/* Groups that go together are one call. */
static void explained(void)
{
    int lines = 0;
    test_rng rng = test_rng_for("explained");
    duo_context *const ctx = test_context();
    const where *const at = test_gpu_side() ? &on_device : &in_host;
    grouped x = two_groups(ctx, &rng);
    duo_decision d = {.size = sizeof d};
    test_case("grouped/explained");
    put(&x, at, 0);
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, count_lines, &lines)); /* then no call is tiny */
    CHECK_STATUS(DUO_OK, run(&x));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.count == x.count, "%jd products", (intmax_t)d.count);
    CHECK(d.ran >= 0 && strcmp(d.route[d.ran], test_gpu_side() ? "batch" : "team") == 0, "%s",
          d.ran >= 0 ? d.route[d.ran] : "nothing ran");
    CHECK(d.predicted_seconds > 0.0 && d.predicted_seconds < 1.0, "%g s", d.predicted_seconds);
    CHECK(lines == 1, "%d lines", lines);
    CHECK_STATUS(DUO_OK, duo_trim(ctx)); /* the memory of the groups goes, and what they tell */
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.operation == NULL, "the groups have gone");
    take(&x);
    check_all(&x);
    end_groups(&x);
    test_context_end(ctx);
}

/* ---- Mistakes ---- */

/* One change to right arguments, and the status that it gets. */
typedef struct mistake {
    const char *name;
    duo_status status;
    void (*make)(grouped *x);
} mistake;

static void bad_transpose(grouped *x) { x->transb[1] = (duo_transpose)7; }
static void bad_layout(grouped *x) { x->layout = (duo_layout)7; }
static void bad_m(grouped *x) { x->m[1] = -1; }
static void bad_k(grouped *x) { x->k[0] = -1; }
static void bad_groups(grouped *x) { x->groups = -1; }
static void bad_size(grouped *x) { x->size[1] = -1; }
static void huge_size(grouped *x) { x->size[1] = INT64_MAX; }
/* Such lists would have more bytes than there are, or would end behind the last address. */
static void huge_sum(grouped *x) { x->size[1] = INT64_MAX - x->size[0]; }
static void huge_lists(grouped *x) { x->size[1] = INT64_MAX / 4 - x->size[0]; }
static void bad_lda(grouped *x) { x->ld[0][1] = x->m[1] - 1; }
static void bad_ldc(grouped *x) { x->ld[2][1] = 0; }
static void empty_bad_ldc(grouped *x)
{
    x->size[1] = 0;
    x->ld[2][1] = 0;
}
static void null_a(grouped *x) { x->list[0][x->count - 1] = NULL; }
static void null_c(grouped *x) { x->list[2][x->size[0]] = NULL; }

static const mistake mistakes[] = {
    {"transpose", DUO_ERR_ENUM, bad_transpose},
    {"layout", DUO_ERR_ENUM, bad_layout},
    {"m", DUO_ERR_SIZE, bad_m},
    {"k", DUO_ERR_SIZE, bad_k},
    {"groups", DUO_ERR_SIZE, bad_groups},
    {"size", DUO_ERR_SIZE, bad_size},
    {"huge size", DUO_ERR_SIZE, huge_size},
    {"huge sum of sizes", DUO_ERR_SIZE, huge_sum},
    {"huge lists", DUO_ERR_SIZE, huge_lists},
    {"lda", DUO_ERR_LD, bad_lda},
    {"ldc", DUO_ERR_LD, bad_ldc},
    {"ldc of none", DUO_ERR_LD, empty_bad_ldc},
    {"NULL in a", DUO_ERR_NULL, null_a},
    {"NULL in c", DUO_ERR_NULL, null_c},
};
enum { MISTAKES = sizeof mistakes / sizeof mistakes[0] };

static void arguments(void)
{
    test_rng rng = test_rng_for("arguments");
    duo_context *const ctx = test_context();
    grouped x = two_groups(ctx, &rng);
    put(&x, &in_host, 0);
    for (int i = 0; i < MISTAKES; i++) {
        grouped bad = x;
        test_case("grouped/arguments/%s", mistakes[i].name);
        mistakes[i].make(&bad);
        CHECK_STATUS(mistakes[i].status, run(&bad));
        CHECK(unchanged(&x), "a bad call wrote something");
    }
    test_case("grouped/arguments/context");
    grouped bad = x;
    bad.ctx = test_dead_context();
    CHECK_STATUS(DUO_ERR_CONTEXT, run(&bad));
    test_case("grouped/arguments/arrays");
    const float *const *const a = (const float *const *)x.list[0], *const *const b =
                                                                       (const float *const *)
                                                                           x.list[1];
    for (int missing = 0; missing < 14; missing++) {
#define GIVEN(number, array) (missing == (number) ? NULL : (array))
        const duo_status status = duo_sgemm_grouped(
            ctx, x.layout, 2, GIVEN(0, x.transa), GIVEN(1, x.transb), GIVEN(2, x.m), GIVEN(3, x.n),
            GIVEN(4, x.k), GIVEN(5, x.alpha), GIVEN(6, a), GIVEN(7, x.ld[0]), GIVEN(8, b),
            GIVEN(9, x.ld[1]), GIVEN(10, x.beta), GIVEN(11, x.list[2]), GIVEN(12, x.ld[2]),
            GIVEN(13, x.size));
        CHECK(status == DUO_ERR_NULL, "without array %d: %d", missing, (int)status);
#undef GIVEN
    }
    CHECK_STATUS(DUO_OK, duo_sgemm_grouped(ctx, x.layout, 0, NULL, NULL, NULL, NULL, NULL, NULL,
                                           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(unchanged(&x), "a bad call wrote something");
    take(&x);
    end_groups(&x);
    test_context_end(ctx);
}

/* Of what is found out later than by the arguments. */
static void bad_lists(void)
{
    test_rng rng = test_rng_for("bad lists");
    duo_context *const ctx = test_context();
    grouped x = two_groups(ctx, &rng);
    duo_graph *graph = NULL;
    put(&x, &on_device, 0);
    send_lists(&x, 7);
    test_case("grouped/lists/over the end");
    x.size[1] += 1000;
    CHECK_STATUS(DUO_ERR_RANGE, run(&x));
    x.size[1] -= 1000;
    if (test_gpu_side()) { /* else the memory is the host's */
        test_case("grouped/lists/captured");
        CHECK_STATUS(DUO_OK, duo_graph_begin(ctx));
        CHECK_STATUS(DUO_ERR_CAPTURE, run(&x));
        CHECK_STATUS(DUO_OK, duo_graph_end(ctx, &graph));
        CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    }
    take(&x);
    CHECK(unchanged(&x), "a bad call wrote something");
    end_groups(&x);
    test_context_end(ctx);
}

/* Operands in device memory that nobody has adopted, and over the end of an allocation. */
static void bad_operands(void)
{
    enum { LARGE = 600 };
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    const size_t bytes = (size_t)LARGE * LARGE * sizeof(float);
    const duo_transpose plain[2] = {DUO_NO_TRANS, DUO_NO_TRANS};
    const int64_t edge[2] = {LARGE, LARGE - 1}, one[2] = {1, 1};
    const float factor[2] = {1.0f, 1.0f}, zero[2] = {0.0f, 0.0f};
    duo_context *const ctx = test_context();
    float *const foreign = sim_foreign_malloc(0, bytes), *const host = calloc(1, bytes);
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, bytes, &memory));
    float *const device = memory;
    const float *const a[2] = {host, host}, *const strange[2] = {host, foreign};
    float *const c[2] = {host, host}, *const over[2] = {device, device + LARGE * 10};
    const float *const there[2] = {device, device};
    test_case("grouped/foreign");
    CHECK_STATUS(DUO_ERR_FOREIGN,
                 duo_sgemm_grouped(ctx, DUO_COL_MAJOR, 2, plain, plain, edge, edge, edge, factor,
                                   strange, edge, a, edge, zero, c, edge, one));
    test_contains(duo_error_detail(ctx), "never adopted");
    test_case("grouped/over the end");
    CHECK_STATUS(DUO_ERR_RANGE,
                 duo_sgemm_grouped(ctx, DUO_COL_MAJOR, 2, plain, plain, edge, edge, edge, factor,
                                   there, edge, there, edge, zero, over, edge, one));
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    sim_foreign_free(foreign);
    free(host);
    test_context_end(ctx);
}

/* ---- Graphs, failures ---- */

static void captured(void)
{
    test_rng rng = test_rng_for("captured");
    duo_context *const ctx = test_context();
    grouped x = new_groups(ctx, &rng, MOST_GROUPS);
    duo_graph *graph = NULL;
    test_case("grouped/captured");
    put(&x, test_gpu_side() ? &on_device : &in_host, 0);
    CHECK_STATUS(DUO_OK, duo_graph_begin(ctx));
    CHECK_STATUS(DUO_OK, run(&x));
    CHECK_STATUS(DUO_OK, duo_graph_end(ctx, &graph));
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    take(&x);
    check_all(&x);
    end_groups(&x);
    test_context_end(ctx);
}

/* The nth call of each kind that a call makes of the backend fails; the products are right. */
static void refused(void)
{
    static const sim_kind kinds[] = {SIM_LAUNCH, SIM_COPY, SIM_AFTER, SIM_MARK, SIM_ALLOCATE};
    if (!test_on_sim()) {
        test_skip("needs a device that refuses");
        return;
    }
    test_rng rng = test_rng_for("refused");
    for (int way = 0; way < 2; way++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
            for (int nth = 1; nth <= 4; nth++) {
                duo_context *const ctx = test_context();
                grouped x = two_groups(ctx, &rng);
                test_case("grouped/refused/%s/%d/%d", way ? "lists" : "groups", (int)kinds[kind],
                          nth);
                put(&x, way == 0 && nth % 2 == 0 ? &places[4] : &on_device, 0);
                if (way == 1) send_lists(&x, 7);
                sim_fail(kinds[kind], nth, DUO_ERR_DEVICE, 1);
                const duo_status status = run(&x);
                sim_fail(kinds[kind], 0, DUO_OK, 0);
                CHECK(status == DUO_OK || (kinds[kind] == SIM_COPY && status == DUO_ERR_DEVICE),
                      "%s", duo_status_string(status));
                take(&x);
                if (status == DUO_OK) check_all(&x);
                end_groups(&x);
                test_context_end(ctx);
            }
}

/* Another context has written operands, or a list, and its work is not done. */
static void follows(void)
{
    test_rng rng = test_rng_for("follows");
    if (!test_gpu_side()) {
        test_skip("needs a device");
        return;
    }
    for (int lists = 0; lists < 2; lists++) {
        duo_context *const ctx = test_context(), *const writer = test_context();
        grouped x = two_groups(ctx, &rng);
        void *source = NULL, *spare = NULL;
        test_case("grouped/follows/%s", lists ? "a list" : "an operand");
        put(&x, &on_device, 0);
        if (lists) send_lists(&x, 2);
        if (test_on_sim()) sim_set_delay(1000);
        const size_t bytes =
            lists ? (size_t)x.count * sizeof(float *) : x.product[0].array[0].bytes;
        void *const target = lists ? x.device_list[1] : (void *)x.list[0][0];
        CHECK_STATUS(DUO_OK, duo_malloc(writer, bytes, &source));
        CHECK_STATUS(DUO_OK, duo_malloc(writer, bytes, &spare));
        if (!lists) test_array_fill(&x.product[0].array[0], &rng, DATA_SIGNED);
        if (lists) { /* the products of a group get each other's B */
            float *const was = x.list[1][0];
            const test_array b = x.product[0].array[1];
            const test_placed at = x.product[0].placed[1];
            x.list[1][0] = x.list[1][1];
            x.list[1][1] = was;
            x.product[0].array[1] = x.product[1].array[1];
            x.product[0].placed[1] = x.product[1].placed[1];
            x.product[1].array[1] = b;
            x.product[1].placed[1] = at;
            x.product[0].placed[1].array = &x.product[0].array[1];
            x.product[1].placed[1].array = &x.product[1].array[1];
        }
        CHECK_STATUS(DUO_OK, duo_copy(writer, source,
                                      lists ? (const void *)x.list[1]
                                            : (const void *)x.product[0].array[0].data,
                                      bytes));
        for (int i = 0; i < 10; i++) /* the last is late */
            CHECK_STATUS(DUO_OK, duo_copy(writer, i < 9 ? spare : target, source, bytes));
        CHECK_STATUS(DUO_OK, run(&x));
        if (test_on_sim()) sim_set_delay(0);
        take(&x);
        check_all(&x);
        CHECK_STATUS(DUO_OK, duo_free(writer, source));
        CHECK_STATUS(DUO_OK, duo_free(writer, spare));
        end_groups(&x);
        test_context_end(writer);
        test_context_end(ctx);
    }
}

/* ---- duo_sgemm_batched by lists on the device ---- */

static void batched_lists(void)
{
    test_rng rng = test_rng_for("batched lists");
    duo_context *const ctx = test_context();
    for (int round = 0; round < test_amount(8, 40, 200); round++) {
        grouped x = {.ctx = ctx, .layout = round % 2 ? DUO_COL_MAJOR : DUO_ROW_MAJOR, .groups = 1};
        const where *const at = round % 4 != 3 ? &on_device : &places[test_random(&rng) % WHERES];
        draw_group(&x, 0, &rng);
        make_products(&x, 0, &rng);
        test_case("batched/lists/%d/%s/%jd products", round, at->name, (intmax_t)x.count);
        const unsigned operands = (unsigned)test_between(&rng, 1, 7);
        put(&x, at, operands);
        send_lists(&x, operands);
        const uint64_t launches = sim_count(SIM_LAUNCH), waits = sim_count(SIM_WAIT);
        CHECK_STATUS(DUO_OK,
                     duo_sgemm_batched(ctx, x.layout, x.transa[0], x.transb[0], x.m[0], x.n[0],
                                       x.k[0], x.alpha[0], (const float *const *)list_of(&x, 0),
                                       x.ld[0][0], (const float *const *)list_of(&x, 1), x.ld[1][0],
                                       x.beta[0], list_of(&x, 2), x.ld[2][0], x.count));
        if (test_on_sim() && at == &on_device && has_work(&x, 0)) {
            check_launches(launches, 1, 1);
            CHECK(sim_count(SIM_WAIT) == waits, "the host waited for a list");
        }
        take(&x);
        check_all(&x);
        end_groups(&x);
    }
    test_context_end(ctx);
}

/* A list that ends behind device memory, one on a lost device, and one that is kept in part. */
static void odd_lists(void)
{
    enum { EDGE = 4, COUNT = 4, FLOATS = EDGE * EDGE };
    duo_context *const ctx = test_context();
    static float a[COUNT * FLOATS], c[COUNT * FLOATS];
    const float *as[COUNT];
    float *cs[COUNT];
    void *there = NULL;
    for (int i = 0; i < COUNT * FLOATS; i++) a[i] = 1.0f, c[i] = 0.0f;
    for (int i = 0; i < COUNT; i++) as[i] = a + i * FLOATS, cs[i] = c + i * FLOATS;
#define MULTIPLY(list, count)                                                                      \
    duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f,      \
                      (list), EDGE, as, EDGE, 0.0f, cs, EDGE, (count))
    test_case("batched/lists/kept in part");
    CHECK_STATUS(DUO_OK, duo_keep(ctx, as, sizeof as / 2));
    CHECK_STATUS(DUO_OK, MULTIPLY(as, COUNT));
    CHECK_STATUS(DUO_OK, duo_release(ctx, as));
    for (int i = 0; i < COUNT * FLOATS; i++) CHECK(c[i] == (float)EDGE, "%d: %g", i, (double)c[i]);
    test_case("batched/lists/over the end");
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof as, &there));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, there, as, sizeof as));
    CHECK_STATUS(DUO_ERR_RANGE, MULTIPLY((const float *const *)there, COUNT + 1000));
    if (test_on_sim()) {
        test_case("batched/lists/lost");
        sim_lose(0);
        CHECK_STATUS(DUO_ERR_LOST, duo_copy(ctx, there, as, sizeof as));
        CHECK_STATUS(DUO_ERR_LOST, MULTIPLY((const float *const *)there, COUNT));
    }
#undef MULTIPLY
    CHECK_STATUS(DUO_OK, duo_free(ctx, there));
    const duo_status status = duo_destroy(ctx);
    CHECK(status == DUO_OK || (test_on_sim() && status == DUO_ERR_LOST), "%d", (int)status);
}

static const test_entry tests[] = {
    {"random_groups", random_groups},
    {"lists_on_device", lists_on_device},
    {"same_bits", same_bits},
    {"many_groups", many_groups},
    {"explained", explained},
    {"arguments", arguments},
    {"bad_lists", bad_lists},
    {"bad_operands", bad_operands},
    {"odd_lists", odd_lists},
    {"captured", captured},
    {"refused", refused},
    {"follows", follows},
    {"batched_lists", batched_lists},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "sgemm_grouped", tests); }
