/* run.c - runs the calls of `duoblas bench bits` by the public functions, and hashes their results
 * (bits.h). */
#include <stdlib.h>
#include <string.h>

#include "bench/bits/bits.h"

const uint64_t duo_bits_expected = 0x7136224afa31f359u,
               duo_bits_expected_float64 = 0xcecd0dcbf923b78bu;

/* FNV-1a, of bytes from the lowest on. */
static const uint64_t no_bytes = 14695981039346656037u;

static uint64_t add_word(uint64_t hash, uint64_t word, int bytes)
{
    for (int i = 0; i < bytes; i++) hash = (hash ^ (word >> 8 * i & 0xFF)) * 1099511628211u;
    return hash;
}

static uint64_t add_floats(uint64_t hash, const float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        hash = add_word(hash, bits, 4);
    }
    return hash;
}

/* Memory for every operand: where the data are made, and where the calls find them. */
typedef struct arrays {
    float *host[DUO_OPERANDS], *there[DUO_OPERANDS];
    bool on_device;
} arrays;

static void close_arrays(duo_context *ctx, arrays *a)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (a->on_device) (void)duo_free(ctx, a->there[i]);
        free(a->host[i]);
    }
}

static duo_status open_arrays(duo_context *ctx, bool on_device, arrays *a)
{
    const size_t bytes = DUO_BITS_FLOATS * sizeof(float);
    duo_status status = DUO_OK;
    *a = (arrays){.on_device = on_device};
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++) {
        void *there = a->host[i] = malloc(bytes);
        if (there == NULL) status = DUO_ERR_MEMORY;
        if (on_device && status == DUO_OK) status = duo_malloc(ctx, bytes, &there);
        if (status == DUO_OK) a->there[i] = there;
    }
    return status;
}

static duo_status multiply_batch(duo_context *ctx, const duo_bits_call *p, float *const at[])
{
    enum { MOST = 32 };
    const duo_bits_operand *const a = &p->operand[DUO_A], *const b = &p->operand[DUO_B],
                                  *const c = &p->operand[DUO_C];
    float *list[DUO_OPERANDS][MOST];
    if (!p->lists)
        return duo_sgemm_strided_batched(ctx, p->layout, p->transa, p->transb, p->m, p->n, p->k,
                                         p->alpha, at[DUO_A], a->ld, a->stride, at[DUO_B], b->ld,
                                         b->stride, p->beta, at[DUO_C], c->ld, c->stride, p->count);
    for (int i = 0; i < DUO_OPERANDS; i++)
        for (int64_t q = 0; q < p->count && q < MOST; q++)
            list[i][q] = at[i] + q * p->operand[i].stride;
    return duo_sgemm_batched(ctx, p->layout, p->transa, p->transb, p->m, p->n, p->k, p->alpha,
                             (const float *const *)list[DUO_A], a->ld,
                             (const float *const *)list[DUO_B], b->ld, p->beta, list[DUO_C], c->ld,
                             p->count);
}

static duo_status run(duo_context *ctx, const duo_bits_call *p, float *const at[], float *sum)
{
    const duo_bits_operand *const o = p->operand;
    if (p->operation == DUO_SASUM) return duo_sasum(ctx, p->n, at[DUO_X], o[DUO_X].ld, sum);
    if (p->operation == DUO_SSUM) return duo_ssum(ctx, p->n, at[DUO_X], o[DUO_X].ld, sum);
    if (p->operation == DUO_SDOT)
        return duo_sdot(ctx, p->n, at[DUO_X], o[DUO_X].ld, at[DUO_Y], o[DUO_Y].ld, sum);
    if (p->count > 0) return multiply_batch(ctx, p, at);
    return duo_sgemm(ctx, p->layout, p->transa, p->transb, p->m, p->n, p->k, p->alpha, at[DUO_A],
                     o[DUO_A].ld, at[DUO_B], o[DUO_B].ld, p->beta, at[DUO_C], o[DUO_C].ld);
}

/* Makes the data, runs the call, and adds its result to the hash. */
static duo_status run_and_hash(duo_context *ctx, const duo_bits_call *p, duo_bits_random *random,
                               arrays *a, uint64_t *hash)
{
    duo_status status = duo_set_math(ctx, p->math);
    float sum = 0.0f;
    for (int i = 0; i < DUO_OPERANDS && status == DUO_OK; i++) {
        const int64_t floats = duo_bits_floats(p, i);
        duo_bits_fill(random, p->hostile, a->host[i], floats);
        if (a->on_device)
            status = duo_copy(ctx, a->there[i], a->host[i], (size_t)floats * sizeof(float));
    }
    if (status == DUO_OK) status = run(ctx, p, a->there, &sum);
    if (status != DUO_OK) return status;
    if (p->operation != DUO_SGEMM) {
        *hash = add_floats(*hash, &sum, 1);
        return DUO_OK;
    }
    const int64_t floats = duo_bits_floats(p, DUO_C);
    if (a->on_device)
        status = duo_copy(ctx, a->host[DUO_C], a->there[DUO_C], (size_t)floats * sizeof(float));
    *hash = add_floats(*hash, a->host[DUO_C], floats);
    return status;
}

duo_status duo_bits_run(duo_context *ctx, uint64_t seed, bool on_device, duo_bits *bits)
{
    arrays a;
    duo_status status = open_arrays(ctx, on_device, &a);
    *bits = (duo_bits){.all = no_bytes};
    for (int group = 0; group < DUO_BITS_GROUPS; group++) {
        duo_bits_random random = {seed << 8 | (uint64_t)group};
        bits->group[group] = no_bytes;
        for (int i = 0; i < duo_bits_calls((duo_bits_group)group) && status == DUO_OK; i++) {
            const duo_bits_call call = duo_bits_draw(&random, (duo_bits_group)group);
            duo_decision last = {.size = sizeof last};
            status = run_and_hash(ctx, &call, &random, &a, &bits->group[group]);
            if (duo_explain_last(ctx, &last) == DUO_OK && last.side == DUO_SIDE_GPU) bits->on_gpu++;
        }
        if (group < DUO_BITS_PROMISED) bits->all = add_word(bits->all, bits->group[group], 8);
    }
    close_arrays(ctx, &a);
    return status;
}
