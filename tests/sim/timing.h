/*
 * timing.h - how the simulated devices keep the clocks of clock.h. All functions here need the
 * lock.
 */
#ifndef DUO_TESTS_SIM_TIMING_H
#define DUO_TESTS_SIM_TIMING_H

#include "sim/clock.h"
#include "sim/worker.h"

/* Gives a copy or launch its time, advances the queue's clock to its end, and logs it. */
void sim_timing_queued(duo_queue *queue, const work *w);

/* Work queued in it from now on starts no earlier. */
void sim_timing_follow(duo_queue *later, uint64_t time);

/* The host has waited until `time`, or was told that work is done that ends then. */
void sim_timing_waited(uint64_t time);

uint64_t sim_timing_here(const duo_queue *queue); /* when its work is done; now if it is */
uint64_t sim_timing_end(int device);              /* when all work of its open queues is done */
void sim_timing_reset(void);

/* The log's entry for a copy or launch, without its times. */
sim_operation sim_log_entry(const duo_queue *queue, const work *w);
void sim_log_add(const sim_operation *operation); /* adds it, if there is a log */
void sim_log_stop(void);

#endif
