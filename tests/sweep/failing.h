/*
 * failing.h - to be preloaded: calls to the system fail, in any program.
 *
 * Calls count that the library makes, and that others make for it: the C library, another BLAS.
 * Those of the program itself do not count (Python's library is a part of it), nor those of the
 * simulated device, nor calls that one of these functions makes itself.
 */
#ifndef DUO_TESTS_FAILING_H
#define DUO_TESTS_FAILING_H

typedef enum failing_kind {
    FAILING_MEMORY, /* malloc, calloc, realloc, aligned_alloc, posix_memalign: ENOMEM */
    FAILING_MAP,    /* mmap: ENOMEM */
    FAILING_THREAD, /* pthread_create: EAGAIN */
    FAILING_OPEN,   /* open, openat, fopen, opendir: EMFILE, EACCES, ENOENT in turn */
    FAILING_DLOPEN, /* dlopen */
    FAILING_KINDS
} failing_kind;

/* From now on calls are counted. The nth of the kind fails, with `later` also all that follow; with
 * nth 0 none does. */
void failing_arm(failing_kind kind, int nth, int later);
/* From now on each call of the first two kinds fails with this probability, drawn from the seed. */
void failing_arm_at_random(int percent, unsigned seed);
/* Calls succeed again. */
void failing_disarm(void);
/* Calls of the kind since failing_arm; and how many calls of all kinds have failed. */
int failing_count(failing_kind kind);
int failing_failed(void);
/* Blocks and maps that were made by calls that count, since the first call of failing_arm, and are
 * not given back. */
int failing_alive(void);

#endif
