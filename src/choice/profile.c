/* profile.c - parts that a profile lacks and borrows from another; its noise (profile.h). */
#include "choice/profile.h"

#include <string.h>

void duo_profile_borrow_gpu(duo_profile *to, const duo_profile *from)
{
    memcpy(to->gpu, from->gpu, sizeof to->gpu);
    memcpy(to->driver, from->driver, sizeof to->driver);
    to->upload_pageable = from->upload_pageable;
    to->upload_pinned = from->upload_pinned;
    to->download_pageable = from->download_pageable;
    to->download_pinned = from->download_pinned;
    to->copy_seconds = from->copy_seconds;
    to->round_trip_seconds = from->round_trip_seconds;
    to->query_seconds = from->query_seconds;
    to->open_seconds = from->open_seconds;
    for (int id = 0; id < DUO_ALGORITHMS; id++)
        if (duo_algorithm_side((duo_algorithm_id)id) == DUO_SIDE_GPU)
            to->curve[id] = from->curve[id];
}

void duo_profile_borrow_curves(duo_profile *to, const duo_profile *from, duo_side side)
{
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        if (duo_algorithm_side((duo_algorithm_id)id) != side || to->curve[id].count > 0) continue;
        to->curve[id] = from->curve[id];
        to->team[id] = to->threads == from->threads ? from->team[id] : (duo_curve){0};
    }
}

void duo_profile_borrow_figures(duo_profile *to, const duo_profile *from)
{
    if (!(to->cpu_bandwidth > 0.0)) to->cpu_bandwidth = from->cpu_bandwidth;
    if (!(to->sgemm_efficiency > 0.0)) to->sgemm_efficiency = from->sgemm_efficiency;
    if (!(to->open_seconds > 0.0)) to->open_seconds = from->open_seconds;
}

const double duo_quiet_error = 0.10;

double duo_profile_noise(const duo_profile *profile)
{
    double most = 0.0;
    for (int i = 0; i < DUO_OPERATIONS; i++)
        if (profile->measured[i].noise > most) most = profile->measured[i].noise;
    return most;
}

bool duo_profile_lacks(const duo_profile *p, duo_operation operation)
{
    bool any = false;
    for (int i = 0; i < DUO_ALGORITHMS; i++) {
        const duo_algorithm_id id = (duo_algorithm_id)i;
        any |= duo_algorithm_operation(id) == operation && duo_algorithm_side(id) == DUO_SIDE_CPU &&
               p->curve[id].count > 0;
    }
    return !any;
}
