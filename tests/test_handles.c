/*
 * test_handles.c - an ended context, event or graph stays dead: after all things made later, in
 * this process or in a child, and when the library uses its memory again.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "host/handle.h"
#include "support/child.h"
#include "support/graph_works.h"
#include "support/harness.h"
#include "support/sanitizers.h"

static duo_context *new_context(void)
{
    duo_context *ctx = NULL;
    CHECK_STATUS(DUO_OK, duo_create(&ctx));
    return ctx;
}

static duo_event *new_event(void)
{
    duo_event *event = NULL;
    CHECK_STATUS(DUO_OK, duo_event_create(&event));
    return event;
}

/* ---- Each verb ---- */

static void check_dead_context(duo_context *dead)
{
    float x[4] = {1, 2, 3, 4}, sum = -1.0f;
    void *memory = NULL;
    duo_event *const event = new_event();
    duo_graph *const graph = graph_new();
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_ssum(dead, 4, x, 1, &sum));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_sgemm(dead, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 1, 1,
                                            1, 1.0f, x, 1, x, 1, 0.0f, &sum, 1));
    CHECK(sum == -1.0f, "a result was written: %g", (double)sum);
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_path(dead, DUO_PATH_CPU));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_synchronize(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_malloc(dead, 64, &memory));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_keep(dead, x, sizeof x));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_event_record(dead, event));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_event_wait(dead, event));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_graph_build(graph, dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_graph_begin(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_trim(dead));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy(dead));
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

static void check_dead_event(duo_context *ctx, duo_event *dead)
{
    int done = -1;
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_record(ctx, dead));
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_wait(ctx, dead));
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_synchronize(dead));
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_query(dead, &done));
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_destroy(dead));
}

static void check_dead_graph(duo_context *ctx, duo_graph *dead)
{
    const duo_work work = work_of(DUO_WORK_EMPTY);
    duo_node node;
    size_t length;
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_add(dead, &work, NULL, 0, &node));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_alter(dead, 1, &work, NULL, 0));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_node_at(dead, 1, &node));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_build(dead, ctx));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_launch(dead, ctx));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_update(dead, 1, &work));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_print(dead, NULL, 0, &length));
    CHECK(duo_graph_detail(dead)[0] == '\0', "it has a detail");
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_destroy(dead));
}

static void ended_stays_dead(void)
{
    test_case("handles/context");
    duo_context *const dead = new_context();
    CHECK_STATUS(DUO_OK, duo_destroy(dead));
    duo_context *const ctx = new_context();
    check_dead_context(dead);
    CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
    test_case("handles/event");
    duo_event *const before = new_event();
    CHECK_STATUS(DUO_OK, duo_event_destroy(before));
    duo_event *const event = new_event();
    check_dead_event(ctx, before);
    CHECK_STATUS(DUO_OK, duo_event_record(ctx, event));
    CHECK_STATUS(DUO_OK, duo_event_synchronize(event));
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    test_case("handles/graph");
    duo_graph *const first = graph_new();
    CHECK_STATUS(DUO_OK, duo_graph_destroy(first));
    duo_graph *const graph = graph_new();
    check_dead_graph(ctx, first);
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    test_case("handles/captured-graph");
    CHECK_STATUS(DUO_OK, duo_graph_begin(ctx));
    duo_graph *captured = NULL;
    CHECK_STATUS(DUO_OK, duo_graph_end(ctx, &captured));
    check_dead_graph(ctx, graph);
    CHECK_STATUS(DUO_OK, duo_graph_destroy(captured));
    check_dead_graph(ctx, captured);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* ---- Many after it ---- */

/* A handle is used again only after as many others as the header says. */
static void for_a_thousand_others(void)
{
    enum { OTHERS = DUO_HANDLES - 2 };
    duo_context *const dead = new_context();
    CHECK_STATUS(DUO_OK, duo_destroy(dead));
    duo_event *const event = new_event();
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    duo_graph *const graph = graph_new();
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    test_case("handles/others");
    int alive = 0;
    for (int i = 0; i < OTHERS; i++) {
        duo_context *const other = new_context();
        duo_event *const later = new_event();
        duo_graph *const next = graph_new();
        alive += duo_destroy(dead) == DUO_OK;
        alive += duo_event_destroy(event) == DUO_OK;
        alive += duo_graph_destroy(graph) == DUO_OK;
        CHECK_STATUS(DUO_OK, duo_destroy(other));
        CHECK_STATUS(DUO_OK, duo_event_destroy(later));
        CHECK_STATUS(DUO_OK, duo_graph_destroy(next));
    }
    CHECK(alive == 0, "%d of %d were alive again", alive, 3 * OTHERS);
}

/* No handle of the program names the contexts and events that the library makes for itself from
 * ended ones. */
static void for_the_library(void)
{
    enum { N = 8 };
    static float out[2];
    duo_context *dead[N];
    duo_event *event[N];
    duo_context *const ctx = test_context();
    test_case("handles/inner");
    for (int i = 0; i < N; i++) dead[i] = new_context();
    for (int i = 0; i < N; i++) event[i] = new_event();
    for (int i = 0; i < N; i++) CHECK_STATUS(DUO_OK, duo_destroy(dead[i]));
    for (int i = 0; i < N; i++) CHECK_STATUS(DUO_OK, duo_event_destroy(event[i]));
    void *x = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 8 * sizeof(float), &x));
    const duo_work works[] = {work_reduction(DUO_WORK_SSUM, 4, x, (float *)x + 4),
                              work_reduction(DUO_WORK_SSUM, 4, x, (float *)x + 5),
                              work_copying(out, (float *)x + 4, sizeof out)};
    duo_graph *const graph = graph_built(ctx, works, 3, true, NULL);
    for (int i = 0; i < N; i++) check_dead_context(dead[i]);
    for (int i = 0; i < N; i++) check_dead_event(ctx, event[i]);
    CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    CHECK_STATUS(DUO_OK, duo_free(ctx, x));
    test_context_end(ctx);
}

