/*
 * handle.h - a program's handle of a context, an event or a graph; it stays dead once the object
 * has ended.
 *
 * These objects are never freed: an ended one waits in a pool, to be used again. A handle is the
 * object's address, a multiple of DUO_HANDLES, plus the object's generation in the bits below. The
 * generation changes at each use: 1 to DUO_HANDLES - 1, then 1 again. So a handle value comes again
 * at the earliest after DUO_HANDLES - 1 uses, for programs or for the library itself. The library's
 * own pointers have generation 0, which fits any.
 */
#ifndef DUO_HANDLE_H
#define DUO_HANDLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DUO_HANDLES = 1024 };

typedef enum duo_handle_kind {
    DUO_HANDLE_NONE, /* the object has ended */
    DUO_HANDLE_CONTEXT = 0x44554f31,
    DUO_HANDLE_EVENT = 0x44554531,
    DUO_HANDLE_GRAPH = 0x44554731
} duo_handle_kind;

/* Every object with handles begins with it. */
typedef struct duo_handled {
    uint32_t kind;
    uint32_t generation; /* it stays when the object ends */
} duo_handled;

/* Memory for an object, of zeros; or NULL. */
static inline void *duo_handle_allocate(size_t bytes)
{
    const size_t padded = (bytes + DUO_HANDLES - 1) / DUO_HANDLES * DUO_HANDLES;
    void *const object = aligned_alloc(DUO_HANDLES, padded);
    return object != NULL ? memset(object, 0, padded) : NULL;
}

/* The object is live from now on; its earlier handles are not valid. */
static inline void duo_handle_begin(duo_handled *object, duo_handle_kind kind)
{
    object->generation = object->generation % (DUO_HANDLES - 1) + 1;
    object->kind = kind;
}

/* The handle of a live object, for the program. */
static inline void *duo_handle_give(const duo_handled *object)
{
    return (void *)((uintptr_t)object + object->generation);
}

/* The live object of this kind and handle; or NULL. For an address that is no handle, for instance
 * of a program's own zeros, it reads memory before the address, in the same page: AddressSanitizer
 * would say that no variable is there. */
__attribute__((no_sanitize("address"))) static inline void *duo_handle_object(const void *handle,
                                                                              duo_handle_kind kind)
{
    const uintptr_t generation = (uintptr_t)handle % DUO_HANDLES;
    duo_handled *const object = (duo_handled *)((uintptr_t)handle - generation);
    if (object == NULL || object->kind != (uint32_t)kind) return NULL;
    return generation == 0 || generation == object->generation ? object : NULL;
}

#endif
