/*
 * room.h - device memory where it may be short: copies that were not used for longest make room.
 *
 * The device copy of a kept array can be sent again, and a packed operand be packed again. So where
 * an allocation fails they are evicted: first copies whose array is current in host memory, then
 * those that have to be fetched before; of either, first the array whose last call is longest ago.
 * What pending calls use stays.
 *
 * Arrays that are used by turns and do not fit together would drive each other out at every call.
 * So an array takes the place of such copies alone as no call has used since its own last use:
 * `since`. An array that comes back after its rivals were left alone gets room; of arrays in steady
 * use, those that have room keep it, and the others are used where they are.
 */
#ifndef DUO_ROOM_H
#define DUO_ROOM_H

#include "data/resources.h"

/*
 * Allocates memory on the context's device, whose queue is open; evicts what no call of the number
 * `since` or a later one has used (duo_call), if that makes room enough. DUO_ERR_MEMORY: it does
 * not, or something newer could not be fetched now. Under the residency lock.
 */
duo_status duo_room_allocate(duo_resources *res, size_t bytes, uint64_t since, void **address);

/*
 * duo_resources_grow for a space of the context on its device, with room made for it. The context
 * keeps its spaces, so whatever the call of this number (0: one that names no region) does not use
 * may go. The caller does not hold the residency lock.
 */
duo_status duo_room_grow(duo_resources *res, duo_space *space, size_t bytes, uint64_t call_number);

#endif
