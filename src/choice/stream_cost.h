/*
 * stream_cost.h - products whose operands are partly in host memory, as problems for a plan
 * (data/plan.h): what has to move, at which rates, and what multiplying costs.
 */
#ifndef DUO_STREAM_COST_H
#define DUO_STREAM_COST_H

#include "choice/algorithm.h"
#include "data/plan.h"

/* What the functions of the problem need: it has to live as long as they are called. */
typedef struct duo_stream_model {
    duo_call call; /* that is predicted: its operands are packed */
    duo_conditions conditions;
    const duo_algorithm *algorithm;
} duo_stream_model;

/*
 * The problem of a call for one of its GPU algorithms, on the first `devices` of the conditions'.
 * memory_bytes: that the plan may use on each device. packed_bytes: of an element of A and B, as
 * the algorithm packs them; 0: it does not, or the operand is packed already.
 */
duo_plan_problem duo_stream_problem(duo_stream_model *model, const duo_call *call,
                                    const duo_algorithm *algorithm,
                                    const duo_conditions *conditions, int devices,
                                    double memory_bytes, const double packed_bytes[2]);

/* Seconds for the first and last transfers of one device, however short: the host queues those of
 * several devices one by one. */
double duo_stream_starts(const duo_call *call, const duo_profile *profile);

/* Bytes of an element of A or B as the algorithm packs it, for where there is no device: a backend
 * knows them by the shape. 0: it does not pack. */
double duo_stream_packed_bytes(duo_algorithm_id algorithm);

/* Of the bytes that are free on a device, those that a plan may use. They are rounded down: a plan
 * is not made again because what is free varies a little from call to call. */
double duo_stream_memory(double free_bytes);

/*
 * Seconds of a streamed product, without making its plan: arithmetic, overlapped with what the call
 * sends and fetches, on so many of the context's devices as take least; *devices, where it is not
 * NULL, tells how many. algorithm NULL: the arithmetic takes no time.
 */
double duo_stream_seconds(const duo_call *call, const duo_conditions *conditions,
                          const duo_algorithm *algorithm, int *devices);

#endif
