/*
 * test_verify_failures.c - checked results (duo_set_verify) while something fails: a call of the
 * backend, an allocation, or the device. A check that fails is left out and raises no alarm; a
 * wrong result that was found is computed again, or told of.
 */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "call/context.h"
#include "call/verify.h"
#include "data/checked.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/failing_memory.h"
#include "support/harness.h"

enum { EDGE = 6, COUNT = 3, FLOATS = EDGE * EDGE, ALL = COUNT * FLOATS, BYTES = ALL * 4 };

/* ---- The call ---- */

typedef enum place { HOST, DEVICE, KEPT } place;
typedef enum form { ALONE, BY_STRIDES, BY_LISTS } form;

typedef struct situation {
    const char *name;
    place at[DUO_OPERANDS];
    int devices; /* for the call */
} situation;

static const situation situations[] = {
    {"in host memory", {HOST, HOST, HOST}, 1},    {"on the device", {DEVICE, DEVICE, DEVICE}, 1},
    {"C on the device", {HOST, HOST, DEVICE}, 1}, {"kept", {KEPT, KEPT, KEPT}, 1},
    {"kept, two devices", {KEPT, KEPT, KEPT}, 2}, {"C in host memory", {DEVICE, DEVICE, HOST}, 1}};
enum { SITUATIONS = sizeof situations / sizeof situations[0] };

/* err: the device errs in its first product. */
typedef struct variant {
    form form;
    float beta;
    duo_math math;
    bool err;
} variant;

static const variant variants[] = {
    {ALONE, 1.0f, DUO_MATH_ACCURATE, false},  {ALONE, 1.0f, DUO_MATH_ACCURATE, true},
    {ALONE, 0.0f, DUO_MATH_FLOAT64, true},    {BY_STRIDES, 1.0f, DUO_MATH_ACCURATE, false},
    {BY_STRIDES, 0.0f, DUO_MATH_IEEE, true},  {BY_STRIDES, 1.0f, DUO_MATH_FLOAT64, true},
    {BY_LISTS, 1.0f, DUO_MATH_ACCURATE, true}};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static duo_context *ctx;   /* of the calls; its device is not open yet */
static duo_context *owner; /* of the memory */
static const situation *here;
static float host[DUO_OPERANDS][ALL], was[ALL]; /* was: C before the call */
static float *at[DUO_OPERANDS];

static duo_status multiply(const variant *v)
{
    /* Not in the order of their addresses: then the products are no batch by strides. */
    const float *const a[COUNT] = {at[0] + FLOATS, at[0], at[0] + 2 * FLOATS};
    const float *const b[COUNT] = {at[1] + FLOATS, at[1], at[1] + 2 * FLOATS};
    float *const c[COUNT] = {at[2] + FLOATS, at[2], at[2] + 2 * FLOATS};
    if (v->form == BY_STRIDES)
        return duo_sgemm_strided_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE,
                                         EDGE, 1.0f, at[0], EDGE, FLOATS, at[1], EDGE, FLOATS,
                                         v->beta, at[2], EDGE, FLOATS, COUNT);
    if (v->form == BY_LISTS)
        return duo_sgemm_batched(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE,
                                 1.0f, a, EDGE, b, EDGE, v->beta, c, EDGE, COUNT);
    return duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f, at[0],
                     EDGE, at[1], EDGE, v->beta, at[2], EDGE);
}

/* How many elements of C are not the right ones. All are small integers, so each is exact. */
static int wrong_elements(const variant *v, const float *c)
{
    int wrong = 0;
    for (int e = 0; e < ALL; e++) {
        const int p = e / FLOATS, j = e % FLOATS / EDGE, i = e % EDGE;
        float sum = v->beta * was[e];
        for (int l = 0; l < EDGE; l++)
            sum += host[0][p * FLOATS + l * EDGE + i] * host[1][p * FLOATS + j * EDGE + l];
        if (v->form == ALONE && p > 0) sum = was[e];
        wrong += !(c[e] == sum);
    }
    return wrong;
}

