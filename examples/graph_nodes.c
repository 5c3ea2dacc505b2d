/*
 * graph_nodes.c - a graph built by hand, with every kind of node, line by line: x goes to the
 * device, y := alpha A x there, and two numbers about y come home to a function of the program.
 *
 *     1 copy x to the device    2 set y to zero
 *                       \          /
 *                    3 empty: both are there
 *                             |
 *                     4 y := alpha A x + y
 *                        /          \
 *                  5 sum |y|      6 y . y
 *                        \          /
 *                   7 copy both to the host
 *                             |
 *                      8 note_sums()
 *
 * The graph is printed on stdout in the language of Graphviz: graph_nodes | dot -Tsvg >graph.svg
 */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, LAUNCHES = 3 };

static void check(duo_status status, duo_graph *graph)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s: %s\n", duo_status_string(status), duo_graph_detail(graph));
    exit(1);
}

/* The results of the launches, in their order. */
typedef struct notes {
    const float *sums; /* pinned memory; node 7 puts sum |y| and y . y there */
    float absolute[LAUNCHES + 1], square[LAUNCHES + 1];
    int count;
} notes;

/* Node 8. It runs on any thread, and must not call the library. */
static void note_sums(void *user)
{
    notes *const n = user;
    n->absolute[n->count] = n->sums[0];
    n->square[n->count] = n->sums[1];
    n->count++;
}

/* Memory on the device (without a GPU: host memory), and pinned host memory. */
static float *device_floats(size_t count)
{
    void *memory;
    check(duo_malloc(NULL, count * sizeof(float), &memory), NULL);
    return memory;
}

static float *pinned_floats(size_t count)
{
    void *memory;
    check(duo_malloc_host(NULL, count * sizeof(float), &memory), NULL);
    return memory;
}

int main(void)
{
    static float host_a[N * N];
    float *const a = device_floats(N * N), *const x = device_floats(N), *const y = device_floats(N);
    float *const results = device_floats(2);
    float *const host_x = pinned_floats(N), *const sums = pinned_floats(2);
    notes noted = {.sums = sums};

    /* A = -2 I. It is no part of the graph: it goes to the device once. */
    for (int i = 0; i < N; i++) host_a[i + i * N] = -2.0f;
    check(duo_copy(NULL, a, host_a, sizeof host_a), NULL);

    /* An empty graph. A work says what a node does; its size comes first, and fields that its kind
     * does not need stay 0. */
    duo_graph *graph;
    check(duo_graph_create(&graph), NULL);

    /* 1: a copy of one run of bytes. The device copies pinned memory itself. */
    const duo_work send = {.size = sizeof send,
                           .kind = DUO_WORK_COPY,
                           .dst = x,
                           .src = host_x,
                           .width = N * sizeof(float),
                           .height = 1};
    /* 2: bytes that become one value. */
    const duo_work zero = {.size = sizeof zero,
                           .kind = DUO_WORK_SET,
                           .dst = y,
                           .value = 0,
                           .width = N * sizeof(float),
                           .height = 1};
    duo_node ready[2], both, product, sum[2], fetch;
    check(duo_graph_add(graph, &send, NULL, 0, &ready[0]), graph); /* NULL, 0: after nothing */
    check(duo_graph_add(graph, &zero, NULL, 0, &ready[1]), graph);

    /* 3: nothing, after both. A node that depends on it depends on both. */
    const duo_work empty = {.size = sizeof empty, .kind = DUO_WORK_EMPTY};
    check(duo_graph_add(graph, &empty, ready, 2, &both), graph);

    /* 4: the arguments of duo_sgemm, by name. */
    duo_work multiply = {.size = sizeof multiply,
                         .kind = DUO_WORK_SGEMM,
                         .layout = DUO_COL_MAJOR,
                         .transa = DUO_NO_TRANS,
                         .transb = DUO_NO_TRANS,
                         .m = N,
                         .n = 1,
                         .k = N,
                         .alpha = 1.0f,
                         .a = a,
                         .lda = N,
                         .b = x,
                         .ldb = N,
                         .beta = 1.0f,
                         .c = y,
                         .ldc = N};
    check(duo_graph_add(graph, &multiply, &both, 1, &product), graph);

    /* 5 and 6: side by side, as both depend only on the product. */
    duo_work add_up = {.size = sizeof add_up,
                       .kind = DUO_WORK_SSUM,
                       .n = N,
                       .x = y,
                       .incx = 1,
                       .result = &results[0]};
    const duo_work square = {.size = sizeof square,
                             .kind = DUO_WORK_SDOT,
                             .n = N,
                             .x = y,
                             .incx = 1,
                             .y = y,
                             .incy = 1,
                             .result = &results[1]};
    check(duo_graph_add(graph, &add_up, &product, 1, &sum[0]), graph);
    check(duo_graph_add(graph, &square, &product, 1, &sum[1]), graph);

    /* 7 and 8: home, and into the program's own hands. */
    const duo_work take_home = {.size = sizeof take_home,
                                .kind = DUO_WORK_COPY,
                                .dst = sums,
                                .src = results,
                                .width = 2 * sizeof(float),
                                .height = 1};
    const duo_work note = {
        .size = sizeof note, .kind = DUO_WORK_HOST, .function = note_sums, .user = &noted};
    check(duo_graph_add(graph, &take_home, &sum[0], 1, &fetch), graph);
    check(duo_graph_add(graph, &note, &fetch, 1, NULL), graph);

    /* Until the graph is built every node can be altered. Node 5 shall add absolute values; its
     * dependencies stay (-1). Node 7 has to wait for node 6, too; its work stays (NULL). */
    add_up.kind = DUO_WORK_SASUM;
    check(duo_graph_alter(graph, sum[0], &add_up, NULL, -1), graph);
    check(duo_graph_alter(graph, fetch, NULL, sum, 2), graph);

    /* Now all of it is checked, laid out and recorded. */
    check(duo_graph_build(graph, NULL), graph);

    /* A launch that ends on the host has done all when it returns: so x may be changed then. */
    for (int launch = 0; launch < LAUNCHES; launch++) {
        for (int i = 0; i < N; i++) host_x[i] = (float)(launch + 1);
        check(duo_graph_launch(graph, NULL), graph);
    }

    /* Pointers, scalars and functions can be replaced in a built graph, shapes cannot. */
    multiply.alpha = 0.5f;
    check(duo_graph_update(graph, product, &multiply), graph);
    check(duo_graph_launch(graph, NULL), graph);

    char text[2048];
    size_t length;
    check(duo_graph_print(graph, text, sizeof text, &length), graph);
    fputs(text, stdout);
    check(duo_graph_destroy(graph), NULL);

    int wrong = noted.count != LAUNCHES + 1 || length >= sizeof text;
    for (int launch = 0; launch < noted.count; launch++) { /* of y = -each, -each ... */
        const float each = launch < LAUNCHES ? 2.0f * (float)(launch + 1) : (float)LAUNCHES;
        wrong += !(fabsf(noted.absolute[launch] - N * each) < 0.01f);
        wrong += !(fabsf(noted.square[launch] - N * each * each) < 0.01f);
    }
    fprintf(stderr, "%d launches, %d wrong\n", noted.count, wrong);

    float *const device[] = {a, x, y, results}, *const pinned[] = {host_x, sums};
    for (int i = 0; i < 4; i++) check(duo_free(NULL, device[i]), NULL);
    for (int i = 0; i < 2; i++) check(duo_free_host(NULL, pinned[i]), NULL);
    return wrong == 0 ? 0 : 1;
}
