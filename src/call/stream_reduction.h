/*
 * stream_reduction.h - reductions of vectors in host memory that are sent piece by piece.
 *
 * For vectors that are long, or larger than the memory that may be taken on the device. They pass
 * through a workspace of one piece for each; vectors that are on the device, or kept there, are
 * read where they are. The bits are those of the documented order, at any cap.
 */
#ifndef DUO_STREAM_REDUCTION_H
#define DUO_STREAM_REDUCTION_H

#include "algorithms.h"
#include "data/resources.h"

/* Is the call a reduction whose vectors in host memory are to be sent in pieces? */
bool duo_reduction_streams(const duo_resources *res, const duo_call *call);

/*
 * Runs such a call by a GPU algorithm; the context's queue is open. *local becomes the placed call:
 * duo_place_end has to follow. DUO_OK: the result is where it belongs. DUO_DECLINED: nothing was
 * written.
 */
duo_outcome duo_stream_reduction(duo_resources *res, duo_algorithm_id algorithm,
                                 const duo_call *call, duo_call *local);

#endif
