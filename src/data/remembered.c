/* remembered.c - factors that are not sent again (remembered.h). */
#include "data/remembered.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/coherence.h"
#include "data/room.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"
#include "host/team.h"
#include "host/written.h"

size_t duo_remembered_least = (size_t)1 << 20;

/* Checks in a row that find no change, after which an array counts as one that rarely changes, and
 * its pages may be watched: a write to a watched page takes as long as sending 12 pages. */
enum { OFTEN_SAME = 8 };

/* Of an array whose pages are watched, each check reads one block of so many, another one each
 * time: a writer that is not seen is found out. */
enum { TURNS = 64 };

/* Rests are even: a factor that is used twice between two changes is then sent to its copy by the
 * first use again. */
enum { MOST_ARRAYS = 1024, LEAST_REST = 4, LONGEST_REST = 256 };

static bool remembers(const duo_resources *res, const duo_call *call)
{
    return res->remember != DUO_REMEMBER_NONE && call->operation == DUO_SGEMM &&
           call->batch == NULL && res->others == 0;
}

/* May it be a remembered factor, or a part of one? */
static bool plain_factor(const duo_operand *o)
{
    return o->read && !o->written && !o->registered && !o->crosses &&
           o->residence == DUO_AT_PAGEABLE;
}

static void tell(const duo_resources *res, const duo_region *region, const char *what,
                 const char *why)
{
    char text[240];
    (void)snprintf(text, sizeof text, "the array at %p (%zu bytes), which comes again, %s%s",
                   (void *)region->low, duo_region_bytes(region), what, why);
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
    o->check_bytes = duo_operand_bytes(o) / (watched ? TURNS : 1);
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

/* The array of a factor, made if there is none. NULL: it cannot be made now, or the factor is a
 * part of another one. */
static duo_region *array_of(const duo_operand *o, int device)
{
    duo_region *region = array_around(o->low, o->high);
    if (region != NULL) return region->low == o->low && region->high == o->high ? region : NULL;
    forget(o->low, o->high);
    if (duo_residency_count_remembered() >= MOST_ARRAYS) return NULL;
    const duo_status added = duo_residency_add(DUO_REGION_REMEMBERED, (const void *)o->low,
                                               o->high - o->low, device, &region);
    return added == DUO_OK ? region : NULL;
}

/* If there are too many arrays, forgets the one that was not used for longest; one without a copy
 * before others. */
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
    make_room_in_table();
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

enum { BLOCKS_IN_PIECE = 64, SAMPLED_BLOCKS = 64 };

typedef struct check {
    const duo_region *region;
    const void *key;
    const duo_operand *operand;
    size_t first, blocks;   /* of the region, that are checked; with far columns, of each column */
    unsigned char *differs; /* of each block of the region */
    size_t most;            /* differing blocks; with more, checking ends */
    _Atomic size_t count;   /* differing blocks */
} check;

static uintptr_t page_of(const duo_region *region) { return region->low / DUO_TAG_BLOCK; }

/* The bytes of a block that belong to the array. */
static duo_range bytes_of(const duo_region *region, size_t block)
{
    const uintptr_t low = (page_of(region) + block) * DUO_TAG_BLOCK, high = low + DUO_TAG_BLOCK;
    return (duo_range){low < region->low ? 0 : low - region->low,
                       (high > region->high ? region->high : high) - region->low};
}

/* The tag of a block of host memory. Outside of the array it counts as zeros, as on the device. */
static duo_tag tag_of(const duo_region *region, size_t block, const void *key)
{
    const duo_range part = bytes_of(region, block);
    const char *const bytes = (const char *)region->low + part.from;
    if (part.to - part.from == DUO_TAG_BLOCK) return duo_tags_of(bytes, key);
    _Alignas(64) char padded[DUO_TAG_BLOCK] = {0};
    memcpy(padded + (uintptr_t)bytes % DUO_TAG_BLOCK, bytes, part.to - part.from);
    return duo_tags_of(padded, key);
}

static bool same(const check *c, size_t block)
{
    const duo_tag is = tag_of(c->region, block, c->key), was = c->region->tag[block];
    return is.half[0] == was.half[0] && is.half[1] == was.half[1];
}

static void look(check *c, size_t first, size_t end)
{
    for (size_t block = first; block < end; block++) {
        c->differs[block] = !same(c, block);
        if (c->differs[block] && atomic_fetch_add(&c->count, 1) >= c->most) return;
    }
}

static void look_at_piece(void *job, int64_t piece)
{
    check *const c = job;
    const size_t first = c->first + (size_t)piece * BLOCKS_IN_PIECE, all = c->first + c->blocks;
    if (atomic_load_explicit(&c->count, memory_order_relaxed) > c->most) return;
    look(c, first, first + BLOCKS_IN_PIECE < all ? first + BLOCKS_IN_PIECE : all);
}

/* A column that has whole pages between it and the next: only its own pages are read, for the
 * others may be gone. */
static void look_at_column(void *job, int64_t column)
{
    check *const c = job;
    const duo_operand *const o = c->operand;
    const uintptr_t low = (uintptr_t)(o->address + column * o->ld);
    const uintptr_t high = low + (uintptr_t)o->rows * sizeof(float);
    if (atomic_load_explicit(&c->count, memory_order_relaxed) > c->most) return;
    look(c, low / DUO_TAG_BLOCK - page_of(c->region),
         (high - 1) / DUO_TAG_BLOCK - page_of(c->region) + 1);
}

/* Do most of a few blocks differ? Then the array has been written anew. */
static bool rewritten(const check *c)
{
    if (c->blocks < SAMPLED_BLOCKS) return false;
    int differing = 0;
    for (size_t i = 0; i < SAMPLED_BLOCKS; i++)
        differing += !same(c, c->first + i * (c->blocks - 1) / (SAMPLED_BLOCKS - 1));
    return differing > SAMPLED_BLOCKS / 2;
}

/* The addresses on the device of the array's first block, of the tags and of the key. */
static char *first_block(const duo_region *region)
{
    return (char *)region->device_copy - region->low % DUO_TAG_BLOCK;
}

static char *tags_there(const duo_region *region)
{
    return first_block(region) + duo_region_blocks(region) * DUO_TAG_BLOCK;
}

static char *key_there(const duo_region *region)
{
    return tags_there(region) + duo_region_blocks(region) * DUO_TAG_BYTES;
}

/* Has the device make the tags of what it has. */
static duo_status make_tags(duo_resources *res, duo_region *region)
{
    const size_t blocks = duo_region_blocks(region);
    if (region->tag == NULL) region->tag = malloc(blocks * (sizeof *region->tag + 1));
    if (region->tag == NULL) return DUO_ERR_MEMORY;
    duo_status status = duo_backend_current()->tag(res->queue, first_block(region), blocks,
                                                   key_there(region), tags_there(region));
    if (status != DUO_OK) return duo_resources_failed(res, status, "make the tags of an array");
    status =
        duo_download_bytes(res, region->tag, tags_there(region), blocks * DUO_TAG_BYTES, false);
    region->tagged = status == DUO_OK;
    return status;
}

/* Sends the blocks that differ, if these are few ranges. */
static duo_outcome send_differing(duo_resources *res, duo_region *region, const check *c)
{
    const size_t blocks = duo_region_blocks(region), least = 4;
    const size_t most = least + (duo_region_bytes(region) >> 20); /* a transfer takes 10 us */
    size_t ranges = 0;
    for (size_t b = 0; b < blocks; b++) ranges += c->differs[b] && (b == 0 || !c->differs[b - 1]);
    if (ranges > most) return DUO_DECLINED;
    region->tagged = false;
    for (size_t b = 0; b < blocks; b++) {
        const size_t first = b;
        while (b < blocks && c->differs[b]) b++;
        if (b == first) continue;
        const size_t from = bytes_of(region, first).from, to = bytes_of(region, b - 1).to;
        const duo_status status =
            duo_upload_bytes(res, (char *)region->device_copy + from,
                             (const char *)region->low + from, to - from, false);
        if (status != DUO_OK) return status;
    }
    return DUO_OK;
}

/* Are there whole pages between its columns? */
static bool far_columns(const duo_operand *o)
{
    const int64_t gap = (o->ld - o->rows) * (int64_t)sizeof(float);
    return o->columns > 1 && gap >= DUO_TAG_BLOCK;
}

static check check_of(const duo_region *region, const duo_operand *o)
{
    const size_t blocks = duo_region_blocks(region);
    check c = {.region = region, .key = duo_tags_key(), .operand = o};
    c.first = o->low / DUO_TAG_BLOCK - page_of(region);
    c.blocks = (o->high - 1) / DUO_TAG_BLOCK - page_of(region) + 1 - c.first;
    c.most = c.blocks / 4;
    c.differs = (unsigned char *)(region->tag + blocks);
    memset(c.differs, 0, blocks);
    return c;
}

/* Compares the operand's blocks with the tags of the copy. */
static duo_outcome compare(duo_resources *res, duo_region *region, const duo_operand *o)
{
    const bool far = far_columns(o);
    check c = check_of(region, o);
    if (!far && rewritten(&c)) return DUO_DECLINED;
    const int64_t pieces = ((int64_t)c.blocks + BLOCKS_IN_PIECE - 1) / BLOCKS_IN_PIECE;
    duo_team_run(far ? look_at_column : look_at_piece, &c, far ? o->columns : pieces,
                 duo_resources_threads(res));
    if (c.count > c.most) return DUO_DECLINED;
    return c.count > 0 ? send_differing(res, region, &c) : DUO_OK;
}

/* ---- Watched pages ---- */

/* Did a writer go unseen? Then no pages are watched any more. */
static _Atomic bool unseen;

/* The whole pages of [low, high). */
static duo_range whole_pages(uintptr_t low, uintptr_t high)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return (duo_range){(low + page - 1) / page * page, high / page * page};
}

