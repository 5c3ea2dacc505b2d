/* place_host.h - brings a call's operands to the host side, and what it wrote back to where it
 * belongs. */
#ifndef DUO_PLACE_HOST_H
#define DUO_PLACE_HOST_H

#include "data/resources.h"

/* Copies `call` to `local` with addresses in host memory, and what it reads there. */
duo_status duo_place_on_host(duo_resources *res, const duo_call *call, duo_call *local);
/* After the work: takes what it wrote to the device where it belongs there. */
duo_status duo_place_from_host(duo_resources *res, const duo_call *call, const duo_call *local);
/* Writes the result of a reduction that came by another way. */
duo_status duo_place_result(duo_resources *res, const duo_operand *o, float value);
/* Has to follow placing on either side, also on failure. */
void duo_place_end(const duo_call *call, const duo_call *local);

/* ---- For place_device.c ---- */

/* Makes the host's copies of the kept arrays that operand i touches current. */
duo_status duo_place_bring_home(duo_resources *res, duo_call *local, int i);
/* The host wrote this operand: the device copies of kept arrays that it touches are stale there. */
duo_status duo_place_wrote_host(duo_resources *res, const duo_operand *o);
/* Work on a region has been queued. Since it was placed another queue may have claimed it, which
 * follows only what had been queued by then: so that whoever comes next follows both. Under the
 * lock. */
void duo_place_claim_again(duo_resources *res, duo_region *region);

#endif
