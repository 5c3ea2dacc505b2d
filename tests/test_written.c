/*
 * test_written.c - watched pages (host/written.h): whoever writes is seen, and memory that others
 * could write to unseen is not watched.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/written.h"
#include "support/child.h"
#include "support/data.h"
#include "support/harness.h"

/* A ring of io_uring, with room for one request. */
typedef struct ring {
    int file;
    struct io_uring_sqe *request;
    struct io_uring_cqe *answers;
    unsigned *queued, *places, *answered, *seen, mask, answers_mask;
} ring;

enum { PAGES = 256, MOST = 1024 };
static size_t page, bytes;
static char *area, *shadow, *spare; /* spare: as large, to move pages to */
static char news[MOST];             /* what is written */
static int file, self;              /* of random bytes; the process's memory */
static int direct;                  /* the file past the system's cache; negative: it cannot be */
static aio_context_t reads;         /* 0: the system has none */
static ring uring;                  /* file < 0: the system has none */

static char *map(char *at, size_t size)
{
    void *const memory = mmap(at, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

/* ---- Writers: count <= MOST bytes at `to`, in `span` bytes of whole pages from `first` on ---- */

typedef struct target {
    char *to, *first;
    size_t count, span;
} target;

static void *store(void *argument)
{
    const target *const t = argument;
    memcpy(t->to, news, t->count);
    return NULL;
}

static bool by_store(target *t) { return store(t) == NULL; }

static bool by_thread(target *t)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, store, t) == 0 && pthread_join(thread, NULL) == 0;
}

static bool by_atomic(target *t)
{
    unsigned *const word = (unsigned *)(void *)(t->to - (uintptr_t)t->to % sizeof(unsigned));
    (void)__atomic_fetch_add(word, 1u, __ATOMIC_SEQ_CST);
    return true;
}

static bool by_read(target *t) { return pread(file, t->to, t->count, 0) == (ssize_t)t->count; }

static bool by_readv(target *t)
{
    const struct iovec parts[2] = {{t->to, t->count / 2}, {t->to + t->count / 2, t->count / 2}};
    return preadv(file, parts, 2, 0) >= 0;
}

/* The device may write to the page itself. */
static bool by_direct_read(target *t) { return pread(direct, t->first, page, 0) == (ssize_t)page; }

static bool by_aio(target *t)
{
    struct iocb request = {.aio_lio_opcode = IOCB_CMD_PREAD,
                           .aio_fildes = (unsigned)(direct >= 0 ? direct : file),
                           .aio_buf = (uintptr_t)t->first,
                           .aio_nbytes = page};
    struct io_event answer;
    struct iocb *const list[] = {&request};
    return syscall(SYS_io_submit, reads, 1L, list) == 1 &&
           syscall(SYS_io_getevents, reads, 1L, 1L, &answer, NULL) == 1 &&
           answer.res == (int64_t)page;
}

static void *map_ring(int of, size_t size, long long what)
{
    void *const memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, of, (off_t)what);
    if (memory == MAP_FAILED) abort();
    return memory;
}

static void open_uring(void)
{
    struct io_uring_params p = {0};
    uring.file = (int)syscall(SYS_io_uring_setup, 1u, &p);
    if (uring.file < 0) return;
    char *const sent = map_ring(uring.file, page, IORING_OFF_SQ_RING);
    char *const back = map_ring(uring.file, page, IORING_OFF_CQ_RING);
    uring.request = map_ring(uring.file, page, IORING_OFF_SQES);
    uring.queued = (unsigned *)(void *)(sent + p.sq_off.tail);
    uring.places = (unsigned *)(void *)(sent + p.sq_off.array);
    uring.mask = *(unsigned *)(void *)(sent + p.sq_off.ring_mask);
    uring.answered = (unsigned *)(void *)(back + p.cq_off.tail);
    uring.seen = (unsigned *)(void *)(back + p.cq_off.head);
    uring.answers_mask = *(unsigned *)(void *)(back + p.cq_off.ring_mask);
    uring.answers = (struct io_uring_cqe *)(void *)(back + p.cq_off.cqes);
}

static bool by_uring(target *t)
{
    *uring.request = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                           .fd = direct >= 0 ? direct : file,
                                           .addr = (uintptr_t)t->first,
                                           .len = (unsigned)page};
    uring.places[*uring.queued & uring.mask] = 0;
    __atomic_store_n(uring.queued, *uring.queued + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, uring.file, 1u, 1u, IORING_ENTER_GETEVENTS, NULL, 0L) != 1)
        return false;
    if (__atomic_load_n(uring.answered, __ATOMIC_ACQUIRE) == *uring.seen) return false;
    const int read_bytes = uring.answers[*uring.seen & uring.answers_mask].res;
    __atomic_store_n(uring.seen, *uring.seen + 1, __ATOMIC_RELEASE);
    return read_bytes == (int)page;
}

