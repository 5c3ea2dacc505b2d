/* batched/least_kernel.cuh - the kernel that a batch takes. */
#ifndef DUO_BATCHED_LEAST_KERNEL_CUH
#define DUO_BATCHED_LEAST_KERNEL_CUH

#include "gpu/batched/plan.h"
#include "gpu/launch.cuh"

struct kernel_choice {
    duo_batched_kernel kernel;
    double microseconds; /* infinite: none takes the batch */
};

/* From First to End - 1. */
template <duo_batched_kernel First, duo_batched_kernel End>
static kernel_choice least_kernel(const duo_call *call, const duo_batch *batch,
                                  const duo_batched_device &device)
{
    const struct {
        duo_batched_size size;
        duo_batched_device device;
    } key = {duo_batched_size_of(call, batch), device};
    return remembered_plan<kernel_choice>(key, [&] {
        kernel_choice choice;
        choice.kernel = duo_batched_least(&key.size, &key.device, First, End, &choice.microseconds);
        return choice;
    });
}

#endif
