/*
 * handle.h - what a program holds of a context, an event or a graph, and that it is dead for good
 * once that has ended.
 *
 * These objects are never freed: an ended one waits in a pool, to be used again. A handle is the
 * object's address, a multiple of DUO_HANDLES, and in the bits below the object's generation,
 * another one each time that it is used: 1 to DUO_HANDLES - 1, and then again. So a handle comes
 * again at the earliest when so many others were made, for programs or by the library for itself.
 * The library's own pointers have 0 there, and are good for any generation.
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

/* Every such object begins with it. */
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

/* The object is live from now on, and no handle that it had before is its. */
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

/* The live object of this kind and handle; or NULL. Of an address that is no handle, as that of a
 * program's own zeros, the memory before it is read, in the same page: AddressSanitizer would say
 * that no variable is there. */
__attribute__((no_sanitize("address"))) static inline void *duo_handle_object(const void *handle,
                                                                              duo_handle_kind kind)
{
    const uintptr_t generation = (uintptr_t)handle % DUO_HANDLES;
    duo_handled *const object = (duo_handled *)((uintptr_t)handle - generation);
    if (object == NULL || object->kind != (uint32_t)kind) return NULL;
    return generation == 0 || generation == object->generation ? object : NULL;
}

#endif