static void begin(const situation *s, const variant *v)
{
    test_reset();
    duo_checked_reset();
    here = s;
    if (s->devices > 1) sim_set_devices(s->devices);
    ctx = test_context();
    if (s->devices > 1) CHECK_STATUS(DUO_OK, duo_set_devices(ctx, (const int[]){0, 1}, 2));
    owner = test_context();
    CHECK_STATUS(DUO_OK, duo_set_math(ctx, v->math));
    bool kept = false;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        void *there = host[i];
        for (int e = 0; e < ALL; e++) host[i][e] = (float)((e * (i + 2) + i) % 7 - 3);
        if (s->at[i] == DEVICE) {
            CHECK_STATUS(DUO_OK, duo_malloc(owner, BYTES, &there));
            CHECK_STATUS(DUO_OK, duo_copy(owner, there, host[i], BYTES));
        }
        if (s->at[i] == KEPT) CHECK_STATUS(DUO_OK, duo_keep(owner, there, BYTES));
        kept |= s->at[i] == KEPT;
        at[i] = there;
    }
    if (kept) CHECK_STATUS(DUO_OK, multiply(v)); /* sends them */
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_copy(owner, was, at[DUO_C], BYTES));
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, 3));
}

/* A lost device's memory cannot be given back with a good status. */
static void end(bool lost)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_status status = DUO_OK;
        if (here->at[i] == DEVICE) status = duo_free(owner, at[i]);
        if (here->at[i] == KEPT) status = duo_release(owner, at[i]);
        CHECK(status == DUO_OK || lost, "operand %d: %d", i, (int)status);
    }
    const duo_status status = duo_destroy(ctx);
    CHECK(status == DUO_OK || lost, "%d", (int)status);
    CHECK_STATUS(DUO_OK, duo_destroy(owner));
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

static int64_t counted(bool of_wrong)
{
    int64_t checked = 0, wrong = 0;
    CHECK_STATUS(DUO_OK, duo_get_verified(&checked, &wrong));
    return of_wrong ? wrong : checked;
}

/* The call has returned this, and so has whoever waited for it. May it have, and is C right? */
static void judge(const variant *v, duo_status called, duo_status waited)
{
    float c[ALL];
    const duo_status told = called != DUO_OK ? called : waited;
    CHECK(told == DUO_OK || told == DUO_ERR_DEVICE || told == DUO_ERR_MEMORY ||
              told == DUO_ERR_LOST || (told == DUO_ERR_WRONG && v->err),
          "%s", duo_status_string(told));
    CHECK(v->err || counted(true) == 0, "a right result is called wrong");
    if (told != DUO_OK || (v->err && counted(false) == 0)) return; /* a check may be left out */
    if (v->err && v->form == BY_LISTS && counted(false) < COUNT) return;
    if (duo_copy(owner, c, at[DUO_C], BYTES) != DUO_OK) return;
    CHECK(wrong_elements(v, c) == 0, "%d wrong elements, %d checked", wrong_elements(v, c),
          (int)counted(false));
}

/* Nothing fails any more: the same call is right, and checked. */
static void again(const variant *v)
{
    const variant well = {v->form, v->beta, v->math, false};
    const int64_t checked = counted(false), wrong = counted(true);
    float c[ALL];
    CHECK_STATUS(DUO_OK, duo_copy(owner, at[DUO_C], was, BYTES));
    CHECK_STATUS(DUO_OK, multiply(&well));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_copy(owner, c, at[DUO_C], BYTES));
    CHECK(wrong_elements(&well, c) == 0, "%d wrong elements later", wrong_elements(&well, c));
    CHECK(counted(false) > checked && counted(true) == wrong, "later: %d checked, %d wrong",
          (int)(counted(false) - checked), (int)(counted(true) - wrong));
}