static bool by_pipe(target *t)
{
    int ends[2];
    const bool good = pipe(ends) == 0 && write(ends[1], news, t->count) == (ssize_t)t->count &&
                      read(ends[0], t->to, t->count) == (ssize_t)t->count;
    return close(ends[0]) == 0 && close(ends[1]) == 0 && good;
}

static bool by_socket(target *t)
{
    int ends[2];
    const bool good = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
                      send(ends[1], news, t->count, 0) == (ssize_t)t->count &&
                      recv(ends[0], t->to, t->count, 0) == (ssize_t)t->count;
    return close(ends[0]) == 0 && close(ends[1]) == 0 && good;
}

static bool by_own_file(target *t)
{
    return pwrite(self, news, t->count, (off_t)(uintptr_t)t->to) == (ssize_t)t->count;
}

static bool by_other_process(target *t)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        const struct iovec from = {news, t->count}, there = {t->to, t->count};
        _exit(process_vm_writev(parent, &from, 1, &there, 1, 0) == (ssize_t)t->count ? 0 : 1);
    }
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0;
}

/* A debugger writes a word. */
static bool by_debugger(target *t)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        long word;
        memcpy(&word, news, sizeof word);
        int status;
        if (ptrace(PTRACE_ATTACH, parent, NULL, NULL) != 0) _exit(77);
        const bool good = waitpid(parent, &status, __WALL) == parent &&
                          ptrace(PTRACE_POKEDATA, parent, t->first, word) == 0;
        _exit(ptrace(PTRACE_DETACH, parent, NULL, NULL) == 0 && good ? 0 : 1);
    }
    int status = 1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           (WEXITSTATUS(status) == 0 || (WEXITSTATUS(status) == 77 && store(t) == NULL));
}

/* A child has the pages, too, while the parent writes. */
static bool beside_child(target *t)
{
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0) return false;
    const pid_t child = fork();
    if (child == 0) {
        memset(t->to, 1, t->count); /* its own copy */
        (void)!read(ends[0], &byte, 1);
        _exit(0);
    }
    (void)store(t);
    const bool good = write(ends[1], &byte, 1) == 1 && waitpid(child, NULL, 0) == child;
    return close(ends[0]) == 0 && close(ends[1]) == 0 && good;
}

static int store_in_clone(void *argument)
{
    (void)store(argument);
    return 0;
}

static bool by_clone(target *t)
{
    static char stack[1 << 16];
    const pid_t child = clone(store_in_clone, stack + sizeof stack, CLONE_VM | SIGCHLD, t);
    return child > 0 && waitpid(child, NULL, 0) == child;
}

static bool by_dropping(target *t) { return madvise(t->first, t->span, MADV_DONTNEED) == 0; }

static bool by_mapping(target *t)
{
    (void)map(t->first, t->span);
    (void)store(t);
    return true;
}

static bool by_moving(target *t)
{
    void *const moved = mremap(t->first, t->span, t->span, MREMAP_MAYMOVE | MREMAP_FIXED, spare);
    (void)map(t->first, t->span);
    return moved == spare && munmap(spare, t->span) == 0;
}

static bool by_moving_here(target *t)
{
    char *const other = map(NULL, t->span);
    memset(other, 5, t->span);
    return mremap(other, t->span, t->span, MREMAP_MAYMOVE | MREMAP_FIXED, t->first) == t->first;
}

static bool after_protecting(target *t)
{
    const bool good = mprotect(t->first, t->span, PROT_NONE) == 0 &&
                      mprotect(t->first, t->span, PROT_READ | PROT_WRITE) == 0;
    (void)store(t);
    return good;
}

static bool after_paging_out(target *t)
{
    (void)madvise(t->first, t->span, MADV_PAGEOUT);
    (void)store(t);
    return true;
}

static bool by_file(target *t)
{
    void *const mapped =
        mmap(t->first, t->span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0);
    return mapped == t->first;
}

