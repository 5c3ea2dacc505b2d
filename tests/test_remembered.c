/*
 * test_remembered.c - duo_set_remember: factors that stay the same are not sent again, and a change
 * by whoever writes is never missed.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/remembered.h"
#include "data/tags.h"
#include "gpu/backend/devices.h"
#include "host/written.h"
#include "sim/sim.h"
#include "support/data.h"
#include "support/harness.h"

enum { PAGE = 4096 };
static bool watches; /* does this system watch pages? */

/* Small whole numbers: every sum is exact, in any order. */
static void fill(float *x, int64_t count, test_rng *seed)
{
    for (int64_t i = 0; i < count; i++) x[i] = (float)((int)(test_random(seed) % 9) - 4);
}

/* A memory map of whole pages: `bytes` of it are used, from an offset on. */
static float *map(size_t bytes)
{
    void *const memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

static duo_context *remembering_by(duo_remember how)
{
    duo_context *const ctx = test_context();
    CHECK_STATUS(DUO_OK, duo_set_remember(ctx, how));
    return ctx;
}

static duo_context *remembering(void) { return remembering_by(DUO_REMEMBER_BYTES); }

typedef struct product {
    bool transa, transb;
    int64_t m, n, k;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
} product;

static float element(const float *x, int64_t ld, bool turned, int64_t i, int64_t j)
{
    return turned ? x[i * ld + j] : x[i + j * ld];
}

/* C := op(A) op(B), and the number of wrong elements. */
static int64_t multiply(duo_context *ctx, const product *p, float *c, int64_t ldc)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < ldc * p->n; i++) c[i] = -1e30f;
    CHECK_STATUS(DUO_OK, duo_sgemm(ctx, DUO_COL_MAJOR, p->transa ? DUO_TRANS : DUO_NO_TRANS,
                                   p->transb ? DUO_TRANS : DUO_NO_TRANS, p->m, p->n, p->k, 1.0f,
                                   p->a, p->lda, p->b, p->ldb, 0.0f, c, ldc));
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            double sum = 0.0;
            for (int64_t l = 0; l < p->k; l++)
                sum += (double)element(p->a, p->lda, p->transa, i, l) *
                       (double)element(p->b, p->ldb, p->transb, l, j);
            wrong += !((double)c[i + j * ldc] == sum);
        }
    return wrong;
}

static duo_residence residence_of(duo_context *ctx, int operand)
{
    duo_decision d = {.size = sizeof d};
    CHECK_STATUS(DUO_OK, duo_explain_last(ctx, &d));
    return d.residence[operand];
}

/* ---- Tags ---- */

/* The tag by its definition. */
static duo_tag defined(const unsigned char *block, const unsigned char *key)
{
    uint32_t m[PAGE / 4], k[PAGE / 4 + 4];
    duo_tag tag = {{0, 0}};
    memcpy(m, block, sizeof m);
    memcpy(k, key, sizeof k);
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < PAGE / 4; i += 2) {
            const uint32_t x = m[i] + k[i + 4 * half], y = m[i + 1] + k[i + 1 + 4 * half];
            tag.half[half] += (uint64_t)x * y;
        }
    return tag;
}

static bool equal(duo_tag x, duo_tag y) { return x.half[0] == y.half[0] && x.half[1] == y.half[1]; }

static void tags_by_definition(void)
{
    const void *const key = duo_tags_key();
    unsigned char block[PAGE + 1];
    test_rng seed = test_rng_for("remembered");
    const int rounds = test_amount(200, 2000, 100000);
    test_case("tags");
    CHECK(key != NULL, "no random bytes");
    int differ = 0, missed = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned char *const at = block + round % 2; /* aligned or not */
        for (int i = 0; i < PAGE; i++) at[i] = (unsigned char)test_random(&seed);
        const duo_tag tag = duo_tags_of(at, key);
        differ += !equal(tag, defined(at, key));
        at[test_random(&seed) % PAGE] ^= (unsigned char)(1u << test_random(&seed) % 8);
        missed += equal(tag, duo_tags_of(at, key));
        float values[2] = {0.0f, -0.0f};
        memset(at, 0, PAGE);
        const duo_tag zeros = duo_tags_of(at, key);
        memcpy(at + 4 * (test_random(&seed) % (PAGE / 4)), &values[1], 4);
        missed += equal(zeros, duo_tags_of(at, key));
    }
    CHECK(differ == 0, "%d of %d tags differ from their definition", differ, rounds);
    CHECK(missed == 0, "%d of %d changes have the same tag", missed, 2 * rounds);
}

