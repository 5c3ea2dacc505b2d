/*
 * ratios.h - the ratios of real seconds to the profile's predictions, learned from calls of this
 * process (learned.h). Predictions are multiplied by them; 1: as the profile says.
 *
 * An algorithm has a ratio for each class of length of its work, because a curve that is right for
 * long calls may be wrong for short ones.
 */
#ifndef DUO_RATIOS_H
#define DUO_RATIOS_H

#include <stddef.h>

#include "algorithms.h"
#include "choice/costs.h"

typedef enum duo_link {
    DUO_UP_PAGEABLE,
    DUO_UP_PINNED,
    DUO_DOWN_PAGEABLE,
    DUO_DOWN_PINNED,
    DUO_LINKS
} duo_link;

enum { DUO_LENGTHS = 4 };

struct duo_ratios {
    float link[DUO_LINKS];
    float work[DUO_ALGORITHMS][DUO_LENGTHS];
};

/* The shortest call to learn from, in seconds: in shorter ones the clock and the library's own
 * steps are too large a part. */
static const double kLeastLearned = 20e-6;

/* Another candidate is worth trying if it is predicted to take less than this many times the
 * cheapest one's time: a prediction of the profile is seldom further off. */
static const double kWorthTrying = 4.0;

/* The class of predicted seconds of work: below 20 us, 200 us, 2 ms, or above. */
static inline int duo_length_of(double seconds)
{
    return (seconds >= kLeastLearned) + (seconds >= 200e-6) + (seconds >= 2e-3);
}

static inline duo_link duo_link_of(bool to_device, bool pinned)
{
    return (duo_link)((to_device ? DUO_UP_PAGEABLE : DUO_DOWN_PAGEABLE) + pinned);
}

/* A copy of the ratios under these conditions. */
static inline duo_ratios duo_ratios_of(const duo_conditions *conditions)
{
    if (conditions->ratios != NULL) return *conditions->ratios;
    duo_ratios ratios;
    for (int i = 0; i < DUO_LINKS; i++) ratios.link[i] = 1.0f;
    for (int i = 0; i < DUO_ALGORITHMS * DUO_LENGTHS; i++)
        ratios.work[i / DUO_LENGTHS][i % DUO_LENGTHS] = 1.0f;
    return ratios;
}

/* The ratio of transfers of this kind. */
static inline double duo_link_ratio(const duo_conditions *conditions, bool to_device, bool pinned)
{
    return conditions->ratios == NULL
               ? 1.0
               : (double)conditions->ratios->link[duo_link_of(to_device, pinned)];
}

/* The ratio for work that the profile predicts to take `seconds`. */
static inline double duo_work_ratio(const duo_conditions *conditions, duo_algorithm_id id,
                                    double seconds)
{
    return conditions->ratios == NULL
               ? 1.0
               : (double)conditions->ratios->work[id][duo_length_of(seconds)];
}

#endif
