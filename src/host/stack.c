/* stack.c - see stack.h */
#define _GNU_SOURCE
#include "host/stack.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

/* OpenBLAS needs most at once. Only the touched part of LARGE takes memory. */
enum { ENOUGH = 160 << 10, LARGE = 1 << 20, GUARD = 64 << 10 };

typedef struct bounds {
    uintptr_t low, high;
} bounds;

/* The calling thread's stack; high is 0 if it was not asked for yet. */
static __thread bounds own;

extern void *__libc_stack_end; /* of the first thread; its stack grows up to a limit */

static bounds of_first_thread(void)
{
    struct rlimit limit;
    const uintptr_t high = (uintptr_t)__libc_stack_end;
    const bool limited = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < high;
    return (bounds){limited ? high - (uintptr_t)limit.rlim_cur : 0, high};
}

static bounds of_thread(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    bounds found = {0, UINTPTR_MAX};
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return found;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0)
        found = (bounds){(uintptr_t)low, (uintptr_t)low + bytes};
    (void)pthread_attr_destroy(&attributes);
    return found;
}

bool duo_stack_is_small(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (own.high == 0) own = getpid() == gettid() ? of_first_thread() : of_thread();
    return here < own.low + ENOUGH || here > own.high;
}

/* ---- On another stack ---- */

/* At the low end of the other stack, since the small one may have no room for it. */
typedef struct job {
    void (*function)(void *);
    void *argument;
    ucontext_t back, there;
} job;

static __thread job *starting;

static void start(void)
{
    job *const j = starting;
    j->function(j->argument);
}

void duo_stack_run(void (*function)(void *), void *argument)
{
    char *const memory = duo_stack_is_small()
                             ? mmap(NULL, GUARD + LARGE, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                             : MAP_FAILED;
    if (memory == MAP_FAILED) {
        function(argument);
        return;
    }
    job *const j = (void *)memory;
    char *const low = memory + GUARD; /* the job takes the first page of GUARD */
    const bounds before = own;
    (void)mprotect(memory + GUARD / 2, GUARD / 2, PROT_NONE);
    (void)getcontext(&j->there);
    j->function = function;
    j->argument = argument;
    j->there.uc_stack.ss_sp = low;
    j->there.uc_stack.ss_size = LARGE;
    j->there.uc_link = &j->back;
    makecontext(&j->there, start, 0);
    starting = j;
    own = (bounds){(uintptr_t)low, (uintptr_t)low + LARGE};
    (void)swapcontext(&j->back, &j->there);
    own = before;
    (void)munmap(memory, GUARD + LARGE);
}
