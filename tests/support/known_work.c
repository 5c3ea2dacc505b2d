/* known_work.c - calls with known results; see known_work.h. */
#define _GNU_SOURCE
#include "support/known_work.h"

#include <math.h>
#include <stdlib.h>

#include "support/data.h"

void make_known_work(known_work *s, int seed)
{
    s->x = malloc(KNOWN_FLOATS * sizeof *s->x);
    s->a = malloc(KNOWN_EDGE * KNOWN_EDGE * sizeof *s->a);
    s->square = calloc(KNOWN_EDGE * KNOWN_EDGE, sizeof *s->square);
    if (s->x == NULL || s->a == NULL || s->square == NULL) abort();
    s->sum = s->asum = s->dot = 0.0f;
    for (int i = 0; i < KNOWN_FLOATS; i++) {
        s->x[i] = (float)((i + seed) % 9 - 3);
        s->sum += s->x[i];
        s->asum += fabsf(s->x[i]);
        s->dot += s->x[i] * s->x[i];
    }
    for (int i = 0; i < KNOWN_EDGE * KNOWN_EDGE; i++) s->a[i] = (float)((i * 3 + seed) % 5 - 2);
    for (int j = 0; j < KNOWN_EDGE; j++)
        for (int p = 0; p < KNOWN_EDGE; p++)
            for (int i = 0; i < KNOWN_EDGE; i++)
                s->square[i + j * KNOWN_EDGE] +=
                    s->a[i + p * KNOWN_EDGE] * s->a[p + j * KNOWN_EDGE];
}

void free_known_work(known_work *s)
{
    free(s->x);
    free(s->a);
    free(s->square);
}

bool all_four(duo_context *ctx, const known_work *s)
{
    float sum = test_poison(), asum = sum, dot = sum, c[KNOWN_EDGE * KNOWN_EDGE];
    bool ok = duo_ssum(ctx, KNOWN_FLOATS, s->x, 1, &sum) == DUO_OK && sum == s->sum;
    ok = duo_sasum(ctx, KNOWN_FLOATS, s->x, 1, &asum) == DUO_OK && asum == s->asum && ok;
    ok = duo_sdot(ctx, KNOWN_FLOATS, s->x, 1, s->x, 1, &dot) == DUO_OK && dot == s->dot && ok;
    ok = duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, KNOWN_EDGE, KNOWN_EDGE,
                   KNOWN_EDGE, 1.0f, s->a, KNOWN_EDGE, s->a, KNOWN_EDGE, 0.0f, c,
                   KNOWN_EDGE) == DUO_OK &&
         ok;
    for (int i = 0; i < KNOWN_EDGE * KNOWN_EDGE && ok; i++) ok = c[i] == s->square[i];
    return ok;
}
