/*
 * test_streamed_products.c - products of arrays in host memory, which pass through the device in
 * panels or, if they do not fit, in blocks and in slabs of k: against the oracle, and as an order
 * of events. On the simulated device there is room for a few MB beside the operands that are on it.
 * On a GPU the cap is DUOBLAS_DEVICE_MEMORY.
 */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/context.h"
#include "call/execute.h"
#include "call/policy.h"
#include "data/locate.h"
#include "gpu/backend/devices.h"
#include "sim/clock.h"
#include "sim/sim.h"
#include "support/calls.h"
#include "support/harness.h"
#include "support/places.h"
#include "support/problems.h"
#include "support/run_algorithm.h"

enum { MB = 1000000 };

/* A GPU computes products that are this much larger in the time of the simulated one. */
static int64_t scale(void) { return test_on_sim() ? 1 : 4; }

/* ---- Problems ---- */

/* Where the operands are; which of them are under duo_prepare. */
typedef struct mixture {
    test_place place[DUO_OPERANDS];
    bool prepared[2];
} mixture;

static bool on_device(test_place place) { return place == PLACE_DEVICE || place == PLACE_KEPT; }

static test_problem random_problem(test_rng *rng, int64_t most, int64_t most_k)
{
    test_problem p = test_problem_random(rng);
    p.m = test_between(rng, 1, most);
    p.n = test_between(rng, 1, most);
    p.k = test_between(rng, 0, most_k);
    if (p.alpha == 0.0f && test_between(rng, 0, 1) != 0) p.alpha = 0.75f;
    p.data = test_between(rng, 0, 2) == 0 ? DATA_INTEGER : DATA_SIGNED;
    return p;
}

/* At least one operand that is touched is in host memory. */
static mixture random_mixture(test_rng *rng)
{
    mixture x;
    for (int i = 0; i < DUO_OPERANDS; i++)
        x.place[i] = (test_place)test_between(rng, 0, PLACES - 1);
    if (test_between(rng, 0, 2) == 0) x.place[DUO_A] = x.place[DUO_B] = PLACE_PAGEABLE;
    if (on_device(x.place[DUO_A]) && on_device(x.place[DUO_B]) && on_device(x.place[DUO_C]))
        x.place[DUO_C] = PLACE_PINNED;
    for (int i = 0; i < 2; i++)
        x.prepared[i] = on_device(x.place[i]) && test_between(rng, 0, 1) != 0;
    return x;
}

static void name_case(const test_problem *p, const mixture *x)
{
    char where[80];
    snprintf(where, sizeof where, "%s%s,%s%s,%s", test_place_name(x->place[0]),
             x->prepared[0] ? "+" : "", test_place_name(x->place[1]), x->prepared[1] ? "+" : "",
             test_place_name(x->place[2]));
    test_problem_name(p, "streamed", where);
}

/* Each slab of k after the first rounds C twice more. */
static void widen(const test_problem *p, test_operands *o)
{
    const double u = 0x1p-24, slabs = ceil((double)p->k / 2048.0);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double *const bound = &o->bound[i * p->n + j];
            const float before = o->c_before.data[oracle_index(p->layout, i, j, o->c.ld)];
            const double of_c = p->beta == 0.0f ? 0.0 : fabs((double)p->beta * (double)before);
            const double of_product = (*bound - 2.0 * u * of_c) / ((double)(p->k + 3) * u);
            *bound += 2.0 * slabs * u * (of_c + fmax(of_product, 0.0));
        }
}

/* Sums in float64 are rounded to float32 only at the end. */
static void round_once(const test_problem *p, test_operands *o)
{
    for (int64_t i = 0; i < p->m * p->n; i++)
        o->bound[i] = 0x1.02p-24 * fabs(o->want[i]) + 0x1p-26 * o->bound[i];
}

/* Plans seen so far. */
typedef struct plans {
    int streamed, held, blocks, slabs, by_cpu;
} plans;

