/*
 * batch_call.h - a batch on its way: where its operands are (batch_find.c), one launch of it
 * (batch_launch.c) with what is sent for that and fetched (batch_gather.c), and its products over
 * the team (batch_team.c).
 */
#ifndef DUO_BATCH_CALL_H
#define DUO_BATCH_CALL_H

#include "batch.h"
#include "call/context.h"

/* Where an operand of all products is. */
typedef enum duo_batch_where {
    DUO_BATCH_TOGETHER,  /* its whole span is in one region, or at equal distances */
    DUO_BATCH_SCATTERED, /* a list: in several regions, all memory of the context's device */
    DUO_BATCH_HOSTED     /* a list: anywhere in host memory that has no device copy */
} duo_batch_where;

typedef struct duo_batch_call {
    duo_context *ctx;
    duo_call *call; /* the first product */
    const duo_batch *batch;
    /* The spans of what is TOGETHER, as vectors, by which they are located and placed: gaps
     * included. Operands that are not are untouched in it. */
    duo_call spans;
    duo_batch_where where[DUO_OPERANDS];
    int64_t held[DUO_OPERANDS]; /* SCATTERED: so many regions, from the list's begin on, are held */
    duo_conditions conditions;
    duo_choice choice[DUO_CANDIDATES]; /* of the first product alone */
    int count;
    int64_t done; /* so many products, the first ones, are done with: by a launch that failed */
} duo_batch_call;

/* ---- batch_find.c ---- */

/* Sets spans and where. False: the batch goes product by product. */
bool duo_batch_find(duo_batch_call *b);
/* Does anything lie within the span of operand i that is not the operand's? */
bool duo_batch_has_gaps(const duo_batch_call *b, int i, uintptr_t low, uintptr_t high);
/* Claims and holds every region that a scattered list leads to, and makes packed operands stale. */
duo_status duo_batch_claim(duo_batch_call *b);
/* The launch has been queued, or will not be: claims them again, if it has, and lets them go. */
duo_status duo_batch_queued(duo_batch_call *b, bool queued);
/* The call and batch with the copies of what is placed, by `local` for spans. */
void duo_batch_use_copies(const duo_batch_call *b, const duo_call *local, duo_call *call,
                          duo_batch *batch);

/* ---- batch_gather.c ---- */

/* Is operand i in host memory alone? Its matrices are gathered in the workspace for a launch. */
bool duo_batch_gathered(const duo_batch_call *b, int i);
/* Is there room on the device for all that is gathered? */
bool duo_batch_has_room(const duo_batch_call *b);
double duo_batch_gathered_seconds(const duo_batch_call *b); /* to send them, and to fetch C */
/* Sends them, and has `call` and `batch` name the copies. DUO_ERR_MEMORY: there is no room. */
duo_status duo_batch_gather(duo_batch_call *b, duo_call *call, duo_batch *batch);
/* Fetches C, from where `call` has it. Sets done, also where that fails. */
duo_status duo_batch_fetch(duo_batch_call *b, const duo_call *call);

/* ---- batch_launch.c ---- */

bool duo_batch_fits_device(const duo_batch_call *b);
double duo_batch_launch_seconds(const duo_batch_call *b);
/* DUO_DECLINED: all but the first `done` products are left to do. DUO_ERR_MEMORY: the device has no
 * room for so many. Else the status of the call. */
duo_outcome duo_batch_launch(duo_batch_call *b);

/* ---- batch_team.c ---- */

bool duo_batch_fits_team(const duo_batch_call *b);
/* The CPU's algorithms for a product in host memory, on one thread; how many. */
int duo_batch_predict_one(const duo_batch_call *b, duo_choice choice[DUO_CANDIDATES], int *best);
double duo_batch_team_seconds(const duo_batch_call *b, double one_product);
duo_status duo_batch_run_on_team(duo_batch_call *b, const duo_choice *choice, int count, int best);

#endif
