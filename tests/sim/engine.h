/*
 * engine.h - a part of a simulated device that does one operation at a time: a copy engine of one
 * direction, or all multiprocessors. Times are in nanoseconds.
 *
 * An operation starts as soon as it is ready and the engine is free for its duration. Operations
 * are placed in the order of queueing. If a later one is ready earlier, it takes a gap before them,
 * if one is long enough.
 */
#ifndef DUO_TESTS_SIM_ENGINE_H
#define DUO_TESTS_SIM_ENGINE_H

#include <stdint.h>

enum { SIM_GAPS = 64 }; /* if there were more, the earliest is forgotten */

typedef struct sim_engine {
    struct {
        uint64_t from, to;
    } gap[SIM_GAPS]; /* when it is free before `end`, in order */
    int gaps;
    uint64_t end; /* free from here on */
} sim_engine;

/* When an operation with that ready time and duration can start. */
uint64_t sim_engine_fit(const sim_engine *engine, uint64_t ready, uint64_t duration);

/* Gives the engine to an operation at a time that sim_engine_fit has found for it. */
void sim_engine_take(sim_engine *engine, uint64_t start, uint64_t duration);

#endif
