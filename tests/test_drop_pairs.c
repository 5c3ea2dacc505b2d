/*
 * test_drop_pairs.c - every verb that drops, frees or moves memory that the library holds, in one
 * thread, beside every kind of call that uses it, in two others. All share a kept matrix, the same
 * on the device, and pinned memory; each thread has a context and results of its own. All data are
 * small integers: every result is exact. Each pair is tried for some calls, or with
 * DUOBLAS_TEST_LONG=1 a hundred times as many.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/exact.h"
#include "support/graph_works.h"
#include "support/sanitizers.h"

enum { N = 24, FLOATS = N * N, BYTES = FLOATS * (int)sizeof(float), USERS = 2, MEMORY = 1 << 20 };

/* Shared by all: the same values at each place. */
static float values[FLOATS], squared[FLOATS], *kept, *on_device, *pinned;
static float sum;

/* ---- Calls that use the memory ---- */

typedef struct user {
    duo_context *ctx;
    int number;
    float *c;    /* on the device */
    float *mine; /* a kept array; only this thread writes it, others release and keep it */
    float *host; /* results */
    duo_graph *graph;
    bool (*uses)(struct user *u); /* once; true: all is right */
    int calls, wrong;
} user;

static bool right(const float *x, const float *wanted) { return memcmp(x, wanted, BYTES) == 0; }

static bool home_is_right(user *u)
{
    return duo_copy(u->ctx, u->host, u->c, BYTES) == DUO_OK && right(u->host, squared);
}

static bool use_sum(user *u)
{
    float got = test_poison(), dot = test_poison(), square_sum = 0.0f;
    for (int i = 0; i < FLOATS; i++) square_sum += values[i] * values[i];
    return duo_ssum(u->ctx, FLOATS, kept, 1, &got) == DUO_OK && got == sum &&
           duo_sdot(u->ctx, FLOATS, kept, 1, pinned, 1, &dot) == DUO_OK && dot == square_sum;
}

static bool use_product(user *u)
{
    return square(u->ctx, N, kept, on_device, 0.0f, u->c) == DUO_OK && home_is_right(u);
}

static bool use_streamed(user *u)
{
    return square(u->ctx, N, kept, values, 0.0f, u->host) == DUO_OK && right(u->host, squared);
}

static bool use_batch(user *u)
{
    return duo_sgemm_strided_batched(u->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N, N,
                                     1.0f, kept, N, 0, on_device, N, 0, 0.0f, u->c, N, 0,
                                     1) == DUO_OK &&
           home_is_right(u) &&
           duo_sgemm_strided_batched(u->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N / 2, N,
                                     1.0f, kept, N, 0, values, N, N * N / 2, 0.0f, u->host, N,
                                     N * N / 2, 2) == DUO_OK &&
           right(u->host, squared);
}

static bool use_cpu(user *u)
{
    bool good = duo_set_path(u->ctx, DUO_PATH_CPU) == DUO_OK;
    good = good && square(u->ctx, N, kept, on_device, 0.0f, u->host) == DUO_OK;
    good = good && right(u->host, squared);
    return duo_set_path(u->ctx, test_path()) == DUO_OK && good;
}

/* Writes a kept array on the device, which others release, and fetches it. */
static bool use_written(user *u)
{
    return square(u->ctx, N, kept, on_device, 0.0f, u->mine) == DUO_OK &&
           duo_fetch(u->ctx, u->mine, BYTES) == DUO_OK && right(u->mine, squared) &&
           duo_ssum(u->ctx, FLOATS, kept, 1, u->mine) == DUO_OK &&
           duo_fetch(u->ctx, u->mine, BYTES) == DUO_OK && u->mine[0] == sum;
}

static bool use_copy(user *u)
{
    return duo_copy(u->ctx, u->host, kept, BYTES) == DUO_OK && right(u->host, values) &&
           duo_copy(u->ctx, u->c, pinned, BYTES) == DUO_OK &&
           duo_copy(u->ctx, u->host, u->c, BYTES) == DUO_OK && right(u->host, values);
}

static bool use_graph(user *u)
{
    return duo_graph_launch(u->graph, u->ctx) == DUO_OK && home_is_right(u);
}

static bool use_new_graph(user *u)
{
    duo_graph *graph = NULL;
    const duo_work works[] = {work_product(N, on_device, on_device, 0.0f, u->c),
                              work_copying(u->host, u->c, BYTES)};
    duo_node node = 0;
    bool good = duo_graph_create(&graph) == DUO_OK &&
                duo_graph_add(graph, &works[0], NULL, 0, &node) == DUO_OK &&
                duo_graph_add(graph, &works[1], &node, 1, NULL) == DUO_OK &&
                duo_graph_build(graph, u->ctx) == DUO_OK &&
                duo_graph_launch(graph, u->ctx) == DUO_OK && right(u->host, squared);
    return duo_graph_destroy(graph) == DUO_OK && good;
}

