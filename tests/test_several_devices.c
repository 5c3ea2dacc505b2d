/*
 * test_several_devices.c - products of host arrays that several devices share (duo_set_devices):
 * results, which devices compute, the copies between them, and their times on the simulated
 * devices. Failures of devices are in test_several_failures.c. With GPUs, at least two are needed.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "call/context.h"
#include "choice/profile_in_use.h"
#include "choice/stream_cost.h"
#include "data/plan_make.h"
#include "gpu/backend/devices.h"
#include "sim/clock.h"
#include "support/harness.h"
#include "support/made_machine.h"
#include "support/many_devices.h"

static const int kInOrder[DUO_PLAN_DEVICES] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Before the first call of a test. */
static void set_up(int devices, duo_algorithm_id algorithm)
{
    test_reset();
    if (test_on_sim()) sim_set_devices(devices);
    arithmetic_is_slow(algorithm);
}

static int devices_there(void)
{
    int count = 0;
    CHECK_STATUS(DUO_OK, duo_device_count(&count));
    return count < DUO_PLAN_DEVICES ? count : DUO_PLAN_DEVICES;
}

static duo_context *context_of(const int *device, int devices)
{
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_devices(ctx, device, devices));
    return ctx;
}

/* ---- Settings ---- */

static void settings(void)
{
    static const int twice[] = {0, 1, 0}, negative[] = {0, -1};
    set_up(3, DUO_sgemm_gpu_naive);
    const int there = devices_there();
    const int beyond[] = {0, there};
    duo_context *const ctx = test_context(), *const dead = test_dead_context();
    int device[DUO_LANES];
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_devices(dead, kInOrder, 2));
    CHECK_STATUS(DUO_OK, duo_set_devices(ctx, (const int[]){1, 0}, 2));
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_devices(ctx, kInOrder, -1));
    CHECK_STATUS(DUO_ERR_SIZE, duo_set_devices(ctx, kInOrder, DUO_PLAN_DEVICES + 1));
    CHECK_STATUS(DUO_ERR_NULL, duo_set_devices(ctx, NULL, 1));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_devices(ctx, twice, 3));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_devices(ctx, negative, 2));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_devices(ctx, beyond, 2));
    /* After all these nothing has changed. */
    CHECK(duo_resources_devices(&duo_context_of(ctx)->resources, device) == 2 && device[0] == 1 &&
              device[1] == 0,
          "devices %d, %d", device[0], device[1]);
    /* All: the context's own comes first. */
    CHECK_STATUS(DUO_OK, duo_set_devices(ctx, NULL, 0));
    CHECK(duo_resources_devices(&duo_context_of(ctx)->resources, device) == there &&
              device[0] == 1 && device[1] == 0 && (there < 3 || device[2] == 2),
          "devices %d, %d", device[0], device[1]);
    CHECK_STATUS(DUO_OK, duo_set_device(ctx, 1));
    CHECK(duo_resources_devices(&duo_context_of(ctx)->resources, device) == 1 && device[0] == 1,
          "device %d", device[0]);
    test_context_end(ctx);
    if (!test_on_sim()) return;
    set_up(0, DUO_sgemm_gpu_naive);
    duo_context *const none = test_context();
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_devices(none, kInOrder, 1));
    CHECK_STATUS(DUO_ERR_DEVICE, duo_set_devices(none, NULL, 0));
    test_context_end(none);
}

static void warm_up(void)
{
    set_up(3, DUO_sgemm_gpu_naive);
    const int devices = devices_there();
    duo_context *const ctx = context_of(NULL, 0);
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    for (int i = 0; i < devices; i++) {
        const duo_lane *const lane = &duo_context_of(ctx)->resources.lane[i];
        CHECK(lane->device == i && lane->up != NULL && lane->down != NULL && lane->peer != NULL &&
                  lane->compute != NULL,
              "lane %d is not open", i);
    }
    if (test_on_sim()) CHECK(sim_count(SIM_LOAD) == 3, "%ju loads", (uintmax_t)sim_count(SIM_LOAD));
    CHECK_STATUS(DUO_OK, duo_set_device(ctx, 0)); /* and the others are given up */
    for (int i = 1; i < DUO_LANES; i++)
        CHECK(duo_context_of(ctx)->resources.lane[i].compute == NULL, "lane %d is open", i);
    test_context_end(ctx);
}

