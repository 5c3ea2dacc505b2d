/* selection.c - see selection.h */
#include "bench/crossover/selection.h"

#include <math.h>
#include <string.h>

/* ---- Sizes ---- */

/* The size that people ask for first. */
static const int64_t kRound = 1000;

static void mark_crossings(const duo_crossover *x, const duo_case *const *all, int count,
                           bool *shown)
{
    for (int place = 0; place < DUO_PLACES; place++) {
        const duo_crossing c =
            duo_crossover_find(x, all[0]->problem.operation, all[0]->family, (duo_place)place);
        for (int i = 1; i < count && c.verdict == DUO_WINS_FROM; i++)
            if (all[i]->n == c.n) shown[i - 1] = shown[i] = true;
    }
}

/* The case with the most steps of the ladder between it and any shown one. */
static int farthest(const bool *shown, int count)
{
    int best = 0, most = 0;
    for (int i = 0; i < count; i++) {
        int steps = 0;
        while (i - steps >= 0 && i + steps < count && !shown[i - steps] && !shown[i + steps])
            steps++;
        if (steps > most) {
            most = steps;
            best = i;
        }
    }
    return best;
}

int duo_crossover_select(const duo_crossover *x, duo_operation operation, const char *family,
                         int most, const duo_case *at[DUO_CASES])
{
    const duo_case *all[DUO_CASES];
    bool shown[DUO_CASES] = {false};
    int count = 0, chosen = 0, listed = 0;
    for (int i = 0; i < x->cases; i++)
        if (x->item[i].problem.operation == operation && strcmp(x->item[i].family, family) == 0)
            all[count++] = &x->item[i];
    if (count == 0) return 0;
    shown[0] = shown[count - 1] = true;
    mark_crossings(x, all, count, shown);
    for (int i = 0; i < count; i++) {
        shown[i] = shown[i] || all[i]->n == kRound;
        chosen += shown[i];
    }
    for (; chosen < most && chosen < count; chosen++) shown[farthest(shown, count)] = true;
    for (int i = 0; i < count; i++)
        if (shown[i]) at[listed++] = all[i];
    return listed;
}

/* ---- Figures ---- */

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
