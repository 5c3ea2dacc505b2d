/*
 * graph.c - a graph, built once and launched in a loop: two products that do not depend on each
 * other, then the sum of both, which a function of the program takes.
 *
 *     C1 := A A      C2 := B B         side by side
 *        |              |
 *     s1 := sum C1   s2 := sum C2
 *          \           /
 *        total += s1 + s2
 */
#include <duoblas.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 128, LAUNCHES = 10 };

static float a[N * N], b[N * N], c1[N * N], c2[N * N], s1, s2;
static double total;

static void check(duo_status status, duo_graph *graph)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s: %s\n", duo_status_string(status), duo_graph_detail(graph));
    exit(1);
}

static void add_up(void *user)
{
    double *const sum = user;
    *sum += (double)s1 + (double)s2;
}

static duo_work square(const float *x, float *c)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SGEMM,
                      .layout = DUO_COL_MAJOR,
                      .transa = DUO_NO_TRANS,
                      .transb = DUO_NO_TRANS,
                      .m = N,
                      .n = N,
                      .k = N,
                      .alpha = 1.0f,
                      .a = x,
                      .lda = N,
                      .b = x,
                      .ldb = N,
                      .c = c,
                      .ldc = N};
}

static duo_work sum(const float *x, float *result)
{
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SSUM,
                      .n = N * N,
                      .x = x,
                      .incx = 1,
                      .result = result};
}

int main(void)
{
    duo_graph *graph = NULL;
    duo_node product[2], sums[2];
    for (int i = 0; i < N * N; i++) {
        a[i] = (float)(i % 3);
        b[i] = (float)(i % 2);
    }

    check(duo_graph_create(&graph), graph);
    const duo_work work[] = {square(a, c1), square(b, c2), sum(c1, &s1), sum(c2, &s2)};
    for (int i = 0; i < 2; i++) {
        check(duo_graph_add(graph, &work[i], NULL, 0, &product[i]), graph);
        check(duo_graph_add(graph, &work[2 + i], &product[i], 1, &sums[i]), graph);
    }
    const duo_work last = {
        .size = sizeof last, .kind = DUO_WORK_HOST, .function = add_up, .user = &total};
    check(duo_graph_add(graph, &last, sums, 2, NULL), graph);
    check(duo_graph_build(graph, NULL), graph);

    for (int i = 0; i < LAUNCHES; i++) check(duo_graph_launch(graph, NULL), graph);

    /* The products of doubled matrices, without building again. */
    duo_work twice = work[0];
    twice.alpha = 4.0f;
    check(duo_graph_update(graph, product[0], &twice), graph);
    const double before = total / LAUNCHES, first = (double)s1;
    check(duo_graph_launch(graph, NULL), graph);
    check(duo_graph_destroy(graph), NULL);

    printf("%d launches: %.0f each; then %.0f\n", LAUNCHES, before, (double)s1 + (double)s2);
    return before > 0.0 && (double)s1 == 4.0 * first && total == LAUNCHES * before + s1 + s2 ? 0
                                                                                             : 1;
}
