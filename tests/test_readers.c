/*
 * test_readers.c - contexts that read one array run side by side. A writer follows them all, and a
 * reader of packed operands follows the packing.
 */
#include <stdlib.h>

#include "sim/clock.h"
#include "support/exact.h"
#include "support/harness.h"

enum { N = 64, READERS = 12 };

static float *new_matrix(duo_context *ctx, const float *values)
{
    void *memory = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, N * N * sizeof *values, &memory));
    CHECK_STATUS(DUO_OK, duo_copy(ctx, memory, values, N * N * sizeof *values));
    return memory;
}

static void end_matrix(duo_context *ctx, float *matrix)
{
    CHECK_STATUS(DUO_OK, duo_free(ctx, matrix));
}

/* Operation i of the log, counted from the end: 0 is the last one. */
static sim_operation latest(size_t i)
{
    const sim_operation *log;
    const size_t count = sim_log(&log);
    return CHECK(i < count, "only %zu operations", count) ? log[count - 1 - i] : (sim_operation){0};
}

/* One context multiplies slowly, another reads the same matrix by a copy; then the matrix is
 * written. */
static void side_by_side(void)
{
    if (!test_on_sim()) {
        test_skip("needs a clock");
        return;
    }
    duo_context *const writer = test_context();
    duo_context *const one = test_context(), *const other = test_context();
    float *const values = new_floats(N * N);
    fill(values, N * N, 1);
    float *const w = new_matrix(writer, values), *const c = new_matrix(writer, values);
    sim_set_rates(55000, 55000, 390000, 10);
    sim_log_reset();
    CHECK_STATUS(DUO_OK, square(one, N, w, w, 0.0f, c));
    const uint64_t multiplied = latest(0).end;
    test_case("readers/first-reading");
    CHECK_STATUS(DUO_OK, duo_copy(other, values, w, N * N * sizeof *w));
    CHECK(latest(0).end < multiplied, "a reader follows a reader");
    test_case("readers/of-another-matrix");
    CHECK_STATUS(DUO_OK, duo_copy(other, values, c, N * N * sizeof *c));
    CHECK(latest(0).start >= multiplied, "does not follow the writer");
    end_matrix(writer, w);
    end_matrix(writer, c);
    test_context_end(writer);
    test_context_end(one);
    test_context_end(other);
    free(values);
}

/* More readers than a region remembers, and one is slow: a writer waits for that one. */
static void all_are_followed(void)
{
    if (!test_on_sim()) {
        test_skip("needs a clock");
        return;
    }
    float *const values = new_floats(N * N);
    fill(values, N * N, 1);
    for (int slow = 0; slow < READERS; slow++) {
        test_case("readers/slow/%d", slow);
        duo_context *reader[READERS], *const writer = test_context();
        float *const w = new_matrix(writer, values), *const c = new_matrix(writer, values);
        sim_set_rates(55000, 55000, 390000, 10);
        sim_log_reset();
        uint64_t multiplied = 0;
        for (int i = 0; i < READERS; i++) {
            reader[i] = test_context();
            if (i == slow) {
                CHECK_STATUS(DUO_OK, square(reader[i], N, w, w, 0.0f, c));
                multiplied = latest(0).end;
            } else {
                CHECK_STATUS(DUO_OK, duo_copy(reader[i], values, w, N * N * sizeof *w));
            }
        }
        CHECK_STATUS(DUO_OK, duo_copy(writer, w, values, N * N * sizeof *w));
        CHECK(latest(0).start >= multiplied, "written while it was read");
        end_matrix(writer, w);
        end_matrix(writer, c);
        for (int i = 0; i < READERS; i++) test_context_end(reader[i]);
        test_context_end(writer);
    }
    free(values);
}

/* The first to read packs, for all. */
static void packed_for_others(void)
{
    enum { ROUNDS = 40 };
    duo_context *reader[2] = {test_context(), test_context()}, *const writer = test_context();
    float *const values = new_floats(N * N), *const product = new_floats(N * N);
    float *const w = new_matrix(writer, values);
    float *const c[2] = {new_matrix(writer, values), new_matrix(writer, values)};
    CHECK_STATUS(DUO_OK, duo_prepare(writer, w, N * N * sizeof *w));
    if (test_on_sim()) sim_set_delay(300);
    for (int round = 0; round < ROUNDS; round++) {
        test_case("readers/packed/%d", round);
        fill(values, N * N, round);
        multiply(N, values, values, product);
        CHECK_STATUS(DUO_OK, duo_copy(writer, w, values, N * N * sizeof *w));
        for (int i = 0; i < 2; i++) CHECK_STATUS(DUO_OK, square(reader[i], N, w, w, 0.0f, c[i]));
        for (int i = 1; i >= 0; i--) check_sum(writer, c[i], N * N, sum_of(product, N * N));
    }
    if (test_on_sim()) sim_set_delay(0);
    end_matrix(writer, w);
    for (int i = 0; i < 2; i++) {
        end_matrix(writer, c[i]);
        test_context_end(reader[i]);
    }
    test_context_end(writer);
    free(values);
    free(product);
}

static const test_entry tests[] = {
    {"side_by_side", side_by_side},
    {"all_are_followed", all_are_followed},
    {"packed_for_others", packed_for_others},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "readers", tests); }
