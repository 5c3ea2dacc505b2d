/* processor.c - turns on a processor, and moves between processors (processor.h). */
#define _GNU_SOURCE
#include "host/processor.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux's own turns are from 0.7 ms on one processor to 2.8 ms on eight and more. */
static const uint64_t kTurnNs = 500000;

void duo_processor_take_short_turns(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t turn, deadline, period;
    } as = {.size = sizeof as}; /* the system's sched_attr */
    if (syscall(SYS_sched_getattr, 0, &as, sizeof as, 0) != 0 || as.policy != SCHED_OTHER) return;
    as.flags &= 1; /* SCHED_FLAG_RESET_ON_FORK: not ours to take away */
    as.turn = kTurnNs;
    (void)syscall(SYS_sched_setattr, 0, &as, 0);
}

bool duo_processor_fetch(int thread, cpu_set_t *from)
{
    /* Not *from: the ThreadSanitizer of a program sees that write, but not our order of two. */
    cpu_set_t to, now;
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE) return false;
    if (sched_getaffinity(thread, sizeof now, &now) != 0 || !CPU_ISSET(here, &now)) return false;
    *from = now;
    CPU_ZERO(&to);
    CPU_SET(here, &to);
    return sched_setaffinity(thread, sizeof to, &to) == 0;
}

void duo_processor_leave(const cpu_set_t *taken)
{
    cpu_set_t allowed, to;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &allowed) || CPU_ISSET(i, taken)) continue;
        CPU_ZERO(&to);
        CPU_SET(i, &to);
        if (sched_setaffinity(0, sizeof to, &to) == 0) duo_processor_return(&allowed);
        return;
    }
}

void duo_processor_return(const cpu_set_t *from) { (void)sched_setaffinity(0, sizeof *from, from); }
