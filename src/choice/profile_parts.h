/* profile_parts.h - parts that a profile lacks and borrows from another; its noise. */
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

/* Figures are noisy if they may be off by more than this share: on quiet machines quartiles of the
 * same work lie within some percent. */
extern const double duo_quiet_error;
/* The noise of the noisiest operation; 0: unknown. */
double duo_profile_noise(const duo_profile *profile);

/* Has the profile no curve of this operation on the CPU? */
bool duo_profile_lacks(const duo_profile *profile, duo_operation operation);

#endif
