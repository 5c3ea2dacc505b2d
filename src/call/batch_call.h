/*
 * batch_call.h - a batch on its way: where its operands are (batch_find.c), one launch of it
 * (batch_launch.c), and its products over the team (batch_team.c).
 */
#ifndef DUO_BATCH_CALL_H
#define DUO_BATCH_CALL_H

#include "batch.h"
#include "call/context.h"

/* Where an operand of all products is. */
typedef enum duo_batch_where {
    DUO_BATCH_PLAIN,    /* in host memory that is in no region */
    DUO_BATCH_TOGETHER, /* its whole span may be in a region */
    DUO_BATCH_SCATTERED /* in several regions, all of them memory of the context's device */
} duo_batch_where;

typedef struct duo_batch_call {
    duo_context *ctx;
    duo_call *call; /* the first product */
    const duo_batch *batch;
    /* The spans of what is TOGETHER, as vectors, by which they are located and placed: gaps
     * included. Operands that are not are untouched in it. */
    duo_call spans;
    duo_batch_where where[DUO_OPERANDS];
    duo_conditions conditions;
    duo_choice choice[DUO_CANDIDATES]; /* of the first product alone */
    int count;
} duo_batch_call;

/* ---- batch_find.c ---- */

/* Sets spans and where. False: the batch goes product by product. */
bool duo_batch_find(duo_batch_call *b);
/* Does anything lie within the span of operand i that is not the operand's? */
bool duo_batch_has_gaps(const duo_batch_call *b, int i, uintptr_t low, uintptr_t high);
/* Claims every region that a scattered list leads to, and makes packed operands stale. */
duo_status duo_batch_claim(duo_batch_call *b);
/* The call and batch with the copies of what is placed, by `local` for spans. */
void duo_batch_use_copies(const duo_batch_call *b, const duo_call *local, duo_call *call,
                          duo_batch *batch);

/* ---- batch_launch.c ---- */

bool duo_batch_fits_device(const duo_batch_call *b);
double duo_batch_launch_seconds(const duo_batch_call *b);
duo_outcome duo_batch_launch(duo_batch_call *b); /* DUO_OK or DUO_DECLINED */

/* ---- batch_team.c ---- */

bool duo_batch_fits_team(const duo_batch_call *b);
/* The CPU's algorithms for a product in host memory, on one thread; how many. */
int duo_batch_predict_one(const duo_batch_call *b, duo_choice choice[DUO_CANDIDATES], int *best);
double duo_batch_team_seconds(const duo_batch_call *b, double one_product);
duo_status duo_batch_run_on_team(duo_batch_call *b, const duo_choice *choice, int count, int best);

#endif
