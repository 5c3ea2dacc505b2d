/* blas_room.c - see blas_room.h */
#define _GNU_SOURCE
#include "cpu/blas_room.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#include "cpu/blas_kernels.h"
#include "host/machine.h"

/* OpenBLAS's BUFFER_SIZE on x86-64 and ARM64, with what surrounds it. */
static const size_t kBuffer = (size_t)129 << 20;
/* The library with its data, 40 MiB, and its file once more, for reading it. */
static const size_t kLibrary = (size_t)80 << 20;

enum {
    PLENTY = 64, /* threads of the program, beside the team's */
    MOST = 32,   /* seats if there is not plenty */
    /* A build with OpenMP takes a buffer for its first thread. One more is left for the program at
     * the end. */
    MORE = 2,
    PATIENCE_MS = 300 /* OpenBLAS starts in 10 ms; a processor may be shared */
};

static sem_t seats;                           /* buffers that no thread uses */
static _Atomic(void *) reserved[MOST + MORE]; /* each for a buffer; NULL: given */
static sem_t opened;                          /* the watch ends */
static pthread_t watch;
static bool watched;

static void *map(size_t bytes)
{
    void *const there = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return there != MAP_FAILED ? there : NULL;
}

static bool fits(size_t bytes)
{
    void *const there = map(bytes);
    if (there != NULL) (void)munmap(there, bytes);
    return there != NULL;
}

/* Gives one reserved piece back to the system. False: there is none. */
static bool give(void)
{
    for (int i = 0; i < MOST + MORE; i++) {
        void *const piece = atomic_exchange(&reserved[i], NULL);
        if (piece != NULL) return munmap(piece, kBuffer) == 0;
    }
    return false;
}

void duo_blas_room_end(void)
{
    if (watched) {
        (void)sem_post(&opened);
        (void)pthread_join(watch, NULL);
    }
    watched = false;
    while (give()) continue;
}

int duo_blas_room(void)
{
    const int threads = duo_machine_threads();
    int count = 0;
    if (fits(kLibrary + (size_t)(PLENTY + threads) * kBuffer)) return DUO_BLAS_ANY;
    while (count < MOST + MORE && count < threads + MORE && fits(kLibrary + kBuffer)) {
        reserved[count] = map(kBuffer);
        if (reserved[count] == NULL) break;
        count++;
    }
    if (count > MORE) return count - MORE;
    duo_blas_room_end();
    return 0;
}

static void *watch_opening(void *unused)
{
    do {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PATIENCE_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (sem_timedwait(&opened, &until) == 0) break;
    } while (give());
    return unused;
}

void duo_blas_room_open(void)
{
    (void)give();
    watched =
        sem_init(&opened, 0, 0) == 0 && pthread_create(&watch, NULL, watch_opening, NULL) == 0;
}

/* How many pieces are reserved? */
static int left(void)
{
    int count = 0;
    for (int i = 0; i < MOST + MORE; i++) count += atomic_load(&reserved[i]) != NULL;
    return count;
}

int duo_blas_room_take(void *handle, int threads)
{
    void *(*take)(int);
    void (*put_back)(void *);
    void *buffer[MOST];
    int count = 0;
    if (!duo_blas_function(handle, "blas_memory_alloc", &take) ||
        !duo_blas_function(handle, "blas_memory_free", &put_back))
        return 0;
    /* The last piece stays for the watch, in case another thread takes the room of a buffer. */
    for (; count < threads && left() > 1; count++) {
        (void)give();
        buffer[count] = take(0);
    }
    for (int i = 0; i < count; i++) put_back(buffer[i]);
    return count > 0 && sem_init(&seats, 0, (unsigned)count) == 0 ? count : 0;
}

void duo_blas_room_enter(void)
{
    while (sem_wait(&seats) != 0 && errno == EINTR) continue;
}

void duo_blas_room_leave(void) { (void)sem_post(&seats); }
