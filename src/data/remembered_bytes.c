/* remembered_bytes.c - compares remembered arrays by tags (remembered_bytes.h). */
#include "data/remembered_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "data/coherence.h"
#include "data/transfer.h"
#include "gpu/backend/devices.h"
#include "host/team.h"

enum { BLOCKS_IN_PIECE = DUO_BLOCKS_IN_PIECE, SAMPLED_BLOCKS = 64 };

/* The bytes of a block that belong to the array. */
static duo_range bytes_of(const duo_region *region, size_t block)
{
    const uintptr_t low = (duo_remembered_first_page(region) + block) * DUO_TAG_BLOCK,
                    high = low + DUO_TAG_BLOCK;
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

static bool same(const duo_byte_check *c, size_t block)
{
    const duo_tag is = tag_of(c->region, block, c->key), was = c->region->tag[block];
    return memcmp(&is, &was, sizeof is) == 0;
}

void duo_remembered_bytes_look(duo_byte_check *c, size_t first, size_t end)
{
    for (size_t block = first; block < end; block++) {
        c->differs[block] = !same(c, block);
        if (c->differs[block] && atomic_fetch_add(&c->count, 1) >= c->most) return;
    }
}

static void look_at_piece(void *job, int64_t piece)
{
    duo_byte_check *const c = job;
    const size_t first = c->first + (size_t)piece * BLOCKS_IN_PIECE, all = c->first + c->blocks;
    if (atomic_load_explicit(&c->count, memory_order_relaxed) > c->most) return;
    duo_remembered_bytes_look(c, first,
                              first + BLOCKS_IN_PIECE < all ? first + BLOCKS_IN_PIECE : all);
}

/* A column that has whole pages between it and the next: only its own pages are read, for the
 * others may be gone. */
static void look_at_column(void *job, int64_t column)
{
    duo_byte_check *const c = job;
    const duo_operand *const o = c->operand;
    const uintptr_t low = (uintptr_t)(o->address + column * o->ld);
    const uintptr_t high = low + (uintptr_t)o->rows * sizeof(float);
    if (atomic_load_explicit(&c->count, memory_order_relaxed) > c->most) return;
    duo_remembered_bytes_look(c, low / DUO_TAG_BLOCK - duo_remembered_first_page(c->region),
                              (high - 1) / DUO_TAG_BLOCK - duo_remembered_first_page(c->region) +
                                  1);
}

/* Do most of a few blocks differ? Then the array has been written anew. */
static bool rewritten(const duo_byte_check *c)
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
static duo_outcome send_differing(duo_resources *res, duo_region *region, const duo_byte_check *c)
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

bool duo_remembered_bytes_far(const duo_operand *o)
{
    const int64_t gap = (o->ld - o->rows) * (int64_t)sizeof(float);
    return o->columns > 1 && gap >= DUO_TAG_BLOCK;
}

duo_byte_check duo_remembered_bytes_begin(const duo_region *region, const duo_operand *o)
{
    const size_t blocks = duo_region_blocks(region);
    duo_byte_check c = {.region = region, .key = duo_tags_key(), .operand = o};
    c.first = o->low / DUO_TAG_BLOCK - duo_remembered_first_page(region);
    c.blocks = (o->high - 1) / DUO_TAG_BLOCK - duo_remembered_first_page(region) + 1 - c.first;
    c.most = c.blocks / 4;
    c.differs = (unsigned char *)(region->tag + blocks);
    memset(c.differs, 0, blocks);
    return c;
}

/* Compares the operand's blocks with the tags of the copy. */
static duo_outcome compare(duo_resources *res, duo_region *region, const duo_operand *o)
{
    const bool far = duo_remembered_bytes_far(o);
    duo_byte_check c = duo_remembered_bytes_begin(region, o);
    if (!far && rewritten(&c)) return DUO_DECLINED;
    const int64_t pieces = ((int64_t)c.blocks + BLOCKS_IN_PIECE - 1) / BLOCKS_IN_PIECE;
    duo_team_run(far ? look_at_column : look_at_piece, &c, far ? o->columns : pieces,
                 duo_resources_threads(res));
    if (c.count > c.most) return DUO_DECLINED;
    return c.count > 0 ? send_differing(res, region, &c) : DUO_OK;
}

duo_status duo_remembered_bytes_prepare(duo_resources *res, duo_region *region)
{
    const void *const key = duo_tags_key();
    char *const first = first_block(region);
    char *const last = first + (duo_region_blocks(region) - 1) * DUO_TAG_BLOCK;
    if (key == NULL) return DUO_ERR_MEMORY;
    duo_status status = duo_queue_fill(res->queue, first, DUO_TAG_BLOCK, 0, DUO_TAG_BLOCK, 1);
    if (status == DUO_OK)
        status = duo_queue_fill(res->queue, last, DUO_TAG_BLOCK, 0, DUO_TAG_BLOCK, 1);
    if (status != DUO_OK) return duo_resources_failed(res, status, "prepare a copy");
    return duo_upload_bytes(res, key_there(region), key, DUO_TAG_KEY_BYTES, false);
}

duo_outcome duo_remembered_bytes_renew(duo_resources *res, duo_region *region, const duo_operand *o)
{
    duo_outcome outcome = duo_coherence_claim_write(res, region);
    if (outcome == DUO_OK && !region->tagged) outcome = make_tags(res, region);
    return outcome == DUO_OK ? compare(res, region, o) : outcome;
}