/* The device's tags are the CPU's. */
static void tags_of_device(void)
{
    enum { BLOCKS = 1000 };
    duo_context *const ctx = test_context();
    const duo_backend *const backend = duo_backend_current();
    const size_t bytes = (size_t)BLOCKS * PAGE;
    unsigned char *const host = malloc(bytes);
    duo_tag *const tags = malloc(BLOCKS * sizeof *tags);
    test_rng seed = test_rng_for("remembered");
    void *there = NULL, *there_too = NULL;
    duo_queue *queue = NULL;
    test_case("tags/device");
    for (size_t i = 0; i < bytes; i++) host[i] = (unsigned char)test_random(&seed);
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK_STATUS(DUO_OK, backend->open(0, NULL, DUO_PRIORITY_NORMAL, &queue));
    CHECK_STATUS(DUO_OK, backend->allocate(0, bytes, &there));
    CHECK_STATUS(DUO_OK,
                 backend->allocate(0, BLOCKS * sizeof *tags + DUO_TAG_KEY_BYTES, &there_too));
    char *const key = (char *)there_too + BLOCKS * sizeof *tags;
    for (int blocks = 1; blocks <= BLOCKS; blocks = blocks * 3 + 1) {
        int differ = 0;
        CHECK_STATUS(DUO_OK, backend->copy_now(queue, there, bytes, host, bytes, bytes, 1));
        CHECK_STATUS(DUO_OK, backend->copy_now(queue, key, DUO_TAG_KEY_BYTES, duo_tags_key(),
                                               DUO_TAG_KEY_BYTES, DUO_TAG_KEY_BYTES, 1));
        CHECK_STATUS(DUO_OK, backend->tag(queue, there, (size_t)blocks, key, there_too));
        const size_t all = (size_t)blocks * sizeof *tags;
        CHECK_STATUS(DUO_OK, backend->copy_now(queue, tags, all, there_too, all, all, 1));
        for (int i = 0; i < blocks; i++)
            differ += !equal(tags[i], duo_tags_of(host + (size_t)i * PAGE, duo_tags_key()));
        CHECK(differ == 0, "%d of %d blocks", differ, blocks);
    }
    CHECK_STATUS(DUO_OK, backend->release(0, there));
    CHECK_STATUS(DUO_OK, backend->release(0, there_too));
    CHECK_STATUS(DUO_OK, backend->close(queue));
    free(host);
    free(tags);
    test_context_end(ctx);
}

/* ---- What is sent ---- */

enum { M = 512, N = 8, K = 600 };

typedef struct arrays {
    float *a, *b, *c;
    size_t a_bytes;
    test_rng seed;
} arrays;

static arrays make_arrays(void)
{
    arrays w = {.a_bytes = sizeof(float) * M * K, .seed = test_rng_for("remembered")};
    w.a = map(w.a_bytes + PAGE);
    w.b = map(sizeof(float) * K * M);
    w.c = map(sizeof(float) * M * M);
    fill(w.a, M * K, &w.seed);
    fill(w.b, K * M, &w.seed);
    return w;
}

static void free_arrays(const arrays *w)
{
    duo_remembered_forget(0, UINTPTR_MAX);
    munmap(w->a, w->a_bytes + PAGE);
    munmap(w->b, sizeof(float) * K * M);
    munmap(w->c, sizeof(float) * M * M);
}

static product whole(const arrays *w) { return (product){false, false, M, N, K, w->a, M, w->b, K}; }

