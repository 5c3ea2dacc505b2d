/* residency.c - the table of registered address ranges. */
#define _GNU_SOURCE
#include "residency.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Recursive: a transfer made under the lock may find the device lost, which concerns every region.
 */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static duo_region **table; /* sorted by address */
static size_t count, room;
/* The hull of all ranges, for calls that have nothing to do with any of them. */
static _Atomic uintptr_t lowest = UINTPTR_MAX, highest;

void duo_residency_lock(void) { pthread_mutex_lock(&lock); }
void duo_residency_unlock(void) { pthread_mutex_unlock(&lock); }

bool duo_residency_near(uintptr_t low, uintptr_t high)
{
    return low < atomic_load_explicit(&highest, memory_order_acquire) &&
           high > atomic_load_explicit(&lowest, memory_order_acquire);
}

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

static void publish_hull(void)
{
    atomic_store_explicit(&lowest, count > 0 ? table[0]->low : UINTPTR_MAX, memory_order_release);
    atomic_store_explicit(&highest, count > 0 ? table[count - 1]->high : 0, memory_order_release);
}

duo_status duo_residency_add(duo_region_kind kind, void *address, size_t bytes, int device,
                             duo_region **added)
{
    const uintptr_t low = (uintptr_t)address, high = low + bytes;
    if (high < low) return DUO_ERR_SIZE;
    if (duo_residency_first(low, high) != NULL) return DUO_ERR_RANGE;
    if (count == room) {
        const size_t more = room == 0 ? 64 : 2 * room;
        duo_region **const grown = realloc(table, more * sizeof *table);
        if (grown == NULL) return DUO_ERR_MEMORY;
        table = grown;
        room = more;
    }
    duo_region *const region = calloc(1, sizeof *region);
    if (region == NULL) return DUO_ERR_MEMORY;
    region->kind = kind;
    region->low = low;
    region->high = high;
    region->device = device;
    region->device_stale = (duo_hull){0, kind == DUO_REGION_KEPT ? bytes : 0};
    region->credit_seconds = INFINITY; /* keeping an array promises that sending it will pay */
    const size_t at = first_above(low);
    memmove(table + at + 1, table + at, (count - at) * sizeof *table);
    table[at] = region;
    count++;
    publish_hull();
    if (added != NULL) *added = region;
    return DUO_OK;
}

void duo_residency_remove(duo_region *region)
{
    const size_t at = first_above(region->low);
    count--;
    for (size_t i = at; i < count; i++) table[i] = table[i + 1];
    publish_hull();
    free(region);
    if (count == 0) {
        free(table);
        table = NULL;
        room = 0;
    }
}

void duo_residency_forget_queue(const duo_queue *queue)
{
    for (size_t i = 0; i < count; i++)
        if (table[i]->last == queue) table[i]->last = NULL;
}

void duo_residency_lose_device(int device)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        duo_region *const region = table[i];
        if (region->device != device) continue;
        region->last = NULL;
        if (region->kind == DUO_REGION_DEVICE || region->kind == DUO_REGION_ADOPTED) {
            region->lost = true;
        } else if (region->kind == DUO_REGION_KEPT && region->mirror != NULL) {
            if (!duo_hull_empty(region->host_stale)) region->lost = true;
            duo_region_drop_mirror(region);
            region->device_stale = (duo_hull){0, region->high - region->low};
        }
    }
    pthread_mutex_unlock(&lock);
}
