/*
 * test_remembered_kinds.c - duo_set_remember with factors of all kinds: which of them stay, what is
 * sent of them, and which pages are watched.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/remembered.h"
#include "data/residency.h"
#include "gpu/backend/devices.h"
#include "host/written.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/remembering.h"

/* A of 64 blocks, and of 16 columns of 4 blocks. */
enum { ROWS = 4096, STEPS = 16, COLUMNS = 2, FLOATS = ROWS * STEPS, BLOCK = PAGE / 4 };

static bool watches; /* does this system watch pages? */

typedef struct world {
    duo_context *ctx;
    float *a, *b, *c;
    product p;
    test_rng seed;
} world;

static world begin(duo_remember how)
{
    world w = {.seed = test_rng_for("remembered")};
    w.ctx = remembering_by(how);
    w.a = remembering_map(FLOATS * sizeof(float));
    w.b = remembering_map(FLOATS * sizeof(float));
    w.c = remembering_map(FLOATS * sizeof(float));
    remembering_fill(w.a, FLOATS, &w.seed);
    remembering_fill(w.b, FLOATS, &w.seed);
    w.p = (product){false, false, ROWS, COLUMNS, STEPS, w.a, ROWS, w.b, STEPS};
    return w;
}

static void end(world *w)
{
    CHECK_STATUS(DUO_OK, duo_trim(w->ctx));
    munmap(w->a, FLOATS * sizeof(float));
    munmap(w->b, FLOATS * sizeof(float));
    munmap(w->c, FLOATS * sizeof(float));
    test_context_end(w->ctx);
}

/* Bytes that the product sends (sim). */
static uint64_t sends(world *w, const product *p)
{
    const uint64_t before = test_on_sim() ? sim_uploaded_bytes() : 0;
    const int64_t wrong = remembering_multiply(w->ctx, p, w->c, p->m);
    CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
    return test_on_sim() ? sim_uploaded_bytes() - before : 0;
}

static void comes(world *w, int times)
{
    for (int i = 0; i < times; i++) (void)sends(w, &w->p);
}

#define IS_AT(operand, where)                                                                      \
    CHECK(remembering_residence(w.ctx, operand) == (where), "it was at %d",                        \
          (int)remembering_residence(w.ctx, operand))

static const duo_region *region_of(const float *a)
{
    return duo_residency_remembered((uintptr_t)a, (uintptr_t)a + 1);
}

/* ---- Which factors stay ---- */