/* ---- Verbs that drop the memory ---- */

typedef struct dropping {
    duo_context *ctx;
    user *users;
    bool (*drops)(struct dropping *d);
    int done, wrong;
} dropping;

static bool keep_all(duo_context *ctx)
{
    return duo_keep(ctx, kept, BYTES) == DUO_OK && duo_prepare(ctx, kept, BYTES) == DUO_OK;
}

static bool drop_release(dropping *d)
{
    return duo_release(d->ctx, kept) == DUO_OK && keep_all(d->ctx);
}

static bool drop_written(dropping *d)
{
    bool good = true;
    for (int i = 0; i < USERS; i++)
        good = good && duo_release(d->ctx, d->users[i].mine) == DUO_OK &&
               duo_keep(d->ctx, d->users[i].mine, BYTES) == DUO_OK;
    return good;
}

static bool drop_promise(dropping *d)
{
    return duo_prepare(d->ctx, kept, 0) == DUO_OK && duo_prepare(d->ctx, on_device, 0) == DUO_OK &&
           duo_prepare(d->ctx, kept, BYTES) == DUO_OK &&
           duo_prepare(d->ctx, on_device, BYTES) == DUO_OK;
}

/* Takes the device's memory, so that copies are evicted. */
static bool drop_room(dropping *d)
{
    enum { BLOCKS = 16 };
    void *block[BLOCKS];
    bool good = true;
    for (int i = 0; i < BLOCKS; i++)
        good = duo_malloc(d->ctx, MEMORY / BLOCKS, &block[i]) == DUO_OK && good;
    for (int i = 0; i < BLOCKS; i++) good = duo_free(d->ctx, block[i]) == DUO_OK && good;
    return good;
}

static bool one_sum(duo_context *ctx)
{
    float got = test_poison();
    return duo_ssum(ctx, FLOATS, kept, 1, &got) == DUO_OK && got == sum;
}

static bool drop_trim(dropping *d) { return one_sum(d->ctx) && duo_trim(d->ctx) == DUO_OK; }

/* A kept array follows its use: its copy leaves the users' device. */
static bool drop_device(dropping *d)
{
    return duo_set_device(d->ctx, 1) == DUO_OK && one_sum(d->ctx) &&
           duo_set_device(d->ctx, 0) == DUO_OK && one_sum(d->ctx);
}

static bool drop_queue(dropping *d)
{
    return duo_set_priority(d->ctx, DUO_PRIORITY_HIGH) == DUO_OK && one_sum(d->ctx) &&
           duo_set_priority(d->ctx, DUO_PRIORITY_NORMAL) == DUO_OK && one_sum(d->ctx);
}

static bool drop_context(dropping *d)
{
    duo_context *ctx = NULL;
    (void)d;
    return duo_create(&ctx) == DUO_OK && duo_set_path(ctx, test_path()) == DUO_OK && one_sum(ctx) &&
           duo_destroy(ctx) == DUO_OK;
}

/* Neighbours of the used memory come and go. */
static bool drop_neighbours(dropping *d)
{
    void *device = NULL, *host = NULL, *const foreign = sim_foreign_malloc(0, 4096);
    bool good = duo_malloc(d->ctx, BYTES, &device) == DUO_OK &&
                duo_malloc_host(d->ctx, BYTES, &host) == DUO_OK &&
                duo_adopt(d->ctx, foreign, 4096) == DUO_OK &&
                duo_copy(d->ctx, device, kept, BYTES) == DUO_OK;
    good = duo_disown(d->ctx, foreign) == DUO_OK && good;
    sim_foreign_free(foreign);
    return duo_free(d->ctx, device) == DUO_OK && duo_free_host(d->ctx, host) == DUO_OK && good;
}

/* Not duo_changed: a change of an array that others read is a race with them. */
static bool drop_newer(dropping *d)
{
    bool good = duo_fetch(d->ctx, kept, BYTES) == DUO_OK;
    for (int i = 0; i < USERS; i++)
        good = duo_fetch(d->ctx, d->users[i].mine, BYTES) == DUO_OK && good;
    return good;
}

/* ---- A pair ---- */

static const struct {
    const char *name;
    bool (*uses)(user *u);
} all_uses[] = {{"sum", use_sum},     {"product", use_product}, {"streamed", use_streamed},
                {"batch", use_batch}, {"cpu", use_cpu},         {"written", use_written},
                {"copy", use_copy},   {"graph", use_graph},     {"new-graph", use_new_graph}};

static const struct {
    const char *name;
    bool (*drops)(dropping *d);
} all_drops[] = {{"release", drop_release},    {"release-written", drop_written},
                 {"unprepare", drop_promise},  {"evict", drop_room},
                 {"trim", drop_trim},          {"set-device", drop_device},
                 {"set-priority", drop_queue}, {"destroy", drop_context},
                 {"free", drop_neighbours},    {"fetch", drop_newer}};

