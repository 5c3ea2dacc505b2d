/*
 * last.h - the last call of a context: the predictions, and the choice.
 *
 * A small call leaves only enough behind for explain.c to compute the rest when it is asked.
 */
#ifndef DUO_LAST_H
#define DUO_LAST_H

#include "batch.h"
#include "choice/ratios.h"
#include "choice/select.h"

/* Why an algorithm ran. */
typedef enum duo_why {
    DUO_WHY_CHEAPEST, /* of those that the path allows */
    DUO_WHY_TINY,     /* nothing was predicted */
    DUO_WHY_ASKED,    /* the program chose it (duo_set_decide) */
    DUO_WHY_TRIED     /* to learn how long it takes (duo_set_adapt) */
} duo_why;

typedef struct duo_last {
    bool tiny;       /* only the operation, sizes and factors of `call`, its batch's number of
                        products, and `algorithm` are set */
    bool short_list; /* choice[] has only the CPU's algorithms */
    duo_why why;
    duo_conditions conditions;         /* the predictions' */
    duo_ratios ratios;                 /* learned until then; conditions.ratios is this or NULL */
    duo_call call;                     /* its operation is DUO_OPERATIONS: there was no call yet */
    duo_batch batch;                   /* the call's, if it has one; its lists may have gone */
    const duo_algorithm *algorithm;    /* the one that ran; NULL: a quick return */
    int threads;                       /* CPU threads of the call; 0: it ran on the GPU */
    double predicted_seconds, seconds; /* seconds < 0: not measured */
    int candidates;                    /* entries of choice[] */
    duo_choice choice[DUO_CANDIDATES];
} duo_last;

/* There was no call yet. */
static inline void duo_last_forget(duo_last *last)
{
    last->call.operation = DUO_OPERATIONS;
    last->tiny = last->short_list = false;
    last->seconds = -1.0;
}

/* Remembers a call that begins. Its candidates follow. */
static inline void duo_last_begin(duo_last *last, const duo_call *call)
{
    last->tiny = last->short_list = false;
    last->why = DUO_WHY_CHEAPEST;
    last->call = *call;
    if (call->batch != NULL) last->batch = *call->batch;
    if (call->batch != NULL) last->call.batch = &last->batch;
    last->candidates = 0;
    last->algorithm = NULL;
    last->seconds = -1.0;
}

/* Remembers a tiny batch. */
static inline void duo_last_was_tiny(duo_last *last, const duo_call *batch,
                                     const duo_algorithm *algorithm)
{
    last->tiny = true;
    last->algorithm = algorithm;
    last->call = *batch;
    last->batch.count = batch->batch->count;
    last->call.batch = &last->batch;
}

/* This candidate has carried the call out. */
static inline void duo_last_ran(duo_last *last, const duo_choice *choice)
{
    const bool cpu = choice->algorithm->side == DUO_SIDE_CPU;
    last->algorithm = choice->algorithm;
    last->threads = cpu && choice->threads < 1 ? 1 : choice->threads;
    last->predicted_seconds = choice->seconds;
}

#endif