static void count_plan(duo_context *ctx, plans *met)
{
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    const duo_plan *const plan = &duo_context_of(ctx)->resources.plan;
    if (d.algorithm == NULL) return; /* there was nothing to do */
    met->by_cpu += d.side == DUO_SIDE_CPU;
    if (d.side == DUO_SIDE_CPU || plan->count == 0 || !plan->ran) return;
    bool cut = false;
    for (int i = 0; i < plan->count; i++)
        cut |= plan->step[i].kind == DUO_STEP_MULTIPLY && !plan->step[i].starts;
    met->streamed++;
    met->held += plan->held;
    met->blocks += !plan->held;
    met->slabs += cut;
}

/* Through the public function. The operands that are not C must not change. */
static void run_public(duo_context *ctx, const test_problem *p, const mixture *x, plans *met,
                       test_rng *rng)
{
    name_case(p, x);
    test_operands o = test_operands_make(p, rng);
    widen(p, &o);
    const test_array before[2] = {test_array_copy(&o.a), test_array_copy(&o.b)};
    test_array *const arrays[] = {&o.a, &o.b, &o.c};
    test_placed there[DUO_OPERANDS];
    for (int i = 0; i < DUO_OPERANDS; i++) there[i] = test_put(ctx, x->place[i], arrays[i]);
    for (int i = 0; i < 2; i++)
        if (x->prepared[i] && arrays[i]->bytes > 0)
            CHECK_STATUS(DUO_OK, duo_prepare(ctx, there[i].address, arrays[i]->bytes));
    const duo_status status = test_problem_multiply(
        ctx, p, &o, (float *const[]){there[0].address, there[1].address, there[2].address});
    if (met != NULL) count_plan(ctx, met);
    for (int i = DUO_OPERANDS - 1; i >= 0; i--) test_take(ctx, &there[i]);
    test_operands_check(p, &o, o.bound, status);
    for (int i = 0; i < 2; i++) {
        CHECK(test_array_equal(arrays[i], &before[i]), "operand %d has changed", i);
        test_array_free(&(test_array){.block = before[i].block});
    }
    test_operands_free(&o);
}

/* Room for the operands on the device, with twice as much for prepared ones, and `room` more. */
static void set_room(const test_problem *p, const mixture *x, int64_t room)
{
    const int64_t elements[DUO_OPERANDS] = {(p->m + 16) * (p->k + 16), (p->n + 16) * (p->k + 16),
                                            (p->m + 16) * (p->n + 16)};
    if (!test_on_sim()) return;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (on_device(x->place[i])) room += 4 * elements[i] + 4096;
        if (i < 2 && x->prepared[i]) room += 4 * elements[i] + 4096;
    }
    sim_set_memory((uint64_t)room);
}

static void check_met(const plans *met, int streamed, int blocks, int slabs)
{
    printf("      %d streamed: %d held, %d in blocks, %d in slabs; %d by the CPU\n", met->streamed,
           met->held, met->blocks, met->slabs, met->by_cpu);
    CHECK(met->by_cpu == 0, "%d products were left to the CPU", met->by_cpu);
    if (!test_on_sim()) return;
    CHECK(met->streamed >= streamed && met->blocks >= blocks && met->slabs >= slabs,
          "too few: %d streamed, %d in blocks, %d in slabs", met->streamed, met->blocks,
          met->slabs);
}

/* ---- Right results ---- */

static void everything_fits(void)
{
    test_rng rng = test_rng_for("streamed, fits");
    plans met = {0};
    duo_context *const ctx = test_context();
    for (int i = 0; i < 150; i++) {
        const test_problem p = random_problem(&rng, 300 * scale(), 200 * scale());
        const mixture x = random_mixture(&rng);
        run_public(ctx, &p, &x, &met, &rng);
    }
    check_met(&met, 100, 0, 0);
    test_context_end(ctx);
    if (test_on_sim()) CHECK(sim_violations() == 0, "the backend's rules were broken");
}

