/*
 * decide.c - the program has a say in where its calls run: others want the GPU, too, so it is used
 * only where it is predicted to take less than half as long as the CPU.
 */
#include <duoblas.h>
#include <stdio.h>

enum { N = 256 };

static float a[N * N], b[N * N], c[N * N];

/* The cheapest candidate of a side, or -1. */
static int cheapest(const duo_decision *d, duo_side side)
{
    int best = -1;
    for (int i = 0; i < d->candidates; i++) {
        if (d->candidate[i].side != side || !d->candidate[i].accepts) continue;
        if (best < 0 || d->candidate[i].predicted_seconds < d->candidate[best].predicted_seconds)
            best = i;
    }
    return best;
}

static int spare_the_gpu(void *user, const duo_decision *decision, int chosen)
{
    int *const spared = user;
    const int cpu = cheapest(decision, DUO_SIDE_CPU);
    if (decision->candidate[chosen].side == DUO_SIDE_CPU || cpu < 0) return -1;
    if (2 * decision->predicted_seconds < decision->candidate[cpu].predicted_seconds) return -1;
    ++*spared;
    return cpu;
}

int main(void)
{
    int spared = 0;
    duo_context *ctx;
    duo_decision decision = {.size = sizeof decision};
    for (int i = 0; i < N * N; i++) a[i] = 1, b[i] = 2;
    if (duo_create(&ctx) != DUO_OK || duo_set_decide(ctx, spare_the_gpu, &spared) != DUO_OK ||
        duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N, N, 1, a, N, b, N, 0, c,
                  N) != DUO_OK ||
        duo_explain_last(ctx, &decision) != DUO_OK || duo_destroy(ctx) != DUO_OK)
        return 1;
    printf("%s: %s\ncalls for which the GPU was spared: %d\n", decision.algorithm, decision.reason,
           spared);
    return c[0] == 2 * N && c[N * N - 1] == 2 * N ? 0 : 1;
}
