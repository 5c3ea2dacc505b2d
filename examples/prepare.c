/*
 * prepare.c - one factor, many products: the weights of a layer and a stream of batches. On GPUs
 * with tensor cores for sgemm, a factor is first split into 16-bit parts. duo_prepare has the
 * weights split once, not in every product.
 */
#include <duoblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUTPUTS = 768, INPUTS = 512, BATCH = 256, BATCHES = 4 };

static float weights[OUTPUTS * INPUTS], batch[INPUTS * BATCH], result[OUTPUTS * BATCH];

static void check(duo_status status)
{
    if (status == DUO_OK) return;
    fprintf(stderr, "%s: %s\n", duo_status_string(status), duo_error_detail(NULL));
    exit(1);
}

/* Is every 97th element of the result within the error that the header promises? */
static int right(void)
{
    for (int e = 0; e < OUTPUTS * BATCH; e += 97) {
        double sum = 0, magnitude = 0;
        for (int l = 0; l < INPUTS; l++) {
            const double product =
                (double)weights[e % OUTPUTS + l * OUTPUTS] * batch[l + e / OUTPUTS * INPUTS];
            sum += product;
            magnitude += fabs(product);
        }
        if (!(fabs(result[e] - sum) <= (INPUTS + 3) * 0x1p-24 * magnitude)) return 0; /* NaN too */
    }
    return 1;
}

int main(void)
{
    int ok = 1;
    for (int i = 0; i < OUTPUTS * INPUTS; i++) weights[i] = (float)(i % 19 - 9) / 16;
    check(duo_keep(NULL, weights, sizeof weights));
    check(duo_prepare(NULL, weights, sizeof weights)); /* a promise: they rarely change */

    for (int step = 0; step < BATCHES; step++) {
        for (int i = 0; i < INPUTS * BATCH; i++) batch[i] = (float)((i + step) % 23 - 11) / 8;
        check(duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, OUTPUTS, BATCH, INPUTS, 1,
                        weights, OUTPUTS, batch, INPUTS, 0, result, OUTPUTS));
        ok = ok && right();
        if (step == BATCHES / 2) { /* rarely is not never: split again at the next product */
            for (int i = 0; i < OUTPUTS * INPUTS; i++) weights[i] *= 0.75f;
            check(duo_changed(NULL, weights, sizeof weights));
        }
    }
    check(duo_release(NULL, weights)); /* the prepared form goes with the array */
    printf("%d batches through a layer of %d x %d: %s\n", BATCHES, OUTPUTS, INPUTS,
           ok ? "right" : "WRONG");
    return ok ? 0 : 1;
}