/* Several panels of each operand, of more than a MiB. */
static void panels(void)
{
    test_rng rng = test_rng_for("streamed panels");
    plans met = {0};
    duo_context *const ctx = test_context();
    for (int i = 0; i < 12; i++) {
        test_problem p = random_problem(&rng, 100, 100);
        mixture x = random_mixture(&rng);
        x.place[i % 3] = i % 2 == 0 ? PLACE_PINNED : PLACE_PAGEABLE;
        x.prepared[0] &= on_device(x.place[0]);
        x.prepared[1] &= on_device(x.place[1]);
        p.alpha = 1.0f;
        if (i % 3 == 0) {
            p.m += 1000, p.n += 900, p.k += 40;
        } else if (i % 3 == 1) {
            p.m += 200, p.n += 200, p.k += 4500;
            x = (mixture){.place = {PLACE_PINNED, PLACE_PAGEABLE, PLACE_PINNED}};
        } else {
            p.m += 3000, p.n += 300;
        }
        run_public(ctx, &p, &x, &met, &rng);
    }
    check_met(&met, 12, 0, 0);
    test_context_end(ctx);
}

static void little_memory(void)
{
    test_rng rng = test_rng_for("streamed, little memory");
    plans met = {0};
    for (int i = 0; i < 80; i++) {
        test_problem p = random_problem(&rng, 500 * scale(), 200 * scale());
        mixture x = random_mixture(&rng);
        const bool deep = i % 8 == 0;
        if (deep) { /* 128 x 2048 of A and B, as sent and as packed, twice each, take 8.4 MB */
            p.m = test_between(&rng, 130, 180);
            p.n = test_between(&rng, 130, 180);
            p.k = test_between(&rng, 4200, 5000);
            if (p.alpha == 0.0f) p.alpha = 1.0f;
            x = (mixture){
                .place = {PLACE_PAGEABLE, i % 16 == 0 ? PLACE_PINNED : PLACE_PAGEABLE, x.place[2]}};
        }
        test_reset();
        if (!deep && i % 2 != 0) p.m += 200 * scale(), p.n += 200 * scale();
        /* Room for the operands and little more: dispatch wants that much for small ones. */
        const int64_t bytes = 4 * (p.m * p.k + p.k * p.n + p.m * p.n);
        const int64_t room = bytes / 100 * test_between(&rng, 102, 140);
        set_room(&p, &x, deep ? 12 * MB : room < MB * 5 / 4 ? MB * 5 / 4 : room);
        duo_context *const ctx = test_context();
        for (int again = 0; again < 2; again++) run_public(ctx, &p, &x, &met, &rng);
        test_context_end(ctx);
        if (test_on_sim()) CHECK(sim_violations() == 0, "the backend's rules were broken");
        if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    }
    check_met(&met, 100, 30, 15);
}

static void without_pinned_memory(void)
{
    if (!test_on_sim()) {
        test_skip("pinned memory cannot be forbidden");
        return;
    }
    test_rng rng = test_rng_for("streamed, none pinned");
    plans met = {0};
    for (int i = 0; i < 30; i++) {
        test_problem p = random_problem(&rng, 400, 200);
        const mixture x = random_mixture(&rng);
        test_reset();
        sim_set_pinned(0);
        if (i % 2 != 0) {
            p.m += 300, p.n += 200, p.k += 60;
            set_room(&p, &x, 22 * (MB / 10));
        }
        duo_context *const ctx = test_context();
        run_public(ctx, &p, &x, &met, &rng);
        test_context_end(ctx);
        CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    }
    check_met(&met, 20, 2, 0);
}

/* ---- Every algorithm ---- */

/* The simulated device's algorithms are one, but for the maths that they serve: one of each is
 * kept. Returns how many. */
static int without_doubles(const duo_algorithm *algorithm[], int count)
{
    unsigned met = 0;
    int kept = 0;
    for (int r = 0; r < count; r++) {
        const unsigned kind =
            1u << (test_algorithm_rounds(algorithm[r])                    ? DUO_MATH_TF32
                   : duo_algorithm_serves(algorithm[r], DUO_MATH_FLOAT64) ? DUO_MATH_FLOAT64
                                                                          : DUO_MATH_ACCURATE);
        if ((met & kind) == 0) algorithm[kept++] = algorithm[r];
        met |= kind;
    }
    return kept;
}

