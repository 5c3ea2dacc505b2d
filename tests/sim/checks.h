/*
 * checks.h - may an operation touch the memory that it is given? If it may not, that is a
 * violation. An operation is checked when it is queued and again when it is carried out. All
 * functions need the lock.
 */
#ifndef DUO_TESTS_SIM_CHECKS_H
#define DUO_TESTS_SIM_CHECKS_H

#include "sim/worker.h"

/* The second device of a copy, beside `device`, or -1. */
int sim_copy_other(const work *w, int device);
/* A lost device that the copy concerns, or -1. */
int sim_copy_lost(const work *w);

bool sim_copy_legal(const work *w, int device);
/* The memory of a step of Freivalds' check, beside dst. */
bool sim_freivalds_legal(const work *w, int device);
bool sim_launch_legal(const work *w, int device);
/* Is operand A or B (i) of sgemm a range of the compact copies in `memory`, and do all of these lie
 * in memory of the device? */
bool sim_packed_legal(const duo_call *call, int i, const void *memory, int device);

#endif
