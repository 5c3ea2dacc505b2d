/*
 * last.h - the last call of a context: what was chosen, and what was predicted.
 *
 * A small call leaves only so much behind that the rest can be computed when somebody asks.
 */
#ifndef DUO_LAST_H
#define DUO_LAST_H

#include "choice/ratios.h"
#include "choice/select.h"

/* Why an algorithm ran. */
typedef enum duo_why {
    DUO_WHY_CHEAPEST, /* of those that the path lets run */
    DUO_WHY_TINY,     /* nothing was predicted */
    DUO_WHY_ASKED,    /* the program chose it (duo_set_decide) */
    DUO_WHY_TRIED     /* to learn how long it takes (duo_set_adapt) */
} duo_why;

typedef struct duo_last {
    bool tiny;       /* only the operation, sizes and factors of `call`, and `algorithm`, are set */
    bool short_list; /* choice[] has the CPU's algorithms alone */
    duo_why why;
    duo_conditions conditions;         /* under which it was predicted */
    duo_ratios ratios;                 /* what was learned when it was predicted: the conditions' */
    duo_call call;                     /* its operation is DUO_OPERATIONS: there was no call yet */
    const duo_algorithm *algorithm;    /* the one that ran; NULL: a quick return */
    int threads;                       /* CPU threads that it had; 0: it ran on the GPU */
    double predicted_seconds, seconds; /* seconds < 0: not measured */
    int candidates;                    /* entries of choice[] */
    duo_choice choice[DUO_CANDIDATES];
} duo_last;

/* There was no call yet. */
void duo_last_forget(duo_last *last);

/* Remembers a call that begins, with its `count` predictions. */
void duo_last_begin(duo_last *last, const duo_call *call, const duo_choice *choice, int count);

/* Computes what was left out. conditions: those of the context now, for a tiny call. */
void duo_last_complete(duo_last *last, const duo_conditions *conditions);

/* Fills in the public decision from a complete `last`, but for parts and reason (reason.h). The
 * caller has set decision->size. */
void duo_last_describe(const duo_last *last, const char *note, duo_decision *decision);

#endif
