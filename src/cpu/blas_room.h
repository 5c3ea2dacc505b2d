/*
 * blas_room.h - room in the address space for OpenBLAS and its buffers.
 *
 * OpenBLAS takes a buffer of 128 MiB for each thread that is inside it at the same time. If the
 * system gives none, because of a limit of the process (ulimit -v, -d) or of the system, it tries
 * for ever. So the available room is asked for first. If it is not plenty, all buffers are taken
 * when the library is opened, and only as many threads are let in as there are buffers. Until then
 * their room is reserved, since other threads take memory too.
 */
#ifndef DUO_BLAS_ROOM_H
#define DUO_BLAS_ROOM_H

#include <limits.h>
#include <stdbool.h>

enum { DUO_BLAS_ANY = INT_MAX }; /* threads may be inside: there is room for all */

/* How many threads may be inside an OpenBLAS that is opened now; 0: it must not be opened. Reserves
 * the room, unless the answer is DUO_BLAS_ANY. */
int duo_blas_room(void);

/* The library is opened next: frees the room of its first buffer. If another thread takes that, so
 * that OpenBLAS would try for ever, the room reserved for the program is soon freed, too. */
void duo_blas_room_open(void);

/* Makes the open OpenBLAS take one buffer for each of `threads` threads, or fewer if other threads
 * took the room. Returns how many it took; 0: none, or it has no function for that. */
int duo_blas_room_take(void *handle, int threads);

/* Gives back what is still reserved. */
void duo_blas_room_end(void);

/* A thread enters, as soon as a seat is free, and leaves. */
void duo_blas_room_enter(void);
void duo_blas_room_leave(void);

#endif
