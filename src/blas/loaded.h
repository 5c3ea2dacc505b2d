/*
 * loaded.h - the objects of the process, and where the loader put the addresses of functions that
 * they ask it for.
 */
#ifndef DUO_BLAS_LOADED_H
#define DUO_BLAS_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Nothing here opens an object, as the summary is made while the loader ends the process: opening
 * an object that it has ended already would begin it again.
 */

/* Where the drop-in itself is. */
const void *duo_blas_where(void);

/* The drop-in's own function of this name; NULL: there is none. */
void *duo_blas_own(const char *name);

/* Is it one of our operations, with anything before and after its name? C++ names begin with _Z. */
bool duo_blas_is_operation(const char *name);

/* All objects but our own. duo_blas_free_objects frees them. */
typedef struct duo_blas_object {
    char *path; /* "": the program */
    uintptr_t base;
} duo_blas_object;
typedef struct duo_blas_objects {
    duo_blas_object *object;
    int count;                   /* in the order of the loader, which appends new ones */
    bool cut;                    /* there was no memory for the others */
    unsigned long long unloaded; /* objects so far */
} duo_blas_objects;
duo_blas_objects duo_blas_loaded(void);
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

/* Calls see(user, entry) for all of the object, which must stay loaded meanwhile. */
void duo_blas_each_entry(const struct link_map *map,
                         void (*see)(void *user, const duo_blas_entry *entry), void *user);

/* An operation that an object asks the loader for, and the address that it was given. */
typedef struct duo_blas_asked {
    char name[64];
    void **place, *given;
} duo_blas_asked;

/* Lists those of the object, which may be gone. Returns how many. */
int duo_blas_asks(const duo_blas_object *object, duo_blas_asked *list, int most);

#endif
