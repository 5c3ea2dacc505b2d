/* batched/places.cuh - where the operands of a batch's products are. */
#ifndef DUO_BATCHED_PLACES_CUH
#define DUO_BATCHED_PLACES_CUH

#include "batch.h"
#include "gpu/kernels.h"
#include "gpu/sgemm.cuh"

/* Each operand has a stride, in bytes, from product to product; or a list of addresses in device
 * memory, and the distance in bytes from an address to the copy that is used instead. */
struct batch_places {
    const uintptr_t *list[DUO_OPERANDS]; /* NULL: strides */
    int64_t step[DUO_OPERANDS];          /* the stride, or those bytes */

    template <class Pointer>
    __device__ __forceinline__ Pointer at(Pointer first, int i, int64_t product) const
    {
        const uintptr_t address = list[i] != nullptr
                                      ? list[i][product] + step[i]
                                      : reinterpret_cast<uintptr_t>(first) + product * step[i];
        /* It is in global memory: else reads of shared memory behind a write would wait for it. */
        return static_cast<Pointer>(__cvta_global_to_generic(address));
    }
    __device__ __forceinline__ void find(sgemm_problem &p, int64_t product) const
    {
        if (p.k > 0) p.a = at(p.a, DUO_A, product);
        if (p.k > 0) p.b = at(p.b, DUO_B, product);
        p.c = at(p.c, DUO_C, product);
    }
};

/* sent: where the lists that are sent are on the device, one behind the other. */
static inline batch_places places_of(const duo_batch *batch, const void *sent)
{
    batch_places places = {};
    const uintptr_t *list = static_cast<const uintptr_t *>(sent);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!duo_batch_listed(batch, i)) {
            places.step[i] = batch->stride[i] * (int64_t)sizeof(float);
            continue;
        }
        places.step[i] = batch->shift[i];
        places.list[i] = reinterpret_cast<const uintptr_t *>(batch->pointer[i]);
        if (batch->unread[i]) continue;
        places.list[i] = list;
        list += batch->count;
    }
    return places;
}

#endif
