/*
 * capture.c - calls that become a graph: they are made once, while it is captured, and done by each
 * launch. Two contexts work side by side, with events where they part and where they meet.
 *
 *     y := A x
 *      |      \
 *     y . y   sum |y|     side by side
 *      |      /
 *     both results, copied to where the host reads them
 */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256, LAUNCHES = 10 };

static void check(duo_status status, duo_context *ctx)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s: %s\n", duo_status_string(status), duo_error_detail(ctx));
    exit(1);
}

/* Memory on the device, or in host memory without one. */
static float *device_floats(duo_context *ctx, size_t count)
{
    void *memory;
    check(duo_malloc(ctx, count * sizeof(float), &memory), ctx);
    return memory;
}

int main(void)
{
    static float host_a[N * N], host_x[N];
    float sums[2] = {0.0f, 0.0f};
    duo_context *main_ctx, *side_ctx;
    duo_event *fork, *join;
    duo_graph *graph;
    check(duo_create(&main_ctx), NULL);
    check(duo_create(&side_ctx), NULL);
    check(duo_event_create(&fork), NULL);
    check(duo_event_create(&join), NULL);
    float *const a = device_floats(main_ctx, N * N), *const x = device_floats(main_ctx, N);
    float *const y = device_floats(main_ctx, N), *const results = device_floats(main_ctx, 2);
    for (int i = 0; i < N; i++) host_a[i + i * N] = -2.0f; /* A = -2 I */

    check(duo_graph_begin(main_ctx), main_ctx);
    check(duo_copy(main_ctx, x, host_x, sizeof host_x), main_ctx);
    check(duo_sgemm(main_ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, 1, N, 1.0f, a, N, x, N,
                    0.0f, y, N),
          main_ctx);
    check(duo_event_record(main_ctx, fork), main_ctx);
    check(duo_event_wait(side_ctx, fork), side_ctx);
    check(duo_sdot(main_ctx, N, y, 1, y, 1, &results[0]), main_ctx);
    check(duo_sasum(side_ctx, N, y, 1, &results[1]), side_ctx);
    check(duo_event_record(side_ctx, join), side_ctx);
    check(duo_event_wait(main_ctx, join), main_ctx);
    check(duo_copy(main_ctx, sums, results, sizeof sums), main_ctx);
    check(duo_graph_end(main_ctx, &graph), main_ctx); /* until here nothing has been done */

    check(duo_copy(main_ctx, a, host_a, sizeof host_a), main_ctx);
    check(duo_graph_build(graph, main_ctx), main_ctx);
    int wrong = 0;
    for (int launch = 1; launch <= LAUNCHES; launch++) {
        for (int i = 0; i < N; i++) host_x[i] = (float)launch;
        check(duo_graph_launch(graph, main_ctx), main_ctx);
        const float each = 2.0f * (float)launch; /* of |y| */
        wrong += !(fabsf(sums[0] - N * each * each) < 1.0f && fabsf(sums[1] - N * each) < 1.0f);
    }
    printf("%d launches, %d wrong: last y . y = %.0f, sum |y| = %.0f\n", LAUNCHES, wrong,
           (double)sums[0], (double)sums[1]);

    check(duo_graph_destroy(graph), main_ctx);
    float *const memory[] = {a, x, y, results};
    for (int i = 0; i < 4; i++) check(duo_free(main_ctx, memory[i]), main_ctx);
    check(duo_event_destroy(fork), NULL);
    check(duo_event_destroy(join), NULL);
    check(duo_destroy(side_ctx), NULL);
    check(duo_destroy(main_ctx), NULL);
    return wrong == 0 ? 0 : 1;
}
