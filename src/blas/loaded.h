/*
 * loaded.h - the objects of the process, and where the loader put the addresses of functions that
 * they ask it for.
 */
#ifndef DUO_BLAS_LOADED_H
#define DUO_BLAS_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The drop-in itself. */
typedef struct duo_blas_self {
    void *handle;
    const void *where; /* its address */
} duo_blas_self;

/* False: the loader does not know it. Else its handle has to be closed. */
bool duo_blas_open_self(duo_blas_self *self);

/* Our function of this name; NULL: there is none. */
void *duo_blas_own(const duo_blas_self *self, const char *name);

/* Is it one of our operations, with anything before and after its name? C++ names begin with _Z. */
bool duo_blas_is_operation(const char *name);

/* All objects but our own. duo_blas_free_objects frees them. */
typedef struct duo_blas_object {
    char *path; /* "": the program */
    uintptr_t base;
} duo_blas_object;
typedef struct duo_blas_objects {
    duo_blas_object *object;
    int count;
    unsigned long long unloaded; /* objects so far */
} duo_blas_objects;
duo_blas_objects duo_blas_loaded(const duo_blas_self *self);
void duo_blas_free_objects(duo_blas_objects *objects);

/* Is it a copy of the CPU's BLAS that this library has made in memory? */
bool duo_blas_is_private(const char *path);

/* A place in an object where the loader puts an address. */
typedef struct duo_blas_entry {
    void **place;
    const char *name; /* of the function */
    unsigned type;    /* of the relocation */
    bool defined;     /* does the object define the name itself? */
} duo_blas_entry;

/* Calls see(user, entry) for all of the object with this handle. */
void duo_blas_each_entry(void *handle, void (*see)(void *user, const duo_blas_entry *entry),
                         void *user);

#endif
