/*
 * libraries.h - the product by libraries that users have built or installed: in a file that the
 * loader finds, or that is named. Nothing of them is part of DuoBLAS.
 *
 * On the GPU they have a function that stands in for cuBLAS's cublasSgemm_v2, and is called with
 * its handle. On the CPU they have BLAS's sgemm_. Variables of the environment choose a mode of a
 * library (settings.h).
 */
#ifndef DUO_LIBRARIES_H
#define DUO_LIBRARIES_H

#include "bench/measure/implementation.h"

enum { DUO_MOST_LIBRARIES = 24, DUO_MOST_NAMED = 8 };

typedef struct duo_library {
    char title[80];
    char file[256];     /* as the loader has found it */
    char settings[256]; /* "NAME=VALUE,NAME=VALUE"; "": none */
    duo_side side;
    void *function;
} duo_library;

/*
 * Lists the known libraries that can be opened. Each mode of a library has an entry. Those of
 * `named` follow: "FILE" or "FILE,NAME=VALUE,...". A library of the CPU gets this number of
 * threads. Returns the number of entries. -1: one of `named` cannot be used; stderr says why. To be
 * called once.
 */
int duo_libraries_open(duo_library library[DUO_MOST_LIBRARIES], const char *const named[],
                       int count, int threads);

/* The files of known libraries that the loader does not find, as a list for people. */
const char *duo_libraries_missing(void);

/* The product by the library, on a stock in its side's memory. False: it needs cuBLAS, which is not
 * open. */
bool duo_peer_library(duo_implementation *peer, const duo_library *library, const duo_stock *stock);

#endif
