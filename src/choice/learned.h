/*
 * learned.h - what calls of this process have shown of how far the profile is off: for each device
 * the ratios of ratios.h, and a budget for trials of candidates that are not predicted to be the
 * cheapest (docs/dispatch.md#learning).
 *
 * Any thread may call these at any time. Nothing is locked: where two threads learn at once, what
 * one of them learned may be lost. In a child process, and under another profile, nothing is known.
 */
#ifndef DUO_LEARNED_H
#define DUO_LEARNED_H

#include "choice/ratios.h"
#include "choice/select.h"

/* The ratios for this device, as they are now. */
void duo_learned_ratios(int device, const duo_profile *profile, duo_ratios *ratios);

/*
 * The call took so long by the algorithm, which was predicted to take `predicted` under these
 * conditions. What it took longer or shorter is attributed to the parts of the prediction by how
 * much each counts in it. The first time that an algorithm runs counts for nothing: it loads and
 * allocates.
 */
void duo_learn(int device, const duo_call *call, const duo_conditions *conditions,
               const duo_algorithm *algorithm, double predicted, double seconds);

/* How often the algorithm was learned from at calls of about this length. */
double duo_learned_count(int device, const duo_call *call, const duo_conditions *conditions,
                         const duo_algorithm *algorithm);

/* A call that was learned from took so long. */
void duo_learned_spent(int device, double seconds);
/* May a trial that is predicted to lose so much begin? At most every 16th call is one, and trials
 * lose at most 1 % of what was spent. */
bool duo_learned_affords(int device, double seconds);
/* It begins. */
void duo_learned_trial(int device, double seconds);
/* It has lost so much more, or less if < 0. */
void duo_learned_lost(int device, double seconds);

void duo_learned_forget(void);

#endif
