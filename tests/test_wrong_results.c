/*
 * test_wrong_results.c - duo_set_verify: results that were changed behind the library's back are
 * found and computed again, or told of; right ones, on ordinary and on hostile data, raise no
 * alarm.
 *
 * A result is changed between the call and its check. So tests of these two steps call them
 * themselves (call/verify.h), with an ordinary call between them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call/context.h"
#include "call/verify.h"
#include "data/checked.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"
#include "support/places.h"

enum { MOST = 40 };

static int64_t checked_now(void)
{
    int64_t checked = 0, wrong = 0;
    CHECK_STATUS(DUO_OK, duo_get_verified(&checked, &wrong));
    return checked;
}

static int64_t wrong_now(void)
{
    int64_t checked = 0, wrong = 0;
    CHECK_STATUS(DUO_OK, duo_get_verified(&checked, &wrong));
    return wrong;
}

/* ---- A product whose result is changed ---- */

typedef struct product {
    int64_t m, n, k;
    float alpha, beta;
    float *a, *b, *c, *before; /* by columns, without gaps; in host memory */
    double bound[MOST];        /* of each row: how far its sum may be off */
} product;

static float *made(test_rng *rng, test_data data, int64_t count)
{
    float *const x = malloc((size_t)count * sizeof *x);
    test_fill(rng, data, x, count);
    return x;
}

/* The documented bound of a row's sum: that of its elements, added up. */
static void set_bounds(product *p)
{
    const double u = 0x1p-24;
    for (int64_t i = 0; i < p->m; i++) {
        p->bound[i] = 0.0;
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0.0;
            for (int64_t l = 0; l < p->k; l++)
                sum += fabs((double)p->a[i + l * p->m] * (double)p->b[l + j * p->k]);
            p->bound[i] += ((double)p->k + 3.0) * u * fabs((double)p->alpha) * sum +
                           2.0 * u * fabs((double)p->beta * (double)p->before[i + j * p->m]);
        }
    }
}

static product make_product(test_rng *rng, bool adds)
{
    product p = {.m = test_between(rng, 1, MOST),
                 .n = test_between(rng, 1, MOST),
                 .k = test_between(rng, 1, MOST),
                 .alpha = (float)test_unit(rng) + 0.5f,
                 .beta = adds ? 0.5f - (float)test_unit(rng) : 0.0f};
    p.a = made(rng, DATA_SIGNED, p.m * p.k);
    p.b = made(rng, DATA_SIGNED, p.k * p.n);
    p.c = made(rng, adds ? DATA_SIGNED : DATA_NAN, p.m * p.n);
    p.before = malloc((size_t)(p.m * p.n) * sizeof(float));
    for (int64_t i = 0; i < p.m * p.n; i++) p.before[i] = adds ? p.c[i] : 0.0f;
    set_bounds(&p);
    return p;
}

static void free_product(product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->before);
}

static duo_status multiply(duo_context *ctx, const product *p, const float *a, const float *b,
                           float *c)
{
    return duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, p->m, p->n, p->k, p->alpha, a,
                     p->m, b, p->k, p->beta, c, p->m);
}

/* The operands: in host memory, or copies on the device. */
typedef struct placed {
    float *a, *b, *c;
} placed;

static float *on_device(duo_context *ctx, const float *x, int64_t count)
{
    void *there = NULL;
    const size_t bytes = (size_t)count * sizeof *x;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, bytes, &there));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, there, x, bytes));
    return there;
}

/* Changes a bit of an element. Returns how far it is off then. */
static double flip(duo_context *ctx, float *element, int bit)
{
    float x;
    uint32_t bits;
    CHECK_STATUS(DUO_OK, duo_copy(ctx, &x, element, sizeof x));
    memcpy(&bits, &x, sizeof bits);
    bits ^= UINT32_C(1) << bit;
    float changed;
    memcpy(&changed, &bits, sizeof bits);
    CHECK_STATUS(DUO_OK, duo_copy(ctx, element, &changed, sizeof x));
    return isfinite(changed) ? fabs((double)changed - (double)x) : (double)INFINITY;
}

/* The library's steps around a call: begin, the call, a flip if bit >= 0, and end. *off: how far
 * the flip is above what its row allows, as a quotient. */
