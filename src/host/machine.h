/* machine.h - facts of this machine: CPU model, cache, and the threads that may be used. */
#ifndef DUO_MACHINE_H
#define DUO_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* The CPU's model name, as the system gives it. */
const char *duo_machine_cpu(void);
/* The CPU's family, model and stepping, or the like: a hypervisor may name every CPU alike. */
const char *duo_machine_cpu_id(void);
/* Bytes of the last-level cache, for benchmarks; 0: unknown. */
size_t duo_machine_cache_bytes(void);

/* Threads that the process may use, by its processors, OMP_NUM_THREADS, OPENBLAS_NUM_THREADS and
 * the CPU quota. */
int duo_machine_threads(void);
/* Threads that the calling thread may use now: the same, and at most what its OpenMP setting and
 * its affinity allow. */
int duo_machine_threads_now(void);
/* Threads for a call by the calling thread. asked: the number that was set; 0: the default. The
 * answer is 1 in a child process. It is also 1 in an OpenMP parallel region: the region's other
 * threads are at work already. */
int duo_machine_threads_for(int asked);
/* Are threads without work to sleep at once? That is what OMP_WAIT_POLICY=passive asks for. */
bool duo_machine_waits_asleep(void);

/* The CPUs that a container's quota allows, rounded up; 0: there is no quota. root: "", or a folder
 * that stands for / in tests. */
int duo_quota_cpus(const char *root);

#endif
