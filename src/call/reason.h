/* reason.h - why the last call of a context ran where it did, in figures and in a sentence. */
#ifndef DUO_REASON_H
#define DUO_REASON_H

#include "call/last.h"

/* Adds parts, the profile's own prediction and the reason to a decision that duo_last_describe has
 * filled in from `last`; without parts and reason, if decision->size has no room for them.
 * no_gpu: why the context has no usable GPU; "": it has one, or nobody knows. */
void duo_reason_add(const duo_last *last, const char *no_gpu, duo_decision *decision);

#endif