/* ---- Calls of the backend fail ---- */

static const struct {
    sim_kind kind;
    const char *name;
    bool memory; /* may there be no memory for it? */
} kinds[] = {
    {SIM_ALLOCATE, "allocate", true}, {SIM_PIN, "pin", true},    {SIM_CLASSIFY, "classify", false},
    {SIM_OPEN, "open", true},         {SIM_COPY, "copy", false}, {SIM_LAUNCH, "launch", false},
    {SIM_MARK, "mark", false},        {SIM_WAIT, "wait", false}, {SIM_IDLE, "idle", false},
    {SIM_AFTER, "after", false},      {SIM_LOAD, "load", false}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* False: there is no nth call. */
static bool backend_fails(const situation *s, const variant *v, int kind, duo_status how, int nth)
{
    begin(s, v);
    const uint64_t before = sim_count(kinds[kind].kind);
    sim_fail(kinds[kind].kind, nth, how, 1);
    sim_err(v->err);
    const duo_status called = multiply(v), waited = duo_synchronize(ctx);
    sim_err(0);
    sim_fail(kinds[kind].kind, 0, how, 0);
    const bool reached = sim_count(kinds[kind].kind) - before >= (uint64_t)nth;
    const bool lost = !duo_device_usable(0);
    judge(v, called, waited);
    if (!lost && reached) again(v);
    end(lost);
    return reached;
}

static void failures_of_the_backend(void)
{
    static const duo_status how[] = {DUO_ERR_DEVICE, DUO_ERR_LOST, DUO_ERR_MEMORY};
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    for (int s = 0; s < SITUATIONS; s++)
        for (int v = 0; v < VARIANTS; v++)
            for (int kind = 0; kind < KINDS; kind++)
                for (int h = 0; h < (kinds[kind].memory ? 3 : 2); h++)
                    for (int nth = 1;; nth += test_amount(3, 1, 1)) {
                        test_case("verify failures/%s/%d/%s/%d/%d", situations[s].name, v,
                                  kinds[kind].name, (int)how[h], nth);
                        if (!backend_fails(&situations[s], &variants[v], kind, how[h], nth)) break;
                    }
}

/* ---- Results that change before their check ---- */

/* As after a call that one algorithm did. */
static duo_status end_of(duo_verify *verify, duo_call *call, duo_algorithm_id by)
{
    static duo_execution e;
    memset(&e, 0, sizeof e);
    e.ctx = duo_context_of(ctx);
    e.call = call;
    e.choice = e.own;
    e.own[0].algorithm = duo_algorithm_of(by);
    e.conditions = duo_policy_conditions(&e.ctx->policy, &e.ctx->resources);
    return duo_verify_end(verify, &e, DUO_OK);
}

/* Before the nth allocation of the check, and of what computes a wrong result again. */
static void products_without_memory(void)
{
    static const duo_algorithm_id by[] = {DUO_sgemm_cpu_ffma, DUO_sgemm_cpu_openblas};
    if (!fail_memory_at(0)) {
        test_skip("a sanitizer has a heap of its own");
        return;
    }
    for (int v = 0; v < 3; v++)
        for (int nth = 0; nth < 8; nth++) {
            const variant *const how = &variants[v];
            test_case("verify failures/no memory/%d/%d", v, nth);
            begin(&situations[0], how);
            duo_context *const c = duo_context_of(ctx);
            duo_call call = duo_call_sgemm(false, false, EDGE, EDGE, EDGE, 1.0f, how->beta);
            for (int i = 0; i < DUO_OPERANDS; i++) call.operand[i].address = at[i];
            duo_verify *const verify = duo_verify_begin(c, &call);
            CHECK(verify != NULL, "it is not checked");
            CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 0));
            CHECK_STATUS(DUO_OK, multiply(how));
            at[DUO_C][7] += 5.0f;
            (void)fail_memory_at(nth);
            const duo_status told = end_of(verify, &call, by[v % 2]);
            (void)fail_memory_at(0);
            const bool found = counted(true) == 1;
            CHECK(nth == 0 ? found && told == DUO_OK : told == DUO_OK || found, "found %d: %s",
                  found, duo_status_string(told));
            CHECK(told == DUO_OK || told == DUO_ERR_WRONG, "%s", duo_status_string(told));
            if (found && told == DUO_OK)
                CHECK(wrong_elements(how, at[DUO_C]) == 0, "it was not computed again");
            end(false);
        }
}