static void each_algorithm(void)
{
    test_rng rng = test_rng_for("streamed algorithms");
    const duo_algorithm *algorithms[DUO_CANDIDATES];
    int count = test_algorithms(DUO_SGEMM, algorithms);
    if (test_on_sim()) count = without_doubles(algorithms, count);
    int runs = 0;
    for (int r = 0; r < count; r++)
        for (int i = 0; i < 24; i++) {
            test_problem p = random_problem(&rng, 400 * scale(), 200 * scale());
            p.layout = DUO_COL_MAJOR;
            if (p.alpha == 0.0f) p.alpha = 2.0f;
            if (i % 6 == 0) p.m = 130, p.n += 100, p.k += 4200;
            p.k += i % 6 == 1;
            const mixture x = {.place = {PLACE_PAGEABLE, i % 2 == 0 ? PLACE_PINNED : PLACE_DEVICE,
                                         i % 4 < 2 ? PLACE_PAGEABLE : PLACE_PINNED}};
            test_reset();
            if (i % 3 == 1) set_room(&p, &x, 3 * MB);
            if (i % 6 == 0) set_room(&p, &x, 12 * MB); /* k is cut, or the algorithm declines */
            duo_context *const ctx = test_context();
            CHECK_STATUS(DUO_OK, duo_context_open(duo_context_of(ctx)));
            test_problem_name(&p, "streamed", algorithms[r]->name);
            test_operands o = test_operands_make(&p, &rng);
            if (test_algorithm_rounds(algorithms[r]))
                memcpy(o.bound, o.tf32_bound, (size_t)(p.m * p.n) * sizeof *o.bound);
            if (duo_algorithm_serves(algorithms[r], DUO_MATH_FLOAT64))
                round_once(&p, &o);
            else
                widen(&p, &o);
            test_array *const arrays[] = {&o.a, &o.b, &o.c};
            test_placed there[DUO_OPERANDS];
            for (int n = 0; n < DUO_OPERANDS; n++) there[n] = test_put(ctx, x.place[n], arrays[n]);
            duo_call call = test_problem_call(&p, &o);
            for (int n = 0; n < DUO_OPERANDS; n++) call.operand[n].address = there[n].address;
            CHECK_STATUS(DUO_OK, duo_locate(0, &call));
            const duo_conditions conditions = duo_policy_conditions(
                &duo_context_of(ctx)->policy, &duo_context_of(ctx)->resources);
            bool partly = false;
            duo_outcome outcome = DUO_DECLINED;
            if (algorithms[r]->accepts(&call, &conditions)) {
                outcome =
                    duo_execute_by(duo_context_of(ctx), &call, algorithms[r], &conditions, &partly);
                CHECK(!partly, "a part of C was computed");
            }
            for (int n = 0; n < DUO_OPERANDS; n++) test_take(ctx, &there[n]);
            if (outcome != DUO_DECLINED) test_operands_check(&p, &o, o.bound, outcome);
            runs += outcome != DUO_DECLINED;
            test_operands_free(&o);
            test_context_end(ctx);
        }
    printf("      %d algorithms, %d products\n", count, runs);
    CHECK(runs > 0, "nothing ran");
}

/* ---- Threads ---- */

enum { THREADS = 4 };

static void *call_in_thread(void *seed)
{
    char label[40];
    snprintf(label, sizeof label, "streamed in thread %d", *(const int *)seed);
    test_rng rng = test_rng_for(label);
    duo_context *const ctx = test_context();
    for (int i = 0; i < 15; i++) {
        const test_problem p = random_problem(&rng, 250, 150);
        const mixture x = random_mixture(&rng);
        run_public(ctx, &p, &x, NULL, &rng);
    }
    test_context_end(ctx);
    return NULL;
}

