/*
 * room.h - device memory that may be short: copies that were not used for longest make room.
 *
 * The device copy of a kept array can be sent again, and a packed operand be packed again. So when
 * an allocation fails they are evicted: first remembered arrays, then copies of arrays that are
 * current in host memory, then copies that must be fetched before. Within each kind the array that
 * was not used for longest goes first. Copies that pending calls use stay.
 *
 * Arrays that are used in turn and do not fit together would evict each other at every call. So an
 * array may evict only copies that no call has used since that array itself was last used
 * (`since`). An array that comes back after its rivals fell out of use gets room. Among arrays in
 * steady use, the ones with room keep it, and the others are used in place.
 */
#ifndef DUO_ROOM_H
#define DUO_ROOM_H

#include "data/resources.h"

/*
 * Allocates memory on the context's device; the queue is open. Evicts copies that no call with the
 * number `since` or a later one has used (duo_call), if that makes enough room. DUO_ERR_MEMORY: it
 * does not, or newer data could not be fetched now. Under the residency lock.
 */
duo_status duo_room_allocate(duo_resources *res, size_t bytes, uint64_t since, void **address);

/* Memory for the copy of a remembered array: only other remembered arrays make room for it, and all
 * of them hold at most half of the memory that nobody else has. */
duo_status duo_room_remember(duo_resources *res, size_t bytes, uint64_t since, void **address);

/*
 * duo_resources_grow for a space of the context on its device, with room made for it. The context
 * keeps its spaces, so every copy may go that this call does not use (call_number 0: it names no
 * region). The caller does not hold the residency lock.
 */
duo_status duo_room_grow(duo_resources *res, duo_space *space, size_t bytes, uint64_t call_number);

#endif
