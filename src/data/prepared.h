/* prepared.h - packs an operand that duo_prepare has promised to change rarely. */
#ifndef DUO_PREPARED_H
#define DUO_PREPARED_H

#include "algorithms.h"
#include "data/resources.h"

/*
 * Operand i of a call that was placed on the device for an algorithm, `part` of its region: device
 * memory where it is packed, or will be when the work is done that the context's queue has now.
 * NULL: the algorithm packs nothing, nothing was promised, or there is no room. Under the residency
 * lock, behind a claim.
 */
void *duo_prepared(duo_resources *res, duo_algorithm_id algorithm, const duo_call *local, int i,
                   duo_range part);

#endif
