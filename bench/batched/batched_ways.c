/* batched_ways.c - the ways of doing a batch: ours, and the peers'. */
#include <stdio.h>

#include "bench/batched/batched.h"
#include "bench/peers/blas_instance.h"
#include "bench/peers/cublas_batched.h"
#include "bench/peers/openblas.h"
#include "bench/peers/openblas_batched.h"

/* ---- Ours ---- */

static bool strided(const duo_batched *b)
{
    const duo_call *const c = &b->call;
    const duo_operand *const o = c->operand;
    const int64_t *const stride = b->strides.stride;
    return duo_sgemm_strided_batched(
               b->buffers->context, DUO_COL_MAJOR, duo_transpose_if(c->transa),
               duo_transpose_if(c->transb), c->m, c->n, c->k, c->alpha, o[DUO_A].address,
               o[DUO_A].ld, stride[DUO_A], o[DUO_B].address, o[DUO_B].ld, stride[DUO_B], c->beta,
               o[DUO_C].address, o[DUO_C].ld, stride[DUO_C], b->problem.count) == DUO_OK;
}

static bool by_lists(const duo_batched *b)
{
    const duo_call *const c = &b->call;
    const duo_operand *const o = c->operand;
    return duo_sgemm_batched(b->buffers->context, DUO_COL_MAJOR, duo_transpose_if(c->transa),
                             duo_transpose_if(c->transb), c->m, c->n, c->k, c->alpha,
                             (const float *const *)b->list[DUO_A], o[DUO_A].ld,
                             (const float *const *)b->list[DUO_B], o[DUO_B].ld, c->beta,
                             b->list[DUO_C], o[DUO_C].ld, b->problem.count) == DUO_OK;
}

static bool calls(const duo_batched *b)
{
    const duo_call *const c = &b->call;
    const duo_operand *const o = c->operand;
    bool good = true;
    for (int64_t p = 0; p < b->problem.count && good; p++)
        good = duo_sgemm(b->buffers->context, DUO_COL_MAJOR, duo_transpose_if(c->transa),
                         duo_transpose_if(c->transb), c->m, c->n, c->k, c->alpha, b->list[DUO_A][p],
                         o[DUO_A].ld, b->list[DUO_B][p], o[DUO_B].ld, c->beta, b->list[DUO_C][p],
                         o[DUO_C].ld) == DUO_OK;
    return good;
}

static bool finish_ours(const duo_batched *b)
{
    return duo_synchronize(b->buffers->context) == DUO_OK;
}

/* ---- The peers' ---- */

static bool cublas_strided(const duo_batched *b)
{
    return duo_peer_cublas_batch(&b->call, &b->strides);
}
static bool cublas_lists(const duo_batched *b)
{
    return duo_peer_cublas_batch(&b->call, &b->device_lists);
}

static bool finish_cublas(const duo_batched *b)
{
    (void)b;
    return duo_peer_cublas_finish();
}

static bool openblas_calls(const duo_batched *b)
{
    return duo_peer_openblas_each(&b->call, &b->lists, b->bench->threads);
}

static bool openblas_strided(const duo_batched *b)
{
    return duo_peer_openblas_batch(&b->call, &b->strides, b->bench->threads);
}

static bool openblas_lists(const duo_batched *b)
{
    return duo_peer_openblas_batch(&b->call, &b->lists, b->bench->threads);
}

static bool finished(const duo_batched *b)
{
    (void)b;
    return true;
}

/* ---- Which there are ---- */

static duo_batched_way ours(const duo_batched *b, const char *name,
                            bool (*all)(const duo_batched *))
{
    duo_batched_way way = {.of = b, .all = all, .finish = finish_ours};
    snprintf(way.name, sizeof way.name, "%s", name);
    return way;
}

static duo_batched_way cublas(const duo_batched *b, const char *name,
                              bool (*all)(const duo_batched *))
{
    duo_batched_way way = {.of = b, .all = all, .finish = finish_cublas, .peer = true};
    snprintf(way.name, sizeof way.name, "cuBLAS %s", name);
    return way;
}

static duo_batched_way cpu_peer(const duo_batched *b, const char *name,
                                bool (*all)(const duo_batched *))
{
    duo_batched_way way = {.of = b, .all = all, .finish = finished, .peer = true};
    snprintf(way.name, sizeof way.name, "%s, %s", duo_blas_instance_get()->brand, name);
    return way;
}

static int cpu_peers(const duo_batched *b, duo_batched_way *w)
{
    int count = 0;
    if (duo_peer_cblas_gemm() != NULL) w[count++] = cpu_peer(b, "calls", openblas_calls);
    if (duo_peer_openblas_batches(&b->strides))
        w[count++] = cpu_peer(b, "batch", openblas_strided);
    else if (duo_peer_openblas_batches(&b->lists))
        w[count++] = cpu_peer(b, "batch", openblas_lists);
    return count;
}

int duo_batched_ways(const duo_batched *b, duo_batched_way w[DUO_BATCHED_WAYS])
{
    const bool random = b->bench->random > 0, cpu = b->buffers->side == DUO_SIDE_CPU;
    int count = 0;
    w[count++] = ours(b, "strided", strided);
    if (!random) w[count++] = ours(b, "by lists", by_lists);
    if (!random && (cpu || b->call.m >= 64)) w[count++] = ours(b, "calls", calls);
    if (cpu) return count + cpu_peers(b, w + count);
    if (b->bench->cublas_why != NULL) return count;
    w[count++] = cublas(b, "strided", cublas_strided);
    if (!random) w[count++] = cublas(b, "by lists", cublas_lists);
    return count;
}

bool duo_batched_run(void *user, int64_t times)
{
    const duo_batched_way *const w = user;
    bool good = true;
    for (int64_t t = 0; t < times && good; t++) good = w->all(w->of);
    return w->finish(w->of) && good;
}