enum { LENGTH = 20000 };

/* Where x and the result are. */
static const place reduced[][2] = {{HOST, HOST}, {DEVICE, HOST}, {HOST, DEVICE}, {DEVICE, DEVICE}};

static float *placed(const float *x, place where, int64_t floats)
{
    void *there = NULL;
    if (where == HOST) return (float *)(uintptr_t)x;
    CHECK_STATUS(DUO_OK, duo_malloc(owner, (size_t)floats * sizeof *x, &there));
    CHECK_STATUS(DUO_OK, duo_copy(owner, there, x, (size_t)floats * sizeof *x));
    return there;
}

/* A sum is changed, and the nth call of a kind fails while it is checked. False: there is none. */
static bool changed_sum(const place where[2], duo_algorithm_id by, int kind, duo_status how,
                        int nth)
{
    static float x[LENGTH];
    float here_too = 0.0f, sum = 0.0f;
    test_reset();
    duo_checked_reset();
    for (int i = 0; i < LENGTH; i++) x[i] = (float)(i % 5);
    ctx = test_context();
    owner = test_context();
    float *const from = placed(x, where[0], LENGTH), *const to = placed(&here_too, where[1], 1);
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, 0));
    duo_call call = duo_call_reduction(DUO_SSUM, LENGTH);
    call.operand[DUO_X].address = from;
    call.operand[DUO_RESULT].address = to;
    duo_verify *const verify = duo_verify_begin(duo_context_of(ctx), &call);
    CHECK(verify != NULL, "it is not checked");
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 0));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, LENGTH, from, 1, to));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_copy(owner, &sum, to, sizeof sum));
    CHECK(sum == 2.0f * LENGTH, "%g", (double)sum);
    sum += 1.0f;
    CHECK_STATUS(DUO_OK, duo_copy(owner, to, &sum, sizeof sum));
    CHECK_STATUS(DUO_OK, duo_synchronize(owner));
    const uint64_t before = sim_count(kinds[kind].kind);
    sim_fail(kinds[kind].kind, nth, how, 1);
    const duo_status told = end_of(verify, &call, by);
    sim_fail(kinds[kind].kind, 0, how, 0);
    const bool reached = sim_count(kinds[kind].kind) - before >= (uint64_t)nth;
    const bool lost = !duo_device_usable(0);
    CHECK(told == DUO_OK || (reached && told == DUO_ERR_WRONG), "%s", duo_status_string(told));
    CHECK(reached || counted(true) == 1, "it was not found");
    if (told == DUO_OK && counted(true) == 1 && duo_copy(owner, &sum, to, sizeof sum) == DUO_OK)
        CHECK(sum == 2.0f * LENGTH, "%g was not put right", (double)sum);
    if (where[0] == DEVICE) CHECK_STATUS(DUO_OK, duo_free(owner, from));
    if (where[1] == DEVICE) CHECK_STATUS(DUO_OK, duo_free(owner, to));
    const duo_status destroyed = duo_destroy(ctx);
    CHECK(destroyed == DUO_OK || lost, "%d", (int)destroyed);
    (void)duo_destroy(owner);
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
    return reached;
}