/* A product with A; the bytes that were sent to the device. */
static uint64_t sent_by(duo_context *ctx, const arrays *w, duo_residence expected)
{
    const product p = whole(w);
    const uint64_t before = test_on_sim() ? sim_uploaded_bytes() : 0;
    const int64_t wrong = multiply(ctx, &p, w->c, M);
    CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
    CHECK(residence_of(ctx, 0) == expected, "A was at %d", (int)residence_of(ctx, 0));
    return test_on_sim() ? sim_uploaded_bytes() - before : 0;
}

static const uint64_t kOther = sizeof(float) * N * K + 3 * PAGE; /* B, the key */

static void is_sent_twice(void)
{
    duo_context *const ctx = remembering();
    arrays w = make_arrays();
    test_case("sent twice");
    for (int call = 0; call < 6; call++) {
        const uint64_t sent = sent_by(ctx, &w, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
        if (!test_on_sim()) continue;
        CHECK((sent >= w.a_bytes) == (call < 2), "call %d sent %ju bytes", call, (uintmax_t)sent);
        CHECK(call < 2 || sent <= kOther, "call %d sent %ju bytes", call, (uintmax_t)sent);
    }
    test_case("one element changes");
    for (int call = 0; call < 50; call++) {
        const int64_t at = call == 0   ? 0
                           : call == 1 ? M * K - 1
                                       : test_between(&w.seed, 0, M * K - 1);
        w.a[at] += 1.0f;
        const uint64_t sent = sent_by(ctx, &w, DUO_AT_REMEMBERED);
        CHECK(sent <= kOther + PAGE, "%ju bytes were sent", (uintmax_t)sent);
    }
    test_case("a tenth changes");
    for (int64_t i = 1000; i < 1000 + M * K / 10; i++) w.a[i] = -w.a[i] + 1.0f;
    const uint64_t sent = sent_by(ctx, &w, DUO_AT_REMEMBERED);
    CHECK(sent <= kOther + 2 * PAGE + w.a_bytes / 10, "%ju bytes were sent", (uintmax_t)sent);
    test_case("forgotten by duo_trim and duo_keep");
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    (void)sent_by(ctx, &w, DUO_AT_PAGEABLE);
    (void)sent_by(ctx, &w, DUO_AT_PAGEABLE);
    (void)sent_by(ctx, &w, DUO_AT_REMEMBERED);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, w.a, w.a_bytes));
    (void)sent_by(ctx, &w, DUO_AT_STALE);
    (void)sent_by(ctx, &w, DUO_AT_KEPT);
    CHECK_STATUS(DUO_OK, duo_release(ctx, w.a));
    (void)sent_by(ctx, &w, DUO_AT_PAGEABLE);
    test_case("not asked for");
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    CHECK_STATUS(DUO_OK, duo_set_remember(ctx, DUO_REMEMBER_NONE));
    for (int call = 0; call < 4; call++) (void)sent_by(ctx, &w, DUO_AT_PAGEABLE);
    CHECK_STATUS(DUO_ERR_ENUM, duo_set_remember(ctx, (duo_remember)77));
    CHECK_STATUS(DUO_ERR_CONTEXT, duo_set_remember(test_dead_context(), DUO_REMEMBER_NONE));
    free_arrays(&w);
    test_context_end(ctx);
}

/* A weight: used twice between updates. Then the second use is not sent. */
static void is_used_twice(void)
{
    duo_context *const ctx = remembering();
    arrays w = make_arrays();
    test_case("used twice between updates");
    for (int step = 0; step < 6; step++) {
        fill(w.a, M * K, &w.seed);
        (void)multiply(ctx, &(product){false, false, M, N, K, w.a, M, w.b, K}, w.c, M);
        const duo_residence first = residence_of(ctx, 0);
        const uint64_t before = test_on_sim() ? sim_uploaded_bytes() : 0;
        const product back = {true, false, K, N, M, w.a, M, w.b, M};
        const int64_t wrong = multiply(ctx, &back, w.c, K);
        CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
        if (step < 3) continue; /* it was first sent by the second use: two steps later it is not */
        CHECK(first == DUO_AT_PAGEABLE, "it was at %d", (int)first);
        CHECK(residence_of(ctx, 0) == DUO_AT_REMEMBERED, "step %d", step);
        if (test_on_sim())
            CHECK(sim_uploaded_bytes() - before <= kOther, "step %d sent it again", step);
    }
    free_arrays(&w);
    test_context_end(ctx);
}

