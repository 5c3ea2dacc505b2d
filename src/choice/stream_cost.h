/*
 * stream_cost.h - products and batches with operands in host memory, as problems for a plan
 * (data/plan.h): the bytes to move, the rates, and the cost of multiplying.
 */
#ifndef DUO_STREAM_COST_H
#define DUO_STREAM_COST_H

#include "choice/algorithm.h"
#include "data/plan.h"

/* Data of the problem's functions: it has to live as long as they are called. */
typedef struct duo_stream_model {
    duo_call call; /* the predicted call; its operands are packed */
    duo_conditions conditions;
    const duo_algorithm *algorithm;
} duo_stream_model;

/*
 * The problem of a call for one of its GPU algorithms, on the first `devices` of the conditions'.
 * memory_bytes: for the plan on each device. packed_bytes: of a packed element of A and of B; 0:
 * the algorithm does not pack, or the operand is packed already.
 */
duo_plan_problem duo_stream_problem(duo_stream_model *model, const duo_call *call,
                                    const duo_algorithm *algorithm,
                                    const duo_conditions *conditions, int devices,
                                    double memory_bytes, const double packed_bytes[2]);

/* The fixed seconds of the first and last transfers of one device: the host queues those of several
 * devices one by one. */
double duo_stream_starts(const duo_call *call, const duo_profile *profile);

/* Bytes of a packed element of A or B, for predictions without a device (a backend knows them from
 * the shape). 0: the algorithm does not pack. */
double duo_stream_packed_bytes(duo_algorithm_id algorithm);

/* The part of a device's free bytes that a plan may use. It is rounded down, so that small changes
 * of the free bytes from call to call do not make a new plan. */
double duo_stream_memory(double free_bytes);

/*
 * Seconds of a streamed product, without making its plan: arithmetic, overlapped with sends and
 * fetches, on the number of the context's devices that takes least. If devices is not NULL,
 * *devices is that number. algorithm NULL: the arithmetic takes no time.
 */
double duo_stream_seconds(const duo_call *call, const duo_conditions *conditions,
                          const duo_algorithm *algorithm, int *devices);

/* The same for a batch. Its arithmetic takes work_seconds. A batch with no operand in host memory
 * takes just these. */
double duo_stream_batch_seconds(const duo_call *call, const duo_conditions *conditions,
                                double work_seconds);

#endif