static duo_status run_flipped(duo_context *ctx, const product *p, const placed *at,
                              duo_algorithm_id by, test_rng *rng, int bit, double *off)
{
    duo_context *const c = duo_context_of(ctx);
    const int64_t i = test_between(rng, 0, p->m - 1), j = test_between(rng, 0, p->n - 1);
    duo_call call = duo_call_sgemm(false, false, p->m, p->n, p->k, p->alpha, p->beta);
    call.operand[DUO_A].address = at->a;
    call.operand[DUO_B].address = at->b;
    call.operand[DUO_C].address = at->c;
    duo_verify *const verify = duo_verify_begin(c, &call);
    CHECK(verify != NULL, "not checked");
    c->policy.verify_rate = 0.0;
    CHECK_STATUS(DUO_OK, multiply(ctx, p, at->a, at->b, at->c));
    c->policy.verify_rate = 1.0;
    *off = bit < 0 ? 0.0 : flip(ctx, &at->c[i + j * p->m], bit) / p->bound[i];
    static duo_execution e; /* as after the call */
    e.ctx = c;
    e.call = &call;
    e.choice = e.own;
    e.ran = 0;
    e.own[0].algorithm = duo_algorithm_of(by);
    return duo_verify_end(verify, &e, DUO_OK);
}

/* ---- Changed bits are found ---- */

typedef struct flips {
    int64_t planted, above, found,
        alarms; /* above: what a row allows; alarms: where nothing is off */
} flips;

static void judge(const flips *f)
{
    CHECK(f->alarms == 0, "%d false alarms", (int)f->alarms);
    CHECK((double)f->found >= 0.999 * (double)f->above, "found %d of %d above the bound",
          (int)f->found, (int)f->above);
    CHECK(f->above > f->planted / 4, "only %d of %d are above", (int)f->above, (int)f->planted);
    printf("    %d bits changed; %d are above what their row allows, %d of these were found\n",
           (int)f->planted, (int)f->above, (int)f->found);
}

static void count(flips *f, double off, bool found)
{
    f->above += off > 1.0;
    f->found += off > 1.0 && found;
    f->alarms += !(off > 0.0) && found;
}

/* In host memory a wrong result is computed again: C is right, and the status is good. */
static void flips_in_host_memory(void)
{
    test_case("wrong results/flips in host memory");
    test_rng rng = test_rng_for("flips in host memory");
    flips f = {.planted = test_amount(200, 2000, 10000)};
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    for (int64_t n = 0; n < f.planted; n++) {
        product p = make_product(&rng, n % 2 == 1);
        const placed at = {p.a, p.b, p.c};
        const size_t bytes = (size_t)(p.m * p.n) * sizeof(float);
        float *const right = malloc(bytes);
        double off;
        memcpy(right, p.c, bytes);
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 0));
        CHECK_STATUS(DUO_OK, multiply(ctx, &p, p.a, p.b, right));
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, (uint64_t)n));
        const int64_t before = wrong_now();
        const int bit = (int)test_between(&rng, -1, 31);
        CHECK_STATUS(DUO_OK, run_flipped(ctx, &p, &at, DUO_sgemm_cpu_ffma, &rng, bit, &off));
        const bool found = wrong_now() > before;
        count(&f, off, found);
        if (found) CHECK(memcmp(right, p.c, bytes) == 0, "it was not computed again");
        free(right);
        free_product(&p);
    }
    judge(&f);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* On the device nobody waits: duo_synchronize tells, once. */
static void flips_on_the_device(void)
{
    test_case("wrong results/flips on the device");
    if (!test_gpu_side()) return;
    test_rng rng = test_rng_for("flips on the device");
    flips f = {.planted = test_amount(50, 400, 10000)};
    duo_context *const ctx = test_context();
    for (int64_t n = 0; n < f.planted; n++) {
        product p = make_product(&rng, n % 2 == 1);
        const placed at = {on_device(ctx, p.a, p.m * p.k), on_device(ctx, p.b, p.k * p.n),
                           on_device(ctx, p.c, p.m * p.n)};
        double off;
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, (uint64_t)n));
        const int64_t before = wrong_now();
        const int bit = (int)test_between(&rng, -1, 31);
        CHECK_STATUS(DUO_OK, run_flipped(ctx, &p, &at, DUO_sgemm_gpu_ffma, &rng, bit, &off));
        const duo_status told = duo_synchronize(ctx);
        const bool found = wrong_now() > before;
        CHECK_STATUS(found ? DUO_ERR_WRONG : DUO_OK, told);
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
        duo_checked_reset(); /* else it would count as lost */
        count(&f, off, found);
        CHECK_STATUS(DUO_OK, duo_free(ctx, at.a));
        CHECK_STATUS(DUO_OK, duo_free(ctx, at.b));
        CHECK_STATUS(DUO_OK, duo_free(ctx, at.c));
        free_product(&p);
    }
    judge(&f);
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 0));
    test_context_end(ctx);
}

