/* stack.c - see stack.h */
#define _GNU_SOURCE
#include "host/stack.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "host/fork.h"

/* OpenBLAS needs most at once. Only the touched part of LARGE takes memory. */
enum { ENOUGH = 160 << 10, LARGE = 1 << 20, GUARD = 64 << 10, PAGE = 4096 };

/* Where there is no memory for another stack: one thread after the other uses this one. */
static _Alignas(PAGE) char reserve[GUARD + ENOUGH];
static atomic_flag reserved = ATOMIC_FLAG_INIT;

typedef struct bounds {
    uintptr_t low, high;
} bounds;

/* The calling thread's stack; high is 0 if it is not known yet. It counts as small then. */
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
    bounds found = {0, 0}; /* unknown: the system finds no memory to tell */
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
    return own.high == 0 || here < own.low + ENOUGH || here > own.high;
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

static char *take_reserve(void)
{
    while (atomic_flag_test_and_set_explicit(&reserved, memory_order_acquire)) (void)sched_yield();
    return reserve;
}

void duo_stack_run(void (*function)(void *), void *argument)
{
    if (!duo_stack_is_small()) {
        function(argument);
        return;
    }
    char *memory = mmap(NULL, GUARD + LARGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const bool own_memory = memory != MAP_FAILED;
    const size_t bytes = own_memory ? LARGE : ENOUGH;
    if (!own_memory) memory = take_reserve();
    job *const j = (void *)memory;
    char *const low = memory + GUARD; /* the job takes the first page of GUARD */
    const bounds before = own;
    (void)mprotect(memory + GUARD / 2, GUARD / 2, PROT_NONE);
    (void)getcontext(&j->there);
    j->function = function;
    j->argument = argument;
    j->there.uc_stack.ss_sp = low;
    j->there.uc_stack.ss_size = bytes;
    j->there.uc_link = &j->back;
    makecontext(&j->there, start, 0);
    starting = j;
    own = (bounds){own_memory ? (uintptr_t)low : 0, (uintptr_t)low + bytes};
    (void)swapcontext(&j->back, &j->there);
    own = before;
    if (own_memory)
        (void)munmap(memory, GUARD + LARGE);
    else
        atomic_flag_clear_explicit(&reserved, memory_order_release);
}

/* A thread that had it is not in the child. */
static void in_child(void) { atomic_flag_clear(&reserved); }

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}
