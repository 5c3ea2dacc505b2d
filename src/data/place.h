/* place.h - brings a call's operands to the device or to host memory, and its results to where they
 * belong. */
#ifndef DUO_PLACE_H
#define DUO_PLACE_H

#include "algorithms.h"
#include "data/resources.h"

/*
 * Copies `call` to `local` with addresses on the device, for an algorithm, and sends operands that
 * are not current there. Operands of sgemm in host memory stay there, and are streamed. The
 * operands hold their regions (residency.h) until duo_place_queued. That and duo_place_end have to
 * follow, also on failure.
 */
duo_outcome duo_place_on_device(duo_resources *res, duo_algorithm_id algorithm,
                                const duo_call *call, duo_call *local);

/* The work on these operands has been queued; or (`queued` is false) it will not be. */
void duo_place_queued(duo_resources *res, const duo_call *call, duo_call *local, bool queued);

/* Copies `call` to `local` with addresses in host memory, and makes its inputs current there.
 * Operands in device memory hold their regions until duo_place_end. DUO_ERR_FOREIGN: a region has
 * gone since. */
duo_status duo_place_on_host(duo_resources *res, const duo_call *call, duo_call *local);

/* After the work: sends results to device memory, or notes which bytes are stale on a device
 * now. */
duo_status duo_place_from_host(duo_resources *res, const duo_call *call, duo_call *local);

/* Writes a reduction's result that came in the pinned word. */
duo_status duo_place_result(duo_resources *res, const duo_operand *o, float value);

/* Finds, or makes, packed operands for an algorithm of the CPU, of a call that was placed on the
 * host. They hold their regions until duo_place_end, or duo_place_let_go. */
void duo_place_packed(duo_algorithm_id algorithm, duo_call *local);
void duo_place_let_go(duo_call *local);

/* Has to follow placing on either side, also on failure. */
void duo_place_end(duo_resources *res, const duo_call *call, duo_call *local);

/* The host wrote this operand: the device copies of kept arrays that it touches are stale there. */
duo_status duo_place_wrote_host(duo_resources *res, const duo_operand *o);

/* Makes the host copies of the kept arrays that operand i touches current. Notes the write if the
 * call writes there. */
duo_status duo_place_bring_home(duo_resources *res, duo_call *local, int i);

#endif
