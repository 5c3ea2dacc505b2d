/* batched_open.c - a batch of products in the buffers of its side, by strides and by lists. */
#include <stdlib.h>

#include "bench/batched/batched.h"

static bool make_list(duo_batched *b, int i)
{
    const int64_t count = b->problem.count;
    const size_t bytes = (size_t)count * sizeof(float *);
    b->list[i] = malloc(bytes);
    if (b->list[i] == NULL) return false;
    for (int64_t p = 0; p < count; p++) { /* neighbours change places: no equal distances */
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
