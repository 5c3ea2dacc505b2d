/*
 * execution.h - a call on its way: the facts about it, its candidates, and the routes that carry it
 * out. Each route is a file, route_NAME.c; route.c has their table.
 */
#ifndef DUO_EXECUTION_H
#define DUO_EXECUTION_H

#include "batch.h"
#include "call/context.h"

/* The ways to carry a call out. */
typedef enum duo_route_id {
    DUO_ROUTE_CPU,        /* on the CPU, with as many threads as pay */
    DUO_ROUTE_LAUNCH,     /* on the device, in one launch */
    DUO_ROUTE_STREAMED,   /* a product: operands are sent while it is multiplied */
    DUO_ROUTE_PIECES,     /* a reduction: vectors are sent in pieces */
    DUO_ROUTE_TEAM,       /* a batch: the team's threads take products in turn */
    DUO_ROUTE_BATCH,      /* a batch, or groups: all in one launch; or a batch streamed in pieces */
    DUO_ROUTE_ONE_BY_ONE, /* a batch: each product is a call of its own */
    DUO_ROUTE_RECORDED,   /* becomes part of the graph that the program captures */
    DUO_ROUTES
} duo_route_id;

typedef struct duo_execution duo_execution;

/* How a call is timed if the context learns (adapt.h). */
typedef struct duo_adapt {
    int expected; /* the candidate that is to run; -1: the call is not timed */
    double least; /* seconds predicted for the cheapest */
    bool trial;   /* expected is not the cheapest */
    double start;
} duo_adapt;

struct duo_execution {
    duo_context *ctx;
    duo_call *call; /* located */
    bool part;      /* it is a part: only the whole call is explained and learned from */
    bool awaited;   /* the result must be there at return, even if the context is async */
    duo_conditions conditions;

    duo_choice *choice; /* the `count` candidates: the array of the context's last call, or: */
    duo_choice own[DUO_CANDIDATES];
    int count;
    bool short_list; /* these are only the CPU's */
    int wanted;      /* the candidate that goes before the cheapest; -1: none */
    bool offered;    /* `wanted` has had its turn */
    int ran;         /* the candidate that carried the call out; -1: none yet */
    double start;    /* when the call began; 0: its time is not logged */
    duo_adapt adapt;

    bool asked;        /* was the driver asked about operands that are not registered? */
    int losses;        /* of several devices, when the candidates were predicted */
    duo_status failed; /* of the last recording that was not possible */

    /* `partly`: a route declined after it did a part of the call. The rest is computed by calls of
     * its own: for these the program is not asked, nothing is tried, and nothing is logged. */
    bool partly;
    duo_status (*run_part)(duo_execution *whole, duo_call *part);
    const duo_algorithm *by;        /* goes first for parts of this call; NULL: the cheapest */
    const duo_algorithm *last_part; /* did the last of them; NULL: there was none */

    int64_t held; /* regions that batch.c holds for this call */
};

/*
 * Each carries the call out as the candidate says. Returns a status, or DUO_DECLINED: nothing was
 * written, unless `partly` is set. An operand that was lost with a device is noticed when the call
 * is located again.
 */
duo_outcome duo_run_cpu(duo_execution *e, duo_choice *choice);
duo_outcome duo_run_team(duo_execution *e, duo_choice *choice);
duo_outcome duo_run_launch(duo_execution *e, duo_choice *choice);
duo_outcome duo_run_pieces(duo_execution *e, duo_choice *choice);
duo_outcome duo_run_streamed(duo_execution *e, duo_choice *choice);
duo_outcome duo_run_batch(duo_execution *e, duo_choice *choice);
duo_outcome duo_run_one_by_one(duo_execution *e, duo_choice *choice);
duo_outcome duo_run_recorded(duo_execution *e, duo_choice *choice);

/* ---- route_launch.c, route_pieces.c ---- */

/* Is the call a reduction, and are its vectors in host memory to be sent in pieces? */
bool duo_reduction_streams(const duo_resources *res, const duo_call *call);

/* ---- route_team.c: products over the team's threads; also of groups in plain host memory ---- */

bool duo_team_takes(const duo_call *call, const duo_conditions *conditions,
                    const duo_algorithm *algorithm);
double duo_team_seconds(const duo_call *call, const duo_conditions *conditions,
                        const duo_algorithm *algorithm);
/* Seconds of one product by the profile; learning tells short work from long by them. */
double duo_team_work(const duo_call *call, const duo_conditions *conditions,
                     const duo_algorithm *algorithm);

/* ---- route_streamed.c ---- */

/* Plans and runs a placed product or batch on the context's own device. DUO_DECLINED: it failed, or
 * does not fit. If resources.plan `ran`, which is false before, its steps tell what is done. */
duo_outcome duo_stream_alone(duo_execution *e, const duo_call *local,
                             const duo_algorithm *algorithm);
/* Was a product of this plan queued? Is a part of C final? */
bool duo_stream_did(const duo_plan *plan, duo_step_kind kind);

/* ---- route_batch.c: all products in one launch, or streamed ---- */

bool duo_batch_takes(const duo_call *call, const duo_conditions *conditions,
                     const duo_algorithm *algorithm);
double duo_batch_seconds(const duo_call *call, const duo_conditions *conditions,
                         const duo_algorithm *algorithm);
double duo_batch_work(const duo_call *call, const duo_conditions *conditions,
                      const duo_algorithm *algorithm);
/* Seconds of one batch by the kernel that takes least on an H100, whatever its operands' place. */
double duo_batch_kernel_seconds(const duo_call *call, const duo_conditions *conditions);

/* ---- route_one_by_one.c ---- */

/* product: seconds of the first product, as a call. */
double duo_one_by_one_seconds(const duo_call *call, const duo_conditions *conditions,
                              const duo_algorithm *algorithm, double product);

/* ---- route_recorded.c ---- */

/* Are all operands in device memory, on the context's device? */
bool duo_recordable(const duo_call *call);

/* ---- batch.c: where the operands of a batch are ---- */

/* Sets spans and where, or mixed, and locates the spans; of a call with groups, theirs. */
duo_status duo_batch_locate(duo_call *call, int device);
/* Is operand i named by a list, and are all its matrices on the device, but in no one region? */
bool duo_batch_by_list(const duo_call *call, int i);
/* Do all operands, of all groups, lie in memory of the context's device, which it gave or
 * adopted? */
bool duo_batch_resides(const duo_call *call);
/* Do they lie in host memory near no region? */
bool duo_batch_plain(const duo_call *call);
/* Does the span [low, high) of operand i have bytes that are not the operand's? */
bool duo_batch_has_gaps(const duo_call *call, int i, uintptr_t low, uintptr_t high);
/* Claims and holds every region that is not placed: of scattered lists, unread ones, and groups.
 * Packed operands of what will be written become stale. */
duo_status duo_batch_claim(duo_execution *e);
/* The launch was queued, or failed. If queued, claims the regions again; lets all of them go. */
duo_status duo_batch_queued(duo_execution *e, bool queued);
/* If C is a list in host memory, tells the regions that it was written. */
void duo_batch_wrote_list(duo_execution *e);
/* Makes `call` and `batch` copies of `from` that name the placed operands. local: the placed
 * spans. */
void duo_batch_use_copies(const duo_call *from, const duo_call *local, duo_call *call,
                          duo_batch *batch);

#endif
