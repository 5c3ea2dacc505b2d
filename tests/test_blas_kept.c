/*
 * test_blas_kept.c - the drop-in's results in kept arrays: they are on the host when the call
 * returns, as callers of BLAS expect. A call that cannot give its result says so on stderr.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
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

/* ---- Calls without a result ---- */

enum { EDGE = 64, SQUARE = EDGE * EDGE, COUNT = 3 };
enum { ALONE, STRIDED, GROUPS, WAYS }; /* products come so */
static const char *const ways[] = {"alone", "strided", "groups"};

/* C += A B, for COUNT times the same A and B unless it is ALONE. */
static void multiply(int way, const float *a, const float *b, float *c)
{
    const duo_blas_gemm g = {.layout = DUO_COL_MAJOR,
                             .transa = DUO_NO_TRANS,
                             .transb = DUO_NO_TRANS,
                             .m = EDGE,
                             .n = EDGE,
                             .k = EDGE,
                             .alpha = 1.0f,
                             .beta = 1.0f,
                             .a = a,
                             .b = b,
                             .c = c,
                             .lda = EDGE,
                             .ldb = EDGE,
                             .ldc = EDGE};
    const duo_blas_gemm both[] = {g, g};
    const float *as[COUNT], *bs[COUNT];
    float *cs[COUNT];
    for (int i = 0; i < COUNT; i++) as[i] = a, bs[i] = b, cs[i] = c + i * SQUARE;
    if (way == ALONE)
        duo_blas_sgemm(&g);
    else if (way == STRIDED)
        duo_blas_sgemm_strided(&g, (const int64_t[]){0, 0, SQUARE}, COUNT);
    else
        duo_blas_sgemm_groups(both, (const int64_t[]){1, COUNT - 1}, 2, as, bs, cs);
}

/* The words on stderr: of the operation and of the status, and why, if that is of a device. */
static void expect_complaint(const char *text, const char *operation, duo_status status)
{
    char line[200];
    const bool why =
        status == DUO_ERR_DEVICE || status == DUO_ERR_LOST || status == DUO_ERR_FOREIGN;
    const int length =
        snprintf(line, sizeof line, "DuoBLAS: %s: %s", operation, duo_status_string(status));
    CHECK(strncmp(text, line, (size_t)length) == 0, "it says \"%s\", not \"%s\"", text, line);
    CHECK(strncmp(text + length, why ? ": " : "\n", 2) == 0 &&
              strchr(text, '\n') == text + strlen(text) - 1,
          "it says \"%s\"", text);
}

/* Without arrays, by every name. */
static void no_arrays(void)
{
    static const duo_operation reductions[] = {DUO_SASUM, DUO_SSUM, DUO_SDOT};
    static const char *const names[] = {"sasum", "ssum", "sdot"};
    char text[400];
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
    for (int abi = 0; abi < ABI_NATIVE; abi++) {
        test_case("no array/%s", blas_abi_name((blas_abi)abi));
        float c = 5.0f;
        const blas_product p = {DUO_COL_MAJOR, 'N', 'N',  1, 1,    1,  1.0f,
                                NULL,          1,   NULL, 1, 0.0f, &c, 1};
        test_capture_begin();
        (void)blas_sgemm((blas_abi)abi, &p);
        (void)test_capture_end(text, sizeof text);
        expect_complaint(text, "sgemm", DUO_ERR_NULL);
        CHECK(c == 5.0f, "C was written");
        for (int i = 0; i < 3; i++) {
            test_case("no array/%s/%s", blas_abi_name((blas_abi)abi), names[i]);
            test_capture_begin();
            const float result = blas_reduce((blas_abi)abi, reductions[i], 4, NULL, 1, NULL, 1);
            (void)test_capture_end(text, sizeof text);
            expect_complaint(text, names[i], DUO_ERR_NULL);
            CHECK(result == 0.0f, "its result is %g", (double)result);
        }
    }
    for (int way = STRIDED; way < WAYS; way++) {
        test_case("no array/%s", ways[way]);
        test_capture_begin();
        multiply(way, NULL, NULL, NULL);
        (void)test_capture_end(text, sizeof text);
        expect_complaint(text, "sgemm", DUO_ERR_NULL);
    }
}

