/*
 * guest.c - a program whose environment and folder may be an attacker's (test_security.sh). Prints
 * whether it runs in secure mode, and what the profile in use predicts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "duoblas.h"

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                 float *, int);

enum { EDGE = 300, N = EDGE * EDGE };

int main(void)
{
    static float a[N], c[N];
    duo_context *ctx = NULL;
    duo_decision d = {.size = sizeof d};
    float dot = 0.0f;
    /* No report may tell these data. */
    for (int i = 0; i < N; i++) a[i] = 12345.5f;
    if (duo_create(&ctx) != DUO_OK || duo_sdot(ctx, N, a, 1, a, 1, &dot) != DUO_OK ||
        duo_explain_last(ctx, &d) != DUO_OK)
        return 1;
    if (duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f, a, EDGE,
                  a, EDGE, 0.0f, c, EDGE) != DUO_OK)
        return 1;
    cblas_sgemm(102, 111, 111, EDGE, EDGE, EDGE, 1.0f, a, EDGE, a, EDGE, 0.0f, c, EDGE);
    printf("secure=%lu predicted=%a reason=%s\n", getauxval(AT_SECURE), d.predicted_seconds,
           d.reason);
    return duo_destroy(ctx) == DUO_OK && c[0] > 0.0f ? 0 : 1;
}
