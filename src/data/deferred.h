/*
 * deferred.h - results of reductions that come after their calls have returned (duo_set_async).
 *
 * The device writes each to a pinned word, with a ticket. A thread that has waited for that work
 * delivers the result: it moves the result from the word to its destination. Results are numbered
 * and delivered in the order of their calls, which is the queue's. At most DUO_DEFERRED of them may
 * be awaited at once.
 *
 * A context has one ring of results, from its first duo_set_async on. Before a queue closes its
 * results are delivered, or lost. A ring ends with its first loss, and the context gets another
 * one: so in a ring all results before the first loss were delivered, and all later ones lost.
 * Rings are never freed, as events outlive contexts. One thread adds results, any thread delivers
 * them.
 */
#ifndef DUO_DEFERRED_H
#define DUO_DEFERRED_H

#include "gpu/backend/backend.h"

enum { DUO_DEFERRED = 64 };

typedef struct duo_deferred duo_deferred;

/* A pinned word for the result of a reduction: the result is there once the word has the ticket. */
typedef struct duo_result_word {
    uint64_t *address;
    uint32_t ticket;
} duo_result_word;

/* The results of the ring `of` up to number end - 1; none if `of` is NULL. */
typedef struct duo_deferred_range {
    duo_deferred *of;
    uint64_t end;
} duo_deferred_range;

/* An empty ring, or NULL: out of memory. */
duo_deferred *duo_deferred_make(void);

/* ---- For the thread that uses the context ---- */

/* Makes the ring, if it is NULL, and pins the words, if that is not done. */
duo_status duo_deferred_open(duo_deferred **ring, int device);

/* Is there no room for one more? *oldest: the word of the result to deliver first. */
bool duo_deferred_full(const duo_deferred *deferred, duo_result_word *oldest);

/* The word for the next result; there is room. */
duo_result_word duo_deferred_next(const duo_deferred *deferred);

/* The work that writes the next result was queued; it belongs into *result. */
void duo_deferred_add(duo_deferred *deferred, float *result);

/*
 * The device has done all that was queued, or is lost: delivers every result. DUO_ERR_LOST: some
 * were lost; their floats are unchanged, and *ring is NULL now. A NULL ring has no results.
 */
duo_status duo_deferred_settle(duo_deferred **ring);

/* Likewise, and unpins the words. */
duo_status duo_deferred_close(duo_deferred **ring);

/* In a child process: forgets words and results; they belong to the parent. */
void duo_deferred_in_child(duo_deferred *deferred);

/* ---- For any thread ---- */

/* All results up to now if some are awaited or were lost; else none. `deferred` may be NULL. */
duo_deferred_range duo_deferred_awaited(duo_deferred *deferred);

/* Delivers the results of the range that have come. *all: all of them are delivered or lost now.
 * DUO_ERR_LOST: some were lost with the device. */
duo_status duo_deferred_deliver(const duo_deferred_range *range, bool *all);

#endif
