/* profile_parts.h - what one profile borrows from another. */
#ifndef DUO_PROFILE_PARTS_H
#define DUO_PROFILE_PARTS_H

#include "call.h"
#include "choice/profile.h"

/* The GPU part: the link and the curves of the GPU's algorithms. */
void duo_profile_borrow_gpu(duo_profile *to, const duo_profile *from);
/* The curves of a side's algorithms that were not measured. */
void duo_profile_borrow_curves(duo_profile *to, const duo_profile *from, duo_side side);
/* The figures of [cpu] that were not measured. */
void duo_profile_borrow_figures(duo_profile *to, const duo_profile *from);

/* Has the profile no curve of this operation on the CPU? */
bool duo_profile_lacks(const duo_profile *profile, duo_operation operation);

#endif
