/* clock.h - time that only goes forward. */
#ifndef DUO_CLOCK_H
#define DUO_CLOCK_H

#include <time.h>

/* Seconds since some moment in the past. */
static inline double duo_now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
