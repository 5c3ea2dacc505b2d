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

/*
 * The same in host memory, for an algorithm of the CPU. The call's threads pack it, under the
 * residency lock. The caller does not hold the region yet. NULL also if it is to be packed anew
 * while others hold the region: they may be reading it.
 */
void *duo_prepared_on_host(duo_algorithm_id algorithm, const duo_call *local, int i,
                           duo_region *region, duo_range part);

#endif