typedef struct watching {
    duo_range pages; /* addresses */
    _Atomic bool written;
} watching;

enum { PAGES_IN_PIECE = 16 << 20 }; /* bytes */

static void look_at_pages(void *job, int64_t piece)
{
    watching *const w = job;
    const size_t from = w->pages.from + (size_t)piece * PAGES_IN_PIECE;
    const size_t left = w->pages.to - from;
    if (atomic_load_explicit(&w->written, memory_order_relaxed)) return;
    if (duo_written_since((const void *)from, left < PAGES_IN_PIECE ? left : PAGES_IN_PIECE))
        w->written = true;
}

static bool any_written(duo_range pages, int threads)
{
    watching w = {.pages = pages};
    if (duo_range_empty(pages)) return false;
    const size_t bytes = pages.to - pages.from;
    duo_team_run(look_at_pages, &w, (int64_t)((bytes + PAGES_IN_PIECE - 1) / PAGES_IN_PIECE),
                 threads);
    return w.written;
}

static void look_in_turn(void *job, int64_t piece)
{
    check *const c = job;
    const size_t first = c->first + (size_t)piece * TURNS, end = c->first + c->blocks;
    for (size_t b = first; b < end && b < first + (size_t)BLOCKS_IN_PIECE * TURNS; b += TURNS)
        look(c, b, b + 1);
}

