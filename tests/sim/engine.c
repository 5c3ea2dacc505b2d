/* engine.c - when a simulated engine is taken; see engine.h. */
#include "sim/engine.h"

#include <string.h>

static uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

uint64_t sim_engine_fit(const sim_engine *engine, uint64_t ready, uint64_t duration)
{
    for (int i = 0; i < engine->gaps; i++) {
        const uint64_t start = later_of(ready, engine->gap[i].from);
        if (start + duration <= engine->gap[i].to) return start;
    }
    return later_of(ready, engine->end);
}

/* A new gap before gap i; none if it is empty. */
static void put_gap(sim_engine *engine, int i, uint64_t from, uint64_t to)
{
    if (from >= to) return;
    if (engine->gaps == SIM_GAPS) {
        if (i == 0) return; /* the new gap is the earliest */
        memmove(&engine->gap[0], &engine->gap[1], (SIM_GAPS - 1) * sizeof engine->gap[0]);
        engine->gaps--;
        i--;
    }
    memmove(&engine->gap[i + 1], &engine->gap[i],
            (size_t)(engine->gaps - i) * sizeof engine->gap[0]);
    engine->gap[i].from = from;
    engine->gap[i].to = to;
    engine->gaps++;
}

void sim_engine_take(sim_engine *engine, uint64_t start, uint64_t duration)
{
    const uint64_t end = start + duration;
    if (start >= engine->end) {
        put_gap(engine, engine->gaps, engine->end, start);
        engine->end = end;
        return;
    }
    for (int i = 0; i < engine->gaps; i++) {
        const uint64_t from = engine->gap[i].from, to = engine->gap[i].to;
        if (start < from || end > to) continue;
        engine->gaps--;
        memmove(&engine->gap[i], &engine->gap[i + 1],
                (size_t)(engine->gaps - i) * sizeof engine->gap[0]);
        put_gap(engine, i, end, to);
        put_gap(engine, i, from, start);
        return;
    }
}
