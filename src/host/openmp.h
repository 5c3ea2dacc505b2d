/*
 * openmp.h - OpenMP as the program has it.
 *
 * The library brings no OpenMP of its own: a second runtime in a process would bind the first
 * thread once more, and make threads of its own. It uses the one that the program has, if any:
 * GNU's, LLVM's or Intel's. All have the same functions, and GNU's entry to a parallel region.
 */
#ifndef DUO_OPENMP_H
#define DUO_OPENMP_H

#include <sched.h>
#include <stdbool.h>

/* Result, name, parameters. GOMP_parallel is what gcc makes of `#pragma omp parallel`: the function
 * for each thread, its argument, a number of threads (0: the default), flags. */
#define DUO_OPENMP_FUNCTIONS(F)                                                                    \
    F(int, omp_get_max_threads, (void))                                                            \
    F(int, omp_get_num_procs, (void))                                                              \
    F(int, omp_in_parallel, (void))                                                                \
    F(int, omp_get_level, (void))                                                                  \
    F(int, omp_get_dynamic, (void))                                                                \
    F(int, omp_get_thread_num, (void))                                                             \
    F(int, omp_get_num_places, (void))                                                             \
    F(int, omp_get_place_num_procs, (int))                                                         \
    F(void, omp_get_place_proc_ids, (int, int *))                                                  \
    F(void, GOMP_parallel, (void (*)(void *), void *, unsigned, unsigned))

typedef struct duo_openmp {
#define DUO_FIELD(result, name, parameters) result(*name) parameters;
    DUO_OPENMP_FUNCTIONS(DUO_FIELD)
#undef DUO_FIELD
} duo_openmp;

/* The program's runtime; NULL: it has none. */
const duo_openmp *duo_openmp_get(void);

/* ---- For the calling thread ---- */

/* How many threads a region may have; INT_MAX: any number, since there is no OpenMP. */
int duo_openmp_max_threads(void);
bool duo_openmp_in_parallel(void);
/* How many processors OpenMP's places have. Without OpenMP: on how many the thread may run. */
int duo_openmp_processors(void);
/* Has OpenMP bound the thread to a part of its places? Then *all are the processors of all places.
 * New threads inherit the binding. They do not ask themselves: when a program ends, its runtime may
 * end before they have begun. */
bool duo_openmp_binds(cpu_set_t *all);

#endif