/* Where the only copy of C is: on a device that is lost, before the call or when C is fetched; or
 * on one that cannot be reached for a while. Then C is there afterwards. */
enum { BUSY_AFTER, LOST_AFTER, LOST_BEFORE, CASES };

static void try_out_of_reach(int way, int when)
{
    const int all = way == ALONE ? 1 : COUNT;
    const duo_status status = when == BUSY_AFTER ? DUO_ERR_DEVICE : DUO_ERR_LOST;
    char text[400];
    float *const a = calloc((size_t)(2 + all) * SQUARE, sizeof *a), *const b = a + SQUARE,
                 *const c = b + SQUARE;
    const size_t bytes = (size_t)all * SQUARE * sizeof *c;
    if (!CHECK(a != NULL, "no memory")) return;
    test_reset();
    test_case("out of reach/%s/%d", ways[way], when);
    for (int j = 0; j < EDGE; j++) a[j * (EDGE + 1)] = b[j * (EDGE + 1)] = 1.0f;
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_GPU));
    CHECK_STATUS(DUO_OK, duo_keep(NULL, a, 2 * SQUARE * sizeof *a));
    CHECK_STATUS(DUO_OK, duo_keep(NULL, c, bytes));
    multiply(way, a, b, c); /* then all are on the device */
    CHECK(c[0] == 1.0f && c[1] == 0.0f, "%g is the first result", (double)c[0]);
    if (when == LOST_BEFORE) {
        CHECK_STATUS(DUO_OK, duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE,
                                       EDGE, 1.0f, a, EDGE, b, EDGE, 0.0f, c, EDGE));
        sim_lose(0);
    } else
        sim_fail(SIM_COPY, 1, status, -1);
    test_capture_begin();
    multiply(way, a, b, c);
    (void)test_capture_end(text, sizeof text);
    expect_complaint(text, "sgemm", status);
    sim_fail(SIM_COPY, 0, DUO_OK, 0);
    if (when == BUSY_AFTER) {
        CHECK_STATUS(DUO_OK, duo_fetch(NULL, c, bytes));
        CHECK(c[0] == 2.0f && c[1] == 0.0f, "%g, fetched afterwards", (double)c[0]);
    }
    (void)duo_release(NULL, c);
    (void)duo_release(NULL, a);
    c[0] = 0.0f;
    multiply(way, a, b, c); /* on the CPU, if the only device is lost */
    CHECK(c[0] == 1.0f, "%g without it", (double)c[0]);
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
    free(a);
}

/* Losses come last: no device comes back in the life of a context. */
static void results_out_of_reach(void)
{
    if (!test_on_sim()) {
        test_skip("only a simulated device is lost when a test says so");
        return;
    }
    for (int when = 0; when < CASES; when++)
        for (int way = 0; way < WAYS; way++) try_out_of_reach(way, when);
}

/* A driver's pointer that the library does not know. */
static void foreign_arrays(void)
{
    char text[400];
    if (!test_on_sim()) {
        test_skip("only the simulated device gives such pointers");
        return;
    }
    test_case("foreign");
    float *const a = sim_foreign_malloc(0, 2 * SQUARE * sizeof *a);
    float *const c = calloc(SQUARE, sizeof *c);
    if (!CHECK(a != NULL && c != NULL, "no memory")) return;
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, DUO_PATH_GPU));
    test_capture_begin();
    multiply(ALONE, a, a + SQUARE, c);
    (void)test_capture_end(text, sizeof text);
    expect_complaint(text, "sgemm", DUO_ERR_FOREIGN);
    CHECK(c[0] == 0.0f, "C was written");
    sim_foreign_free(a);
    free(c);
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
}

static const test_entry tests[] = {
    {"kept_arrays", kept_arrays},
    {"no_arrays", no_arrays},
    {"foreign_arrays", foreign_arrays},
    {"results_out_of_reach", results_out_of_reach},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "blas_kept", tests); }
