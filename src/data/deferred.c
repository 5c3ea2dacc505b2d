/* deferred.c - results of reductions that come later than their calls return (deferred.h). */
#include "data/deferred.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "host/lock.h"

enum { WORD_BYTES = DUO_DEFERRED * sizeof(uint64_t) };

/* All under DUO_LOCK_DEFERRED. Only the thread that adds results changes the first four fields, so
 * it reads them without the lock. */
struct duo_deferred {
    int device;     /* it writes the words */
    uint64_t *word; /* DUO_DEFERRED of them, pinned; NULL: not needed yet */
    uint64_t added; /* results so far; result i has word and destination i % DUO_DEFERRED */
    float *destination[DUO_DEFERRED];
    uint64_t delivered; /* how many of those are not awaited any more */
    bool lost;          /* all from lost_first on are. It is the ring's end */
    uint64_t lost_first;
    duo_deferred *older; /* in the list of all: the one made before */
};

static duo_deferred *newest; /* the head of that list: events know rings that no context has */

duo_deferred *duo_deferred_make(void)
{
    duo_deferred *const d = calloc(1, sizeof *d);
    if (d == NULL) return NULL;
    duo_lock(DUO_LOCK_DEFERRED);
    d->older = newest;
    newest = d;
    duo_unlock(DUO_LOCK_DEFERRED);
    return d;
}

/* Not 0, and not the ticket of the result before it in the same word. */
static uint32_t ticket_of(uint64_t number) { return (uint32_t)number | 1U; }

static duo_result_word word_of(const duo_deferred *d, uint64_t number)
{
    return (duo_result_word){&d->word[number % DUO_DEFERRED], ticket_of(number)};
}

/* ---- Delivering: under the lock ---- */

/* Delivers the results that have come, up to number `end`. Are all of these delivered now? */
static bool deliver(duo_deferred *d, uint64_t end)
{
    for (; d->delivered < end; d->delivered++) {
        const duo_result_word word = word_of(d, d->delivered);
        const uint64_t seen = __atomic_load_n(word.address, __ATOMIC_ACQUIRE);
        const uint32_t bits = (uint32_t)seen;
        if ((uint32_t)(seen >> 32) != word.ticket) return false;
        memcpy(d->destination[d->delivered % DUO_DEFERRED], &bits, sizeof bits);
    }
    return true;
}

/* All awaited results are lost. */
static void lose(duo_deferred *d)
{
    if (d->delivered == d->added) return;
    if (!d->lost) d->lost_first = d->delivered;
    d->lost = true;
    d->delivered = d->added;
}

/* ---- For the thread that uses the context ---- */

duo_status duo_deferred_open(duo_deferred **ring, int device)
{
    void *words = NULL;
    if (*ring == NULL) *ring = duo_deferred_make();
    duo_deferred *const d = *ring;
    if (d == NULL) return DUO_ERR_MEMORY;
    if (d->word != NULL) return DUO_OK;
    const duo_status status = duo_backend_current()->pin(device, WORD_BYTES, &words);
    if (status != DUO_OK) return status;
    memset(words, 0, WORD_BYTES);
    duo_lock(DUO_LOCK_DEFERRED);
    d->device = device;
    d->word = words;
    duo_unlock(DUO_LOCK_DEFERRED);
    return DUO_OK;
}

bool duo_deferred_full(const duo_deferred *d, duo_result_word *oldest)
{
    duo_lock(DUO_LOCK_DEFERRED);
    const uint64_t delivered = d->delivered;
    duo_unlock(DUO_LOCK_DEFERRED);
    *oldest = word_of(d, delivered);
    return d->added - delivered == DUO_DEFERRED;
}

duo_result_word duo_deferred_next(const duo_deferred *d) { return word_of(d, d->added); }

void duo_deferred_add(duo_deferred *d, float *result)
{
    duo_lock(DUO_LOCK_DEFERRED);
    d->destination[d->added++ % DUO_DEFERRED] = result;
    duo_unlock(DUO_LOCK_DEFERRED);
}

/* Unpins the words: no results come any more. */
static void close_words(duo_deferred *d)
{
    duo_lock(DUO_LOCK_DEFERRED);
    uint64_t *const words = d->word;
    d->word = NULL;
    duo_unlock(DUO_LOCK_DEFERRED);
    if (words != NULL) (void)duo_pinned_release(d->device, words, WORD_BYTES);
}

duo_status duo_deferred_settle(duo_deferred **ring)
{
    duo_deferred *const d = *ring;
    if (d == NULL) return DUO_OK;
    duo_lock(DUO_LOCK_DEFERRED);
    if (!duo_device_usable(d->device) || !deliver(d, d->added)) lose(d);
    const bool lost = d->lost;
    duo_unlock(DUO_LOCK_DEFERRED);
    if (!lost) return DUO_OK;
    close_words(d);
    *ring = NULL;
    return DUO_ERR_LOST;
}

duo_status duo_deferred_close(duo_deferred **ring)
{
    const duo_status status = duo_deferred_settle(ring);
    if (*ring != NULL) close_words(*ring);
    return status;
}

void duo_deferred_in_child(duo_deferred *d)
{
    if (d == NULL) return;
    d->word = NULL;
    d->delivered = d->added;
    d->lost = false;
}

/* ---- For any thread ---- */

duo_deferred_range duo_deferred_awaited(duo_deferred *d)
{
    duo_deferred_range range = {.of = NULL};
    if (d == NULL) return range;
    duo_lock(DUO_LOCK_DEFERRED);
    if (d->lost || d->delivered < d->added) range = (duo_deferred_range){d, d->added};
    duo_unlock(DUO_LOCK_DEFERRED);
    return range;
}

duo_status duo_deferred_deliver(const duo_deferred_range *range, bool *all)
{
    duo_deferred *const d = range->of;
    *all = true;
    if (d == NULL) return DUO_OK;
    duo_lock(DUO_LOCK_DEFERRED);
    if (!duo_device_usable(d->device)) lose(d);
    *all = deliver(d, range->end);
    const bool lost = d->lost && d->lost_first < range->end;
    duo_unlock(DUO_LOCK_DEFERRED);
    return lost ? DUO_ERR_LOST : DUO_OK;
}
