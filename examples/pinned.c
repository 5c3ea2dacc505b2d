/*
 * pinned.c - operands in pinned host memory. The GPU reads and writes it directly, so that
 * transfers are faster and the GPU pays from smaller sizes on. Without a GPU duo_malloc_host gives
 * plain memory.
 */
#include <duoblas.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 400 };

static void check(duo_status status)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s: %s\n", duo_status_string(status), duo_error_detail(NULL));
    exit(1);
}

static float *matrix(void)
{
    void *memory;
    check(duo_malloc_host(NULL, sizeof(float) * N * N, &memory));
    return memory;
}

int main(void)
{
    float *const a = matrix(), *const b = matrix(), *const c = matrix();
    for (int j = 0; j < N; j++) /* A(i,j) = i, B(i,j) = j; the program uses it as any memory */
        for (int i = 0; i < N; i++) {
            a[i + j * N] = (float)i;
            b[i + j * N] = (float)j;
        }
    check(duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, N, N, N, 1.0f / N, a, N, b, N,
                    0, c, N)); /* C is there when it returns, as with plain memory */

    int wrong = 0;
    for (int j = 0; j < N; j++) /* C(i,j) = i j, except for the rounding of 1/N and of the sum */
        for (int i = 0; i < N; i++)
            wrong += !(c[i + j * N] >= 0.9999f * (float)(i * j) &&
                       c[i + j * N] <= 1.0001f * (float)(i * j));

    duo_decision decision = {.size = sizeof decision};
    check(duo_explain_last(NULL, &decision));
    printf("operands in %s memory, computed on the %s: %d wrong\n",
           decision.residence[0] == DUO_AT_PINNED ? "pinned" : "plain",
           decision.side == DUO_SIDE_GPU ? "GPU" : "CPU", wrong);
    check(duo_free_host(NULL, a));
    check(duo_free_host(NULL, b));
    check(duo_free_host(NULL, c));
    return wrong == 0 ? 0 : 1;
}
