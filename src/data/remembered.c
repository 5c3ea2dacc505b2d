/* remembered.c - factors that are not sent again (remembered.h). */
#include "data/remembered.h"

#include <stdio.h>

#include "data/coherence.h"
#include "data/remembered_bytes.h"
#include "data/remembered_pages.h"
#include "data/room.h"

size_t duo_remembered_least = (size_t)1 << 20;

/* Checks in a row that find no change. Then the library watches the array's pages. A write to a
 * watched page takes as long as sending 12 pages. */
enum { OFTEN_SAME = 8 };

/* Rests are even: a factor that is used twice between two changes is then sent to its copy by the
 * first use again. */
enum { MOST_ARRAYS = 1024, LEAST_REST = 4, LONGEST_REST = 256 };

static bool remembers(const duo_resources *res, const duo_call *call)
{
    return res->remember != DUO_REMEMBER_NONE && call->operation == DUO_SGEMM &&
           call->batch == NULL && res->others == 0;
}

/* May A or B be a remembered factor, or a part of one? */
static bool plain_factor(const duo_operand *o)
{
    return o->read && !o->registered && !o->crosses && o->residence == DUO_AT_PAGEABLE;
}

static void tell(const duo_resources *res, const duo_region *region)
{
    char text[160];
    (void)snprintf(text, sizeof text,
                   "the array at %p (%zu bytes) came again: it has a copy on "
                   "GPU %d",
                   (void *)region->low, duo_region_bytes(region), region->device);
    duo_report_event(&res->report, text);
}

static bool without_gaps(const duo_operand *o) { return o->columns == 1 || o->ld == o->rows; }

/* The remembered array that holds all of [low, high), or NULL. */
static duo_region *array_around(uintptr_t low, uintptr_t high)
{
    duo_region *const region = duo_residency_remembered(low, high);
    return region != NULL && region->low <= low && high <= region->high ? region : NULL;
}

/* ---- Forgetting ---- */

static void forget(uintptr_t low, uintptr_t high)
{
    for (duo_region *r = duo_residency_remembered(low, high); r != NULL;) {
        const uintptr_t end = r->high;
        duo_region_forget_copy(r);
        if (r->pending == 0) duo_residency_remove(r);
        r = end < high ? duo_residency_remembered(end, high) : NULL;
    }
}

void duo_remembered_forget(uintptr_t low, uintptr_t high)
{
    duo_residency_lock();
    forget(low, high);
    duo_residency_unlock();
}

/* It is sent without a copy some times, each time twice as often as before. */
static void let_rest(duo_region *region)
{
    region->rested = region->rested == 0             ? LEAST_REST
                     : region->rested < LONGEST_REST ? 2 * region->rested
                                                     : LONGEST_REST;
    region->rests = region->rested;
}

/* ---- A product begins ---- */

/* Is the part of the array that the factor spans current on the device? */
static bool current(const duo_region *region, const duo_operand *o, int device)
{
    const duo_range part = duo_region_part(region, o);
    return duo_region_has_copy(region) && region->device == device &&
           !duo_range_meets(region->device_stale, part.from, part.to);
}

static void remember(duo_operand *o, bool watched)
{
    o->residence = DUO_AT_REMEMBERED;
    o->on_device = true;
    o->check_bytes = duo_operand_bytes(o) / (watched ? DUO_REMEMBERED_TURNS : 1);
}

static void find(const duo_resources *res, uint64_t number, duo_operand *o)
{
    if (!plain_factor(o)) return;
    duo_region *const region = array_around(o->low, o->high);
    if (region == NULL) return;
    if (!current(region, o, res->device)) {
        o->credit_seconds = region->credit_seconds;
        return;
    }
    duo_region_use(region, number);
    remember(o, region->watched && res->remember == DUO_REMEMBER_PAGES);
}

/* A call is about to write to an array: it is not seen any more. The copy stays until it is found
 * to be stale, as another part of the array may be used. */
static void written(const duo_operand *c)
{
    for (duo_region *r = duo_residency_remembered(c->low, c->high); r != NULL;
         r = r->high < c->high ? duo_residency_remembered(r->high, c->high) : NULL)
        r->seen = false;
}

void duo_remembered_find(const duo_resources *res, duo_call *call)
{
    if (!remembers(res, call)) return;
    duo_residency_lock();
    if (duo_residency_count_remembered() > 0) {
        if (call->number == 0) call->number = duo_residency_number();
        const duo_operand *const c = &call->operand[DUO_C];
        if (c->written && duo_operand_lies_in_host(c)) written(c);
        for (int i = DUO_A; i <= DUO_B; i++) find(res, call->number, &call->operand[i]);
    }
    duo_residency_unlock();
}

