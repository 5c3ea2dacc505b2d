/*
 * batched/plan_groups.h - the kernels of groups of batches, and their microseconds, by the
 * estimates of batched/plan.h.
 */
#ifndef DUO_BATCHED_PLAN_GROUPS_H
#define DUO_BATCHED_PLAN_GROUPS_H

#include "gpu/batched/plan.h"

/*
 * A group goes by fp32 FMA or on tensor cores, each in one launch with others of its kind: by the
 * kernel that takes least for all of them. Vector products that go by FMA have an order of their
 * own: each group of them is a launch of its own.
 */
typedef enum duo_batched_way {
    DUO_BATCHED_BY_FMA,
    DUO_BATCHED_BY_TENSOR,
    DUO_BATCHED_WAYS,
    DUO_BATCHED_ALONE = DUO_BATCHED_WAYS
} duo_batched_way;

/* tensor: may the group go on tensor cores? */
static inline duo_batched_way duo_batched_way_of(const duo_batched_size *size,
                                                 const duo_batched_device *device, bool tensor)
{
    if (tensor && isfinite(duo_batched_cost(DUO_BATCHED_WARPS_1, size, device)))
        return DUO_BATCHED_BY_TENSOR;
    return size->vector ? DUO_BATCHED_ALONE : DUO_BATCHED_BY_FMA;
}

/* Is there such a kernel for groups? */
static inline bool duo_batched_groups(duo_batched_kernel kernel)
{
    return kernel == DUO_BATCHED_TILE_16 || kernel == DUO_BATCHED_TILE_32 ||
           kernel == DUO_BATCHED_TILE_64 || kernel == DUO_BATCHED_WARPS_1 ||
           kernel == DUO_BATCHED_WARPS_4 || kernel == DUO_BATCHED_WGMMA_96;
}

/* Microseconds of several groups by each kernel: the longest of what a launch takes without any
 * product, and the sum of what their products add to that. */
typedef struct duo_batched_sums {
    double launch[DUO_BATCHED_KERNELS], products[DUO_BATCHED_KERNELS];
    bool any[DUO_BATCHED_WAYS];
    double alone;
} duo_batched_sums;

static inline void duo_batched_add(duo_batched_sums *sums, const duo_batched_size *of,
                                   const duo_batched_device *device, bool tensor)
{
    duo_batched_size size = *of, none;
    const duo_batched_way way = duo_batched_way_of(of, device, tensor);
    size.beside = true;
    none = size;
    none.count = 0;
    none.megabytes = 0.0;
    if (way == DUO_BATCHED_ALONE) {
        double microseconds;
        (void)duo_batched_least(of, device, DUO_BATCHED_TILE_8, DUO_BATCHED_TENSOR, &microseconds);
        sums->alone += microseconds;
        return;
    }
    sums->any[way] = true;
    for (int i = 0; i < DUO_BATCHED_KERNELS; i++) {
        if (!duo_batched_groups((duo_batched_kernel)i)) continue;
        if ((i >= DUO_BATCHED_TENSOR) != (way == DUO_BATCHED_BY_TENSOR)) continue;
        const double launch = duo_batched_cost((duo_batched_kernel)i, &none, device);
        sums->launch[i] = fmax(sums->launch[i], launch);
        sums->products[i] += isfinite(launch)
                                 ? duo_batched_cost((duo_batched_kernel)i, &size, device) - launch
                                 : launch;
    }
}

/* The kernel of a way that takes least for all of its groups, and its microseconds; 0 without any
 * group. */
static inline duo_batched_kernel duo_batched_least_for(const duo_batched_sums *sums,
                                                       duo_batched_way way, double *microseconds)
{
    const int first = way == DUO_BATCHED_BY_TENSOR ? DUO_BATCHED_TENSOR : DUO_BATCHED_TILE_8;
    const int end = way == DUO_BATCHED_BY_TENSOR ? DUO_BATCHED_KERNELS : DUO_BATCHED_TENSOR;
    duo_batched_kernel best = (duo_batched_kernel)first;
    *microseconds = sums->any[way] ? (double)INFINITY : 0.0;
    for (int i = first; i < end && sums->any[way]; i++) {
        const double cost = sums->launch[i] + sums->products[i];
        if (!duo_batched_groups((duo_batched_kernel)i) || !(cost < *microseconds)) continue;
        *microseconds = cost;
        best = (duo_batched_kernel)i;
    }
    return best;
}

/* Microseconds of all groups. */
static inline double duo_batched_total(const duo_batched_sums *sums)
{
    double fma, tensor;
    (void)duo_batched_least_for(sums, DUO_BATCHED_BY_FMA, &fma);
    (void)duo_batched_least_for(sums, DUO_BATCHED_BY_TENSOR, &tensor);
    return fma + tensor + sums->alone;
}

#endif
