/*
 * test_pages.c - pages of new memory (host/pages.h): which are there, and making those that are
 * not, with whatever the memory holds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/runs.h"
#include "host/pages.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"

enum { PAGES = 2800 };

static size_t page;

/* New memory, which has no pages. */
static char *new_memory(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    char *const memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(memory != MAP_FAILED, "no memory");
    CHECK(madvise(memory, PAGES * page, MADV_NOHUGEPAGE) == 0 || errno == EINVAL, "huge pages");
    return memory;
}

static bool is_there(char *memory, size_t i)
{
    unsigned char there = 0;
    CHECK(mincore(memory + i * page, page, &there) == 0, "mincore");
    return (there & 1) != 0;
}

/* Makes the pages of any part. Those outside are not made; those that were there keep what they
 * hold. */
static void any_part(void)
{
    test_rng rng = test_rng_for("part");
    for (int i = 0; i < 100; i++) {
        char *const memory = new_memory();
        char *const before = calloc(PAGES, page);
        for (int w = 0; w < 40; w++) {
            const size_t at = (size_t)test_between(&rng, 0, (int64_t)(PAGES * page) - 1);
            memory[at] = before[at] = (char)test_between(&rng, 1, 127);
        }
        bool was[PAGES];
        for (size_t p = 0; p < PAGES; p++) was[p] = is_there(memory, p);
        const size_t first = (size_t)test_between(&rng, 0, (int64_t)(PAGES * page) - 1);
        const size_t bytes = (size_t)test_between(&rng, 0, (int64_t)(PAGES * page - first));
        test_case("pages/first=%zu/bytes=%zu", first, bytes);
        duo_pages_make(memory + first, bytes);
        for (size_t p = 0; p < PAGES; p++) {
            const bool in = bytes > 0 && p >= first / page && p <= (first + bytes - 1) / page;
            CHECK(is_there(memory, p) == (was[p] || in), "page %zu", p);
        }
        CHECK(!duo_pages_missing(memory + first, bytes), "some are missing");
        CHECK(memcmp(memory, before, PAGES * page) == 0, "other bytes");
        free(before);
        munmap(memory, PAGES * page);
    }
}

/* Writes to all pages, as another thread of the program may. */
static void *write_all(void *user)
{
    char *const memory = user;
    for (size_t p = 0; p < PAGES; p++) __atomic_store_n(memory + p * page, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* What others write meanwhile stays. */
static void written_meanwhile(void)
{
    for (int i = 0; i < 50; i++) {
        char *const memory = new_memory();
        pthread_t other;
        test_case("pages/written_meanwhile/%d", i);
        CHECK(pthread_create(&other, NULL, write_all, memory) == 0, "no thread");
        duo_pages_make(memory, PAGES * page);
        CHECK(pthread_join(other, NULL) == 0, "not joined");
        for (size_t p = 0; p < PAGES; p++) CHECK(memory[p * page] == 1, "page %zu", p);
        munmap(memory, PAGES * page);
    }
}

static void missing(void)
{
    char *const memory = new_memory();
    test_case("pages/missing");
    CHECK(duo_pages_missing(memory, PAGES * page), "new memory has pages");
    CHECK(duo_pages_missing(memory + 5, 1), "its first page");
    CHECK(!duo_pages_missing(memory, 0), "no bytes");
    memset(memory, 1, PAGES / 2 * page);
    CHECK(duo_pages_missing(memory, PAGES * page), "the second half");
    CHECK(!duo_pages_missing(memory, PAGES / 2 * page), "the first half");
    memset(memory, 1, PAGES * page);
    CHECK(!duo_pages_missing(memory, PAGES * page), "written memory");
    munmap(memory, PAGES * page);
    CHECK(!duo_pages_missing(memory, PAGES * page), "no memory at all");
}

/* Whole pages lie between the runs. They are not made. */
static void runs_with_gaps(void)
{
    char *const memory = new_memory();
    const int64_t floats = (int64_t)(page / sizeof(float));
    const duo_runs r = duo_runs_of(2 * floats, PAGES / 4, 4 * floats, 2 * floats);
    test_case("pages/runs");
    const int64_t count = r.rows * r.columns - 2 * floats;
    duo_runs_make_pages(&r, (float *)(void *)memory, floats, count, 4);
    for (size_t p = 0; p < PAGES; p++) {
        const bool in = p % 4 < 2 && p != 0 && p != PAGES - 3;
        CHECK(is_there(memory, p) == in, "page %zu", p);
    }
    munmap(memory, PAGES * page);
}

/* ---- A system without MADV_POPULATE_WRITE ---- */

enum { POPULATE_WRITE = 23 };

/* madvise answers that it does not know it. False: the system has no such filters. */
static bool become_old(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, POPULATE_WRITE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static bool in_child; /* on an old system */
static void on_an_old_system(void);

static const test_entry tests[] = {{"any_part", any_part},
                                   {"written_meanwhile", written_meanwhile},
                                   {"missing", missing},
                                   {"runs_with_gaps", runs_with_gaps},
                                   {"on_an_old_system", on_an_old_system},
                                   {NULL, NULL}};

/* In a child: all other tests. */
static int old_system(void)
{
    if (!become_old()) return 77;
    return test_main(1, (char *[]){"pages", NULL}, "pages", tests);
}

/* The same holds there. */
static void on_an_old_system(void)
{
    static test_child child;
    test_case("pages/old");
    if (in_child) return;
    test_child_run("old", (const char *const[]){NULL}, 60, &child);
    if (child.exit_status == 77) return test_skip("the system filters no calls");
    CHECK(child.exit_status == 0, "exit %d: %.300s %.300s", child.exit_status, child.out,
          child.err);
}

int main(int argc, char **argv)
{
    in_child = test_child_task(argc, argv) != NULL;
    return in_child ? old_system() : test_main(argc, argv, "pages", tests);
}
