/* residency.c - the table of registered regions (residency.h). */
#include "data/residency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "host/fork.h"
#include "host/lock.h"

/* Changed under the residency lock and the table lock. A fork waits for the table lock, so in the
 * child the table is whole. */
typedef struct table {
    duo_region **at;    /* sorted by address */
    size_t count, room; /* regions in the table, and how many it has room for */
} table;

static table registered, remembered;
static size_t hosted;
_Atomic uintptr_t duo_residency_lowest = UINTPTR_MAX, duo_residency_highest;

static _Atomic uint64_t changes;

uint64_t duo_residency_changes(void)
{
    return atomic_load_explicit(&changes, memory_order_acquire);
}

static void changed(void) { atomic_fetch_add_explicit(&changes, 1, memory_order_release); }

static int swept; /* duo_devices_losses() at the last sweep */

static void sweep(const table *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (duo_region_device_lost(t->at[i])) duo_region_lose(t->at[i]);
}

void duo_residency_sweep(void)
{
    const int losses = duo_devices_losses();
    if (losses == swept) return;
    swept = losses;
    changed();
    sweep(&registered);
    sweep(&remembered);
}

void duo_residency_lock(void)
{
    duo_lock(DUO_LOCK_RESIDENCY);
    if (duo_devices_losses() != swept) duo_residency_sweep(); /* a lock is taken often */
}

void duo_residency_unlock(void) { duo_unlock(DUO_LOCK_RESIDENCY); }

static int waiting; /* threads, in duo_residency_wait */

void duo_residency_wait(void)
{
    waiting++;
    duo_lock_wait(DUO_LOCK_RESIDENCY);
    waiting--;
    if (duo_devices_losses() != swept) duo_residency_sweep();
}

static void wake(void) { duo_lock_wake(DUO_LOCK_RESIDENCY); }

