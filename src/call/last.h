/*
 * last.h - the last call of a context: what was chosen, and what was predicted.
 *
 * Small calls leave behind only what is needed to find the rest again when somebody asks.
 */
#ifndef DUO_LAST_H
#define DUO_LAST_H

#include "choice/select.h"

typedef struct duo_last {
    bool tiny;       /* only operation, sizes and factors of `call`, and `algorithm`, are set */
    bool short_list; /* choice[] has the CPU's algorithms alone; the rest follows from conditions */
    duo_conditions conditions;
    duo_call call;                  /* operation DUO_OPERATIONS: there was none yet */
    const duo_algorithm *algorithm; /* that ran; NULL: a quick return */
    int threads;
    double predicted_seconds, seconds; /* seconds < 0: not measured */
    int candidates;
    duo_choice choice[DUO_CANDIDATES];
} duo_last;

/* There was no call yet. */
void duo_last_forget(duo_last *last);

/* A call begins, with these predictions. */
void duo_last_begin(duo_last *last, const duo_call *call, const duo_choice *choice, int count);

/* Finds again what was left out; conditions: of the context now. */
void duo_last_complete(duo_last *last, const duo_conditions *conditions);

/* The public form of a complete one; decision->size is set. */
void duo_last_describe(const duo_last *last, const char *note, duo_decision *decision);

#endif