/* ---- Results ---- */

/* GPU algorithms that every device has, with and without packing. */
static const duo_algorithm_id kAlgorithms[] = {DUO_sgemm_gpu_naive, DUO_sgemm_gpu_tiled};
enum { ALGORITHMS = sizeof kAlgorithms / sizeof kAlgorithms[0] };

static void random_product(many_product *p, test_rng *rng)
{
    *p = (many_product){.place = test_between(rng, 0, 1) ? PLACE_PINNED : PLACE_PAGEABLE,
                        .beta = (float)test_between(rng, -1, 2),
                        .transa = test_between(rng, 0, 1) != 0,
                        .transb = test_between(rng, 0, 1) != 0,
                        .m = test_between(rng, 1, 600),
                        .n = test_between(rng, 1, 1300),
                        .k = test_between(rng, 0, 90)};
    if (test_between(rng, 0, 4) > 0) return;
    p->m += 1000; /* several panels */
    p->n += 1200;
    p->k = p->k / 20 + 1;
}

static void random_products(void)
{
    test_rng rng = test_rng_for("several_devices/random");
    for (int i = 0; i < test_amount(40, 120, 120); i++) {
        many_product p;
        random_product(&p, &rng);
        set_up(4, kAlgorithms[i % ALGORITHMS]);
        const int there = devices_there();
        const int devices = (int)test_between(&rng, 1, there);
        const int first = (int)test_between(&rng, 0, there - devices);
        const bool links = test_between(&rng, 0, 1) != 0, tight = test_between(&rng, 0, 3) == 0;
        test_case("several/%d+%d/%s/%s%s/%c%c/%jdx%jdx%jd/beta=%g/algorithm-%d", first, devices,
                  test_place_name(p.place), links ? "links" : "no-links", tight ? "/tight" : "",
                  p.transa ? 't' : 'n', p.transb ? 't' : 'n', (intmax_t)p.m, (intmax_t)p.n,
                  (intmax_t)p.k, (double)p.beta, (int)(i % ALGORITHMS));
        if (test_on_sim()) {
            sim_set_links(links);
            sim_set_delay(test_between(&rng, 0, 3) == 0 ? 50 : 0);
            if (tight) sim_set_memory(3 << 20);
        }
        many_new(&p, &rng);
        duo_context *const ctx = context_of(kInOrder + first, devices);
        for (int again = 0; again < 2; again++) {
            many_put(&p, ctx);
            if (test_on_sim()) sim_log_reset();
            CHECK_STATUS(DUO_OK, many_call(&p, ctx));
            if (p.k > 0) check_side(ctx, DUO_SIDE_GPU); /* else it may be nothing to do */
            many_take(&p, ctx);
            many_check(&p);
            if (!test_on_sim() || p.k == 0) continue;
            const unsigned computed = many_computed();
            CHECK(computed >> (first + devices) == 0 && (computed & ((1u << first) - 1u)) == 0,
                  "devices %x computed", computed);
            if (!tight && p.n >= 256 * devices) /* each has columns */
                CHECK(computed == ((1u << devices) - 1u) << first, "devices %x computed", computed);
        }
        test_context_end(ctx);
        if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are alive", sim_leaks());
        many_end(&p);
    }
}

