/*
 * keep.c - an iteration with its matrix on the GPU: the largest eigenvalue by the power method. A
 * is sent once, at its first use there. In each step only the vectors of 4 KB move.
 */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1024, STEPS = 20 };

static float a[N * N], x[N], y[N];

static void check(duo_status status)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s: %s\n", duo_status_string(status), duo_error_detail(NULL));
    exit(1);
}

int main(void)
{
    /* A = I + (9/N) v v', v(i) = 1 or -1: the eigenvalues are 10, once, and 1. */
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            a[i + j * N] =
                (float)(i == j) + 9.0f / N * (i % 3 == 0 ? -1 : 1) * (j % 3 == 0 ? -1 : 1);
    x[0] = 1;

    float square = 0;
    check(duo_keep(NULL, a, sizeof a));
    check(duo_keep(NULL, x, sizeof x));
    check(duo_keep(NULL, y, sizeof y));
    for (int step = 0; step < STEPS; step++) {
        check(duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, 1, N, 1, a, N, x, N, 0,
                        y, N)); /* y := A x stays where it was computed */
        check(duo_sdot(NULL, N, y, 1, y, 1, &square));
        check(duo_fetch(NULL, y, sizeof y)); /* before the program reads y */
        for (int i = 0; i < N; i++) x[i] = y[i] / sqrtf(square);
        check(duo_changed(NULL, x, sizeof x)); /* after the program wrote x */
    }
    check(duo_release(NULL, a)); /* before the memory is freed or used for something else */
    check(duo_release(NULL, x));
    check(duo_release(NULL, y));

    const float eigenvalue = sqrtf(square); /* |A x| with |x| = 1 */
    printf("largest eigenvalue: %.5f\n", (double)eigenvalue);
    return fabsf(eigenvalue - 10) <= 1e-4f ? 0 : 1;
}
