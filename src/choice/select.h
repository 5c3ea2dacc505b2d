/* select.h - predictions of every algorithm's time for a call, and the cheapest that accepts. */
#ifndef DUO_SELECT_H
#define DUO_SELECT_H

#include "choice/algorithm.h"

typedef struct duo_choice {
    const duo_algorithm *algorithm;
    bool accepts;
    bool declined; /* set by the caller to strike it out */
    int threads;
    double seconds; /* work, transfers and the result's way back */
} duo_choice;

/* Fills choice[] in the order of the list with the prediction of every algorithm that serves the
 * math; returns how many (<= DUO_CANDIDATES). */
int duo_predict(const duo_call *call, const duo_conditions *conditions,
                duo_choice choice[DUO_CANDIDATES]);

/*
 * The same of the CPU's algorithms alone, where duo_select would choose one of them from all: on
 * the path auto, when the way of operands and result takes longer than the whole call on the CPU.
 * Else 0; so too with stale operands, which earn what the GPU would have saved. Small calls are
 * mostly such, and to predict the GPU's algorithms would take longer than they do.
 */
int duo_predict_cpu(const duo_call *call, const duo_conditions *conditions,
                    duo_choice choice[DUO_CANDIDATES]);

/* The index of the one to run: cheapest that accepts and is not declined. -1: none left. */
int duo_select(const duo_choice *choice, int count, const duo_conditions *conditions);

/* Seconds to bring what the call reads to this side and what it writes back to where it belongs. */
double duo_transfer_seconds(const duo_call *call, duo_side side, const duo_profile *profile);

#endif