/* Operands that are on one device are used there. */
static void resident(void)
{
    test_rng rng = test_rng_for("several_devices/resident");
    for (int place = PLACE_DEVICE; place <= PLACE_KEPT; place++)
        for (int which = 0; which < 3; which++) {
            many_product p = {.beta = 1.0f, .m = 300, .n = 600, .k = 20};
            set_up(2, DUO_sgemm_gpu_naive);
            test_case("resident/%s/%d", test_place_name((test_place)place), which);
            many_new(&p, &rng);
            duo_context *const ctx = context_of((const int[]){1, 0}, 2);
            many_put(&p, ctx);
            test_array *const of[] = {&p.a, &p.b, &p.c};
            p.placed[which] = test_put(ctx, (test_place)place, of[which]);
            if (test_on_sim()) sim_log_reset();
            CHECK_STATUS(DUO_OK, many_call(&p, ctx));
            check_side(ctx, DUO_SIDE_GPU);
            if (test_on_sim()) CHECK(many_computed() == 2, "devices %x", many_computed());
            many_take(&p, ctx);
            many_check(&p);
            test_context_end(ctx);
            many_end(&p);
        }
}

/* ---- Copies, and their times ---- */

static uint64_t bytes_of(sim_operation_kind kind)
{
    const sim_operation *log;
    const size_t count = sim_log(&log);
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (log[i].kind == kind) bytes += log[i].bytes;
    return bytes;
}

/* A goes up once in all and from device to device once less than there are devices; without links
 * it goes up to each. B and C have one way each. */
static void panels_go_up_once(void)
{
    test_rng rng = test_rng_for("several_devices/once");
    if (!test_on_sim()) return;
    for (int devices = 2; devices <= 4; devices++)
        for (int links = 0; links < 2; links++)
            for (int place = 0; place < 2; place++) {
                many_product p = {
                    .place = place ? PLACE_PINNED : PLACE_PAGEABLE, .m = 1500, .n = 1600, .k = 12};
                set_up(devices, DUO_sgemm_gpu_naive);
                sim_set_links(links != 0);
                test_case("once/%d/links=%d/%s", devices, links, test_place_name(p.place));
                many_new(&p, &rng);
                duo_context *const ctx = context_of(NULL, 0);
                CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
                many_put(&p, ctx);
                sim_log_reset();
                CHECK_STATUS(DUO_OK, many_call(&p, ctx));
                const uint64_t a = 4 * 1500 * 12, b = 4 * 1600 * 12, c = 4 * 1500 * 1600;
                const uint64_t each = (uint64_t)devices;
                CHECK(bytes_of(SIM_UP) == (links ? a : each * a) + b, "%ju up",
                      (uintmax_t)bytes_of(SIM_UP));
                CHECK(bytes_of(SIM_ACROSS) == (links ? (each - 1) * a : 0), "%ju across",
                      (uintmax_t)bytes_of(SIM_ACROSS));
                CHECK(bytes_of(SIM_DOWN) == c, "%ju down", (uintmax_t)bytes_of(SIM_DOWN));
                many_take(&p, ctx);
                many_check(&p);
                test_context_end(ctx);
                many_end(&p);
            }
}

/* Every product begins after all copies to its device that were queued before it; every copy
 * between devices after all that was sent to its source. */
static void check_order(void)
{
    const sim_operation *log;
    const size_t count = sim_log(&log);
    size_t shared = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t before = 0; before < i; before++) {
            const sim_operation *const o = &log[i], *const earlier = &log[before];
            const bool reads = earlier->kind == SIM_UP || earlier->kind == SIM_ACROSS;
            if (o->kind != SIM_COMPUTE && o->kind != SIM_ACROSS && o->kind != SIM_WITHIN) continue;
            if (!reads || !sim_span_meets(o->read[0], earlier->written)) continue;
            shared += o->kind == SIM_ACROSS;
            CHECK(o->start >= earlier->end, "operation %zu begins before %zu ends", i, before);
        }
    CHECK(shared > 0, "nothing was copied between devices");
}