/* ---- Arrays that come again ---- */

/* For another array: if there are too many, forgets the one that was not used for longest; one
 * without a copy before others. */
static void make_room_in_table(void)
{
    duo_region *oldest = NULL;
    if (duo_residency_count_remembered() < MOST_ARRAYS) return;
    for (duo_region *r = duo_residency_remembered(0, UINTPTR_MAX); r != NULL;
         r = duo_residency_remembered(r->high, UINTPTR_MAX)) {
        const bool copied = r->device_copy != NULL;
        if (r->pending > 0) continue;
        if (oldest != NULL && copied && oldest->device_copy == NULL) continue;
        if (oldest == NULL || (!copied && oldest->device_copy != NULL) || r->used < oldest->used)
            oldest = r;
    }
    if (oldest == NULL) return;
    duo_region_forget_copy(oldest);
    duo_residency_remove(oldest);
}

/* The array of a factor, made if there is none. NULL: it cannot be made now, or the factor is a
 * part of another one. */
static duo_region *array_of(const duo_operand *o, int device)
{
    duo_region *region = array_around(o->low, o->high);
    if (region != NULL) return region->low == o->low && region->high == o->high ? region : NULL;
    forget(o->low, o->high);
    make_room_in_table();
    if (duo_residency_count_remembered() >= MOST_ARRAYS) return NULL;
    const duo_status added = duo_residency_add(DUO_REGION_REMEMBERED, (const void *)o->low,
                                               o->high - o->low, device, &region);
    return added == DUO_OK ? region : NULL;
}

/* The factor has come. Did it come before, and no call has written to it since, and need it not
 * wait? */
static bool comes_again(duo_region *region)
{
    if (region->rests > 0) {
        region->rests--;
        return false;
    }
    const bool seen = region->seen;
    region->seen = true;
    return seen;
}

/* May the factor get a copy of its own? */
static bool may_stay(const duo_operand *o)
{
    return plain_factor(o) && without_gaps(o) && o->high - o->low >= duo_remembered_least;
}

/* Is it B, and does it share memory with A? Then only A may stay. */
static bool meets_a(const duo_call *call, int i)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B];
    return i == DUO_B && a->low < b->high && b->low < a->high;
}

static bool hope(const duo_resources *res, uint64_t number, duo_operand *o)
{
    if (!may_stay(o)) return false;
    duo_region *const region = array_of(o, res->device);
    if (region == NULL) return false;
    duo_region_use(region, number);
    if (!comes_again(region)) return false;
    remember(o, false);
    return true;
}

bool duo_remembered_hope(const duo_resources *res, const duo_call *call, duo_call *hoped)
{
    bool any = false;
    if (!remembers(res, call)) return false;
    *hoped = *call;
    if (!may_stay(&call->operand[DUO_A]) && !may_stay(&call->operand[DUO_B])) return false;
    duo_residency_lock();
    if (hoped->number == 0) hoped->number = duo_residency_number();
    for (int i = DUO_A; i <= DUO_B; i++) {
        if (!meets_a(call, i)) any = hope(res, hoped->number, &hoped->operand[i]) || any;
    }
    duo_residency_unlock();
    return any;
}

void duo_remembered_earn(const duo_call *call, const duo_call *hoped, double seconds)
{
    duo_residency_lock();
    for (int i = DUO_A; i <= DUO_B; i++) {
        const duo_operand *const o = &hoped->operand[i];
        if (o->residence == call->operand[i].residence) continue;
        duo_region *const region = array_around(o->low, o->high);
        if (region != NULL) region->credit_seconds += seconds;
    }
    duo_residency_unlock();
}

/* ---- Checking ---- */

/* All of it has changed. If it was the same at least once since it was sent, it is sent to its copy
 * again; else it has to wait. The copy's memory stays: freeing it would wait for the device. */
static void changed(duo_region *region)
{
    const bool useful = region->same > 0;
    region->device_stale = (duo_range){0, duo_region_bytes(region)};
    region->tagged = region->watched = false;
    region->same = 0;
    if (useful) return;
    let_rest(region);
}

