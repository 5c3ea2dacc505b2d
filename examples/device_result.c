/*
 * device_result.c - results that stay on the device. A reduction with its result there does not
 * wait: three are queued, the CPU is free meanwhile, and one copy brings their results back.
 * Without a GPU duo_malloc gives host memory, and the same program computes at once.
 */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 20 };

static float host[N];

static void check(duo_status status)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s\n", duo_status_string(status));
    exit(1);
}

int main(void)
{
    duo_context *ctx; /* an in-order queue: calls run in their order */
    void *memory;
    float results[3] = {NAN, NAN, NAN};
    for (int i = 0; i < N; i++) host[i] = i % 4 == 0 ? -2 : 1;

    check(duo_create(&ctx));
    check(duo_malloc(ctx, sizeof host, &memory)); /* not to be read or written but by calls */
    float *const x = memory;
    check(duo_malloc(ctx, sizeof results, &memory));
    float *const on_device = memory;

    check(duo_copy(ctx, x, host, sizeof host)); /* host may be changed once this returns */
    check(duo_ssum(ctx, N, x, 1, &on_device[0]));
    check(duo_sasum(ctx, N, x, 1, &on_device[1]));
    check(duo_sdot(ctx, N, x, 1, x, 1, &on_device[2]));
    double other_work = 0;
    for (int i = 0; i < N; i++) other_work += host[i];
    check(duo_synchronize(ctx)); /* all three are done; a lost device would be told of here */
    check(duo_copy(ctx, results, on_device, sizeof results));

    check(duo_free(ctx, on_device));
    check(duo_free(ctx, x));
    check(duo_destroy(ctx));
    printf("sum %g, absolute %g, squares %g\n", (double)results[0], (double)results[1],
           (double)results[2]);
    /* Whole numbers below 2^24 are added without rounding. */
    return results[0] == other_work && results[1] == N / 4 * 5 && results[2] == N / 4 * 7 ? 0 : 1;
}