static const struct {
    const char *name;
    bool (*write)(target *t);
} writers[] = {
    {"a store", by_store},
    {"another thread", by_thread},
    {"an atomic operation", by_atomic},
    {"read", by_read},
    {"readv", by_readv},
    {"a read past the cache", by_direct_read},
    {"an asynchronous read", by_aio},
    {"io_uring", by_uring},
    {"a pipe", by_pipe},
    {"a socket", by_socket},
    {"/proc/self/mem", by_own_file},
    {"another process", by_other_process},
    {"a debugger", by_debugger},
    {"the parent of a child", beside_child},
    {"a process in the same memory", by_clone},
    {"MADV_DONTNEED", by_dropping},
    {"a new mapping", by_mapping},
    {"mremap away", by_moving},
    {"mremap onto", by_moving_here},
    {"a store after mprotect", after_protecting},
    {"a store after MADV_PAGEOUT", after_paging_out},
    {"a file mapped over it", by_file},
};
enum { WRITERS = sizeof writers / sizeof writers[0] };

/* Does the system have what it needs? */
static bool is_possible(int who)
{
    return (writers[who].write != by_direct_read || direct >= 0) &&
           (writers[who].write != by_aio || reads != 0) &&
           (writers[who].write != by_uring || uring.file >= 0);
}

/* ---- Tests ---- */

static const char *why;

/* New memory with random bytes, watched. */
static bool new_area(test_rng *rng)
{
    area = map(area, bytes);
    for (size_t i = 0; i < bytes; i++) area[i] = (char)test_random(rng);
    memcpy(shadow, area, bytes);
    return duo_written_watch(area, bytes, &why);
}

static bool open_all(test_rng *rng)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    bytes = PAGES * page;
    area = NULL;
    shadow = malloc(bytes);
    spare = map(NULL, bytes);
    file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    self = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (syscall(SYS_io_setup, 1u, &reads) != 0) reads = 0;
    open_uring();
    for (size_t i = 0; i < bytes; i++) shadow[i] = (char)test_random(rng);
    if (file < 0 || write(file, shadow, bytes) != (ssize_t)bytes) abort();
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    direct = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (new_area(rng)) return true;
    test_skip(why);
    return false;
}

static void close_all(void)
{
    munmap(area, bytes);
    munmap(spare, bytes);
    free(shadow);
    close(file);
    close(self);
    if (direct >= 0) close(direct);
    if (reads != 0) (void)syscall(SYS_io_destroy, reads);
    if (uring.file >= 0) close(uring.file);
    reads = 0;
}

static void each_writer_is_seen(void)
{
    test_rng rng = test_rng_for("written");
    const int rounds = test_amount(200, 2000, 100000);
    int missed[WRITERS] = {0}, changed[WRITERS] = {0}, quiet = 0;
    test_case("writers");
    if (!open_all(&rng)) return;
    for (int round = 0; round < rounds; round++) {
        const int who = (int)(test_random(&rng) % WRITERS);
        target t = {.count = 2 + test_random(&rng) % (MOST - 2)};
        t.to = area + test_random(&rng) % (bytes - t.count);
        t.first = area + (size_t)(t.to - area) / page * page;
        t.span = ((size_t)(t.to - t.first) + t.count + page - 1) / page * page;
        for (int i = 0; i < MOST; i++) news[i] = (char)test_random(&rng);
        quiet += !duo_written_since(area, bytes);
        if (!is_possible(who)) continue;
        CHECK(writers[who].write(&t), "%s failed", writers[who].name);
        const bool differs = memcmp(area, shadow, bytes) != 0;
        const bool seen = duo_written_since(area, bytes);
        changed[who] += differs;
        missed[who] += differs && !seen;
        const bool elsewhere = memcmp(t.first, shadow + (t.first - area), t.span) != 0 &&
                               !duo_written_since(t.first, t.span);
        missed[who] += elsewhere;
        /* Where a mapping is in pieces, a new one is watched. */
        if (who >= WRITERS - 7 || !duo_written_watch(area, bytes, &why)) {
            if (!CHECK(new_area(&rng), "%s", why)) break;
        } else {
            memcpy(shadow, area, bytes);
        }
    }
    CHECK(quiet == rounds, "%d of %d times something was seen that nobody wrote", rounds - quiet,
          rounds);
    for (int who = 0; who < WRITERS; who++) {
        test_case("writers/%s", writers[who].name);
        CHECK(missed[who] == 0, "%d of %d changes were missed", missed[who], changed[who]);
        CHECK(changed[who] > 0 || !is_possible(who), "it changed nothing");
    }
    close_all();
}