static bool check_operand(duo_resources *res, const duo_operand *o, uint64_t number)
{
    duo_region *const region = array_around(o->low, o->high);
    if (region == NULL || !current(region, o, res->device)) return false;
    if (res->queue_device != res->device) return false; /* its own device may be lost */
    if (region->checked == number) return true;
    duo_outcome outcome = DUO_OK;
    if (res->remember != DUO_REMEMBER_PAGES || !duo_remembered_pages_same(res, region, o))
        outcome = duo_remembered_bytes_renew(res, region, o);
    if (outcome != DUO_OK) {
        changed(region);
        return false;
    }
    if (region->low == o->low && region->high == o->high) region->checked = number;
    if (region->same < OFTEN_SAME) region->same++;
    if (region->same < OFTEN_SAME) return true;
    region->rested = 0;
    if (res->remember == DUO_REMEMBER_PAGES) duo_remembered_pages_watch(res, region, o);
    return true;
}

bool duo_remembered_check(duo_resources *res, const duo_call *call)
{
    bool all = true;
    duo_residency_lock();
    for (int i = DUO_A; i <= DUO_B; i++) {
        const duo_operand *const o = &call->operand[i];
        if (o->residence == DUO_AT_REMEMBERED) all = check_operand(res, o, call->number) && all;
    }
    duo_residency_unlock();
    return all;
}

/* ---- Placing ---- */

duo_outcome duo_remembered_place(duo_resources *res, const duo_operand *o, duo_operand *local)
{
    duo_region *const region = array_around(o->low, o->high);
    if (region == NULL || !current(region, o, res->device)) return DUO_DECLINED;
    const duo_outcome outcome = duo_coherence_claim_read(res, region);
    if (outcome != DUO_OK) return outcome;
    const size_t offset = (uintptr_t)o->address - region->low;
    local->address = (float *)(void *)((char *)region->device_copy + offset);
    local->held = region;
    duo_residency_hold(region, NULL);
    return DUO_OK;
}

/* ---- Sending ---- */

/* Device memory for a copy: at most half of what is free, with all remembered arrays counted as
 * free. */
static duo_status make_copy(duo_resources *res, duo_region *region)
{
    const size_t bytes = duo_region_copy_bytes(region);
    void *memory;
    duo_status status = duo_room_remember(res, bytes, region->used_before, &memory);
    if (status != DUO_OK) return status;
    duo_region_set_copy(region, res->device, memory);
    status = duo_remembered_bytes_prepare(res, region);
    if (status == DUO_OK)
        tell(res, region);
    else
        duo_region_forget_copy(region);
    return status;
}

static void begin(duo_resources *res, uint64_t number, const duo_operand *o, duo_operand *local)
{
    duo_region *const around = array_around(o->low, o->high);
    if (around != NULL) around->credit_seconds = 0.0; /* it is spent: the factor is sent */
    duo_region *const region = array_of(o, res->device);
    if (region == NULL) return;
    duo_region_use(region, number);
    if (!comes_again(region) || region->pending > 0 || res->queue_device != res->device) return;
    if (region->device_copy != NULL && region->device != res->device)
        duo_region_forget_copy(region);
    if (region->device_copy == NULL && make_copy(res, region) != DUO_OK) {
        let_rest(region); /* there may be no room for long */
        return;
    }
    if (duo_coherence_claim_write(res, region) != DUO_OK) return;
    const duo_range all = {0, duo_region_bytes(region)};
    region->device_stale = all;
    region->tagged = region->watched = false;
    region->same = 0;
    local->fills = region;
    duo_residency_hold(region, &all);
}

void duo_remembered_begin(duo_resources *res, const duo_call *call, duo_call *local)
{
    if (!remembers(res, call)) return;
    duo_residency_lock();
    if (local->number == 0) local->number = duo_residency_number();
    for (int i = DUO_A; i <= DUO_B; i++) {
        const duo_operand *const o = &call->operand[i];
        if (may_stay(o) && !meets_a(call, i)) begin(res, local->number, o, &local->operand[i]);
    }
    duo_residency_unlock();
}

void duo_remembered_end(duo_call *local, bool sent)
{
    if (local->operand[DUO_A].fills == NULL && local->operand[DUO_B].fills == NULL) return;
    duo_residency_lock();
    for (int i = DUO_A; i <= DUO_B; i++) {
        duo_region *const region = local->operand[i].fills;
        if (region == NULL) continue;
        local->operand[i].fills = NULL;
        duo_residency_let_go(region, true);
        if (sent && duo_region_has_copy(region)) {
            region->device_stale = (duo_range){0, 0};
        } else { /* the product took the room, or failed */
            duo_region_forget_copy(region);
            let_rest(region);
        }
    }
    duo_residency_unlock();
}
