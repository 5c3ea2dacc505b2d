/*
 * learned.h - learns from this process's calls how far the profile is off: for each device the
 * ratios of ratios.h, and a budget for trials of candidates that are not predicted to be the
 * cheapest (docs/inside/dispatch.md#learning).
 *
 * Any thread may call these at any time. Nothing is locked: if two threads learn at the same time,
 * the knowledge of one may be lost. A child process, and another profile, begin without knowledge.
 */
#ifndef DUO_LEARNED_H
#define DUO_LEARNED_H

#include "choice/ratios.h"
#include "choice/select.h"

/* The ratios for this device, as they are now. */
void duo_learned_ratios(int device, const duo_profile *profile, duo_ratios *ratios);

/* Predicts a call, by the same algorithm and route, under conditions with other ratios. */
typedef double (*duo_prediction)(const void *of, const duo_conditions *conditions);

/*
 * A call took `seconds` by the algorithm and was predicted to take `predicted` under these
 * conditions. The difference is divided among the parts of the prediction by their weights in it.
 * work: seconds of the algorithm's work by the profile, which tell short calls from long ones. The
 * first time that an algorithm runs counts for nothing: it loads and allocates.
 */
void duo_learn(int device, const duo_conditions *conditions, duo_algorithm_id id, double work,
               duo_prediction predict, const void *of, double predicted, double seconds);

/* How often the algorithm was learned from at work of about this length. */
double duo_learned_count(int device, duo_algorithm_id id, double work);

/* A call that was learned from took `seconds`. */
void duo_learned_spent(int device, double seconds);
/* May a trial begin that is predicted to lose `seconds`? At most every 16th call is a trial, and
 * trials lose at most 1 % of the spent time. */
bool duo_learned_affords(int device, double seconds);
/* The trial begins. */
void duo_learned_trial(int device, double seconds);
/* The trial has lost `seconds` more than predicted, or less if < 0. */
void duo_learned_lost(int device, double seconds);

void duo_learned_forget(void);

#endif