/* The virtual time of one product on that many devices. */
static uint64_t time_on(many_product *p, int devices)
{
    set_up(devices, DUO_sgemm_gpu_naive);
    sim_set_rates(10000, 10000, 100000, 20000); /* 20 GFlop/s: arithmetic takes most of the time */
    duo_context *const ctx = context_of(kInOrder, devices);
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    many_put(p, ctx);
    sim_log_reset();
    const uint64_t begin = sim_clock_host();
    CHECK_STATUS(DUO_OK, many_call(p, ctx));
    const uint64_t taken = sim_clock_host() - begin;
    CHECK(many_computed() == (1u << devices) - 1u, "devices %x", many_computed());
    if (devices > 1) check_order();
    many_take(p, ctx);
    many_check(p);
    test_context_end(ctx);
    return taken;
}

static void several_take_less(void)
{
    test_rng rng = test_rng_for("several_devices/time");
    if (!test_on_sim()) return;
    many_product p = {.place = PLACE_PINNED, .m = 1536, .n = 2048, .k = 96};
    many_new(&p, &rng);
    const uint64_t one = time_on(&p, 1), two = time_on(&p, 2), four = time_on(&p, 4);
    printf("several devices: %.2f and %.2f of the time of one\n", (double)two / (double)one,
           (double)four / (double)one);
    CHECK((double)two <= 0.6 * (double)one, "%ju ns on two, %ju on one", (uintmax_t)two,
          (uintmax_t)one);
    CHECK((double)four <= 0.35 * (double)one, "%ju ns on four, %ju on one", (uintmax_t)four,
          (uintmax_t)one);
    many_end(&p);
}

/* ---- The choice ---- */

static duo_conditions conditions_of(int devices, bool linked)
{
    duo_conditions c = {.profile = &machine,
                        .path = DUO_PATH_GPU,
                        .threads = 1,
                        .gpu = true,
                        .device_memory_bytes = 1e12,
                        .devices = devices,
                        .linked = linked};
    for (int i = 0; i < devices; i++) c.speed[i] = 1.0;
    return c;
}

static int chosen(duo_residence residence, const duo_conditions *conditions, double *seconds)
{
    duo_call call = duo_call_sgemm(false, false, 8192, 8192, 8192, 1.0f, 0.0f);
    for (int i = 0; i < DUO_OPERANDS; i++) call.operand[i].residence = residence;
    int devices;
    const duo_algorithm_table table = duo_algorithm_tables[DUO_SGEMM];
    for (int i = 0; i < table.count; i++) {
        if (table.algorithm[i].id != DUO_sgemm_gpu_naive) continue;
        *seconds = duo_stream_seconds(&call, conditions, &table.algorithm[i], &devices);
        return devices;
    }
    return 0;
}

/* More devices are used only where that is predicted to take less. */
static void choice(void)
{
    double seconds = 0.0, less = 0.0;
    set_up(1, DUO_sgemm_gpu_naive);
    duo_conditions c = conditions_of(6, true);
    CHECK(chosen(DUO_AT_PAGEABLE, &c, &seconds) == 6, "not all");
    c.devices = 1;
    CHECK(chosen(DUO_AT_PAGEABLE, &c, &less) == 1 && less > 5.0 * seconds, "%g, %g", less, seconds);
    c.devices = 0;
    CHECK(chosen(DUO_AT_PAGEABLE, &c, &less) == 1, "more than there are");
    /* Pageable arrays with little arithmetic are bound by the host, which copies them for all;
     * pinned ones only by the links. */
    algorithm_takes(DUO_sgemm_gpu_naive, 1e-5);
    c = conditions_of(4, true);
    CHECK(chosen(DUO_AT_PAGEABLE, &c, &seconds) == 1, "several share the host's time");
    CHECK(chosen(DUO_AT_PINNED, &c, &seconds) == 4, "links are not used");
    /* Starting a device costs time, too. */
    machine.copy_seconds = 1.0;
    CHECK(chosen(DUO_AT_PINNED, &c, &seconds) == 1, "more starts than they are worth");
    machine.copy_seconds = 1e-6;
    c.linked = false;
    CHECK(chosen(DUO_AT_PINNED, &c, &less) >= 1 && less > 0.0, "%g", less);
}