/* Nobody has written to the watched pages of the part, as it seems: are the blocks at its ends the
 * same, which are not whole pages, and those whose turn it is? */
static bool others_same(duo_resources *res, duo_region *region, const duo_operand *o,
                        duo_range pages)
{
    check c = check_of(region, o);
    const size_t end = c.first + c.blocks;
    const size_t first_page =
        duo_range_empty(pages) ? end : pages.from / DUO_TAG_BLOCK - page_of(region);
    const size_t last_page =
        duo_range_empty(pages) ? end : pages.to / DUO_TAG_BLOCK - page_of(region);
    look(&c, c.first, first_page);
    look(&c, last_page, end);
    if (c.count > 0) return false;
    if (duo_range_empty(pages)) return true;
    c.first = first_page + region->turn++ % TURNS;
    if (c.first >= last_page) return true;
    c.blocks = last_page - c.first;
    const size_t in_turn = (c.blocks + TURNS - 1) / TURNS;
    duo_team_run(look_in_turn, &c, (int64_t)((in_turn + BLOCKS_IN_PIECE - 1) / BLOCKS_IN_PIECE),
                 duo_resources_threads(res));
    if (c.count == 0) return true;
    if (!any_written(pages, 1)) {
        unseen = true;
        duo_report_event(&res->report, "remembered arrays: a write went unseen; from now on all of "
                                       "their bytes are compared");
    }
    return false;
}

