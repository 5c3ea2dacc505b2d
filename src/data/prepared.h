/* prepared.h - packs an operand that rarely changes, as duo_prepare has promised. */
#ifndef DUO_PREPARED_H
#define DUO_PREPARED_H

#include "algorithms.h"
#include "data/resources.h"

/*
 * Device memory with operand i of a placed call, packed for the algorithm once the context's queue
 * has done its work so far. NULL: the algorithm packs nothing, nothing was promised, or there is no
 * room. The operand is in this part of the region. Under the residency lock, under which the caller
 * has claimed the region. The memory stays as long as the region is held.
 */
void *duo_prepared(duo_resources *res, duo_algorithm_id algorithm, const duo_call *local, int i,
                   duo_region *region, duo_range part);

#endif
