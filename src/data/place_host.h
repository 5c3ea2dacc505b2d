/* place_host.h - brings a call's operands to host memory, and its results to where they belong. */
#ifndef DUO_PLACE_HOST_H
#define DUO_PLACE_HOST_H

#include "data/resources.h"

/* Copies `call` to `local` with addresses in host memory, and makes its inputs current there.
 * Operands in device memory hold their regions until duo_place_end. DUO_ERR_FOREIGN: a region has
 * gone since. */
duo_status duo_place_on_host(duo_resources *res, const duo_call *call, duo_call *local);

/* After the work: sends results to device memory, or notes which bytes are stale on a device
 * now. */
duo_status duo_place_from_host(duo_resources *res, const duo_call *call, duo_call *local);

/* Writes a reduction's result that came in the pinned word. */
duo_status duo_place_result(duo_resources *res, const duo_operand *o, float value);

/* Has to follow placing on either side, also on failure. */
void duo_place_end(duo_resources *res, const duo_call *call, duo_call *local);

/* ---- For place_device.c ---- */

/* Makes the host copies of the kept arrays that operand i touches current. Notes the write if the
 * call writes there. */
duo_status duo_place_bring_home(duo_resources *res, duo_call *local, int i);

/* The host wrote this operand: the device copies of kept arrays that it touches are stale there. */
duo_status duo_place_wrote_host(duo_resources *res, const duo_operand *o);

/*
 * Work on a region has been queued. Since the region was claimed for it, another queue may have
 * claimed the region without following this work. So it is claimed once more: the next queue
 * follows both. Under the residency lock.
 */
void duo_place_claim_again(duo_resources *res, duo_region *region, bool written);

#endif