/* The device itself errs in a call on host memory: the program gets the right result all the same,
 * and duo_explain_last says what has happened. */
static void an_error_that_nobody_tells(void)
{
    test_case("wrong results/an error that nobody tells");
    enum { EDGE = 30 };
    if (!test_on_sim()) return;
    test_rng rng = test_rng_for("an error that nobody tells");
    duo_context *const ctx = test_context();
    float *const a = made(&rng, DATA_SIGNED, EDGE * EDGE), *const b =
                                                               made(&rng, DATA_SIGNED, EDGE * EDGE);
    float *const c = made(&rng, DATA_SIGNED, EDGE * EDGE), *const right =
                                                               malloc(EDGE * EDGE * sizeof *c);
    for (int checked = 0; checked <= 1; checked++) {
        duo_decision told = {.size = sizeof told};
        memcpy(right, c, EDGE * EDGE * sizeof *c);
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE, EDGE,
                                       EDGE, 0.5f, a, EDGE, b, EDGE, 0.5f, right, EDGE));
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, checked, 0));
        const int64_t before = wrong_now();
        sim_err(1);
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE, EDGE,
                                       EDGE, 0.5f, a, EDGE, b, EDGE, 0.5f, c, EDGE));
        sim_err(0);
        CHECK(wrong_now() - before == checked, "%d found", (int)(wrong_now() - before));
        double off = 0.0;
        for (int i = 0; i < EDGE * EDGE; i++)
            off = fmax(off, fabs((double)c[i] - (double)right[i]));
        CHECK(checked ? off < 1e-4 : off > 0.1, "%g off", off);
        CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &told));
        if (checked) test_contains(told.note, "was wrong; the CPU computed it again");
        if (!checked) memcpy(c, right, EDGE * EDGE * sizeof *c);
    }
    duo_checked_reset();
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 0));
    test_context_end(ctx);
    free(a);
    free(b);
    free(c);
    free(right);
}

/* The second wrong result of a device is its last. */
static void a_device_that_errs(void)
{
    test_case("wrong results/a device that errs");
    if (!test_on_sim()) return;
    test_rng rng = test_rng_for("a device that errs");
    duo_context *const ctx = test_context();
    product p = make_product(&rng, false);
    const placed at = {on_device(ctx, p.a, p.m * p.k), on_device(ctx, p.b, p.k * p.n),
                       on_device(ctx, p.c, p.m * p.n)};
    double off;
    for (int times = 1; times <= 2; times++) {
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, 0));
        CHECK_STATUS(DUO_OK, run_flipped(ctx, &p, &at, DUO_sgemm_gpu_ffma, &rng, 30, &off));
        const duo_status told = duo_synchronize(ctx);
        CHECK(told == DUO_ERR_WRONG || (times == 2 && told == DUO_ERR_LOST), "%d", told);
        CHECK(duo_device_usable(0) == (times == 1), "after %d", times);
    }
    CHECK_STATUS(DUO_ERR_LOST, multiply(ctx, &p, at.a, at.b, at.c));
    (void)duo_destroy(ctx);
    free_product(&p);
}

/* ---- Right results raise no alarm ---- */

/* Hostile: Inf, NaN, numbers near overflow and underflow; or far apart. */
static void fill(test_rng *rng, test_array *x)
{
    const test_data data = (test_data)test_between(rng, 0, DATA_WIDE);
    test_array_fill(x, rng, data);
    if (test_between(rng, 0, 3) == 0) test_array_spoil(x, rng);
    if (test_between(rng, 0, 3) == 0)
        test_array_scale(x, ldexpf(1.0f, (int)test_between(rng, -120, 90)));
}

