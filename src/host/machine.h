/* machine.h - facts of this machine: CPU model, cache, and the threads that may be used. */
#ifndef DUO_MACHINE_H
#define DUO_MACHINE_H

#include <stddef.h>

/* CPU model name as the system gives it. */
const char *duo_machine_cpu(void);
/* Its family, model and stepping, or the like: a hypervisor may name every CPU alike. */
const char *duo_machine_cpu_id(void);
/* Last-level cache in bytes, for benchmarks; 0 unknown. */
size_t duo_machine_cache_bytes(void);

/* Threads the process may use: its processors, OMP_NUM_THREADS, OPENBLAS_NUM_THREADS, CPU quota. */
int duo_machine_threads(void);
/* The same for this thread and now: its OpenMP setting and affinity as well. */
int duo_machine_threads_now(void);
/* Threads for a call that was told to use `asked`, 0 being the default: one where others of the
 * program are at work already, or none can be made. */
int duo_machine_threads_for(int asked);
/* This thread may run in all places of OpenMP's, though the one that made it is bound to one. */
void duo_machine_unbind(void);

#endif
