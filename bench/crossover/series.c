/* series.c - see series.h */
#include "bench/crossover/series.h"

#include <math.h>

static void hand_over(const duo_case *c, int series, const char *residence, duo_side side,
                      duo_take_figure take, void *user)
{
    const duo_figure *const f = &c->figure[series];
    if (f->median_seconds > 0.0 && isfinite(f->median_seconds)) take(user, c, residence, side, f);
}

void duo_series_each(const duo_case *c, duo_take_figure take, void *user)
{
    const duo_algorithm_table table = duo_algorithm_tables[c->problem.operation];
    for (int i = 0; i < table.count; i++) {
        const int id = (int)table.algorithm[i].id;
        const duo_side side = table.algorithm[i].side;
        const bool cpu = side == DUO_SIDE_CPU;
        hand_over(c, DUO_SERIES_ONE + id, cpu ? "host" : "queue", side, take, user);
        if (cpu) hand_over(c, DUO_SERIES_ALL + id, "host", side, take, user);
    }
    for (int place = 0; place < DUO_PLACES; place++)
        hand_over(c, DUO_SERIES_GPU + place, duo_place_names[place], DUO_SIDE_GPU, take, user);
}