static bool watched_same(duo_resources *res, duo_region *region, const duo_operand *o)
{
    if (!region->watched || unseen || far_columns(o) || res->remember != DUO_REMEMBER_PAGES)
        return false;
    const duo_range pages = whole_pages(o->low, o->high);
    if (!any_written(pages, duo_resources_threads(res)) && others_same(res, region, o, pages))
        return true;
    region->watched = false;
    region->same = 0;
    return false;
}

/* Has the driver pinned a page of it? The device could write there unseen. */
static bool any_pinned(duo_range pages)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = pages.from; at < pages.to; at += page) {
        duo_memory memory;
        const void *const last = (const void *)(at + page - 1);
        if (duo_backend_current()->classify(last, &memory) != DUO_OK || memory != DUO_MEMORY_HOST)
            return true;
    }
    return false;
}

/* Watches the pages of an array that was the same often. They are compared once more, in case they
 * were written before. */
static void watch(duo_resources *res, duo_region *region, const duo_operand *o)
{
    const char *why = "the driver has pinned a part of it";
    const duo_range pages = whole_pages(region->low, region->high);
    if (region->watched || region->unwatched || unseen || duo_range_empty(pages)) return;
    if (region->low != o->low || region->high != o->high) return;
    const bool there =
        duo_written_watch((void *)pages.from, pages.to - pages.from, &why) && !any_pinned(pages);
    region->unwatched = !there;
    region->watched = there && compare(res, region, o) == DUO_OK && region->tagged;
    tell(res, region, there ? "has watched pages" : "is not watched: ", there ? "" : why);
}

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
    if (!watched_same(res, region, o)) {
        outcome = duo_coherence_claim_write(res, region);
        if (outcome == DUO_OK && !region->tagged) outcome = make_tags(res, region);
        if (outcome == DUO_OK) outcome = compare(res, region, o);
    }
    if (outcome != DUO_OK) {
        changed(region);
        return false;
    }
    if (region->low == o->low && region->high == o->high) region->checked = number;
    if (region->same < OFTEN_SAME) region->same++;
    if (region->same < OFTEN_SAME) return true;
    region->rested = 0;
    if (res->remember == DUO_REMEMBER_PAGES) watch(res, region, o);
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
    const void *const key = duo_tags_key();
    void *memory;
    if (key == NULL) return DUO_ERR_MEMORY;
    duo_status status = duo_room_remember(res, bytes, region->used_before, &memory);
    if (status != DUO_OK) return status;
    duo_region_set_copy(region, res->device, memory);
    const size_t blocks = duo_region_blocks(region);
    status = duo_queue_fill(res->queue, memory, DUO_TAG_BLOCK, 0, DUO_TAG_BLOCK, 1);
    if (status == DUO_OK)
        status = duo_queue_fill(res->queue, (char *)memory + (blocks - 1) * DUO_TAG_BLOCK,
                                DUO_TAG_BLOCK, 0, DUO_TAG_BLOCK, 1);
    if (status == DUO_OK)
        status = duo_upload_bytes(res, key_there(region), key, DUO_TAG_KEY_BYTES, false);
    if (status != DUO_OK) duo_region_forget_copy(region);
    if (status == DUO_OK) tell(res, region, "has a copy on the GPU", "");
    return status;
}

static void begin(duo_resources *res, uint64_t number, const duo_operand *o, duo_operand *local)
{
    make_room_in_table();
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
