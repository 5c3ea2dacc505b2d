/* select.h - predictions of every algorithm's time for a call, and the cheapest that accepts. */
#ifndef DUO_SELECT_H
#define DUO_SELECT_H

#include "choice/algorithm.h"

typedef struct duo_choice {
    const duo_algorithm *algorithm;
    bool accepts;
    bool declined;       /* set by the caller: not to be chosen any more */
    unsigned char route; /* by which the call is carried out: set by call/route.c */
    unsigned char tried; /* routes that have declined, a bit for each */
    int threads;         /* CPU threads that it would use; 0 on the GPU */
    int devices;         /* GPUs that a streamed product would use; else 0 */
    double seconds; /* predicted: work, transfers and the result's way back; infinite: refused */
} duo_choice;

/* Predicts every algorithm that serves the math, in the order of the list. Returns how many. */
int duo_predict(const duo_call *call, const duo_conditions *conditions,
                duo_choice choice[DUO_CANDIDATES]);

/*
 * Predicts only the CPU's algorithms, if duo_select is sure to choose one of them: on the path
 * auto, when sending the operands and waiting for the result takes longer than the whole call on
 * the CPU. Otherwise returns 0. Most small calls are like this, and predicting the GPU's algorithms
 * would take longer than the call. Also returns 0 with a stale operand, whose credit is computed
 * from the GPU's predictions (call/decide.c).
 */
int duo_predict_cpu(const duo_call *call, const duo_conditions *conditions,
                    duo_choice choice[DUO_CANDIDATES]);

/* Seconds of the fastest GPU algorithm; infinite if that cannot be less than `most`. */
double duo_predict_gpu(const duo_call *call, const duo_conditions *conditions, double most);

/* The index of the algorithm to run: the cheapest that accepts and has not declined; on the GPU's
 * path any GPU algorithm goes before any CPU algorithm. -1: none is left. */
int duo_select(const duo_choice *choice, int count, const duo_conditions *conditions);

/* The prediction of duo_predict for one algorithm that accepts the call. */
double duo_predict_one(const duo_call *call, const duo_conditions *conditions,
                       const duo_algorithm *algorithm);

/* ---- The parts of a prediction ---- */

/*
 * Parts of choice->seconds, which was predicted for this call under these conditions, and would be
 * `unmoved` if the link took no time. Transfers: the seconds that the link adds. Launch: the time
 * with nothing to move or to compute, `launches` times; on the CPU, for sharing the work among
 * threads. The rest is compute. The candidate accepts.
 */
duo_parts duo_parts_of(const duo_call *call, const duo_conditions *conditions,
                       const duo_choice *choice, double unmoved, double launches);

#endif