/* Can the program watch the page by a userfaultfd of its own? Only one can watch a mapping. */
static bool program_watches(void *memory)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register r = {.range = {(uintptr_t)memory, page},
                                .mode = UFFDIO_REGISTER_MODE_MISSING};
    const int own = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1 /* user mode only */);
    const bool good =
        own >= 0 && ioctl(own, UFFDIO_API, &api) == 0 && ioctl(own, UFFDIO_REGISTER, &r) == 0;
    return close(own) == 0 && good;
}

/* Memory that io_uring has pinned is not watched, until it is pinned no more. */
static void while_pinned(void)
{
    const struct iovec buffer = {map(NULL, page), page};
    if (uring.file >= 0 &&
        syscall(SYS_io_uring_register, uring.file, IORING_REGISTER_BUFFERS, &buffer, 1u) == 0) {
        CHECK(!duo_written_watch(buffer.iov_base, page, &why), "pinned memory");
        CHECK(program_watches(buffer.iov_base), "the program cannot watch it itself");
        (void)syscall(SYS_io_uring_register, uring.file, IORING_UNREGISTER_BUFFERS, NULL, 0u);
    }
    for (int i = 0; i < 5000 && !duo_written_watch(buffer.iov_base, page, &why); i++) usleep(1000);
    CHECK(duo_written_watch(buffer.iov_base, page, &why), "%s", why);
    munmap(buffer.iov_base, page);
}

/* Memory that others could write to unseen. */
static void what_is_not_watched(void)
{
    test_rng rng = test_rng_for("written");
    test_case("not watched");
    if (!open_all(&rng)) return;
    void *const shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(!duo_written_watch(shared, bytes, &why), "shared memory");
    void *const of_file = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CHECK(!duo_written_watch(of_file, bytes, &why), "a private mapping of a file");
    CHECK(mprotect(area + page, page, PROT_READ) == 0 && !duo_written_watch(area, bytes, &why),
          "memory in several mappings");
    munmap(area + page, page);
    CHECK(!duo_written_watch(area, bytes, &why), "a gap");
    while_pinned();
    munmap(shared, bytes);
    munmap(of_file, bytes);
    (void)map(area + page, page);
    close_all();
}

/* A child process has no watched memory, and the parent's stays watched. */
static void child_processes(void)
{
    test_rng rng = test_rng_for("written");
    test_case("child");
    if (!open_all(&rng)) return;
    const pid_t child = fork();
    if (child == 0)
        _exit(duo_written_since(area, bytes) && !duo_written_watch(area, bytes, &why) ? 0 : 1);
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
    CHECK(!duo_written_since(area, bytes), "a fork counts as a write");
    area[5]++;
    CHECK(duo_written_since(area, bytes), "a write was missed");
    close_all();
}

/* Two threads write all the time while a third looks and copies; at the end the copy is equal. */
typedef struct race {
    _Atomic bool ends;
    uint64_t seed;
} race;

static void *keep_writing(void *argument)
{
    race *const r = argument;
    test_rng rng = {r->seed};
    while (!r->ends) area[test_random(&rng) % bytes]++;
    return NULL;
}

static void writers_race(void)
{
    test_rng rng = test_rng_for("written");
    enum { LOOKS = 8 };
    const int trials = test_amount(2, 4, 100);
    test_case("race");
    if (!open_all(&rng)) return;
    for (int trial = 0; trial < trials; trial++) {
        pthread_t thread[2];
        race r[2] = {{.seed = test_random(&rng)}, {.seed = test_random(&rng)}};
        for (int i = 0; i < 2; i++)
            CHECK(pthread_create(&thread[i], NULL, keep_writing, &r[i]) == 0, "no thread");
        for (int look = 0; look < LOOKS; look++) {
            if (look == LOOKS - 1) {
                r[0].ends = r[1].ends = true;
                for (int i = 0; i < 2; i++) (void)pthread_join(thread[i], NULL);
            }
            for (size_t at = 0; at < bytes; at += page) {
                if (!duo_written_since(area + at, page)) continue;
                if (!duo_written_watch(area + at, page, &why)) abort();
                for (size_t i = at; i < at + page; i++)
                    shadow[i] = __atomic_load_n(&area[i], __ATOMIC_RELAXED);
            }
        }
        CHECK(memcmp(area, shadow, bytes) == 0, "trial %d: the copy is stale", trial);
    }
    close_all();
}

static const test_entry tests[] = {
    {"each_writer_is_seen", each_writer_is_seen},
    {"what_is_not_watched", what_is_not_watched},
    {"child_processes", child_processes},
    {"writers_race", writers_race},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "written", tests); }
