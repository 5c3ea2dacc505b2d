/* place_device.h - brings a call's operands to the device, and its results home. */
#ifndef DUO_PLACE_DEVICE_H
#define DUO_PLACE_DEVICE_H

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

#endif
