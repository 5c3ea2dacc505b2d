/*
 * test_forgotten.c - DUOBLAS_CHECK: a forgotten duo_changed is found, the array is named, and the
 * results are right all the same. Random sequences of calls in test_eviction_model show that
 * nothing is reported if every change was told.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/exact.h"
#include "support/harness.h"

enum { N = 75 << 10 };

/* In a child with DUOBLAS_CHECK=1: a change that was told is not reported. A change that was not
 * told is reported, and the results are right all the same. Prints the address that the report has
 * to name. */
static int forget_to_tell(void)
{
    static float x[N], y[1000];
    duo_context *ctx = NULL;
    sim_reset();
    duo_backend_install(sim_backend());
    fill(x, N, 1);
    fill(y, 1000, 2);
    bool ok = duo_create(&ctx) == DUO_OK && duo_set_path(ctx, DUO_PATH_GPU) == DUO_OK;
    ok = ok && duo_keep(ctx, x, sizeof x) == DUO_OK && duo_keep(ctx, y, sizeof y) == DUO_OK;
    float sum = 0.0f;
    for (int round = 0; round < 3; round++) { /* nothing is forgotten */
        ok = ok && duo_ssum(ctx, N, x, 1, &sum) == DUO_OK && sum == sum_of(x, N);
        ok = ok && duo_ssum(ctx, 1000, y, 1, &sum) == DUO_OK && sum == sum_of(y, 1000);
        x[17 * round] += 1.0f;
        ok = ok && duo_changed(ctx, x + 17 * round, 4) == DUO_OK;
    }
    fprintf(stderr, "from here on\n");
    y[500] += 3.0f; /* of a small array every line is sampled */
    ok = ok && duo_ssum(ctx, 1000, y, 1, &sum) == DUO_OK && sum == sum_of(y, 1000);
    y[501] += 1.0f;
    ok = ok && duo_ssum(ctx, 1000, y, 1, &sum) == DUO_OK && sum == sum_of(y, 1000);
    printf("%p\n", (void *)y);
    fill(x, N, 5); /* a large one changes as a whole */
    ok = ok && duo_ssum(ctx, N, x, 1, &sum) == DUO_OK && sum == sum_of(x, N);
    printf("%p\n", (void *)x);
    /* Where the device has newer bytes, they stay. */
    ok = ok && duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 10, 10, 10, 0.0f, NULL, 10,
                         NULL, 10, 2.0f, x + 5000, 10) == DUO_OK;
    x[0] += 2.0f; /* the first and the last line are sampled */
    x[N - 1] += 4.0f;
    float first = 0.0f, last = 0.0f, middle = 0.0f;
    ok = ok && duo_ssum(ctx, 16, x, 1, &first) == DUO_OK && first == sum_of(x, 16);
    ok = ok && duo_ssum(ctx, 100, x + 5000, 1, &middle) == DUO_OK;
    ok = ok && middle == 2.0f * sum_of(x + 5000, 100);
    ok = ok && duo_ssum(ctx, 16, x + N - 16, 1, &last) == DUO_OK && last == sum_of(x + N - 16, 16);
    /* The newer bytes are the array's first, or its last. */
    for (int end = 0; end < 2; end++) {
        float *const newer = y + 900 * end, *const older = y + 100 * (1 - end);
        ok = ok && duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, 10, 10, 10, 0.0f, NULL,
                             10, NULL, 10, 2.0f, newer, 10) == DUO_OK;
        older[450] += 2.0f;
        const float doubled = 2.0f * sum_of(newer, 100);
        ok = ok && duo_ssum(ctx, 1000, y, 1, &sum) == DUO_OK;
        ok = ok && sum == doubled + sum_of(older, 900);
        ok = ok && duo_fetch(ctx, y, sizeof y) == DUO_OK && sum_of(newer, 100) == doubled;
    }
    ok = ok && duo_release(ctx, x) == DUO_OK && duo_release(ctx, y) == DUO_OK;
    ok = ok && middle == sum_of(x + 5000, 100);
    return ok && duo_destroy(ctx) == DUO_OK && sim_leaks() == 0 && sim_violations() == 0 ? 0 : 1;
}

static int lines_with(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) count++;
    return count;
}

static void forgotten_changes(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_child child;
    test_case("check/finds-and-names");
    test_child_run("forget", (const char *const[]){"DUOBLAS_CHECK=1", NULL}, 60, &child);
    CHECK(child.exit_status == 0, "exit %d: %.300s", child.exit_status, child.err);
    const char *const after = strstr(child.err, "from here on");
    CHECK(after != NULL && lines_with(after, "duoblas: check: ") == 2, "%.600s", child.err);
    CHECK(lines_with(child.err, "duoblas: check: ") == 2, "what was told: %.600s", child.err);
    char y[32] = "", x[32] = "";
    CHECK(sscanf(child.out, "%31s %31s", y, x) == 2, "%.100s", child.out);
    test_contains(child.err, y);
    test_contains(child.err, x);
    test_contains(child.err, "(4000 bytes)");
    test_contains(child.err, "in bytes 1984 to 2047");
    test_case("check/silent-unless-asked");
    test_child_run("forget", (const char *const[]){"DUOBLAS_CHECK=0", NULL}, 60, &child);
    CHECK(child.exit_status == 1, "the forgotten changes were seen");
    CHECK(lines_with(child.err, "duoblas: ") == 0, "%.300s", child.err);
}

static const test_entry tests[] = {
    {"forgotten_changes", forgotten_changes},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return forget_to_tell();
    return test_main(argc, argv, "forgotten", tests);
}
