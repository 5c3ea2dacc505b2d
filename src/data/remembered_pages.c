/* remembered_pages.c - watches the pages of remembered arrays (remembered_pages.h). */
#include "data/remembered_pages.h"

#include <stdio.h>
#include <unistd.h>

#include "gpu/backend/devices.h"
#include "host/team.h"
#include "host/written.h"

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
    duo_byte_check *const c = job;
    const size_t first = c->first + (size_t)piece * DUO_REMEMBERED_TURNS,
                 end = c->first + c->blocks;
    for (size_t b = first;
         b < end && b < first + (size_t)DUO_BLOCKS_IN_PIECE * DUO_REMEMBERED_TURNS;
         b += DUO_REMEMBERED_TURNS)
        duo_remembered_bytes_look(c, b, b + 1);
}

/* The system tells that nobody has written to the part's whole pages. Compares the part's ends.
 * Compares a few blocks of the whole pages, too, other ones each time. */
static bool others_same(duo_resources *res, duo_region *region, const duo_operand *o,
                        duo_range pages)
{
    duo_byte_check c = duo_remembered_bytes_begin(region, o);
    const size_t end = c.first + c.blocks;
    const size_t first_page = duo_range_empty(pages)
                                  ? end
                                  : pages.from / DUO_TAG_BLOCK - duo_remembered_first_page(region);
    const size_t last_page =
        duo_range_empty(pages) ? end : pages.to / DUO_TAG_BLOCK - duo_remembered_first_page(region);
    duo_remembered_bytes_look(&c, c.first, first_page);
    duo_remembered_bytes_look(&c, last_page, end);
    if (c.count > 0) return false;
    if (duo_range_empty(pages)) return true;
    c.first = first_page + region->turn++ % DUO_REMEMBERED_TURNS;
    if (c.first >= last_page) return true;
    c.blocks = last_page - c.first;
    const size_t in_turn = (c.blocks + DUO_REMEMBERED_TURNS - 1) / DUO_REMEMBERED_TURNS;
    duo_team_run(look_in_turn, &c,
                 (int64_t)((in_turn + DUO_BLOCKS_IN_PIECE - 1) / DUO_BLOCKS_IN_PIECE),
                 duo_resources_threads(res));
    if (c.count == 0) return true;
    if (!any_written(pages, 1)) {
        unseen = true;
        duo_report_event(&res->report, "remembered arrays: a write went unseen; from now on all of "
                                       "their bytes are compared");
    }
    return false;
}

bool duo_remembered_pages_same(duo_resources *res, duo_region *region, const duo_operand *o)
{
    if (!region->watched || unseen || duo_remembered_bytes_far(o)) return false;
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

void duo_remembered_pages_watch(duo_resources *res, duo_region *region, const duo_operand *o)
{
    char text[240];
    const char *why;
    const duo_range pages = whole_pages(region->low, region->high);
    if (region->watched || region->unwatched || unseen || duo_range_empty(pages)) return;
    if (region->low != o->low || region->high != o->high) return;
    bool there = duo_written_watch((void *)pages.from, pages.to - pages.from, &why);
    if (there && any_pinned(pages)) {
        why = "the driver has pinned a part of it";
        there = false;
    }
    region->unwatched = !there;
    region->watched =
        there && duo_remembered_bytes_renew(res, region, o) == DUO_OK && region->tagged;
    (void)snprintf(text, sizeof text, "the array at %p (%zu bytes) %s%s", (void *)region->low,
                   duo_region_bytes(region),
                   there ? "is watched for writes" : "is not watched: ", there ? "" : why);
    duo_report_event(&res->report, text);
}
