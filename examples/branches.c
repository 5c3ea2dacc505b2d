/*
 * branches.c - a graph that branches and joins, on the device, in a loop: built once, launched for
 * each step, with data that change in place. A drop spreads along a ring of N points:
 *
 *     y1 := A x      y2 := B x       side by side; A moves x to the right, B to the left
 *           \          /
 *      x := w1 y1 + w2 y2            after both: the product of [y1 y2] and w
 *
 * No launch waits for the device: the steps are queued one behind the other. Both branches read x,
 * as a graph's nodes may; calls in two contexts would follow each other there.
 */
#include <duoblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100, STEPS = 16 };

static void check(duo_status status, duo_graph *graph)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s: %s\n", duo_status_string(status), duo_graph_detail(graph));
    exit(1);
}

/* Memory on the device, with the host's data at first; without a GPU host memory. */
static float *on_device(const float *host, size_t count)
{
    void *memory;
    check(duo_malloc(NULL, count * sizeof(float), &memory), NULL);
    check(duo_copy(NULL, memory, host, count * sizeof(float)), NULL);
    return memory;
}

/* c := a b, a with N rows and k columns. */
static duo_work product(int k, const float *a, const float *b, float *c)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SGEMM,
                      .layout = DUO_COL_MAJOR,
                      .transa = DUO_NO_TRANS,
                      .transb = DUO_NO_TRANS,
                      .m = N,
                      .n = 1,
                      .k = k,
                      .alpha = 1.0f,
                      .a = a,
                      .lda = N,
                      .b = b,
                      .ldb = k,
                      .c = c,
                      .ldc = N};
}

/* The weights of a step: half of the drop goes either way, from the middle on all of it right. */
static const float *weights(int step)
{
    static const float both[2] = {0.5f, 0.5f}, right[2] = {1.0f, 0.0f};
    return step < STEPS / 2 ? both : right;
}

/* The same steps, by hand. */
static void follow(float x[N])
{
    float before[N];
    for (int step = 0; step < STEPS; step++) {
        memcpy(before, x, sizeof before);
        const float *const w = weights(step);
        for (int i = 0; i < N; i++)
            x[i] = w[0] * before[(i + N - 1) % N] + w[1] * before[(i + 1) % N];
    }
}

int main(void)
{
    static float right[N * N], left[N * N], y0[2 * N], x0[N] = {1.0f};
    for (int i = 0; i < N; i++) right[(i + 1) % N + i * N] = left[i + (i + 1) % N * N] = 1.0f;
    float *const a = on_device(right, N * N), *const b = on_device(left, N * N);
    float *const x = on_device(x0, N), *const y = on_device(y0, 2 * N);
    float *const w = on_device(weights(0), 2);

    duo_graph *graph;
    duo_node branch[2];
    const duo_work go_right = product(N, a, x, y), go_left = product(N, b, x, y + N);
    const duo_work join = product(2, y, w, x);
    check(duo_graph_create(&graph), NULL);
    check(duo_graph_add(graph, &go_right, NULL, 0, &branch[0]), graph);
    check(duo_graph_add(graph, &go_left, NULL, 0, &branch[1]), graph);
    check(duo_graph_add(graph, &join, branch, 2, NULL), graph);
    check(duo_graph_build(graph, NULL), graph);

    for (int step = 0; step < STEPS; step++) {
        if (step == STEPS / 2) /* behind the launches so far, before all later ones */
            check(duo_copy(NULL, w, weights(step), 2 * sizeof(float)), NULL);
        check(duo_graph_launch(graph, NULL), graph);
    }

    float found[N], expected[N];
    check(duo_copy(NULL, found, x, sizeof found), NULL); /* waits for all steps */
    memcpy(expected, x0, sizeof expected);
    follow(expected);
    int wrong = 0; /* halves, quarters ... are exact */
    for (int i = 0; i < N; i++) wrong += !(found[i] == expected[i]);
    printf("%d steps, %d wrong: %g of the drop at point %d\n", STEPS, wrong,
           (double)found[STEPS / 2], STEPS / 2);

    check(duo_graph_destroy(graph), NULL);
    float *const memory[] = {a, b, x, y, w};
    for (int i = 0; i < 5; i++) check(duo_free(NULL, memory[i]), NULL);
    return wrong == 0 ? 0 : 1;
}