/* Columns are dealt out by the devices' speeds. */
static void shares(void)
{
    set_up(1, DUO_sgemm_gpu_naive);
    duo_conditions c = conditions_of(3, true);
    c.speed[0] = 1.0;
    c.speed[1] = 2.0;
    c.speed[2] = 5.0;
    duo_call call = duo_call_sgemm(false, false, 1000, 80000, 500, 1.0f, 0.0f);
    for (int i = 0; i < DUO_OPERANDS; i++) call.operand[i].residence = DUO_AT_PINNED;
    duo_stream_model model;
    const duo_algorithm *const naive = &duo_algorithm_tables[DUO_SGEMM].algorithm[0];
    const double packed[2] = {0.0, 0.0};
    const duo_plan_problem of = duo_stream_problem(&model, &call, naive, &c, 3, 1e12, packed);
    duo_plan plan = {.step = NULL};
    int64_t columns[3] = {0, 0, 0};
    if (!CHECK(duo_plan_make(&plan, &of), "no plan")) return;
    for (int i = 0; i < plan.count; i++)
        if (plan.step[i].kind == DUO_STEP_MULTIPLY)
            columns[plan.step[i].device] += plan.step[i].n * plan.step[i].m;
    for (int d = 0; d < 3; d++) {
        const double share = (double)columns[d] / (80000.0 * 1000.0), want = c.speed[d] / 8.0;
        CHECK(share >= want - 0.02 && share <= want + 0.02, "device %d: %g, not %g", d, share,
              want);
    }
    duo_plan_free(&plan);
}

/* ---- Several contexts at once ---- */

typedef struct user {
    int device[4], devices;
    unsigned number;
} user;

static void *use(void *argument)
{
    const user *const u = argument;
    char label[40];
    snprintf(label, sizeof label, "several_devices/user-%u", u->number);
    test_rng rng = test_rng_for(label);
    duo_context *const ctx = context_of(u->device, u->devices);
    for (int i = 0; i < 12; i++) {
        many_product p = {.place = i % 2 ? PLACE_PINNED : PLACE_PAGEABLE,
                          .beta = (float)(i % 3),
                          .m = test_between(&rng, 1, 500),
                          .n = test_between(&rng, 1, 700),
                          .k = test_between(&rng, 1, 40)};
        many_new(&p, &rng);
        many_put(&p, ctx);
        CHECK_STATUS(DUO_OK, many_call(&p, ctx));
        many_take(&p, ctx);
        many_check(&p);
        many_end(&p);
    }
    test_context_end(ctx);
    return NULL;
}

static void contexts_at_once(void)
{
    enum { USERS = 4 };
    static user users[USERS] = {{{0, 1}, 2, 0}, {{1, 0}, 2, 1}, {{1}, 1, 2}, {{0}, 0, 3}};
    set_up(2, DUO_sgemm_gpu_naive);
    test_case("contexts at once");
    if (test_on_sim()) sim_set_delay(30);
    pthread_t thread[USERS];
    for (int i = 0; i < USERS; i++)
        CHECK(pthread_create(&thread[i], NULL, use, &users[i]) == 0, "no thread");
    for (int i = 0; i < USERS; i++) pthread_join(thread[i], NULL);
    if (test_on_sim()) CHECK(sim_leaks() == 0, "%d things are alive", sim_leaks());
}

static void end(void) { duo_profile_reset(); }

static const test_entry tests[] = {{"settings", settings},
                                   {"warm_up", warm_up},
                                   {"random_products", random_products},
                                   {"resident", resident},
                                   {"panels_go_up_once", panels_go_up_once},
                                   {"several_take_less", several_take_less},
                                   {"choice", choice},
                                   {"shares", shares},
                                   {"contexts_at_once", contexts_at_once},
                                   {"end", end},
                                   {NULL, NULL}};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "gpu") == 0) {
        int count = 0;
        if (duo_device_count(&count) != DUO_OK || count < 2) {
            printf("several_devices: %d GPUs; at least two are needed\n", count);
            return 77;
        }
    }
    return test_main(argc, argv, "several_devices", tests);
}
