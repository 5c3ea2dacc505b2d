/*
 * record.h - work of the simulated device that is recorded: steps of several queues, and replays of
 * them in these queues. All functions here need the lock.
 */
#ifndef DUO_TESTS_SIM_RECORD_H
#define DUO_TESTS_SIM_RECORD_H

#include "sim/worker.h"

/* One more step of a queue that records. */
duo_status sim_record(duo_queue *queue, const work *what);

/* The queue's last step so far; -1: none. */
int sim_recorded_step(const duo_queue *queue);

/* From now on the work of `later` is recorded, too, and waits for that step. */
duo_status sim_record_after(duo_queue *later, duo_recorded *recording, int step);

#endif
