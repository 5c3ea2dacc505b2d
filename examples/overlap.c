/*
 * overlap.c - products that do not depend on each other, each in a context of its own: a context is
 * a queue, and the device works on several at once. Each has two parts; the program uses the result
 * of the first while the device does the second.
 *
 *     context i:  C := A B   s := sum C   [event i]   D := C B
 *     the host:                         waits for event i, uses s
 *
 * Each context has memory of its own. A call that writes memory of duo_malloc follows all others
 * that use it, in all contexts. Up to eight that only read it run side by side.
 */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256, CONTEXTS = 4, A = 0, B, C, D, ARRAYS };

typedef struct part {
    duo_context *ctx;
    duo_event *summed;
    float *array[ARRAYS]; /* on the device; without one, in host memory */
    float sum;
} part;

static float host[N * N];

static void check(duo_status status)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s\n", duo_status_string(status));
    exit(1);
}

/* Every element of A is `value`, every element of B is 1 / N. */
static void begin(part *p, float value)
{
    check(duo_create(&p->ctx));
    check(duo_set_async(p->ctx, 1)); /* sums may come after the call that asks for them */
    check(duo_event_create(&p->summed));
    for (int i = 0; i < ARRAYS; i++) {
        void *memory;
        check(duo_malloc(p->ctx, sizeof host, &memory));
        p->array[i] = memory;
    }
    for (int i = A; i <= B; i++) {
        for (int e = 0; e < N * N; e++) host[e] = i == A ? value : 1.0f / N;
        check(duo_copy(p->ctx, p->array[i], host, sizeof host));
    }
}

static void multiply(const part *p, int a, int b, int c)
{
    check(duo_sgemm(p->ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N, N, 1.0f, p->array[a],
                    N, p->array[b], N, 0.0f, p->array[c], N));
}

/* With a GPU this waits for nothing. The sum is there when the event is reached. */
static void queue_work(part *p)
{
    multiply(p, A, B, C);
    check(duo_ssum(p->ctx, N * N, p->array[C], 1, &p->sum));
    check(duo_event_record(p->ctx, p->summed));
    multiply(p, C, B, D);
}

/* D is A, as A B and C B are means of rows; the number of elements that are not. */
static int count_wrong(const part *p, float value)
{
    int wrong = 0;
    check(duo_copy(p->ctx, host, p->array[D], sizeof host)); /* waits only for this context */
    for (int e = 0; e < N * N; e++) wrong += !(fabsf(host[e] - value) < 0.001f);
    return wrong;
}

static void end(part *p)
{
    for (int i = 0; i < ARRAYS; i++) check(duo_free(p->ctx, p->array[i]));
    check(duo_event_destroy(p->summed));
    check(duo_destroy(p->ctx));
}

int main(void)
{
    static part parts[CONTEXTS];
    double total = 0.0;
    int wrong = 0;
    for (int i = 0; i < CONTEXTS; i++) begin(&parts[i], (float)(i + 1));
    check(duo_set_priority(parts[0].ctx, DUO_PRIORITY_HIGH)); /* its sum is used first */
    check(duo_warm_up(parts[0].ctx)); /* kernels are loaded now, and not between the products */

    for (int i = 0; i < CONTEXTS; i++) queue_work(&parts[i]);
    for (int i = 0; i < CONTEXTS; i++) { /* meanwhile the device goes on with D := C B */
        check(duo_event_synchronize(parts[i].summed));
        total += (double)parts[i].sum;
    }

    /* The last context follows the others: so to wait for it is to wait for all. */
    for (int i = 0; i < CONTEXTS - 1; i++) {
        check(duo_event_record(parts[i].ctx, parts[i].summed));
        check(duo_event_wait(parts[CONTEXTS - 1].ctx, parts[i].summed));
    }
    check(duo_synchronize(parts[CONTEXTS - 1].ctx));

    for (int i = 0; i < CONTEXTS; i++) wrong += count_wrong(&parts[i], (float)(i + 1));
    const double expected = (double)N * N * CONTEXTS * (CONTEXTS + 1) / 2;
    wrong += !(fabs(total - expected) < 1.0);
    printf("%d contexts: total %.0f, %d wrong\n", CONTEXTS, total, wrong);
    for (int i = 0; i < CONTEXTS; i++) end(&parts[i]);
    return wrong == 0 ? 0 : 1;
}