/* Of two factors that came before one has changed: the other one stays. */
static void one_of_two_changes(void)
{
    duo_context *const ctx = remembering();
    arrays w = make_arrays();
    test_case("one of two");
    for (int call = 0; call < 12; call++) {
        const product p = {false, false, M, M, K, w.a, M, w.b, K};
        if (call > 3) fill(w.b, K * M, &w.seed);
        CHECK(multiply(ctx, &p, w.c, M) == 0, "wrong elements");
        CHECK(residence_of(ctx, 0) == (call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED), "call %d",
              call);
    }
    free_arrays(&w);
    test_context_end(ctx);
}

/* An array that is rewritten before each use is let pass, longer and longer. */
static void is_rewritten(void)
{
    enum { CALLS = 200 };
    duo_context *const ctx = remembering();
    arrays w = make_arrays();
    int checks = 0;
    test_case("rewritten each time");
    for (int call = 0; call < CALLS; call++) {
        fill(w.a, M * K, &w.seed);
        const product p = whole(&w);
        const uint64_t before = test_on_sim() ? sim_downloaded_bytes() : 0;
        const int64_t wrong = multiply(ctx, &p, w.c, M);
        CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
        CHECK(residence_of(ctx, 0) == DUO_AT_PAGEABLE, "call %d", call);
        /* More than C came: the tags of a copy, for a check. */
        if (test_on_sim()) checks += sim_downloaded_bytes() - before > sizeof(float) * M * N;
    }
    /* 4, 8, 16, 32, 64 calls pass between two of them. */
    if (test_on_sim()) CHECK(checks >= 5 && checks <= 7, "%d checks", checks);
    free_arrays(&w);
    test_context_end(ctx);
}

/* What a call writes is not a factor that comes again. */
static void results_are_forgotten(void)
{
    duo_context *const ctx = remembering();
    const arrays w = make_arrays();
    test_case("results");
    for (int call = 0; call < 6; call++) {
        const product p = {false, false, M, M, K, w.a, M, w.b, K};
        CHECK(multiply(ctx, &p, w.c, M) == 0, "wrong elements");
        float *const next = map(sizeof(float) * M * N);
        const product q = {false, false, M, N, M, w.c, M, w.b, M};
        CHECK(multiply(ctx, &q, next, M) == 0, "wrong elements");
        CHECK(residence_of(ctx, 0) == DUO_AT_PAGEABLE, "call %d", call);
        munmap(next, sizeof(float) * M * N);
    }
    free_arrays(&w);
    test_context_end(ctx);
}

/* Parts of a remembered array, with small and large gaps. Pages between the columns of a part are
 * not read: they may be gone. */
