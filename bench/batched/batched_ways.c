/* batched_ways.c - the ways to do a batch: ours and the peers'. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/batched/batched.h"
#include "bench/peers/cublas.h"
#include "bench/peers/openblas.h"

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

static bool by(const duo_batched *b, const duo_batch *lists)
{
    const duo_call *const c = &b->call;
    const duo_operand *const o = c->operand;
    return duo_sgemm_batched(b->buffers->context, DUO_COL_MAJOR, duo_transpose_if(c->transa),
                             duo_transpose_if(c->transb), c->m, c->n, c->k, c->alpha,
                             (const float *const *)lists->pointer[DUO_A], o[DUO_A].ld,
                             (const float *const *)lists->pointer[DUO_B], o[DUO_B].ld, c->beta,
                             lists->pointer[DUO_C], o[DUO_C].ld, b->problem.count) == DUO_OK;
}
static bool by_lists(const duo_batched *b) { return by(b, &b->lists); }
static bool by_device_lists(const duo_batched *b) { return by(b, &b->device_lists); }

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
    const int64_t least_call = b->link != NULL ? 256 : 64; /* edge */
    int count = 0;
    w[count++] = ours(b, "strided", strided);
    if (!random) w[count++] = ours(b, "by lists", by_lists);
    if (!random && !cpu && b->link == NULL) w[count++] = ours(b, "lists there", by_device_lists);
    if (!random && (cpu || b->call.m >= least_call)) w[count++] = ours(b, "calls", calls);
    if (cpu) return count + cpu_peers(b, w + count);
    if (b->bench->cublas_why != NULL || b->link != NULL) return count;
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

/* ---- The batch ---- */

static bool make_list(duo_batched *b, int i)
{
    const int64_t count = b->problem.count;
    const size_t bytes = (size_t)count * sizeof(float *);
    b->list[i] = malloc(bytes);
    if (b->list[i] == NULL) return false;
    for (int64_t p = 0; p < count; p++) { /* swap neighbours: unequal distances */
        const int64_t other = (p ^ 1) < count ? p ^ 1 : p;
        b->list[i][p] = duo_batch_address(&b->strides, &b->call, i, other);
    }
    b->lists.pointer[i] = b->list[i];
    if (b->buffers->side == DUO_SIDE_CPU) return true;
    if (duo_malloc(b->buffers->context, bytes, &b->device_list[i]) != DUO_OK) return false;
    b->device_lists.pointer[i] = b->device_list[i];
    return duo_copy(b->buffers->context, b->device_list[i], b->list[i], bytes) == DUO_OK;
}

bool duo_batched_open(duo_batched *b, const duo_bench *bench, const duo_buffers *buffers,
                      const duo_batch_problem *problem)
{
    const duo_problem *const p = &problem->product;
    *b = (duo_batched){.bench = bench, .problem = *problem, .buffers = buffers};
    b->call =
        duo_call_sgemm(p->transa, p->transb, p->shape[0], p->shape[1], p->shape[2], 1.0f, p->beta);
    b->strides = b->lists = b->device_lists = (duo_batch){.count = problem->count};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        b->call.operand[i].address = buffers->at[i];
        b->call.operand[i].ld = duo_problem_ld(p, i);
        b->strides.stride[i] = duo_batch_problem_stride(problem, i);
        if (!make_list(b, i)) return false;
    }
    return duo_synchronize(buffers->context) == DUO_OK;
}

void duo_batched_close(duo_batched *b)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        free(b->list[i]);
        if (b->device_list[i] != NULL) (void)duo_free(b->buffers->context, b->device_list[i]);
    }
}
