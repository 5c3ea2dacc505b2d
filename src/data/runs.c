/* runs.c - packs runs of floats, with several threads if there is enough to copy (runs.h). */
#include "data/runs.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "host/pages.h"
#include "host/team.h"

duo_runs duo_runs_of_products(const duo_call *call, int i, int64_t first, int64_t count)
{
    const duo_operand *const o = &call->operand[i];
    const int64_t stride = call->batch->stride[i];
    const bool list = !duo_batch_even(call->batch, i);
    const duo_runs one = duo_runs_of(o->rows, o->columns, o->ld, o->rows);
    duo_runs all = {.rows = one.rows, .columns = one.columns * count, .ld = one.ld};
    if (duo_batch_shares(call->batch, i)) return one;
    if (!list && one.columns == 1) return duo_runs_of(one.rows, count, stride, one.rows);
    if (!list && stride == one.columns * one.ld) return all;
    all.each = one.columns;
    all.stride = stride;
    all.list = list ? call->batch->pointer[i] + first : NULL;
    return all;
}

/* Floats of a share for the team: at least SHARES shares for each thread, none longer than 10
 * us. */
enum { LEAST_SHARE = 1 << 12, MOST_SHARE = 1 << 15, SHARES = 2 };

/* More do not copy faster (16 threads of a Xeon: 61 GB/s; 8: 53). */
enum { MOST_THREADS = 16 };

/* Copying past the caches pays for runs of at least these bytes. Lines that a run fills only in
 * part are written as usual. */
enum { LEAST_PAST_CACHES = 256 };

/*
 * memcpy, past the caches: a stage in a processor's cache is slow for the device to read, and may
 * evict the operand from there. The caller ends with one fence for many runs: a fence waits for all
 * stores before it.
 */
static void copy_past_caches(char *to, const char *from, size_t bytes)
{
#if defined(__SSE2__)
    enum { VECTOR = sizeof(__m128i), LINE = 4 * VECTOR };
    const size_t odd = (LINE - (uintptr_t)to % LINE) % LINE, head = odd < bytes ? odd : bytes;
    memcpy(to, from, head);
    size_t i = head;
    for (; i + LINE <= bytes; i += LINE)
        for (int v = 0; v < LINE; v += VECTOR)
            _mm_stream_si128((__m128i *)(void *)(to + i + v),
                             _mm_loadu_si128((const __m128i *)(const void *)(from + i + v)));
    memcpy(to + i, from + i, bytes - i);
#else
    memcpy(to, from, bytes);
#endif
}

/* Stores past the caches come before all later stores, so also before the device is told of
 * them. */
static void end_past_caches(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Where a run begins. */
static float *run_of(const duo_runs *r, float *host, int64_t column)
{
    if (r->each == 0) return host + column * r->ld;
    const int64_t matrix = r->each == 1 ? column : column / r->each;
    float *const first = r->list != NULL ? r->list[matrix] : host + matrix * r->stride;
    return first + (column - matrix * r->each) * r->ld;
}

/* Copies elements [from, from + count) between host runs and a packed buffer. */
static void pack_piece(const duo_runs *r, float *host, float *packed, int64_t from, int64_t count,
                       duo_packing_way way)
{
    const bool unpacks = way == DUO_UNPACK || way == DUO_UNPACK_PAST_CACHES;
    const bool past_caches = way == DUO_PACK_PAST_CACHES || way == DUO_UNPACK_PAST_CACHES;
    if (r->rows == 1 && r->columns > 1 && r->each == 0) { /* a strided vector */
        float *element = host + from * r->ld;
        for (int64_t i = 0; i < count; i++, element += r->ld) {
            if (unpacks)
                *element = packed[i];
            else
                packed[i] = *element;
        }
        return;
    }
    int64_t column = from / r->rows, row = from % r->rows;
    for (int64_t i = 0; i < count; column++, row = 0) {
        const int64_t piece = r->rows - row < count - i ? r->rows - row : count - i;
        float *const run = run_of(r, host, column) + row;
        float *const to = unpacks ? run : packed + i;
        const float *const source = unpacks ? packed + i : run;
        const size_t bytes = (size_t)piece * sizeof(float);
        if (past_caches && bytes >= LEAST_PAST_CACHES)
            copy_past_caches((char *)to, (const char *)source, bytes);
        else
            memcpy(to, source, bytes);
        i += piece;
    }
    if (past_caches) end_past_caches();
}

typedef struct packing {
    const duo_runs *r;
    float *host, *packed;
    int64_t from, count, share;
    duo_packing_way way;
} packing;

static void pack_share(void *job, int64_t share)
{
    const packing *const p = job;
    const int64_t low = share * p->share;
    const int64_t count = p->count - low < p->share ? p->count - low : p->share;
    pack_piece(p->r, p->host, p->packed + low, p->from + low, count, p->way);
}

void duo_runs_pack(const duo_runs *r, float *host, float *packed, int64_t from, int64_t count,
                   duo_packing_way way, int most_threads)
{
    const int threads = most_threads < MOST_THREADS ? most_threads : MOST_THREADS;
    const int64_t even = count / (SHARES * threads) / LEAST_SHARE * LEAST_SHARE;
    const int64_t share = even < LEAST_SHARE ? LEAST_SHARE : even > MOST_SHARE ? MOST_SHARE : even;
    packing job = {r, host, packed, from, count, share, way};
    duo_team_run(pack_share, &job, (count + share - 1) / share, threads);
}

/* ---- Pages ---- */

typedef struct pages {
    const duo_runs *r;
    float *host;
    int64_t from, count, part;
} pages;

static void make_part(void *job, int64_t number)
{
    const pages *const p = job;
    const int64_t begin = number * p->part, rows = p->r->rows;
    const int64_t end = begin + p->part < p->count ? begin + p->part : p->count;
    for (int64_t i = begin; i < end;) {
        const int64_t at = p->from + i, row = at % rows;
        const int64_t piece = rows - row < end - i ? rows - row : end - i;
        duo_pages_make(run_of(p->r, p->host, at / rows) + row, (size_t)piece * sizeof(float));
        i += piece;
    }
}

void duo_runs_make_pages(const duo_runs *r, float *host, int64_t from, int64_t count,
                         int most_threads)
{
    const int64_t part = (count + DUO_PAGE_PARTS - 1) / DUO_PAGE_PARTS;
    pages job = {r, host, from, count, part};
    duo_team_run(make_part, &job, DUO_PAGE_PARTS, most_threads);
}
