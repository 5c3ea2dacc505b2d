/*
 * update.c - one graph for a list of inputs. Between launches its nodes get other pointers, to the
 * next input and to where its result belongs; the rest of the graph stays.
 *
 *     x := input[i]    from pinned memory to the device
 *          |
 *       y := A x
 *          |
 *     result[i] := y . y
 *
 * No launch waits for the device: all are queued, and one copy brings the results home.
 */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 200, INPUTS = 8 };

static void check(duo_status status, duo_graph *graph)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s: %s\n", duo_status_string(status), duo_graph_detail(graph));
    exit(1);
}

static float *device_floats(size_t count)
{
    void *memory;
    check(duo_malloc(NULL, count * sizeof(float), &memory), NULL);
    return memory;
}

/* An input in memory of its own, which stays as it is until it has been sent: input i is 1 at every
 * point up to i. */
static float *new_input(int i)
{
    void *memory;
    check(duo_malloc_host(NULL, N * sizeof(float), &memory), NULL);
    float *const input = memory;
    for (int j = 0; j < N; j++) input[j] = j <= i ? 1.0f : 0.0f;
    return input;
}

int main(void)
{
    static float host_a[N * N];
    float *const a = device_floats(N * N), *const x = device_floats(N), *const y = device_floats(N);
    float *const results = device_floats(INPUTS);
    float *input[INPUTS], found[INPUTS];
    for (int i = 0; i < INPUTS; i++) input[i] = new_input(i);
    for (int i = 0; i < N; i++) host_a[i + i * N] = 3.0f; /* A = 3 I */
    check(duo_copy(NULL, a, host_a, sizeof host_a), NULL);

    /* The works stay in the program: it changes fields in them, and hands them in. */
    duo_work send = {.size = sizeof send,
                     .kind = DUO_WORK_COPY,
                     .dst = x,
                     .src = input[0],
                     .width = N * sizeof(float),
                     .height = 1};
    const duo_work multiply = {.size = sizeof multiply,
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
                               .c = y,
                               .ldc = N};
    duo_work square = {.size = sizeof square,
                       .kind = DUO_WORK_SDOT,
                       .n = N,
                       .x = y,
                       .incx = 1,
                       .y = y,
                       .incy = 1,
                       .result = &results[0]};
    duo_graph *graph;
    duo_node first, second, third;
    check(duo_graph_create(&graph), NULL);
    check(duo_graph_add(graph, &send, NULL, 0, &first), graph);
    check(duo_graph_add(graph, &multiply, &first, 1, &second), graph);
    check(duo_graph_add(graph, &square, &second, 1, &third), graph);
    check(duo_graph_build(graph, NULL), graph);

    for (int i = 0; i < INPUTS; i++) {
        send.src = input[i];
        square.result = &results[i];
        check(duo_graph_update(graph, first, &send), graph); /* earlier launches keep theirs */
        check(duo_graph_update(graph, third, &square), graph);
        check(duo_graph_launch(graph, NULL), graph);
    }
    check(duo_copy(NULL, found, results, sizeof found), NULL); /* waits for all launches */

    int wrong = 0;
    for (int i = 0; i < INPUTS; i++) wrong += !(fabsf(found[i] - 9.0f * (float)(i + 1)) < 0.01f);
    printf("%d inputs, %d wrong: the last gives %g\n", INPUTS, wrong, (double)found[INPUTS - 1]);

    check(duo_graph_destroy(graph), NULL);
    for (int i = 0; i < INPUTS; i++) check(duo_free_host(NULL, input[i]), NULL);
    float *const memory[] = {a, x, y, results};
    for (int i = 0; i < 4; i++) check(duo_free(NULL, memory[i]), NULL);
    return wrong == 0 ? 0 : 1;
}
