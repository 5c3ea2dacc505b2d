/* prepared.h - packs an operand of which duo_prepare has said that it rarely changes. */
#ifndef DUO_PREPARED_H
#define DUO_PREPARED_H

#include "algorithms.h"
#include "data/resources.h"

/*
 * For operand i of a placed call, which is in the region: device memory that holds the operand
 * packed for the algorithm, once the context's queue has done its work so far. NULL: the algorithm
 * packs nothing, nothing was promised, or there is no room. `part`: of the region, where the
 * operand is. Under the residency lock, under which the caller has claimed the region. It stays
 * there as long as the region is held.
 */
void *duo_prepared(duo_resources *res, duo_algorithm_id algorithm, const duo_call *local, int i,
                   duo_region *region, duo_range part);

#endif