/* Contexts share a device, which has room for blocks of one or two of them at a time. */
static void contexts(void)
{
    for (int round = 0; round < 2; round++) {
        test_reset();
        if (test_on_sim()) sim_set_delay(20);
        if (test_on_sim() && round != 0) sim_set_memory(6 * MB);
        pthread_t thread[THREADS];
        int seed[THREADS];
        for (int i = 0; i < THREADS; i++) {
            seed[i] = i + round * THREADS;
            if (pthread_create(&thread[i], NULL, call_in_thread, &seed[i]) != 0) abort();
        }
        for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
        test_case("streamed/contexts/%d", round);
        if (!test_on_sim()) continue;
        CHECK(sim_violations() == 0, "the backend's rules were broken");
        CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    }
}

/* ---- Arrays that share memory ---- */

/* A, B and C are parts of one array: C lies in the gaps of A, and B is A. */
static void interleaved(void)
{
    enum { EDGE = 200, LD = 2 * EDGE + 5 };
    static float array[LD * EDGE], before[LD * EDGE];
    test_rng rng = test_rng_for("streamed interleaved");
    for (int kept = 0; kept < 2; kept++) {
        test_case("streamed/interleaved/%s", kept != 0 ? "kept" : "pageable");
        test_fill(&rng, DATA_INTEGER, array, LD * EDGE);
        memcpy(before, array, sizeof array);
        duo_context *const ctx = test_context();
        if (kept != 0) CHECK_STATUS(DUO_OK, duo_keep(ctx, array, EDGE / 2 * LD * sizeof *array));
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_TRANS, EDGE, EDGE,
                                       EDGE, 1.0f, array, LD, array, LD, -1.0f, array + EDGE, LD));
        if (kept != 0) CHECK_STATUS(DUO_OK, duo_release(ctx, array));
        int wrong = 0;
        for (int j = 0; j < EDGE; j++)
            for (int i = 0; i < LD; i++) {
                float want = before[i + j * LD];
                if (i >= EDGE && i < 2 * EDGE) {
                    want *= -1.0f;
                    for (int p = 0; p < EDGE; p++)
                        want += before[i - EDGE + p * LD] * before[j + p * LD];
                }
                wrong += !(array[i + j * LD] == want);
            }
        CHECK(wrong == 0, "%d elements are wrong", wrong);
        test_context_end(ctx);
    }
}

/* ---- No work beside the work ---- */

static void second_call(void)
{
    if (!test_on_sim()) {
        test_skip("calls of the driver are not counted");
        return;
    }
    test_rng rng = test_rng_for("streamed again");
    const sim_kind kinds[] = {SIM_ALLOCATE, SIM_PIN, SIM_OPEN, SIM_LINK, SIM_RELEASE};
    const test_place places[] = {PLACE_PAGEABLE, PLACE_PINNED};
    for (int little = 0; little < 2; little++) {
        test_reset();
        if (little != 0) sim_set_memory(3 * MB);
        duo_context *const ctx = test_context();
        uint64_t before[SIM_KINDS] = {0};
        test_problem p = {.m = 400, .n = 380, .k = 300, .alpha = 1.0f, .data = DATA_INTEGER};
        p.layout = DUO_COL_MAJOR;
        p.transa = p.transb = DUO_NO_TRANS;
        test_operands o = test_operands_make(&p, &rng);
        for (int i = 0; i < 2; i++) {
            test_placed a = test_put(ctx, places[i], &o.a), b = test_put(ctx, places[i], &o.b);
            test_placed c = test_put(ctx, places[i], &o.c);
            for (int call = 0; call < 4; call++) {
                test_case("streamed/again/%d/%s/%d", little, test_place_name(places[i]), call);
                for (int k = 0; k < 5; k++) before[k] = sim_count(kinds[k]);
                CHECK_STATUS(DUO_OK,
                             test_problem_multiply(
                                 ctx, &p, &o, (float *const[]){a.address, b.address, c.address}));
                for (int k = 0; k < 5 && call > 0; k++)
                    CHECK(sim_count(kinds[k]) == before[k], "%ju calls of kind %d",
                          (uintmax_t)(sim_count(kinds[k]) - before[k]), (int)kinds[k]);
            }
            test_take(ctx, &a);
            test_take(ctx, &b);
            test_take(ctx, &c);
            test_operands_check(&p, &o, o.bound, DUO_OK);
        }
        test_operands_free(&o);
        test_context_end(ctx);
    }
}

