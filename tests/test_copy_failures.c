/*
 * test_copy_failures.c - copies of bytes that are no whole floats, while calls of the backend fail;
 * and operands on the device when the heap is empty or no memory can be pinned.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/resources.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/exact.h"
#include "support/failing_memory.h"
#include "support/harness.h"
#include "support/mishaps.h"

/* ---- Odd bytes ---- */

/* The pieces take every stage more than once; each ends with a few bytes that are no float. */
enum { PIECE = 11, PIECES = 3 * DUO_STAGES, ODD = PIECE * PIECES + 2 };

static char large[3 << 20]; /* needs larger stages */

typedef struct bytes {
    duo_context *ctx;
    char from[ODD], back[ODD];
    void *device;
} bytes;

/* The status of copies of 3, 2 and more bytes; the first that fails ends them. */
static duo_status there_and_back(bytes *w)
{
    memset(w->back, 0, ODD);
    duo_status status = duo_copy(w->ctx, w->device, w->from, 3);
    for (int i = 0; i < PIECES && status == DUO_OK; i++)
        status = duo_copy(w->ctx, (char *)w->device + i * PIECE, w->from + i * PIECE, PIECE);
    if (status == DUO_OK)
        status = duo_copy(w->ctx, (char *)w->device + ODD - 2, w->from + ODD - 2, 2);
    if (status == DUO_OK) status = duo_copy(w->ctx, w->back, w->device, ODD);
    if (status == DUO_OK) status = duo_copy(w->ctx, w->device, large, sizeof large);
    return status;
}

static void check_back(const bytes *w)
{
    CHECK(memcmp(w->from, w->back, ODD) == 0, "other bytes came back");
}

/* Is memory pinned for stages? */
static bool pins;

/* False: the copies make fewer than nth such calls. */
static bool copies_fail(const mishap *what, int nth)
{
    bytes w;
    test_reset();
    if (!pins) sim_set_pinned(0);
    w.ctx = test_context();
    for (int i = 0; i < ODD; i++) w.from[i] = (char)(3 * i + nth);
    CHECK_STATUS(DUO_OK, duo_malloc(w.ctx, sizeof large, &w.device));
    if (what->warm) CHECK_STATUS(DUO_OK, there_and_back(&w));
    const sim_kind counted = what->kind == SIM_KINDS ? SIM_COPY : what->kind;
    const uint64_t before = sim_count(counted);
    mishap_arm(what, nth);
    const duo_status status = there_and_back(&w);
    const bool reached = sim_count(counted) - before >= (uint64_t)nth;
    mishap_disarm(what);
    CHECK(status == DUO_OK || reached, "status %d", (int)status);
    CHECK(status == DUO_OK || what->kind != SIM_PIN || what->status == DUO_ERR_LOST,
          "status %d without pinned memory", (int)status);
    if (what->status == DUO_ERR_LOST)
        CHECK(status == DUO_OK || status == DUO_ERR_LOST, "status %d after a loss", (int)status);
    if (status == DUO_OK) check_back(&w);
    const bool gone = !duo_device_usable(0);
    if (what->status != DUO_ERR_LOST && !gone) {
        CHECK_STATUS(DUO_OK, there_and_back(&w));
        check_back(&w);
    }
    check_later_calls(w.ctx, gone);
    const duo_status freed = duo_free(w.ctx, w.device), ended = duo_destroy(w.ctx);
    CHECK(freed == DUO_OK || (gone && freed == DUO_ERR_LOST), "%d", (int)freed);
    CHECK(ended == DUO_OK || (gone && ended == DUO_ERR_LOST), "%d", (int)ended);
    if (!gone) CHECK(sim_leaks() == 0, "%d things are still alive", sim_leaks());
    CHECK(sim_violations() == 0, "%d violations", sim_violations());
    return reached;
}

static void every_nth(const mishap *what)
{
    bool reached = true;
    for (int nth = 1; reached && nth < 200; nth++) {
        char name[120], how[80];
        snprintf(name, sizeof name, "odd/%s%s", pins ? "" : "unpinned/",
                 mishap_name(what, nth, how));
        begin_case(name);
        reached = copies_fail(what, nth);
    }
}

static void odd_copies(void)
{
    static const sim_kind kinds[] = {SIM_PIN, SIM_COPY, SIM_MARK, SIM_WAIT, SIM_OPEN, SIM_CLASSIFY};
    pins = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) each_mishap(kinds[i], every_nth);
    each_mishap(SIM_KINDS, every_nth);
    pins = false;
    each_mishap(SIM_COPY, every_nth);
    each_mishap(SIM_KINDS, every_nth);
    alarm(0);
}

/* Few bytes between the device and memory that it reads and writes itself. */
static void few_pinned_bytes(void)
{
    duo_context *const ctx = test_context();
    void *device = NULL, *pinned = NULL;
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 64, &device));
    CHECK_STATUS(DUO_OK, duo_malloc_host(ctx, 64, &pinned));
    char *const all = pinned;
    for (size_t count = 1; count <= 24; count++) {
        test_case("pinned/%zu bytes", count);
        for (int i = 0; i < 64; i++) all[i] = (char)i;
        CHECK_STATUS(DUO_OK, duo_copy(ctx, device, pinned, count));
        CHECK_STATUS(DUO_OK, duo_copy(ctx, all + 32, device, count));
        for (size_t i = 0; i < 32; i++)
            CHECK(all[32 + i] == (char)(i < count ? i : 32 + i), "byte %zu", i);
    }
    CHECK_STATUS(DUO_OK, duo_free(ctx, device));
    CHECK_STATUS(DUO_OK, duo_free_host(ctx, pinned));
    end_without_leaks(ctx);
}

