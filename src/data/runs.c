/* runs.c - packs runs of floats, by several threads where there is enough to copy (runs.h). */
#include "data/runs.h"

#include <string.h>

#include "host/team.h"

/* Floats of a piece for the team: at least two for each thread, and none of more than 10 us. */
enum { LEAST_SHARE = 1 << 12, MOST_SHARE = 1 << 15, SHARES = 2 };

/* More do not copy faster (16 threads of a Xeon: 61 GB/s; 8: 53). */
enum { MOST_THREADS = 16 };

/* Copies elements [from, from + count) between host runs and a packed buffer. */
static void pack_piece(const duo_runs *r, float *host, float *packed, int64_t from, int64_t count,
                       bool to_host)
{
    if (r->rows == 1 && r->columns > 1) { /* a strided vector */
        float *element = host + from * r->ld;
        for (int64_t i = 0; i < count; i++, element += r->ld) {
            if (to_host)
                *element = packed[i];
            else
                packed[i] = *element;
        }
        return;
    }
    int64_t column = from / r->rows, row = from % r->rows;
    for (int64_t i = 0; i < count; column++, row = 0) {
        const int64_t piece = r->rows - row < count - i ? r->rows - row : count - i;
        float *const run = host + column * r->ld + row;
        if (to_host)
            memcpy(run, packed + i, (size_t)piece * sizeof(float));
        else
            memcpy(packed + i, run, (size_t)piece * sizeof(float));
        i += piece;
    }
}

typedef struct packing {
    const duo_runs *r;
    float *host, *packed;
    int64_t from, count, share;
    bool to_host;
} packing;

static void pack_share(void *job, int64_t share)
{
    const packing *const p = job;
    const int64_t low = share * p->share;
    const int64_t count = p->count - low < p->share ? p->count - low : p->share;
    pack_piece(p->r, p->host, p->packed + low, p->from + low, count, p->to_host);
}

void duo_runs_pack(const duo_runs *r, float *host, float *packed, int64_t from, int64_t count,
                   bool to_host, int most_threads)
{
    const int threads = most_threads < MOST_THREADS ? most_threads : MOST_THREADS;
    const int64_t even = count / (SHARES * threads) / LEAST_SHARE * LEAST_SHARE;
    const int64_t share = even < LEAST_SHARE ? LEAST_SHARE : even > MOST_SHARE ? MOST_SHARE : even;
    packing job = {r, host, packed, from, count, share, to_host};
    duo_team_run(pack_share, &job, (count + share - 1) / share, threads);
}
