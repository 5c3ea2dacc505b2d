/* residency.c - the table of registered address ranges. */
#include "data/residency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/lock.h"

/* Changed under both locks, so that it is whole wherever the process forks. */
static duo_region **table; /* sorted by address */
static size_t count, room;
_Atomic uintptr_t duo_residency_lowest = UINTPTR_MAX, duo_residency_highest;

void duo_residency_lock(void) { duo_lock(DUO_LOCK_RESIDENCY); }
void duo_residency_unlock(void) { duo_unlock(DUO_LOCK_RESIDENCY); }

/* Index of the first region that ends above low. */
static size_t first_above(uintptr_t low)
{
    size_t from = 0, to = count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (table[middle]->high <= low)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

duo_region *duo_residency_first(uintptr_t low, uintptr_t high)
{
    const size_t i = first_above(low);
    return i < count && table[i]->low < high ? table[i] : NULL;
}

duo_region *duo_residency_next(const duo_region *region, uintptr_t high)
{
    return duo_residency_first(region->high, high);
}

duo_region *duo_residency_find(uintptr_t low, uintptr_t high, bool *crosses)
{
    duo_region *const region = duo_residency_first(low, high);
    *crosses = false;
    if (region == NULL || (region->low <= low && high <= region->high)) return region;
    *crosses = true;
    return NULL;
}

static void publish_bounds(void)
{
    atomic_store_explicit(&duo_residency_lowest, count > 0 ? table[0]->low : UINTPTR_MAX,
                          memory_order_release);
    atomic_store_explicit(&duo_residency_highest, count > 0 ? table[count - 1]->high : 0,
                          memory_order_release);
}

/* Room for one more. */
static bool grow(void)
{
    if (count < room) return true;
    const size_t more = room == 0 ? 64 : 2 * room;
    duo_region **const grown = realloc(table, more * sizeof *table);
    if (grown == NULL) return false;
    table = grown;
    room = more;
    return true;
}

static bool insert(duo_region *region)
{
    duo_lock(DUO_LOCK_TABLE);
    const bool fits = grow();
    if (fits) {
        const size_t at = first_above(region->low);
        memmove(table + at + 1, table + at, (count - at) * sizeof *table);
        table[at] = region;
        count++;
        publish_bounds();
    }
    duo_unlock(DUO_LOCK_TABLE);
    return fits;
}

duo_status duo_residency_add(duo_region_kind kind, void *address, size_t bytes, int device,
                             duo_region **added)
{
    const uintptr_t low = (uintptr_t)address, high = low + bytes;
    if (high < low) return DUO_ERR_SIZE;
    if (duo_residency_first(low, high) != NULL) return DUO_ERR_RANGE;
    duo_region *const region = calloc(1, sizeof *region);
    if (region == NULL) return DUO_ERR_MEMORY;
    region->kind = kind;
    region->low = low;
    region->high = high;
    region->device = device;
    region->device_stale = (duo_range){0, kind == DUO_REGION_KEPT ? bytes : 0};
    region->credit_seconds = INFINITY; /* keeping an array promises that sending it will pay */
    if (!insert(region)) {
        free(region);
        return DUO_ERR_MEMORY;
    }
    if (added != NULL) *added = region;
    return DUO_OK;
}

void duo_residency_remove(duo_region *region)
{
    duo_lock(DUO_LOCK_TABLE);
    const size_t at = first_above(region->low);
    count--;
    for (size_t i = at; i < count; i++) table[i] = table[i + 1];
    publish_bounds();
    if (count == 0) {
        free(table);
        table = NULL;
        room = 0;
    }
    duo_unlock(DUO_LOCK_TABLE);
    free(region);
}

/* ---- Writes to host memory ---- */

static duo_host_write *host_writes;

void duo_residency_host_write(duo_host_write *note, uintptr_t low, uintptr_t high)
{
    *note = (duo_host_write){host_writes, low, high};
    host_writes = note;
}

void duo_residency_host_wrote(const duo_host_write *note)
{
    for (duo_host_write **link = &host_writes; *link != NULL; link = &(*link)->next)
        if (*link == note) {
            *link = note->next;
            return;
        }
}

bool duo_residency_host_written(const duo_region *region)
{
    for (const duo_host_write *w = host_writes; w != NULL; w = w->next)
        if (w->low < region->high && region->low < w->high) return true;
    return false;
}

void duo_residency_forget_queue(const duo_queue *queue)
{
    for (size_t i = 0; i < count; i++)
        if (table[i]->last == queue) table[i]->last = NULL;
}

/* What only its device had is lost. The device copy of a kept array is still to be given back. */
static void lose(duo_region *region)
{
    region->last = NULL;
    if (region->kind == DUO_REGION_DEVICE || region->kind == DUO_REGION_ADOPTED) {
        region->lost = true;
    } else if (region->kind == DUO_REGION_KEPT && region->device_copy != NULL) {
        if (!duo_range_empty(region->host_stale)) region->lost = true;
        region->device_stale = (duo_range){0, region->high - region->low};
    }
}

void duo_residency_lose_device(int device)
{
    duo_residency_lock();
    for (size_t i = 0; i < count; i++) {
        if (table[i]->device != device) continue;
        lose(table[i]);
        duo_region_drop_copy(table[i]);
    }
    duo_residency_unlock();
}

void duo_residency_in_child(void)
{
    host_writes = NULL; /* by threads that are not here */
    /* A region that another thread had in work may be between two states. Its hull then covers what
     * was stale before that work; what the work itself writes is undefined at a fork anyway. */
    for (size_t i = 0; i < count; i++) {
        lose(table[i]);
        table[i]->device_copy = NULL; /* the parent's */
        table[i]->pending = table[i]->device_writers = 0;
        table[i]->writing = (duo_range){0, 0};
    }
}