/* A handle of one kind is none of another. */
static void of_its_kind(void)
{
    duo_context *const ctx = new_context();
    duo_event *const event = new_event();
    duo_graph *const graph = graph_new();
    test_case("handles/kinds");
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_synchronize((duo_context *)(void *)event));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_destroy((duo_context *)(void *)graph));
    CHECK_STATUS(DUO_ERR_EVENT, duo_event_synchronize((duo_event *)(void *)ctx));
    CHECK_STATUS(DUO_ERR_GRAPH, duo_graph_destroy((duo_graph *)(void *)event));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

/* ---- Forks ---- */

static bool dead_in_child(duo_context *dead, duo_event *event, duo_graph *graph, duo_context *live)
{
    duo_context *ctx = NULL;
    duo_event *later = NULL;
    duo_graph *next = NULL;
    if (duo_create(&ctx) != DUO_OK || duo_event_create(&later) != DUO_OK ||
        duo_graph_create(&next) != DUO_OK)
        return false;
    return duo_synchronize(dead) == DUO_ERR_CONTEXT && duo_destroy(dead) == DUO_ERR_CONTEXT &&
           duo_event_record(ctx, event) == DUO_ERR_EVENT &&
           duo_event_destroy(event) == DUO_ERR_EVENT &&
           duo_graph_build(graph, ctx) == DUO_ERR_GRAPH &&
           duo_graph_destroy(graph) == DUO_ERR_GRAPH && duo_synchronize(live) == DUO_OK &&
           duo_destroy(live) == DUO_OK && duo_synchronize(live) == DUO_ERR_CONTEXT;
}

static void in_a_child(void)
{
    if (UNDER_SANITIZER) {
        test_skip("a sanitizer does not support forks of processes with threads");
        return;
    }
    test_case("handles/fork");
    duo_context *const dead = new_context(), *const live = new_context();
    duo_event *const event = new_event();
    duo_graph *const graph = graph_new();
    CHECK_STATUS(DUO_OK, duo_destroy(dead));
    CHECK_STATUS(DUO_OK, duo_event_destroy(event));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
    const pid_t child = fork();
    if (child == 0) _exit(dead_in_child(dead, event, graph, live) ? 0 : 1);
    CHECK(child > 0, "no child");
    CHECK(test_child_wait((int)child, 60) == 0, "a handle was alive again, or dead");
    check_dead_context(dead); /* and in the parent */
    CHECK_STATUS(DUO_OK, duo_destroy(live));
}

static const test_entry tests[] = {
    {"ended_stays_dead", ended_stays_dead},
    {"for_a_thousand_others", for_a_thousand_others},
    {"for_the_library", for_the_library},
    {"of_its_kind", of_its_kind},
    {"in_a_child", in_a_child},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "handles", tests); }
