/* rates.c - measures host memory and links (host.h) */
#include "bench/host/host.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/backend/devices.h"
#include "host/team.h"

/* ---- The link ---- */

enum { UP, DOWN, WAYS };
static const size_t kLinkBytes = (size_t)256 << 20;

/* One device's memory and queues for both ways together. */
typedef struct port {
    duo_context *context;
    duo_queue *queue[WAYS];
    void *device[WAYS], *pinned[WAYS];
} port;

/* The user of a benchmark: these ways at all ports. */
typedef struct traffic {
    port *ports;
    int count;
    bool wanted[WAYS];
} traffic;

static bool open_port(port *p, int device)
{
    if (duo_create(&p->context) != DUO_OK || duo_set_device(p->context, device) != DUO_OK)
        return false;
    for (int way = 0; way < WAYS; way++) {
        if (duo_malloc(p->context, kLinkBytes, &p->device[way]) != DUO_OK ||
            duo_malloc_host(p->context, kLinkBytes, &p->pinned[way]) != DUO_OK ||
            duo_queue_open(device, NULL, DUO_PRIORITY_NORMAL, &p->queue[way]) != DUO_OK)
            return false;
        memset(p->pinned[way], 1, kLinkBytes);
    }
    return true;
}

static void close_port(port *p)
{
    for (int way = 0; way < WAYS; way++) {
        if (p->queue[way] != NULL) (void)duo_backend_current()->close(p->queue[way]);
        if (p->device[way] != NULL) (void)duo_free(p->context, p->device[way]);
        if (p->pinned[way] != NULL) (void)duo_free_host(p->context, p->pinned[way]);
    }
    if (p->context != NULL) (void)duo_destroy(p->context);
}

static bool send(const port *p, int way)
{
    void *const to = way == UP ? p->device[way] : p->pinned[way];
    const void *const from = way == UP ? p->pinned[way] : p->device[way];
    return duo_backend_current()->copy(p->queue[way], to, kLinkBytes, from, kLinkBytes, kLinkBytes,
                                       1) == DUO_OK;
}

static bool run_traffic(void *user, int64_t calls)
{
    const traffic *const t = user;
    bool good = true;
    for (int64_t call = 0; call < calls; call++)
        for (int i = 0; i < t->count; i++)
            for (int way = 0; way < WAYS; way++)
                if (t->wanted[way]) good = send(&t->ports[i], way) && good;
    for (int i = 0; i < t->count; i++)
        for (int way = 0; way < WAYS; way++)
            good = duo_backend_current()->finish(t->ports[i].queue[way]) == DUO_OK && good;
    return good;
}

static double rate_of(const duo_benchmark *benchmark, double bytes)
{
    return benchmark->failed ? 0.0 : bytes / benchmark->median_seconds;
}

bool duo_rates_of_link(int first, int count, const duo_effort *effort, duo_host_rates *rates)
{
    port *const ports = calloc((size_t)count, sizeof *ports);
    traffic all[] = {
        {ports, count, {true, false}}, {ports, count, {false, true}}, {ports, count, {true, true}}};
    duo_benchmark benchmark[3];
    const double bytes = (double)kLinkBytes * count;
    bool good = ports != NULL;
    for (int i = 0; i < count && good; i++) good = open_port(&ports[i], first + i);
    for (int i = 0; i < 3; i++)
        benchmark[i] = (duo_benchmark){.run = run_traffic, .user = &all[i], .failed = true};
    if (good) duo_measure(benchmark, 3, effort);
    rates->up = rate_of(&benchmark[0], bytes);
    rates->down = rate_of(&benchmark[1], bytes);
    rates->both = rate_of(&benchmark[2], 2.0 * bytes);
    for (int i = 0; i < count && ports != NULL; i++) close_port(&ports[i]);
    free(ports);
    return good && rates->both > 0.0;
}

/* ---- The host ---- */

/* Plain memory is larger than any cache. Pinned memory is as large as a ring of stages, and may
 * stay in the cache. Pieces are as large as one thread's share of a stage. */
static const size_t kPlainBytes = (size_t)512 << 20, kRingBytes = (size_t)64 << 20,
                    kPieceBytes = (size_t)512 << 10;

typedef struct copying {
    char *plain, *ring;
    bool out;
    int threads;
} copying;

static void copy_piece(void *job, int64_t piece)
{
    const copying *const c = job;
    char *const plain = c->plain + (size_t)piece * kPieceBytes;
    char *const ring = c->ring + (size_t)piece * kPieceBytes % kRingBytes;
    memcpy(c->out ? plain : ring, c->out ? ring : plain, kPieceBytes);
}

static bool run_copying(void *user, int64_t calls)
{
    for (int64_t call = 0; call < calls; call++)
        duo_team_run(copy_piece, user, (int64_t)(kPlainBytes / kPieceBytes),
                     ((copying *)user)->threads);
    return true;
}

bool duo_rates_of_copies(int threads, const duo_effort *effort, duo_host_rates *rates)
{
    void *ring = NULL;
    char *const plain = malloc(kPlainBytes);
    const bool good = plain != NULL && duo_malloc_host(NULL, kRingBytes, &ring) == DUO_OK;
    if (good) {
        copying way[WAYS] = {{plain, ring, false, threads}, {plain, ring, true, threads}};
        duo_benchmark benchmark[WAYS] = {{.run = run_copying, .user = &way[0]},
                                         {.run = run_copying, .user = &way[1]}};
        memset(ring, 1, kRingBytes);
        memset(plain, 1, kPlainBytes);
        duo_measure(benchmark, WAYS, effort);
        rates->in = rate_of(&benchmark[0], (double)kPlainBytes);
        rates->out = rate_of(&benchmark[1], (double)kPlainBytes);
    }
    if (ring != NULL) (void)duo_free_host(NULL, ring);
    free(plain);
    return good;
}
