/* gpu_peers.c - see gpu_peers.h */
#include "bench/peers/gpu_peers.h"

#include "gpu/backend/devices.h"

static bool call_read(const duo_implementation *self, const duo_call *call)
{
    return duo_read_gpu(self->variant, call, self->function);
}

bool duo_bare_read_gpu(duo_implementation *peer, int variant, duo_queue *queue,
                       const duo_stock *stock, bool wait_each)
{
    if (variant >= duo_read_gpu_variants()) return false;
    *peer = (duo_implementation){.name = duo_read_gpu_name(variant),
                                 .side = DUO_SIDE_GPU,
                                 .bare_read = true,
                                 .variant = variant,
                                 .stock = stock,
                                 .wait_each = wait_each,
                                 .queue = queue,
                                 .function = duo_backend_current()->stream(queue),
                                 .call = call_read,
                                 .finish = duo_implementation_finish_queue};
    return peer->function != NULL;
}

static bool call_cub(const duo_implementation *self, const duo_call *call)
{
    return duo_cub_reduce((duo_cub_promise)self->variant, call, self->function, self->result);
}

bool duo_peer_cub(duo_implementation *peer, duo_operation operation, duo_cub_promise promise,
                  duo_queue *queue, const duo_stock *stock, float *host)
{
    static const char *const sums[DUO_CUB_PROMISES] = {
        [DUO_CUB_RUN_TO_RUN] = "CUB Sum",
        [DUO_CUB_NONE] = "CUB Sum any order",
        [DUO_CUB_GPU_TO_GPU] = "CUB Sum GPU to GPU",
    };
    if (!duo_cub_has(operation, promise)) return false;
    *peer =
        (duo_implementation){.name = operation == DUO_SSUM ? sums[promise] : "CUB TransformReduce",
                             .side = DUO_SIDE_GPU,
                             .stock = stock,
                             .wait_each = host != NULL,
                             .queue = queue,
                             .variant = (int)promise,
                             .result = host,
                             .function = duo_backend_current()->stream(queue),
                             .call = call_cub,
                             .finish = duo_implementation_finish_queue};
    return peer->function != NULL;
}