static void changed_sums(void)
{
    static const duo_status how[] = {DUO_ERR_DEVICE, DUO_ERR_LOST, DUO_ERR_MEMORY};
    for (int w = 0; w < 4; w++)
        for (int side = 0; side < 2; side++)
            for (int kind = 0; kind < KINDS; kind++)
                for (int h = 0; h < 3; h++)
                    for (int nth = 1; nth < 20; nth++) {
                        test_case("verify failures/sums/%d/%d/%s/%d/%d", w, side, kinds[kind].name,
                                  (int)how[h], nth);
                        if (!changed_sum(reduced[w],
                                         side == 1 ? DUO_ssum_gpu_shuffle : DUO_ssum_cpu_lanes,
                                         kind, how[h], nth))
                            break;
                    }
}

/* The device errs when it checks a sum of the CPU: the sum was right. */
static void a_check_that_errs(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("verify failures/the check errs");
    static float x[LENGTH];
    float sum = 0.0f;
    for (int i = 0; i < LENGTH; i++) x[i] = (float)(i % 5);
    duo_checked_reset();
    ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK_STATUS(DUO_OK, duo_set_path(ctx, DUO_PATH_CPU));
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, 0));
    sim_err(1);
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, LENGTH, x, 1, &sum));
    sim_err(0);
    CHECK(sum == 2.0f * LENGTH, "%g", (double)sum);
    CHECK(counted(false) == 1 && counted(true) == 0, "%d checked, %d wrong", (int)counted(false),
          (int)counted(true));
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 0.0, 0));
    test_context_end(ctx);
    duo_checked_reset();
}

/* ---- Calls without a check ---- */

static void not_checked(void)
{
    static float x[LENGTH];
    float sum = 0.0f;
    for (int i = 0; i < LENGTH; i++) x[i] = (float)(i % 5);
    duo_checked_reset();
    ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, 0));
    test_case("verify failures/the result is in the vector"); /* it cannot be computed again */
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, LENGTH, x, 1, &x[LENGTH / 2]));
    CHECK(x[LENGTH / 2] == 2.0f * LENGTH && counted(false) == 0, "%g, %d checked",
          (double)x[LENGTH / 2], (int)counted(false));
    x[LENGTH / 2] = 0.0f;
    test_case("verify failures/another rounding"); /* the bounds are for rounding to nearest */
    CHECK(fesetround(FE_UPWARD) == 0, "no other rounding");
    const duo_status status = duo_ssum(ctx, LENGTH, x, 1, &sum);
    CHECK(fesetround(FE_TONEAREST) == 0, "no rounding to nearest");
    CHECK_STATUS(DUO_OK, status);
    CHECK(sum == 2.0f * LENGTH && counted(false) == 0, "%g, %d checked", (double)sum,
          (int)counted(false));
    CHECK_STATUS(DUO_OK, duo_ssum(ctx, LENGTH, x, 1, &sum));
    CHECK(counted(false) == 1 && counted(true) == 0, "%d checked", (int)counted(false));
    test_context_end(ctx);
    if (!test_on_sim()) return;
    test_case("verify failures/the call fails"); /* there is no result */
    void *there = NULL;
    ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, sizeof x, &there));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, there, x, sizeof x));
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    CHECK_STATUS(DUO_OK, duo_set_verify(ctx, 1.0, 0));
    sim_fail(SIM_LAUNCH, 1, DUO_ERR_LOST, 1);
    CHECK_STATUS(DUO_ERR_LOST, duo_ssum(ctx, LENGTH, there, 1, &sum));
    CHECK(counted(false) == 1, "%d checked", (int)counted(false));
    (void)duo_free(ctx, there);
    (void)duo_destroy(ctx);
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

static const test_entry tests[] = {{"failures_of_the_backend", failures_of_the_backend},
                                   {"products_without_memory", products_without_memory},
                                   {"changed_sums", changed_sums},
                                   {"a_check_that_errs", a_check_that_errs},
                                   {"not_checked", not_checked},
                                   {NULL, NULL}};

int main(int argc, char **argv) { return test_main(argc, argv, "verify_failures", tests); }