static void no_alarm(void)
{
    test_case("wrong results/no alarm");
    static const float factors[] = {0.0f, 1.0f, -1.0f, 0.37f, 1e-30f, 1e30f};
    test_rng rng = test_rng_for("no alarm");
    duo_context *const ctx = test_context();
    const int products = test_amount(300, 3000, 1000000);
    const int64_t before = checked_now();
    for (int n = 0; n < products; n++) {
        const bool row_major = test_between(&rng, 0, 1) == 1;
        const bool ta = test_between(&rng, 0, 1) == 1, tb = test_between(&rng, 0, 1) == 1;
        const int64_t m = test_between(&rng, 1, MOST), k = test_between(&rng, 0, 3 * MOST);
        const int64_t columns = test_between(&rng, 1, MOST);
        const float alpha = factors[test_between(&rng, 0, 5)];
        const float beta = factors[test_between(&rng, 0, 5)];
        test_array a = test_array_matrix(row_major, ta, m, k, test_between(&rng, 0, 3), 1);
        test_array b = test_array_matrix(row_major, tb, k, columns, test_between(&rng, 0, 3), 2);
        test_array c = test_array_matrix(row_major, false, m, columns, test_between(&rng, 0, 3), 3);
        fill(&rng, &a);
        fill(&rng, &b);
        fill(&rng, &c);
        test_placed at[3];
        test_array *const arrays[3] = {&a, &b, &c};
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, (duo_math)test_between(&rng, 0, 3)));
        for (int i = 0; i < 3; i++)
            at[i] = test_put(ctx, (test_place)test_between(&rng, 0, PLACES - 1), arrays[i]);
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, (uint64_t)n));
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, row_major ? DUO_ROW_MAJOR : DUO_COL_MAJOR,
                                       ta ? DUO_TRANS : DUO_NO_TRANS, tb ? DUO_TRANS : DUO_NO_TRANS,
                                       m, columns, k, alpha, at[0].address, a.ld, at[1].address,
                                       b.ld, beta, at[2].address, c.ld));
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 0));
        for (int i = 0; i < 3; i++) test_take(ctx, &at[i]);
        for (int i = 0; i < 3; i++) test_array_free(arrays[i]);
        if (!CHECK(wrong_now() == 0, "%d: %s%s %d x %d x %d, alpha %g, beta %g", n, ta ? "t" : "n",
                   tb ? "t" : "n", (int)m, (int)columns, (int)k, (double)alpha, (double)beta))
            break;
    }
    CHECK(checked_now() - before > products * 8 / 10, "only %d were checked",
          (int)(checked_now() - before));
    test_context_end(ctx);
}

/* A batch by strides, by a list, and in groups. */
static void batches(void)
{
    test_case("wrong results/batches");
    enum { EDGE = 7, COUNT = 5, FLOATS = EDGE * EDGE };
    test_rng rng = test_rng_for("batches that are checked");
    duo_context *const ctx = test_context();
    for (int on_gpu = 0; on_gpu <= (test_gpu_side() ? 1 : 0); on_gpu++) {
        float *const host = made(&rng, DATA_SIGNED, 3 * COUNT * FLOATS);
        float *x = host;
        if (on_gpu) x = on_device(ctx, host, 3 * COUNT * FLOATS);
        float *const a = x, *const b = x + COUNT * FLOATS, *const c = x + 2 * COUNT * FLOATS;
        const float *as[COUNT], *bs[COUNT];
        float *cs[COUNT];
        for (int i = 0; i < COUNT; i++) {
            const int other = (i * 3 + 1) % COUNT;
            as[i] = a + other * FLOATS;
            bs[i] = b + i * FLOATS;
            cs[i] = c + other * FLOATS;
        }
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, 1));
        const int64_t before = checked_now();
        CHECK_STATUS(DUO_OK, duo_sgemm_strided_batched(ctx, DUO_ROW_MAJOR, DUO_TRANS, DUO_NO_TRANS,
                                                       EDGE, EDGE, EDGE, 1.0f, a, EDGE, FLOATS, b,
                                                       EDGE, FLOATS, 0.5f, c, EDGE, FLOATS, COUNT));
        CHECK(checked_now() == before + 1, "%d by strides", (int)(checked_now() - before));
        CHECK_STATUS(DUO_OK,
                     duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE, EDGE,
                                       EDGE, 1.0f, as, EDGE, bs, EDGE, 0.5f, cs, EDGE, COUNT));
        CHECK(checked_now() == before + 1 + COUNT, "%d with those of a list",
              (int)(checked_now() - before));
        const duo_transpose no[2] = {DUO_NO_TRANS, DUO_NO_TRANS};
        const int64_t edge[2] = {EDGE, EDGE - 2}, ld[2] = {EDGE, EDGE}, size[2] = {2, COUNT - 2};
        const float one[2] = {1.0f, 1.0f}, half[2] = {0.5f, 0.0f};
        CHECK_STATUS(DUO_OK, duo_sgemm_grouped(ctx, DUO_COL_MAJOR, 2, no, no, edge, edge, edge, one,
                                               as, ld, bs, ld, half, cs, ld, size));
        CHECK(checked_now() > before + 1 + COUNT && checked_now() <= before + 1 + 2 * COUNT,
              "%d with those of groups", (int)(checked_now() - before));
        CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 1));
        if (on_gpu) CHECK_STATUS(DUO_OK, duo_free(ctx, x));
        free(host);
    }
    CHECK(wrong_now() == 0, "%d alarms", (int)wrong_now());
    test_context_end(ctx);
}