enum {
    USES = sizeof all_uses / sizeof all_uses[0],
    DROPS = sizeof all_drops / sizeof all_drops[0]
};

static atomic_int using; /* users that are not done yet */
static int calls;        /* of each */

static void *run_user(void *argument)
{
    user *const u = argument;
    for (int i = 0; i < calls; i++) u->wrong += !u->uses(u);
    atomic_fetch_sub(&using, 1);
    return NULL;
}

static void *run_dropping(void *argument)
{
    dropping *const d = argument;
    while (atomic_load(&using) > 0) {
        d->wrong += !d->drops(d);
        d->done++;
    }
    return NULL;
}

static void try_pair(user users[USERS], dropping *d)
{
    pthread_t thread[USERS + 1];
    atomic_store(&using, USERS);
    for (int i = 0; i < USERS; i++)
        if (pthread_create(&thread[i], NULL, run_user, &users[i]) != 0) abort();
    if (pthread_create(&thread[USERS], NULL, run_dropping, d) != 0) abort();
    for (int i = 0; i <= USERS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < USERS; i++)
        CHECK(users[i].wrong == 0, "%d of %d were wrong", users[i].wrong, calls);
    CHECK(d->wrong == 0, "%d of %d failed", d->wrong, d->done);
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

/* ---- All ---- */

static float *new_on_device(duo_context *ctx)
{
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, BYTES, &memory));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, values, BYTES));
    return memory;
}

static void make_shared(duo_context *ctx)
{
    void *memory = NULL;
    fill(values, FLOATS, 5);
    multiply(N, values, values, squared);
    sum = sum_of(values, FLOATS);
    kept = new_floats(FLOATS);
    memcpy(kept, values, BYTES);
    CHECK(keep_all(ctx), "nothing is kept");
    on_device = new_on_device(ctx);
    CHECK_STATUS(DUO_OK, duo_prepare(ctx, on_device, BYTES));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, BYTES, &memory));
    pinned = memory;
    memcpy(pinned, values, BYTES);
}

static void end_shared(duo_context *ctx)
{
    CHECK_STATUS(DUO_OK, duo_release(ctx, kept));
    CHECK_STATUS(DUO_OK, duo_free(ctx, on_device));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, pinned));
    free(kept);
}

static void make_user(user *u, int number)
{
    *u = (user){.number = number, .ctx = test_context(), .host = new_floats(FLOATS)};
    u->mine = new_floats(FLOATS);
    CHECK_STATUS(DUO_OK, duo_keep(u->ctx, u->mine, BYTES));
    u->c = new_on_device(u->ctx);
    const duo_work works[] = {work_copying(u->c, pinned, BYTES),
                              work_product(N, on_device, on_device, 0.0f, u->c)};
    u->graph = graph_built(u->ctx, works, 2, true, NULL);
}

static void end_user(user *u)
{
    CHECK_STATUS(DUO_OK, duo_graph_destroy(u->graph));
    CHECK_STATUS(DUO_OK, duo_release(u->ctx, u->mine));
    CHECK_STATUS(DUO_OK, duo_free(u->ctx, u->c));
    test_context_end(u->ctx);
    free(u->mine);
    free(u->host);
}

static void set_calls(void)
{
    const int usual = UNDER_TSAN ? 5 : 12;
    calls = test_amount(usual, usual, 2000);
}

static void all_pairs(void)
{
    user users[USERS];
    set_calls();
    sim_set_devices(2);
    sim_set_memory(MEMORY);
    duo_context *const ctx = test_context();
    dropping d = {.ctx = test_context(), .users = users};
    make_shared(ctx);
    for (int i = 0; i < USERS; i++) make_user(&users[i], i);
    sim_set_delay(UNDER_TSAN ? 0 : 20);
    for (int drops = 0; drops < DROPS; drops++)
        for (int uses = 0; uses < USES; uses++) {
            test_case("pairs/%s/%s", all_drops[drops].name, all_uses[uses].name);
            d.drops = all_drops[drops].drops;
            d.done = d.wrong = 0;
            for (int i = 0; i < USERS; i++) users[i].uses = all_uses[uses].uses;
            for (int i = 0; i < USERS; i++) users[i].wrong = 0;
            try_pair(users, &d);
        }
    sim_set_delay(0);
    for (int i = 0; i < USERS; i++) end_user(&users[i]);
    end_shared(ctx);
    test_context_end(d.ctx);
    test_context_end(ctx);
    CHECK(sim_leaks() == 0, "%d leaks", sim_leaks());
}

static const test_entry tests[] = {
    {"all_pairs", all_pairs},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "drop_pairs", tests); }
