/*
 * test_remembered_writers.c - remembered factors that are written to by everybody: no change is
 * missed, whether bytes are compared or pages watched.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/remembered.h"
#include "host/written.h"
#include "sim/sim.h"
#include "support/harness.h"
#include "support/remembering.h"

static bool watches; /* does this system watch pages? */

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
    float *const memory = remembering_map(sizeof(float) * FLOATS), *const c = remembering_map(
                                                                       sizeof(float) * MOST_EDGE *
                                                                       MOST_EDGE);
    test_rng seed = test_rng_for("remembered");
    const int rounds = test_amount(300, 4000, 100000);
    const size_t least = duo_remembered_least;
    int64_t wrong = 0, remembered = 0, watched = 0;
    duo_remembered_least = LEAST;
    test_case("torture/%s", how == DUO_REMEMBER_PAGES ? "pages" : "bytes");
    remembering_fill(memory, FLOATS, &seed);
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
            remembering_fill(bytes, 64, &seed);
            const size_t count = 4 + test_random(&seed) % (sizeof bytes - 4);
            const uint64_t by = test_random(&seed) % 64;
            char *const to = (char *)(memory + test_random(&seed) % (FLOATS - 64));
            writers[by < 40 ? 0 : by < 52 ? 1 : by < 62 ? 2 : 3](to, (char *)bytes, count / 4 * 4);
        }
        const product *const q = &p[test_random(&seed) % 4];
        wrong += remembering_multiply(ctx, q, c, q->m);
        remembered += remembering_residence(ctx, 0) == DUO_AT_REMEMBERED;
        remembered += remembering_residence(ctx, 1) == DUO_AT_REMEMBERED;
        for (const duo_region *r = duo_residency_remembered(0, UINTPTR_MAX); r != NULL;
             r = duo_residency_remembered(r->high, UINTPTR_MAX))
            watched += r->watched;
        if (!rare && test_random(&seed) % 16 == 0) { /* a call writes into the arrays */
            const product r = {false, false, 16, 16, 16, memory, 16, memory + 256, 16};
            wrong += remembering_multiply(ctx, &r,
                                          memory + 512 + test_random(&seed) % (FLOATS - 1024), 16);
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

/* ---- The heap ---- */

/* Products of arrays that malloc places in its heap: they come and go, others get their places, and
 * the heap grows and shrinks. */
static void heap_by(duo_remember how)
{
    enum { ARRAYS = 6, MOST_EDGE = 64, LEAST = 1024 };
    duo_context *const ctx = remembering_by(how);
    test_rng seed = test_rng_for("heap");
    const int rounds = test_amount(300, 4000, 100000);
    const size_t least = duo_remembered_least;
    int64_t edge[ARRAYS], wrong = 0, remembered = 0;
    float *array[ARRAYS] = {NULL}, c[MOST_EDGE * MOST_EDGE];
    duo_remembered_least = LEAST;
    test_case("heap/%s", how == DUO_REMEMBER_PAGES ? "pages" : "bytes");
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < ARRAYS; i++) {
            const uint64_t what = test_random(&seed) % 64;
            if (array[i] != NULL && what > 1) continue;
            if (array[i] == NULL || what == 0) { /* another array */
                free(array[i]);
                if (test_random(&seed) % 8 == 0) (void)malloc_trim(0);
                edge[i] = test_between(&seed, 16, MOST_EDGE);
                array[i] = malloc(sizeof(float) * (size_t)(edge[i] * edge[i]));
                remembering_fill(array[i], edge[i] * edge[i], &seed);
            } else {
                array[i][test_random(&seed) % (uint64_t)(edge[i] * edge[i])] += 1.0f;
            }
        }
        const int a = (int)(test_random(&seed) % ARRAYS), b = (int)(test_random(&seed) % ARRAYS);
        const int64_t k = edge[a] < edge[b] ? edge[a] : edge[b];
        const product p = {false, false, edge[a], edge[b], k, array[a], edge[a], array[b], edge[b]};
        wrong += remembering_multiply(ctx, &p, c, edge[a]);
        remembered += remembering_residence(ctx, 0) == DUO_AT_REMEMBERED;
    }
    CHECK(wrong == 0, "%jd elements are wrong", (intmax_t)wrong);
    CHECK(remembered > rounds / 8, "only %jd factors were remembered", (intmax_t)remembered);
    duo_remembered_least = least;
    for (int i = 0; i < ARRAYS; i++) free(array[i]);
    CHECK_STATUS(DUO_OK, duo_trim(ctx));
    test_context_end(ctx);
}

static void heap(void)
{
    heap_by(DUO_REMEMBER_BYTES);
    heap_by(DUO_REMEMBER_PAGES);
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
    arrays w = remembering_arrays();
    float *const a = w.a;
    w.a += 5; /* neither end is a whole page */
    test_case("watched");
    for (int change = 0; change < 3; change++) {
        for (int call = 0; call < 12; call++)
            (void)remembering_sent(ctx, &w,
                                   change == 0 && call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
        CHECK(is_watched(&w) == watches, "change %d", change);
        const int64_t at = change == 0 ? 0 : change == 1 ? M * K - 1 : M * K / 2;
        w.a[at] += 1.0f; /* the ends are compared; the middle is watched */
        const uint64_t sent = remembering_sent(ctx, &w, DUO_AT_REMEMBERED);
        CHECK(sent <= remembering_other + PAGE, "%ju bytes were sent", (uintmax_t)sent);
        CHECK(!is_watched(&w), "change %d", change);
    }
    test_case("watched/new memory");
    for (int call = 0; call < 10; call++) (void)remembering_sent(ctx, &w, DUO_AT_REMEMBERED);
    CHECK(is_watched(&w) == watches, "not watched again");
    by_new_pages((char *)w.a + PAGE, (const char *)w.b, 2 * PAGE);
    (void)remembering_sent(ctx, &w, DUO_AT_REMEMBERED);
    w.a = a;
    remembering_free(&w);
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
    arrays w = remembering_arrays();
    const char *why;
    test_case("unseen");
    if (!watches) {
        test_skip("this system does not watch pages");
        remembering_free(&w);
        test_context_end(ctx);
        return;
    }
    CHECK_STATUS(DUO_OK, duo_set_log(ctx, count_unseen, NULL));
    for (int call = 0; call < 12; call++)
        (void)remembering_sent(ctx, &w, call < 2 ? DUO_AT_PAGEABLE : DUO_AT_REMEMBERED);
    CHECK(is_watched(&w), "not watched");
    w.a[M * K / 3] += 1.0f;
    CHECK(duo_written_watch(w.a, w.a_bytes / PAGE * PAGE, &why), "%s", why); /* hides it */
    int wrong = 0;
    const product p = remembering_whole(&w);
    for (int call = 0; call < TURNS; call++) wrong += remembering_multiply(ctx, &p, w.c, M) != 0;
    CHECK(wrong < TURNS, "it was never found");
    CHECK(unseen_lines == 1, "told %d times", unseen_lines);
    for (int call = 0; call < 12; call++) (void)remembering_sent(ctx, &w, DUO_AT_REMEMBERED);
    CHECK(!is_watched(&w), "watched all the same");
    remembering_free(&w);
    test_context_end(ctx);
}

static const test_entry tests[] = {
    {"torture", torture},           {"heap", heap}, {"pages_are_watched", pages_are_watched},
    {"unseen_write", unseen_write}, {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *why;
    watches = duo_written_possible(&why);
    return test_main(argc, argv, "remembered_writers", tests);
}
