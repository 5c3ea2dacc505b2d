/* policy.c - see policy.h */
#include "bench/experiments/policy.h"

#include <math.h>

#include "choice/profile_in_use.h"

static int capability_of(const duo_bench *b)
{
    return 10 * b->device.capability_major + b->device.capability_minor;
}

bool duo_bench_wants(const duo_bench *b, const duo_algorithm *algorithm)
{
    if (b->math >= 0) return duo_algorithm_serves(algorithm, (duo_math)b->math);
    for (int math = DUO_MATH_ACCURATE; math <= DUO_MATH_FLOAT64; math++)
        if (math != DUO_MATH_TF32 && duo_algorithm_serves(algorithm, (duo_math)math)) return true;
    return false;
}

static duo_conditions conditions_of(const duo_bench *b, duo_side side, duo_math math)
{
    return (duo_conditions){.profile = duo_profile_in_use(),
                            .path = side == DUO_SIDE_GPU ? DUO_PATH_GPU : DUO_PATH_CPU,
                            .math = math,
                            .threads = b->threads,
                            .gpu = side == DUO_SIDE_GPU,
                            .capability = capability_of(b),
                            .device_memory_bytes = (double)INFINITY};
}

bool duo_bench_conditions(const duo_bench *b, const duo_algorithm *algorithm, const duo_call *call,
                          duo_conditions *conditions)
{
    if (!duo_bench_wants(b, algorithm)) return false;
    for (int math = DUO_MATH_ACCURATE; math <= DUO_MATH_FLOAT64; math++) {
        if ((b->math >= 0 && b->math != math) || !duo_algorithm_serves(algorithm, (duo_math)math))
            continue;
        *conditions = conditions_of(b, DUO_SIDE_GPU, (duo_math)math);
        if (algorithm->accepts(call, conditions)) return true;
    }
    return false;
}

int duo_bench_choose(const duo_bench *b, const duo_call *call, duo_side side,
                     duo_choice chosen[DUO_CANDIDATES])
{
    const duo_conditions conditions =
        conditions_of(b, side, b->math >= 0 ? (duo_math)b->math : DUO_MATH_ACCURATE);
    duo_choice choice[DUO_CANDIDATES];
    const int candidates = duo_predict(call, &conditions, choice);
    int count = 0;
    for (int i = 0; i < candidates; i++) choice[i].declined = choice[i].algorithm->side != side;
    for (int best; (best = duo_select(choice, candidates, &conditions)) >= 0;
         choice[best].declined = true)
        chosen[count++] = choice[best];
    return count;
}
