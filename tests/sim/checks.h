/*
 * checks.h - may an operation touch the memory that it is given? Whatever it may not is a
 * violation. Looked at when it is queued and again when it is carried out; needs the lock.
 */
#ifndef DUO_TESTS_SIM_CHECKS_H
#define DUO_TESTS_SIM_CHECKS_H

#include "sim/worker.h"

/* The other device than `device` that a copy concerns, or -1. */
int sim_copy_other(const work *w, int device);
/* A device that it concerns and that is lost, or -1. */
int sim_copy_lost(const work *w);

bool sim_copy_legal(const work *w, int device);
bool sim_launch_legal(const work *w, int device);
/* Operand A or B (i) of sgemm as a range of what is packed in `memory`, as compact copies: is it
 * one, and does all of that lie in memory of the device? */
bool sim_packed_legal(const duo_call *call, int i, const void *memory, int device);

#endif
