/* rates.h - how fast this machine moves bytes between host memory and its GPUs. */
#ifndef DUO_RATES_H
#define DUO_RATES_H

#include "bench/measure/benchmark.h"
#include "bench/measure/host_bound.h"

/* Sets up, down and both: pinned memory and `count` devices from `first` on, all at once, each with
 * memory of its own. False: they could not be used; the rates are 0. */
bool duo_rates_of_link(int first, int count, const duo_effort *effort, duo_host_rates *rates);

/* Sets in and out: memcpy by so many threads of the library. False: out of memory. */
bool duo_rates_of_copies(int threads, const duo_effort *effort, duo_host_rates *rates);

#endif