/* ---- Overlap, as an order of events ---- */

/* Products of the simulated device are timed by their size, and computed as if alpha were 0. */
static duo_status launch_only(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                              uint64_t *pinned_result, uint32_t ticket)
{
    duo_call scaled = *call;
    scaled.alpha = 0.0f;
    return sim_backend()->launch(queue, algorithm, &scaled, pinned_result, ticket);
}

/* Each product begins after its panels arrived; tiles come home while later panels go up. */
static void check_order(const sim_operation *log, size_t count)
{
    int early = 0, together = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const sim_operation *const op = &log[i], *const before = &log[j];
            const bool reads = sim_span_meets(before->written, op->read[0]) ||
                               sim_span_meets(before->written, op->read[1]);
            if (reads && op->kind == SIM_WITHIN && before->kind == SIM_UP)
                early += op->start < before->end;
            if (reads && op->kind == SIM_COMPUTE && before->kind == SIM_WITHIN)
                early += op->start < before->end;
            const bool ways = (op->kind == SIM_UP && before->kind == SIM_DOWN) ||
                              (op->kind == SIM_DOWN && before->kind == SIM_UP);
            together += ways && sim_overlap(op, before);
        }
    CHECK(early == 0, "%d operations begin before what they read is there", early);
    CHECK(together > 0, "no tile comes home while a panel goes up");
}

static void overlap_of(int64_t n)
{
    test_case("streamed/overlap/%jd", (intmax_t)n);
    duo_context *const ctx = test_context();
    float *at[DUO_OPERANDS];
    for (int i = 0; i < DUO_OPERANDS; i++) {
        void *memory = NULL;
        CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, (size_t)(n * n) * sizeof(float), &memory));
        at[i] = memory;
        memset(at[i], 0, (size_t)(n * n) * sizeof(float));
    }
    for (int again = 0; again < 2; again++) {
        const uint64_t began = sim_clock_host();
        sim_log_reset();
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n,
                                       1.0f, at[0], n, at[1], n, 0.0f, at[2], n));
        const double seconds = 1e-9 * (double)(sim_clock_host() - began);
        const double bound = sim_clock_bound(&duo_context_of(ctx)->resources.plan);
        const sim_operation *log;
        const size_t count = sim_log(&log);
        check_order(log, count);
        printf("      %jd: %d steps, %.0f us, bound %.0f us\n", (intmax_t)n,
               duo_context_of(ctx)->resources.plan.count, 1e6 * seconds, 1e6 * bound);
        CHECK(seconds >= bound && seconds <= 1.2 * bound, "%g s, bound %g s", seconds, bound);
    }
    for (int i = 0; i < DUO_OPERANDS; i++) CHECK_STATUS(DUO_OK, duo_free_host(ctx, at[i]));
    test_context_end(ctx);
}

static void overlap(void)
{
    if (!test_on_sim()) {
        test_skip("a GPU has no log");
        return;
    }
    duo_backend backend = *sim_backend();
    backend.launch = launch_only;
    duo_backend_install(&backend);
    overlap_of(2048);
    overlap_of(4096);
    duo_backend_install(sim_backend());
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"everything_fits", everything_fits},
        {"panels", panels},
        {"little_memory", little_memory},
        {"without_pinned_memory", without_pinned_memory},
        {"each_algorithm", each_algorithm},
        {"contexts", contexts},
        {"interleaved", interleaved},
        {"second_call", second_call},
        {"overlap", overlap},
        {NULL, NULL},
    };
    return test_main(argc, argv, "streamed_products", tests);
}