static void parts(void)
{
    enum { ROWS = 3 * PAGE / 4, COLUMNS = 96 };
    duo_context *const ctx = remembering();
    float *const a = map(sizeof(float) * ROWS * COLUMNS), *const b = map(sizeof(float) * ROWS * N);
    float *const c = map(sizeof(float) * ROWS * N);
    test_rng seed = test_rng_for("remembered");
    test_case("parts");
    fill(a, ROWS * COLUMNS, &seed);
    fill(b, ROWS * N, &seed);
    for (int call = 0; call < 3; call++) {
        const product p = {false, false, ROWS, N, COLUMNS, a, ROWS, b, ROWS};
        CHECK(multiply(ctx, &p, c, ROWS) == 0, "wrong elements");
    }
    for (int call = 0; call < 40; call++) {
        const int64_t i = test_between(&seed, 0, ROWS - 1), j = test_between(&seed, 0, COLUMNS - 1);
        const int64_t rows = test_between(&seed, 1, ROWS - i);
        const int64_t columns = test_between(&seed, 1, COLUMNS - j);
        a[test_random(&seed) % (ROWS * COLUMNS)] += 1.0f;
        const bool turned = call % 2 != 0;
        const product p = {turned,
                           false,
                           turned ? columns : rows,
                           N,
                           turned ? rows : columns,
                           a + i + j * ROWS,
                           ROWS,
                           b,
                           ROWS};
        CHECK(multiply(ctx, &p, c, ROWS) == 0, "wrong elements");
        CHECK(residence_of(ctx, 0) == DUO_AT_REMEMBERED, "%jd x %jd at %jd, %jd", (intmax_t)rows,
              (intmax_t)columns, (intmax_t)i, (intmax_t)j);
    }
    test_case("parts/pages between them have gone");
    for (int64_t j = 0; j < COLUMNS; j++) munmap((char *)(a + j * ROWS) + PAGE, 2 * PAGE);
    const product p = {false, false, PAGE / 4, N, COLUMNS, a, ROWS, b, ROWS};
    CHECK(multiply(ctx, &p, c, ROWS) == 0, "wrong elements");
    CHECK(residence_of(ctx, 0) == DUO_AT_REMEMBERED, "not remembered");
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    munmap(a, sizeof(float) * ROWS * COLUMNS);
    munmap(b, sizeof(float) * ROWS * N);
    munmap(c, sizeof(float) * ROWS * N);
    test_context_end(ctx);
}

/* Both factors are parts of one array. */
static void same_array(void)
{
    duo_context *const ctx = remembering();
    arrays w = make_arrays();
    test_case("same array");
    for (int call = 0; call < 3; call++)
        (void)sent_by(ctx, &w, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
    for (int call = 0; call < 8; call++) {
        w.a[test_between(&w.seed, 0, M * K - 1)] += 1.0f;
        const product p = {true, false, N, K / 2, M, w.a, M, w.a + M * (K / 2), M};
        CHECK(multiply(ctx, &p, w.c, N) == 0, "wrong elements");
        CHECK(residence_of(ctx, 0) == DUO_AT_REMEMBERED &&
                  residence_of(ctx, 1) == DUO_AT_REMEMBERED,
              "call %d", call);
        const product q = {true, false, K, K, M, w.a, M, w.a, M};
        float *const square = map(sizeof(float) * K * K);
        CHECK(multiply(ctx, &q, square, K) == 0, "wrong elements");
        CHECK(residence_of(ctx, 1) == DUO_AT_REMEMBERED, "call %d", call);
        munmap(square, sizeof(float) * K * K);
    }
    free_arrays(&w);
    test_context_end(ctx);
}

/* ---- Whoever writes ---- */

static void by_another_process(char *to, const char *bytes, size_t count)
{
    const pid_t parent = getpid();
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const struct iovec from = {(char *)(uintptr_t)bytes, count}, there = {to, count};
        _exit(process_vm_writev(parent, &from, 1, &there, 1, 0) == (ssize_t)count ? 0 : 1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) memcpy(to, bytes, count);
}

static void by_pipe(char *to, const char *bytes, size_t count)
{
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], bytes, count) != (ssize_t)count ||
        read(ends[0], to, count) != (ssize_t)count)
        abort();
    close(ends[0]);
    close(ends[1]);
}

