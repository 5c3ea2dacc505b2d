/*
 * test_graph_places.c - where the memory of a graph's nodes lies: memory that a graph cannot use,
 * spans beyond the address space, and updates that move a copy.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/exact.h"
#include "support/graph_works.h"
#include "support/graph_world.h"
#include "support/harness.h"

enum { COUNT = 64, BYTES = COUNT * sizeof(float) };

/* A graph of this one node is refused, and its detail tells why. Of another one it is not. */
static void refused_node(duo_context *ctx, duo_work bad, duo_status status, const char *why)
{
    const duo_work good = work_of(DUO_WORK_EMPTY);
    duo_graph *const graph = graph_new();
    const duo_node node = graph_add(graph, &bad, NULL, 0);
    CHECK_STATUS(status, duo_graph_build(graph, ctx));
    test_contains(duo_graph_detail(graph), "node 1");
    test_contains(duo_graph_detail(graph), why);
    CHECK_STATUS(DUO_OK, duo_graph_alter(graph, node, &good, NULL, -1));
    CHECK_STATUS(DUO_OK, duo_graph_build(graph, ctx));
    CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
}

/* Device memory that duo_adopt was not told of, and memory of another device. */
static void not_ours(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    sim_set_devices(2);
    duo_context *const ctx = test_context();
    float host[COUNT], sum = 0.0f, *there = NULL, *const foreign = sim_foreign_malloc(0, BYTES);
    fill(host, COUNT, 1);
    test_case("graph places/foreign");
    refused_node(ctx, work_reduction(DUO_WORK_SSUM, COUNT, foreign, &sum), DUO_ERR_FOREIGN, "");
    refused_node(ctx, work_copying(host, foreign, BYTES), DUO_ERR_FOREIGN, "");
    refused_node(ctx, work_copying(foreign, host, BYTES), DUO_ERR_FOREIGN, "");
    sim_foreign_free(foreign);

    test_case("graph places/another device");
    CHECK_STATUS(DUO_OK, duo_set_device(ctx, 1));
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, BYTES, (void **)&there));
    CHECK_STATUS(DUO_OK, duo_set_device(ctx, 0));
    const char *const why = "on another device";
    refused_node(ctx, work_reduction(DUO_WORK_SSUM, COUNT, there, &sum), DUO_ERR_HIDDEN, why);
    refused_node(ctx, work_copying(host, there, BYTES), DUO_ERR_HIDDEN, why);
    refused_node(ctx, work_copying(there, host, BYTES), DUO_ERR_HIDDEN, why);
    CHECK_STATUS(DUO_OK, duo_free(ctx, there));
    test_context_end(ctx);
    sim_set_devices(1);
}

/* Three rows of 24 bytes: the last one ends, or begins, beyond what an address can be. */
static void beyond_addresses(void)
{
    static const size_t pitches[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 - 500};
    duo_context *const ctx = test_context();
    float in[COUNT], out[COUNT];
    for (int i = 0; i < 3; i++) {
        test_case("graph places/pitch %zu", pitches[i]);
        duo_work work = work_sample(DUO_WORK_COPY, in, out);
        work.src_pitch = pitches[i];
        refused_node(ctx, work, DUO_ERR_SIZE, "beyond the address space");
        work = work_sample(i == 0 ? DUO_WORK_SET : DUO_WORK_COPY, in, out);
        work.dst_pitch = pitches[i];
        refused_node(ctx, work, DUO_ERR_SIZE, "beyond the address space");
    }
    test_context_end(ctx);
}

enum { PLAIN, PINNED, THERE, PLACES };

static bool same_kind(int was, int is) { return (was == THERE) == (is == THERE); }

/* May a copy that was between these places be between those? Each end stays on its side. Pinned
 * memory that is copied to or from the device stays pinned. */
static bool may_move(int to, int from, int new_to, int new_from)
{
    if (!same_kind(to, new_to) || !same_kind(from, new_from)) return false;
    if (to == THERE && from != THERE) return new_from == from || from == PLAIN;
    if (from == THERE && to != THERE) return new_to == to || to == PLAIN;
    return true;
}

static void moved_copies(void)
{
    if (!test_gpu_side()) return;
    duo_context *const ctx = test_context();
    float *from[PLACES] = {new_floats(COUNT)}, *to[PLACES] = {new_floats(COUNT)}, is[COUNT];
    for (int i = 0; i < 2; i++) {
        float **const of = i == 0 ? from : to;
        CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, BYTES, (void **)&of[PINNED]));
        CHECK_STATUS(DUO_OK, duo_malloc(ctx, BYTES, (void **)&of[THERE]));
    }
    for (int was = 0; was < PLACES * PLACES; was++)
        for (int now = 0; now < PLACES * PLACES; now++) {
            const int old_to = was / PLACES, old_from = was % PLACES, new_to = now / PLACES,
                      new_from = now % PLACES;
            const bool may = may_move(old_to, old_from, new_to, new_from);
            const int last_to = may ? new_to : old_to, last_from = may ? new_from : old_from;
            duo_node node;
            duo_work work = work_copying(to[old_to], from[old_from], BYTES);
            test_case("graph places/copy %d-%d to %d-%d", old_from, old_to, new_from, new_to);
            duo_graph *const graph = graph_built(ctx, &work, 1, false, &node);
            work = work_copying(to[new_to], from[new_from], BYTES);
            CHECK_STATUS(may ? DUO_OK : DUO_ERR_SHAPE, duo_graph_update(graph, node, &work));
            fill(is, COUNT, was + 10 * now);
            CHECK_STATUS(DUO_OK, duo_copy(ctx, from[last_from], is, BYTES));
            CHECK_STATUS(DUO_OK, duo_graph_launch(graph, ctx));
            CHECK_STATUS(DUO_OK, duo_synchronize(ctx));
            memset(is, 0, BYTES);
            CHECK_STATUS(DUO_OK, duo_copy(ctx, is, to[last_to], BYTES));
            float expected[COUNT];
            fill(expected, COUNT, was + 10 * now);
            CHECK(memcmp(is, expected, BYTES) == 0, "other bytes arrived");
            CHECK_STATUS(DUO_OK, duo_graph_destroy(graph));
        }
    for (int i = 0; i < 2; i++) {
        float *const *const of = i == 0 ? from : to;
        free(of[PLAIN]);
        CHECK_STATUS(DUO_OK, duo_free_host(ctx, of[PINNED]));
        CHECK_STATUS(DUO_OK, duo_free(ctx, of[THERE]));
    }
    test_context_end(ctx);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {{"not_ours", not_ours},
                                       {"beyond_addresses", beyond_addresses},
                                       {"moved_copies", moved_copies},
                                       {NULL, NULL}};
    return test_main(argc, argv, "graph_places", tests);
}