/* ---- An empty heap ---- */

enum { FLOATS = 1000, EDGE = 30 };

typedef struct operands {
    duo_context *ctx;
    float x[FLOATS], result, square[EDGE * EDGE], expected[EDGE * EDGE];
    void *device;
} operands;

/* Makes calls, and returns their status. With DUO_OK it has checked their results. */
typedef duo_status (*calls)(operands *w);

/* The CPU gathers a vector on the device that is read backwards. */
static duo_status backwards(operands *w)
{
    float dot = 0.0f;
    CHECK_STATUS(DUO_OK, duo_set_path(w->ctx, DUO_PATH_CPU));
    w->result = test_poison();
    const duo_status status = duo_sdot(w->ctx, FLOATS, w->device, -1, w->device, 1, &w->result);
    for (int i = 0; i < FLOATS; i++) dot += w->x[i] * w->x[FLOATS - 1 - i];
    if (status == DUO_OK) CHECK(w->result == dot, "%g", (double)w->result);
    if (status != DUO_OK) CHECK(test_is_poison(w->result), "%g", (double)w->result);
    return status;
}

static duo_status copies(operands *w)
{
    float back[FLOATS];
    duo_status status = duo_copy(w->ctx, w->device, w->x, sizeof w->x);
    if (status == DUO_OK) status = duo_copy(w->ctx, back, w->device, sizeof w->x);
    if (status == DUO_OK) CHECK(same_floats(back, w->x, FLOATS), "wrong bytes came back");
    return status;
}

/* A prepared factor. */
static duo_status prepares(operands *w)
{
    duo_status status = duo_prepare(w->ctx, w->device, sizeof w->x);
    if (status != DUO_OK) return status;
    status = square(w->ctx, EDGE, w->device, w->x, 0.0f, w->square);
    if (status == DUO_OK) CHECK(same_floats(w->square, w->expected, EDGE * EDGE), "wrong product");
    return status;
}

/* A kept array. */
static duo_status keeps(operands *w)
{
    duo_status status = duo_keep(w->ctx, w->x, sizeof w->x);
    if (status != DUO_OK) return status;
    status = duo_ssum(w->ctx, FLOATS, w->x, 1, &w->result);
    if (status == DUO_OK) CHECK(w->result == sum_of(w->x, FLOATS), "%g", (double)w->result);
    CHECK_STATUS(DUO_OK, duo_release(w->ctx, w->x));
    return status;
}

/* Results that come later than the calls return. */
static duo_status later(operands *w)
{
    duo_status status = duo_set_async(w->ctx, 1);
    w->result = test_poison();
    if (status == DUO_OK) status = duo_ssum(w->ctx, FLOATS, w->device, 1, &w->result);
    CHECK_STATUS(DUO_OK, duo_synchronize(w->ctx));
    if (status == DUO_OK) CHECK(w->result == sum_of(w->x, FLOATS), "%g", (double)w->result);
    return status;
}

/* The results are right, or there is too little memory: of the library, or of the driver. With
 * memory they are right again. Returns how often there was too little. */
static int without_heap(const char *name, calls call)
{
    enum { MOST = 12 };
    int failed = 0;
    for (int nth = 1; nth <= MOST; nth++) {
        operands w = {.result = 0.0f};
        test_reset();
        test_case("heap/%s/%s%d", name, pins ? "" : "unpinned/", nth);
        if (!pins) sim_set_pinned(0);
        w.ctx = test_context();
        fill(w.x, FLOATS, nth);
        multiply(EDGE, w.x, w.x, w.expected);
        CHECK_STATUS(DUO_OK, duo_malloc(w.ctx, sizeof w.x, &w.device));
        CHECK_STATUS(DUO_OK, duo_copy(w.ctx, w.device, w.x, sizeof w.x));
        (void)fail_memory_at(nth);
        const duo_status status = call(&w);
        (void)fail_memory_at(0);
        CHECK(status == DUO_OK || status == DUO_ERR_MEMORY || status == DUO_ERR_DEVICE, "status %d",
              (int)status);
        failed += status != DUO_OK;
        CHECK_STATUS(DUO_OK, call(&w));
        CHECK_STATUS(DUO_OK, duo_free(w.ctx, w.device));
        end_without_leaks(w.ctx);
    }
    return failed;
}

static void heap_is_empty(void)
{
    if (!fail_memory_at(0)) {
        test_skip("a sanitizer has a heap of its own");
        return;
    }
    for (int i = 0; i < 2; i++) {
        pins = i > 0;
        const int gathered = without_heap("backwards", backwards);
        const int copied = without_heap("copies", copies);
        (void)without_heap("prepares", prepares);
        (void)without_heap("keeps", keeps);
        (void)without_heap("later", later);
        CHECK(gathered >= 2, "%d times too little memory", gathered);
        CHECK(pins || copied > 0, "the copies took no memory");
    }
}

static const test_entry tests[] = {
    {"odd_copies", odd_copies},
    {"few_pinned_bytes", few_pinned_bytes},
    {"heap_is_empty", heap_is_empty},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    watch();
    return test_main(argc, argv, "copy_failures", tests);
}