/* Index of the first region that ends above low. */
static inline size_t first_above(const table *t, uintptr_t low)
{
    size_t from = 0, to = t->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (t->at[middle]->high <= low)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static duo_region *first(const table *t, uintptr_t low, uintptr_t high)
{
    const size_t i = first_above(t, low);
    return i < t->count && t->at[i]->low < high ? t->at[i] : NULL;
}

duo_region *duo_residency_first(uintptr_t low, uintptr_t high)
{
    return first(&registered, low, high);
}

duo_region *duo_residency_remembered(uintptr_t low, uintptr_t high)
{
    return first(&remembered, low, high);
}

size_t duo_residency_count_remembered(void) { return remembered.count; }

size_t duo_residency_count_hosted(void) { return hosted; }

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

duo_region *duo_residency_of(const duo_operand *o)
{
    uintptr_t low, high;
    bool crosses;
    duo_operand_span(o, &low, &high);
    return duo_residency_find(low, high, &crosses);
}

static void publish_bounds(void)
{
    const table *const t = &registered;
    atomic_store_explicit(&duo_residency_lowest, t->count > 0 ? t->at[0]->low : UINTPTR_MAX,
                          memory_order_release);
    atomic_store_explicit(&duo_residency_highest, t->count > 0 ? t->at[t->count - 1]->high : 0,
                          memory_order_release);
}

/* Makes room for one more region. */
static bool grow(table *t)
{
    if (t->count < t->room) return true;
    const size_t more = t->room == 0 ? 64 : 2 * t->room;
    duo_region **const grown = realloc(t->at, more * sizeof *grown);
    if (grown == NULL) return false;
    t->at = grown;
    t->room = more;
    return true;
}

static table *table_of(duo_region_kind kind)
{
    return kind == DUO_REGION_REMEMBERED ? &remembered : &registered;
}

/* A table has changed. Remembered arrays are looked for anew by each call. */
static void changed_in(const table *t)
{
    if (t != &registered) return;
    publish_bounds();
    changed();
}

static bool insert(duo_region *region)
{
    table *const t = table_of(region->kind);
    duo_lock(DUO_LOCK_TABLE);
    const bool fits = grow(t);
    if (fits) {
        const size_t at = first_above(t, region->low);
        memmove(t->at + at + 1, t->at + at, (t->count - at) * sizeof *t->at);
        t->at[at] = region;
        t->count++;
        hosted += region->kind == DUO_REGION_HOSTED;
        changed_in(t);
    }
    duo_unlock(DUO_LOCK_TABLE);
    return fits;
}

uint64_t duo_residency_number(void)
{
    static uint64_t last;
    return ++last;
}

duo_status duo_residency_add(duo_region_kind kind, const void *address, size_t bytes, int device,
                             duo_region **added)
{
    const uintptr_t low = (uintptr_t)address, high = low + bytes;
    if (first(table_of(kind), low, high) != NULL) return DUO_ERR_RANGE;
    duo_region *const region = calloc(1, sizeof *region);
    if (region == NULL) return DUO_ERR_MEMORY;
    region->kind = kind;
    region->low = low;
    region->high = high;
    region->device = device;
    const bool copied = kind == DUO_REGION_KEPT || kind == DUO_REGION_REMEMBERED;
    region->device_stale = (duo_range){0, copied ? bytes : 0};
    region->used = duo_residency_number();
    /* Keeping an array promises that sending it pays. */
    region->credit_seconds = kind == DUO_REGION_KEPT ? INFINITY : 0.0;
    if (!insert(region)) {
        free(region);
        return DUO_ERR_MEMORY;
    }
    if (added != NULL) *added = region;
    return DUO_OK;
}

/* ---- Holding ---- */

void duo_residency_hold(duo_region *region, const duo_range *writes)
{
    region->pending++;
    if (writes == NULL) return;
    region->pending_writes++;
    region->writing = duo_range_join(region->writing, writes->from, writes->to);
}

void duo_residency_let_go(duo_region *region, bool writes)
{
    if (region->pending == 0) return; /* it was held before a fork */
    region->pending--;
    if (writes && --region->pending_writes == 0) region->writing = (duo_range){0, 0};
    if (region->pending == 0 && swept > 0 && duo_region_device_lost(region))
        duo_region_lose(region);
    if (region->packed.first != NULL && duo_range_empty(region->packed.promised))
        duo_region_drop_packed(region);
    if (waiting > 0) wake();
}

duo_region *duo_residency_vacate(const void *address, duo_region_kind kind, duo_region_kind other)
{
    const uintptr_t low = (uintptr_t)address;
    for (;;) {
        duo_region *const region = duo_residency_first(low, low + 1);
        if (region == NULL || (region->kind != kind && region->kind != other)) return NULL;
        if (region->kind != DUO_REGION_KEPT && region->low != low) return NULL;
        if (!region->leaving) {
            region->leaving = true;
            while (region->pending > 0) duo_residency_wait();
            return region;
        }
        duo_residency_wait(); /* until the other thread has removed it, or lets it stay */
    }
}

void duo_residency_stay(duo_region *region)
{
    region->leaving = false;
    wake();
}

void duo_residency_remove(duo_region *region)
{
    table *const t = table_of(region->kind);
    duo_lock(DUO_LOCK_TABLE);
    const size_t at = first_above(t, region->low);
    t->count--;
    hosted -= region->kind == DUO_REGION_HOSTED;
    for (size_t i = at; i < t->count; i++) t->at[i] = t->at[i + 1];
    changed_in(t);
    if (t->count == 0) {
        free(t->at);
        t->at = NULL;
        t->room = 0;
    }
    duo_unlock(DUO_LOCK_TABLE);
    free(region->samples);
    free(region->tag);
    free(region);
    wake();
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
    for (size_t i = 0; i < registered.count; i++) duo_users_forget(&registered.at[i]->users, queue);
    for (size_t i = 0; i < remembered.count; i++) duo_users_forget(&remembered.at[i]->users, queue);
}

/* In a child process every device is lost, and nothing on it may be touched. */
static void in_child(void)
{
    changed();
    waiting = 0;
    host_writes = NULL; /* notes of calls in threads that the child does not have */
    for (size_t i = 0; i < registered.count; i++) duo_region_in_child(registered.at[i]);
    for (size_t i = 0; i < remembered.count; i++) duo_region_in_child(remembered.at[i]);
}

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}
