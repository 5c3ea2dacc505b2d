/*
 * test_api_explain.c - duo_explain_last tells the operands and the algorithm of a call, also of
 * calls with nothing to do, and after errors.
 */
#include <fenv.h>
#include <stddef.h>
#include <string.h>

#include "support/harness.h"

static void explanations(void)
{
    duo_context *ctx = test_context();
    test_case("explain_last");
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_ERR_NULL, duo_explain_last(ctx, NULL));
    d.size = offsetof(duo_decision, ran) - 1; /* less than all versions have */
    CHECK_STATUS(DUO_ERR_SIZE, duo_explain_last(ctx, &d));
    d.size = 0;
    CHECK_STATUS(DUO_ERR_SIZE, duo_explain_last(ctx, &d));
    d.size = sizeof d;
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.operation == NULL && d.algorithm == NULL, "before any call");

    float x[100], y[100], c[9], result;
    for (int i = 0; i < 100; i++) x[i] = y[i] = 1.0f;
    const duo_side side = test_gpu_side() ? DUO_SIDE_GPU : DUO_SIDE_CPU;
    CHECK_STATUS(DUO_OK, duo_sdot(ctx, 100, x, 1, y, 1, &result));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.size == sizeof d && strcmp(d.operation, "sdot") == 0 && d.n == 100 && d.side == side &&
              d.algorithm != NULL && d.candidates > 0 && d.candidates <= DUO_CANDIDATES &&
              d.predicted_seconds > 0.0,
          "%s n=%jd side=%d", d.operation, (intmax_t)d.n, (int)d.side);
    CHECK(d.residence[0] == DUO_AT_PAGEABLE && d.residence[1] == DUO_AT_PAGEABLE &&
              d.residence[2] == DUO_AT_PAGEABLE,
          "%d %d %d", (int)d.residence[0], (int)d.residence[1], (int)d.residence[2]);
    bool found = false;
    for (int i = 0; i < d.candidates; i++)
        found = found ||
                (strcmp(d.candidate[i].algorithm, d.algorithm) == 0 && d.candidate[i].accepts != 0);
    CHECK(found, "the algorithm that ran is no candidate");

    for (int l = DUO_ROW_MAJOR; l <= DUO_COL_MAJOR; l++) {
        CHECK_STATUS(DUO_OK, duo_sgemm(ctx, (duo_layout)l, DUO_NO_TRANS, DUO_NO_TRANS, 2, 3, 4,
                                       1.0f, x, 4, y, 4, 0.0f, c, 3));
        CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
        CHECK(strcmp(d.operation, "sgemm") == 0 && d.m == 2 && d.n == 3 && d.k == 4, "%jdx%jdx%jd",
              (intmax_t)d.m, (intmax_t)d.n, (intmax_t)d.k);
    }
    test_case("explain_last/quick return");
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 0, 3, 4, 1.0f, x,
                                   4, y, 4, 0.0f, c, 3));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(strcmp(d.operation, "sgemm") == 0 && d.algorithm == NULL && d.m == 0, "algorithm %s",
          d.algorithm == NULL ? "NULL" : d.algorithm);
    CHECK_STATUS(DUO_OK, duo_sasum(ctx, 0, x, 1, &result));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(strcmp(d.operation, "sasum") == 0 && d.algorithm == NULL, "%s", d.operation);
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* Predictions for sizes of 0 divide and take logarithms. The program's flags must not show it. */
static void quiet_explanations(void)
{
    static float x[320 * 320];
    duo_context *ctx = test_context();
    for (int64_t m = 0; m <= 320; m += m < 2 ? 1 : 318)
        for (int64_t n = 0; n <= 2; n++)
            for (int64_t k = 0; k <= 2; k++) {
                duo_decision d = {.size = sizeof d};
                test_case("m=%d n=%d k=%d", (int)m, (int)n, (int)k);
                feclearexcept(FE_ALL_EXCEPT);
                CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, m, n,
                                               k, 1.0f, x, 320, x, 320, 0.0f, x, 320));
                CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
                const int raised = fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
                CHECK(raised == 0, "flags %x", (unsigned)raised);
            }
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

/* An error leaves the last call as it was. */
static void explanations_after_errors(void)
{
    static float x[64];
    duo_decision d = {.size = sizeof d};
    void *small = NULL;
    test_case("a small block");
    int devices = -1;
    CHECK_STATUS(DUO_OK, duo_device_count(&devices));
    if (devices == 0) {
        test_skip("what crosses host memory is no error");
        return;
    }
    duo_context *ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 8 * sizeof(float), &small));
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 2, 3, 4, 1.0f, x,
                                   4, x, 4, 0.0f, x, 4));
    CHECK_STATUS(DUO_ERR_RANGE, duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 4, 5, 4,
                                          1.0f, x, 4, x, 4, 0.0f, small, 4));
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    CHECK(d.m == 2 && d.n == 3, "m = %d, n = %d: the call that failed", (int)d.m, (int)d.n);
    CHECK_STATUS(DUO_OK, duo_free(ctx, small));
    CHECK_STATUS(DUO_OK, duo_destroy(ctx));
}

static const test_entry tests[] = {
    {"explanations", explanations},
    {"quiet_explanations", quiet_explanations},
    {"explanations_after_errors", explanations_after_errors},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "api_explain", tests); }