/* ---- Reductions ---- */

static void reductions(void)
{
    test_case("wrong results/reductions");
    enum { N = 20000 };
    test_rng rng = test_rng_for("reductions that are checked");
    duo_context *const ctx = test_context();
    float *const x = made(&rng, DATA_SIGNED, N), sum = 0.0f, again = 0.0f;
    const int64_t before = checked_now();
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &sum));
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, 7));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, N, x, 1, &again));
    CHECK(test_same(sum, again) && checked_now() == before + 1 && wrong_now() == 0, "a right sum");
    duo_context *const c = duo_context_of(ctx);
    duo_call call = duo_call_reduction(DUO_SSUM, N);
    call.operand[DUO_X].address = x;
    call.operand[DUO_RESULT].address = &again;
    duo_verify *const verify = duo_verify_begin(c, &call);
    CHECK(verify != NULL, "not checked");
    static duo_execution e;
    e.ctx = c;
    e.call = &call;
    e.choice = e.own;
    e.conditions = duo_policy_conditions(&c->policy, &c->resources);
    e.own[0].algorithm =
        duo_algorithm_of(test_gpu_side() ? DUO_ssum_gpu_shuffle : DUO_ssum_cpu_lanes);
    again = nextafterf(again, 2e30f);
    CHECK_STATUS(DUO_OK, duo_verify_end(verify, &e, DUO_OK));
    CHECK(test_same(sum, again) && wrong_now() == 1, "the last bit was not put right");
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 0));
    duo_checked_reset();
    test_context_end(ctx);
    free(x);
}

/* ---- Which calls ---- */

static void rates(void)
{
    test_case("wrong results/rates");
    enum { CALLS = 2000 };
    float one = 1.0f, c;
    static bool first[CALLS];
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_verify(ctx, -0.1, 0));
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_verify(ctx, 1.1, 0));
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_verify(ctx, (double)NAN, 0));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_verify(test_dead_context(), 0.5, 0));
    int64_t only = 0;
    CHECK_STATUS(DUO_ERR_NULL, duo_get_verified(NULL, NULL));
    CHECK_STATUS(DUO_ERR_NULL, duo_get_verified(&only, NULL));
    CHECK_STATUS(DUO_ERR_NULL, duo_get_verified(NULL, &only));
    for (int run = 0; run < 3; run++) { /* two with one seed, one with another */
        int drawn = 0, other = 0;
        CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.25, run < 2 ? 11 : 12));
        for (int i = 0; i < CALLS; i++) {
            const int64_t before = checked_now();
            CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 1, 1, 1,
                                           1.0f, &one, 1, &one, 1, 0.0f, &c, 1));
            const bool now = checked_now() > before;
            drawn += now;
            other += now != first[i];
            if (run == 0) first[i] = now;
        }
        CHECK(drawn > CALLS / 5 && drawn < CALLS * 3 / 10, "%d of %d", drawn, CALLS);
        if (run == 1) CHECK(other == 0, "%d other calls with the same seed", other);
        if (run == 2) CHECK(other > 0, "the same calls with another seed");
    }
    CHECK(wrong_now() == 0, "%d alarms", (int)wrong_now());
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

static const test_entry tests[] = {{"rates", rates},
                                   {"no_alarm", no_alarm},
                                   {"batches", batches},
                                   {"reductions", reductions},
                                   {"flips_in_host_memory", flips_in_host_memory},
                                   {"flips_on_the_device", flips_on_the_device},
                                   {"an_error_that_nobody_tells", an_error_that_nobody_tells},
                                   {"a_device_that_errs", a_device_that_errs},
                                   {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "wrong_results", tests); }
