/*
 * blas_room.h - room in the address space for OpenBLAS and its buffers.
 *
 * OpenBLAS takes a buffer of 128 MiB for each thread that is inside of it at the same time, and
 * tries for ever where the system gives none: under a limit of the process (ulimit -v, -d) or of
 * the system. So it is asked first what there is room for. Where that is not plenty, all buffers
 * are taken when the library is opened, and no more threads are let in than there are buffers.
 * Until then their room is reserved, for other threads take memory too.
 */
#ifndef DUO_BLAS_ROOM_H
#define DUO_BLAS_ROOM_H

#include <limits.h>
#include <stdbool.h>

enum { DUO_BLAS_ANY = INT_MAX }; /* threads may be inside: there is room for all */

/* How many threads may be inside an OpenBLAS that is opened now; 0: it must not be opened. Reserves
 * the room where that is a number. */
int duo_blas_room(void);

/* The library is opened next: gives it the room of its first buffer. Should that be lost to another
 * thread, and OpenBLAS try for ever, it soon gets what is reserved for the program. */
void duo_blas_room_open(void);

/* Has the open OpenBLAS take one buffer for each of `threads` threads, or fewer where other threads
 * took the room. Returns how many it took; 0: none, or it tells no way to take them. */
int duo_blas_room_take(void *handle, int threads);

/* Gives back what is still reserved. */
void duo_blas_room_end(void);

/* A thread goes in, as soon as another has left it a seat, and comes out. */
void duo_blas_room_enter(void);
void duo_blas_room_leave(void);

#endif
