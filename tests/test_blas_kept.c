/*
 * test_blas_kept.c - the drop-in's results in kept arrays: they are on the host when the call
 * returns, as callers of BLAS expect.
 */
#define _GNU_SOURCE
#include <string.h>

#include "sim/sim.h"
#include "support/arrays.h"
#include "support/blas_abi.h"
#include "support/harness.h"
#include "support/oracle.h"

/* The host copy of C is current at return, also if the device is slow, and if C is a part of the
 * kept memory. */
static void kept_arrays(void)
{
    enum { KEPT = 40 * 40 };
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    if (test_on_sim()) sim_set_delay(2000);
    for (int abi = 0; abi < ABI_NATIVE; abi++) {
        for (int round = 0; round < 4; round++) {
            test_rng rng = test_rng_for("kept");
            test_array a = test_array_new(30, 20, 30, 0), b = test_array_new(20, 30, 20, 0);
            test_array c = test_array_new(40, 40, 40, 0);
            test_array_fill(&a, &rng, DATA_INTEGER);
            test_array_fill(&b, &rng, DATA_INTEGER);
            test_array_fill(&c, &rng, DATA_INTEGER);
            test_array before = test_array_copy(&c);
            const float beta = round % 2 == 0 ? 0.0f : -1.0f;
            CHECK_STATUS(DUO_OK, duo_keep(NULL, c.data, KEPT * sizeof(float)));
            if (round >= 2) CHECK_STATUS(DUO_OK, duo_keep(NULL, a.data, a.bytes));
            float *const part = c.data + 3 + 5 * 40;
            const blas_product p = {DUO_COL_MAJOR, 'N', 'N',    30, 30,   20,   1.0f,
                                    a.data,        30,  b.data, 20, beta, part, 40};
            oracle_product definition = {DUO_COL_MAJOR,
                                         DUO_NO_TRANS,
                                         DUO_NO_TRANS,
                                         30,
                                         30,
                                         20,
                                         1.0f,
                                         a.data,
                                         30,
                                         b.data,
                                         20,
                                         beta,
                                         before.data + 3 + 5 * 40,
                                         40};
            static double want[900], bound[900];
            for (int again = 0; again < 2; again++) {
                test_case("kept/%s/beta=%g/again=%d", blas_abi_name((blas_abi)abi), (double)beta,
                          again);
                oracle_sgemm(&definition, want, bound);
                CHECK_STATUS(DUO_OK, blas_sgemm((blas_abi)abi, &p));
                bool right = true, rest = true;
                for (int64_t j = 0; j < 40; j++) {
                    for (int64_t i = 0; i < 40; i++) {
                        const bool inside = i >= 3 && i < 33 && j >= 5 && j < 35;
                        const float got = c.data[i + 40 * j];
                        if (inside)
                            right = right && (double)got == want[(i - 3) * 30 + j - 5];
                        else
                            rest = rest && test_same(got, before.data[i + 40 * j]);
                    }
                }
                CHECK(right, "the host copy of C is not current");
                CHECK(rest, "outside C something changed");
                memcpy(before.data, c.data, c.bytes);
            }
            duo_decision d = {.size = sizeof d};
            CHECK_STATUS(DUO_OK, duo_explain_last(NULL, &d));
            CHECK((d.side == DUO_SIDE_GPU) == test_gpu_side(), "on the other side: %s", d.note);
            if (round >= 2) CHECK_STATUS(DUO_OK, duo_release(NULL, a.data));
            CHECK_STATUS(DUO_OK, duo_release(NULL, c.data));
            CHECK(test_array_equal(&c, &before) && test_array_intact(&c), "changed by its release");
            test_array_free(&a);
            test_array_free(&b);
            test_array_free(&c);
            test_array_free(&before);
        }
    }
}

static const test_entry tests[] = {
    {"kept_arrays", kept_arrays},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "blas_kept", tests); }