/* New pages in the place of the old ones. */
static void by_new_pages(char *to, const char *bytes, size_t count)
{
    const uintptr_t page = (uintptr_t)to / PAGE * PAGE,
                    end = ((uintptr_t)to + count + PAGE - 1) / PAGE * PAGE;
    char *const old = malloc(end - page);
    memcpy(old, (void *)page, end - page);
    memcpy(old + ((uintptr_t)to - page), bytes, count);
    if (mmap((void *)page, end - page, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        abort();
    memcpy((void *)page, old, end - page);
    free(old);
}

static void by_store(char *to, const char *bytes, size_t count) { memcpy(to, bytes, count); }

static void (*const writers[])(char *, const char *, size_t) = {by_store, by_pipe, by_new_pages,
                                                                by_another_process};

/*
 * Products of random parts of three arrays that overlap in one mapping, written to at random in
 * between: by the program, by calls, and as new memory in the old place.
 */
static void torture_by(duo_remember how)
{
    enum { FLOATS = 40000, LEAST = 1024, MOST_EDGE = 64 };
    duo_context *const ctx = remembering_by(how);
    float *const memory = map(sizeof(float) * FLOATS), *const c = map(sizeof(float) * MOST_EDGE *
                                                                      MOST_EDGE);
    test_rng seed = test_rng_for("remembered");
    const int rounds = test_amount(300, 4000, 100000);
    const size_t least = duo_remembered_least;
    int64_t wrong = 0, remembered = 0, watched = 0;
    duo_remembered_least = LEAST;
    test_case("torture/%s", how == DUO_REMEMBER_PAGES ? "pages" : "bytes");
    fill(memory, FLOATS, &seed);
    product p[4];
    for (int round = 0; round < rounds; round++) {
        if (round % 40 == 0)
            for (int i = 0; i < 4; i++) {
                const int64_t m = test_between(&seed, 1, MOST_EDGE),
                              n = test_between(&seed, 1, MOST_EDGE);
                const int64_t k = test_between(&seed, 1, MOST_EDGE);
                const bool transa = test_random(&seed) % 2, transb = test_random(&seed) % 2;
                p[i] = (product){transa,
                                 transb,
                                 m,
                                 n,
                                 k,
                                 memory + test_random(&seed) % (FLOATS / 2),
                                 transa ? k : m,
                                 memory + FLOATS / 2 + test_random(&seed) % (FLOATS / 4),
                                 transb ? n : k};
                if (test_random(&seed) % 4 == 0) p[i].lda += (int64_t)(test_random(&seed) % 20);
            }
        /* In every other part of the time changes are rare, so that pages are watched. */
        const bool rare = how == DUO_REMEMBER_PAGES && round / 80 % 2 == 0;
        const int changes = (int)(test_random(&seed) % (rare ? 40 : 3) / (rare ? 39 : 1));
        for (int change = 0; change < changes; change++) {
            float bytes[64];
            fill(bytes, 64, &seed);
            const size_t count = 4 + test_random(&seed) % (sizeof bytes - 4);
            const uint64_t by = test_random(&seed) % 64;
            char *const to = (char *)(memory + test_random(&seed) % (FLOATS - 64));
            writers[by < 40 ? 0 : by < 52 ? 1 : by < 62 ? 2 : 3](to, (char *)bytes, count / 4 * 4);
        }
        const product *const q = &p[test_random(&seed) % 4];
        wrong += multiply(ctx, q, c, q->m);
        remembered += residence_of(ctx, 0) == DUO_AT_REMEMBERED;
        remembered += residence_of(ctx, 1) == DUO_AT_REMEMBERED;
        for (const duo_region *r = duo_residency_remembered(0, UINTPTR_MAX); r != NULL;
             r = duo_residency_remembered(r->high, UINTPTR_MAX))
            watched += r->watched;
        if (!rare && test_random(&seed) % 16 == 0) { /* a call writes into the arrays */
            const product r = {false, false, 16, 16, 16, memory, 16, memory + 256, 16};
            wrong += multiply(ctx, &r, memory + 512 + test_random(&seed) % (FLOATS - 1024), 16);
        }
    }
    CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
    CHECK(remembered > rounds / 8, "only %jd factors were remembered", (intmax_t)remembered);
    CHECK(how == DUO_REMEMBER_BYTES ? watched == 0 : !watches || watched > rounds / 8,
          "%jd times an array was watched", (intmax_t)watched);
    duo_remembered_least = least;
    munmap(memory, sizeof(float) * FLOATS);
    munmap(c, sizeof(float) * MOST_EDGE * MOST_EDGE);
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    test_context_end(ctx);
}

static void torture(void)
{
    torture_by(DUO_REMEMBER_BYTES);
    torture_by(DUO_REMEMBER_PAGES);
}

/* ---- Watched pages ---- */

static bool is_watched(const arrays *w)
{
    const duo_region *const r = duo_residency_remembered((uintptr_t)w->a, (uintptr_t)w->a + 1);
    return r != NULL && r->watched;
}

/* An array that was often the same is watched. A change ends that, and is sent. */
static void pages_are_watched(void)
{
    duo_context *const ctx = remembering_by(DUO_REMEMBER_PAGES);
    arrays w = make_arrays();
    float *const a = w.a;
    w.a += 5; /* neither end is a whole page */
    test_case("watched");
    for (int change = 0; change < 3; change++) {
        for (int call = 0; call < 12; call++)
            (void)sent_by(ctx, &w, change == 0 && call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
        CHECK(is_watched(&w) == watches, "change %d", change);
        const int64_t at = change == 0 ? 0 : change == 1 ? M * K - 1 : M * K / 2;
        w.a[at] += 1.0f; /* the ends are compared; the middle is watched */
        const uint64_t sent = sent_by(ctx, &w, DUO_AT_REMEMBERED);
        CHECK(sent <= kOther + PAGE, "%ju bytes were sent", (uintmax_t)sent);
        CHECK(!is_watched(&w), "change %d", change);
    }
    test_case("watched/new memory");
    for (int call = 0; call < 10; call++) (void)sent_by(ctx, &w, DUO_AT_REMEMBERED);
    CHECK(is_watched(&w) == watches, "not watched again");
    by_new_pages((char *)w.a + PAGE, (const char *)w.b, 2 * PAGE);
    (void)sent_by(ctx, &w, DUO_AT_REMEMBERED);
    w.a = a;
    free_arrays(&w);
    test_context_end(ctx);
}

static int unseen_lines;

static void count_unseen(void *user, const char *line)
{
    (void)user;
    unseen_lines += strstr(line, "went unseen") != NULL;
}

/* A write that the system does not tell of, as of a device: after at most 64 calls it is found, and
 * told; from then on all bytes are compared. The last test, as no pages are watched after it. */
static void unseen_write(void)
{
    enum { TURNS = 64 };
    duo_context *const ctx = remembering_by(DUO_REMEMBER_PAGES);
    arrays w = make_arrays();
    const char *why;
    test_case("unseen");
    if (!watches) {
        test_skip("this system does not watch pages");
        free_arrays(&w);
        test_context_end(ctx);
        return;
    }
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, count_unseen, NULL));
    for (int call = 0; call < 12; call++)
        (void)sent_by(ctx, &w, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
    CHECK(is_watched(&w), "not watched");
    w.a[M * K / 3] += 1.0f;
    CHECK(duo_written_watch(w.a, w.a_bytes / PAGE * PAGE, &why), "%s", why); /* hides it */
    int wrong = 0;
    const product p = whole(&w);
    for (int call = 0; call < TURNS; call++) wrong += multiply(ctx, &p, w.c, M) != 0;
    CHECK(wrong < TURNS, "it was never found");
    CHECK(unseen_lines == 1, "told %d times", unseen_lines);
    for (int call = 0; call < 12; call++) (void)sent_by(ctx, &w, DUO_AT_REMEMBERED);
    CHECK(!is_watched(&w), "watched all the same");
    free_arrays(&w);
    test_context_end(ctx);
}

/* ---- Room, losses, forks ---- */

static void room_is_short(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    test_case("room");
    sim_set_memory(16 << 20);
    duo_context *const ctx = remembering();
    enum { ARRAYS = 16 };
    arrays w = make_arrays();
    float *const kept = map(w.a_bytes);
    fill(kept, M * K, &w.seed);
    CHECK_STATUS(DUO_OK, duo_keep(ctx, kept, w.a_bytes));
    const product of_kept = {false, false, M, N, K, kept, M, w.b, K};
    CHECK(multiply(ctx, &of_kept, w.c, M) == 0, "wrong elements");
    float *a[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        a[i] = map(w.a_bytes);
        fill(a[i], M * K, &w.seed);
    }
    int remembered = 0;
    for (int round = 0; round < 6; round++)
        for (int i = 0; i < ARRAYS; i++) {
            const product p = {false, false, M, N, K, a[i], M, w.b, K};
            CHECK(multiply(ctx, &p, w.c, M) == 0, "wrong elements");
            remembered += residence_of(ctx, 0) == DUO_AT_REMEMBERED;
        }
    CHECK(remembered >= 8, "only %d were remembered", remembered);
    CHECK(sim_allocated_bytes(0) <= 11 << 20, "%ju bytes are held",
          (uintmax_t)sim_allocated_bytes(0));
    void *mine = NULL; /* the program's memory comes first */
    CHECK_STATUS(DUO_OK, duo_malloc(ctx, 8 << 20, &mine));
    CHECK(sim_is_device(mine), "remembered arrays kept their room");
    CHECK_STATUS(DUO_OK, duo_free(ctx, mine));
    CHECK(multiply(ctx, &of_kept, w.c, M) == 0, "wrong elements");
    CHECK(residence_of(ctx, 0) == DUO_AT_KEPT, "a kept array went before remembered ones");
    CHECK_STATUS(DUO_OK, duo_release(ctx, kept));
    munmap(kept, w.a_bytes);
    for (int i = 0; i < ARRAYS; i++) munmap(a[i], w.a_bytes);
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    free_arrays(&w);
    test_context_end(ctx);
}

static void device_fails(void)
{
    if (!test_on_sim()) {
        test_skip("needs the simulated device");
        return;
    }
    static const sim_kind kinds[] = {SIM_ALLOCATE, SIM_COPY, SIM_LAUNCH, SIM_WAIT,
                                     SIM_AFTER,    SIM_MARK, SIM_PIN};
    static const duo_status statuses[] = {DUO_ERR_DEVICE, DUO_ERR_LOST};
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
        for (int what = 0; what < 2; what++)
            for (int nth = 1; nth <= 40; nth += 3) {
                test_reset();
                test_case("failures/%d/%d/%d", (int)kinds[kind], what, nth);
                duo_context *const ctx = remembering();
                arrays w = make_arrays();
                const product p = whole(&w);
                sim_fail(kinds[kind], nth, statuses[what], what == 0 ? 2 : 1);
                for (int call = 0; call < 5; call++) {
                    CHECK(multiply(ctx, &p, w.c, M) == 0, "wrong elements in call %d", call);
                    w.a[test_random(&w.seed) % (M * K)] += 1.0f;
                }
                sim_fail(kinds[kind], 0, DUO_OK, 0);
                free_arrays(&w);
                const duo_status ended = duo_destroy(ctx);
                CHECK(ended == DUO_OK || ended == DUO_ERR_LOST, "%d", (int)ended);
                CHECK(sim_violations() == 0, "%d violations", sim_violations());
            }
}

/* In a child process nothing is remembered, and the parent's arrays stay. */
static void forked(void)
{
    if (test_mode_now() == MODE_GPU) {
        test_skip("a process with CUDA does not fork here");
        return;
    }
    test_case("fork");
    duo_context *const ctx = remembering();
    arrays w = make_arrays();
    for (int call = 0; call < 3; call++)
        (void)sent_by(ctx, &w, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const product p = whole(&w);
        w.a[5] += 1.0f;
        _exit(multiply(ctx, &p, w.c, M) == 0 && residence_of(ctx, 0) == DUO_AT_PAGEABLE ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
    (void)sent_by(ctx, &w, DUO_AT_REMEMBERED);
    free_arrays(&w);
    test_context_end(ctx);
}

static const test_entry tests[] = {
    {"tags_by_definition", tags_by_definition},
    {"tags_of_device", tags_of_device},
    {"is_sent_twice", is_sent_twice},
    {"is_used_twice", is_used_twice},
    {"one_of_two_changes", one_of_two_changes},
    {"is_rewritten", is_rewritten},
    {"results_are_forgotten", results_are_forgotten},
    {"parts", parts},
    {"same_array", same_array},
    {"torture", torture},
    {"pages_are_watched", pages_are_watched},
    {"room_is_short", room_is_short},
    {"device_fails", device_fails},
    {"forked", forked},
    {"unseen_write", unseen_write},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *why;
    watches = duo_written_possible(&why);
    return test_main(argc, argv, "remembered", tests);
}
