/* outlook.c - what other GPUs would bring to this machine, as their profiles predict it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "choice/profile_built_in.h"

/* Of bench/results/h100/crossover.csv, predicted by the built-in profiles of the H100 and the H200;
 * test_crossing holds them to it. */
const double duo_prediction_low = 0.6, duo_prediction_high = 1.8;

static duo_crossing find(const duo_crossover *x, int operation, double factor)
{
    return duo_crossover_find_use(x, (duo_operation)operation,
                                  duo_crossover_main_family((duo_operation)operation),
                                  (duo_use){DUO_PLACE_PAGEABLE, 1, factor});
}

duo_range duo_crossover_range(const duo_crossover *x, bool predicted)
{
    const double noisy = 1.0 + (x->noise.looks > 0 ? x->noise.error : 0.0);
    return (duo_range){(predicted ? duo_prediction_low : 1.0) / noisy,
                       (predicted ? duo_prediction_high : 1.0) * noisy};
}

/* x is a copy, whose figures of the GPU become the profile's. */
static void look(duo_crossover *x, duo_outlook *outlook)
{
    x->gpu = false;
    x->assumed = outlook->profile;
    for (int i = 0; i < x->cases; i++)
        x->item[i].figure[DUO_SERIES_GPU + DUO_PLACE_PAGEABLE] =
            duo_crossover_predict_gpu(x, &x->item[i].problem, DUO_PLACE_PAGEABLE);
    const duo_range range = duo_crossover_range(x, true);
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        outlook->early[operation] = find(x, operation, range.low);
        outlook->late[operation] = find(x, operation, range.high);
    }
}

static void add(duo_crossover *x, duo_crossover *copy, const char *gpu, const duo_profile *profile)
{
    duo_outlook *const outlook = &x->outlook[x->outlooks++];
    *outlook = (duo_outlook){.profile = profile};
    snprintf(outlook->gpu, sizeof outlook->gpu, "%s", gpu);
    *copy = *x;
    look(copy, outlook);
}

void duo_crossover_outlook(duo_crossover *x)
{
    char gpu[160];
    duo_crossover *const copy = malloc(sizeof *copy);
    x->outlooks = 0;
    if (copy == NULL) return;
    if (x->gpu_profile != NULL) {
        const char *const slash = strrchr(x->gpu_profile->origin, '/');
        snprintf(gpu, sizeof gpu, "the %.90s of %.60s", x->gpu_profile->gpu,
                 slash != NULL ? slash + 1 : x->gpu_profile->origin);
        add(x, copy, gpu, x->gpu_profile);
    }
    if (!x->gpu) {
        add(x, copy, "an H100", duo_profile_built_in("h100"));
        add(x, copy, "an H200", duo_profile_built_in("h200"));
    }
    free(copy);
}