static void only_b_is_large(void)
{
    world w = begin(DUO_REMEMBER_BYTES);
    test_case("only B is large");
    const product p = {false, true, COLUMNS, ROWS, STEPS, w.a, COLUMNS, w.b, ROWS};
    for (int call = 0; call < 4; call++) {
        (void)sends(&w, &p);
        IS_AT(0, DUO_AT_PAGEABLE);
        IS_AT(1, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
    }
    end(&w);
}

/* Both factors are the same array, or begin within each other. */
static void both_are_one(void)
{
    enum { EDGE = 256 };
    world w = begin(DUO_REMEMBER_BYTES);
    for (int shift = 0; shift < 2; shift++) {
        test_case("both are one array/%d", shift);
        const int64_t k = EDGE - shift;
        const product p = {false, false, EDGE, 4, k, w.a, EDGE, w.a + shift * EDGE, k};
        const product q = {false, false, EDGE, EDGE, EDGE, w.a, EDGE, w.a, EDGE};
        for (int call = 0; call < 4; call++) (void)sends(&w, shift ? &p : &q);
        IS_AT(0, DUO_AT_REMEMBERED);
        IS_AT(1, DUO_AT_REMEMBERED);
    }
    end(&w);
}

/* A part of the array is kept: the array crosses its end, and is not remembered. */
static void crosses_a_kept_array(void)
{
    world w = begin(DUO_REMEMBER_BYTES);
    test_case("crosses a kept array");
    CHECK_STATUS(DUO_OK, duo_keep(w.ctx, w.a + ROWS, ROWS * sizeof(float)));
    comes(&w, 4);
    CHECK(region_of(w.a) == NULL, "it is remembered");
    CHECK_STATUS(DUO_OK, duo_release(w.ctx, w.a + ROWS));
    comes(&w, 4);
    IS_AT(0, DUO_AT_REMEMBERED);
    end(&w);
}

/* The result is in device memory. */
static void result_on_device(void)
{
    world w = begin(DUO_REMEMBER_BYTES);
    void *c = NULL;
    test_case("result on the device");
    CHECK_STATUS(DUO_OK, duo_malloc(w.ctx, ROWS * COLUMNS * sizeof(float), &c));
    for (int call = 0; call < 4; call++) {
        CHECK_STATUS(DUO_OK, duo_sgemm(w.ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, ROWS,
                                       COLUMNS, STEPS, 1.0f, w.a, ROWS, w.b, STEPS, 0.0f, c, ROWS));
        CHECK_STATUS(DUO_OK,
                     duo_copy(w.ctx, w.c + ROWS * COLUMNS, c, ROWS * COLUMNS * sizeof(float)));
        (void)sends(&w, &w.p);
        CHECK(memcmp(w.c, w.c + ROWS * COLUMNS, ROWS * COLUMNS * sizeof(float)) == 0,
              "the two results differ");
    }
    IS_AT(0, DUO_AT_REMEMBERED);
    CHECK_STATUS(DUO_OK, duo_free(w.ctx, c));
    end(&w);
}

/* ---- What is sent ---- */

/* The factor is one column of a remembered array. The next column is far away. */
static void one_column(void)
{
    world w = begin(DUO_REMEMBER_BYTES);
    test_case("one column");
    comes(&w, 3);
    for (int column = 0; column < STEPS; column++) {
        const product p = {false, false, ROWS, COLUMNS, 1, w.a + column * ROWS, ROWS, w.b, 1};
        w.a[column * ROWS + column] += 1.0f;
        const uint64_t sent = sends(&w, &p);
        IS_AT(0, DUO_AT_REMEMBERED);
        CHECK(sent <= 3 * PAGE, "%ju bytes were sent", (uintmax_t)sent);
    }
    end(&w);
}

/* Few blocks have changed, but far from each other: it is sent as a whole. */
static void scattered_changes(void)
{
    world w = begin(DUO_REMEMBER_BYTES);
    test_case("scattered changes");
    comes(&w, 4);
    for (int block = 0; block < 4; block++) w.a[block * 9 * BLOCK] += 1.0f;
    uint64_t sent = sends(&w, &w.p);
    CHECK(sent < FLOATS, "%ju bytes were sent", (uintmax_t)sent);
    for (int block = 0; block < 7; block++) w.a[block * 9 * BLOCK] += 1.0f;
    sent = sends(&w, &w.p);
    if (test_on_sim())
        CHECK(sent >= FLOATS * sizeof(float), "%ju bytes were sent", (uintmax_t)sent);
    end(&w);
}

/* The first half of some columns that are far from each other has changed. */
static void far_columns_change(void)
{
    world w = begin(DUO_REMEMBER_BYTES);
    const product p = {false, false, BLOCK, COLUMNS, STEPS, w.a, ROWS, w.b, STEPS};
    test_case("far columns change");
    comes(&w, 4);
    (void)sends(&w, &p);
    IS_AT(0, DUO_AT_REMEMBERED);
    for (int column = 0; column < STEPS; column++) w.a[column * ROWS + 5] += 1.0f;
    const uint64_t sent = sends(&w, &p);
    if (test_on_sim()) CHECK(sent >= BLOCK * STEPS * sizeof(float), "%ju bytes", (uintmax_t)sent);
    end(&w);
}

/* It is rewritten before each use: between two checks pass 256 calls at most. */
static void longest_rest(void)
{
    enum { MOST = 256, CALLS = 4 * MOST };
    world w = begin(DUO_REMEMBER_BYTES);
    const product p = {false, false, 64, 1, 16, w.a, 64, w.b, 16};
    const size_t least = duo_remembered_least;
    int last = 0, longest = 0;
    test_case("the longest rest");
    duo_remembered_least = 64 * 16 * sizeof(float);
    for (int call = 0; call < CALLS; call++) {
        remembering_fill(w.a, 64 * 16, &w.seed);
        const uint64_t before = test_on_sim() ? sim_downloaded_bytes() : 0;
        (void)sends(&w, &p);
        if (!test_on_sim() || sim_downloaded_bytes() - before == 64 * sizeof(float)) continue;
        if (call - last > longest) longest = call - last; /* the tags came, too */
        last = call;
    }
    if (test_on_sim()) CHECK(longest > MOST && longest <= MOST + 3, "%d calls passed", longest);
    duo_remembered_least = least;
    end(&w);
}

/* ---- Watched pages ---- */

static bool is_watched(const float *a)
{
    const duo_region *const r = region_of(a);
    return r != NULL && r->watched;
}

/* A context that compares bytes, and a part with far columns, do so in a watched array, too. */
static void watched_by_another(void)
{
    world w = begin(DUO_REMEMBER_PAGES);
    const product far = {false, false, BLOCK, COLUMNS, STEPS, w.a, ROWS, w.b, STEPS};
    duo_context *const pages = w.ctx, *const bytes = remembering();
    test_case("watched by another context");
    comes(&w, 12);
    CHECK(is_watched(w.a) == watches, "is it watched?");
    for (int call = 0; call < 3; call++) {
        w.ctx = call < 2 ? bytes : pages;
        w.a[call * ROWS] += 1.0f;
        (void)sends(&w, call == 1 ? &far : &w.p);
        IS_AT(0, DUO_AT_REMEMBERED);
    }
    test_case("far columns of a watched array");
    comes(&w, 12);
    CHECK(is_watched(w.a) == watches, "is it watched again?");
    w.a[3 * ROWS] += 1.0f;
    (void)sends(&w, &far);
    IS_AT(0, DUO_AT_REMEMBERED);
    comes(&w, 1);
    test_context_end(bytes);
    end(&w);
}

static const char *pinned_page;

static duo_status tells_of_pinned(const void *address, duo_memory *memory)
{
    const char *const at = address;
    const duo_status status = sim_backend()->classify(address, memory);
    if (at >= pinned_page && at < pinned_page + PAGE) *memory = DUO_MEMORY_PINNED;
    return status;
}

static int lines;

static void count_lines(void *user, const char *line)
{
    (void)user;
    lines += strstr(line, "is not watched: the driver has pinned a part of it") != NULL;
}

/* Another library has pinned a page of the array for the device, which could write there. */
static void pinned_in_the_middle(void)
{
    if (!test_on_sim() || !watches) {
        test_skip("needs the simulated device, and a system that watches pages");
        return;
    }
    duo_backend backend = *sim_backend();
    backend.classify = tells_of_pinned;
    duo_backend_install(&backend);
    world w = begin(DUO_REMEMBER_PAGES);
    test_case("pinned in the middle");
    CHECK_STATUS(DUO_OK, duo_set_log(w.ctx, count_lines, NULL));
    pinned_page = (const char *)w.a + 20 * PAGE;
    comes(&w, 14);
    IS_AT(0, DUO_AT_REMEMBERED);
    CHECK(!is_watched(w.a), "it is watched");
    CHECK(lines == 1, "told %d times", lines);
    end(&w);
    duo_backend_install(sim_backend());
}

static const test_entry tests[] = {
    {"only_b_is_large", only_b_is_large},
    {"both_are_one", both_are_one},
    {"crosses_a_kept_array", crosses_a_kept_array},
    {"result_on_device", result_on_device},
    {"one_column", one_column},
    {"scattered_changes", scattered_changes},
    {"far_columns_change", far_columns_change},
    {"longest_rest", longest_rest},
    {"watched_by_another", watched_by_another},
    {"pinned_in_the_middle", pinned_in_the_middle},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *why;
    watches = duo_written_possible(&why);
    duo_remembered_least = (size_t)FLOATS * sizeof(float);
    return test_main(argc, argv, "remembered_kinds", tests);
}
