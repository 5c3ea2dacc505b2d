/* parts.h - the parts of a candidate's predicted seconds. */
#ifndef DUO_PARTS_H
#define DUO_PARTS_H

#include "choice/select.h"

/*
 * Parts of choice->seconds, which was predicted for this call under these conditions, and would be
 * `unmoved` if the link took no time. Transfers: the seconds that the link adds. Launch: the time
 * with nothing to move or to compute, `launches` times; on the CPU, for sharing the work among
 * threads. The rest is compute. The candidate accepts.
 */
duo_parts duo_parts_of(const duo_call *call, const duo_conditions *conditions,
                       const duo_choice *choice, double unmoved, double launches);

#endif
