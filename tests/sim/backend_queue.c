/*
 * backend_queue.c - the simulated device behind the backend's table: queues, and the work on them.
 * Waiting for it is in backend_wait.c.
 */
#include "sim/backend.h"

#include "choice/algorithm.h"
#include "sim/checks.h"
#include "sim/kernels.h"
#include "sim/memory.h"
#include "sim/timing.h"
#include "sim/worker.h"

#include <stdlib.h>

/* NULL: the heap is empty. */
static duo_queue *new_queue(void)
{
    duo_queue *const q = calloc(1, sizeof *q);
    progress *const p = calloc(1, sizeof *p);
    if (q != NULL && p != NULL && pthread_create(&q->worker, NULL, sim_work_on, q) == 0) {
        q->progress = p; /* the worker waits for the lock */
        return q;
    }
    free(q);
    free(p);
    return NULL;
}

duo_status sim_backend_open(int device, void *stream, duo_priority priority, duo_queue **queue)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_OPEN, device, &go);
    if (!go) return sim_leave(status);
    duo_queue *const q = new_queue();
    if (q == NULL) return sim_leave(DUO_ERR_MEMORY);
    q->progress->references = 1;
    q->device = device;
    q->stream = stream;
    q->priority = priority;
    q->last = &q->first;
    q->random = sim.count[SIM_OPEN];
    q->number = sim.opened++;
    q->next = sim.queues;
    sim.queues = q;
    *queue = q;
    return sim_leave(DUO_OK);
}

duo_status sim_backend_close(duo_queue *queue)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_CLOSE, queue->device, &go);
    queue->closing = true;
    pthread_cond_broadcast(&sim_changed);
    pthread_mutex_unlock(&sim_lock);
    pthread_join(queue->worker, NULL);

    pthread_mutex_lock(&sim_lock);
    sim_timing_waited(queue->clock);
    duo_queue **link = &sim.queues;
    while (*link != queue) link = &(*link)->next;
    *link = queue->next;
    if (--queue->progress->references == 0) free(queue->progress);
    if (status == DUO_OK && sim.lost[queue->device]) status = sim_answer_lost(queue->device);
    free(queue->stamp);
    free(queue);
    return sim_leave(status);
}

/* A queue without a stream of the caller's is its own stream. */
void *sim_backend_stream(duo_queue *queue)
{
    return queue->stream != NULL ? queue->stream : (void *)queue;
}

duo_status sim_backend_capturing(int device, void *stream, bool *capturing)
{
    *capturing = false;
    if (sim_forked()) return DUO_ERR_LOST;
    pthread_mutex_lock(&sim_lock);
    (void)device;
    const duo_queue *const q = sim_queue_of(stream);
    *capturing = q != NULL && q->recording != NULL;
    return sim_leave(DUO_OK);
}

/* The caller has the lock. */
static duo_status append_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                              size_t src_pitch, size_t width, size_t height, bool plain)
{
    if (width == 0 || height == 0) return DUO_OK;
    const work w = {.kind = WORK_COPY,
                    .plain = plain,
                    .dst = dst,
                    .src = src,
                    .dst_pitch = dst_pitch,
                    .src_pitch = src_pitch,
                    .width = width,
                    .height = height};
    const int lost = sim_copy_lost(&w);
    if (lost >= 0) return sim_answer_lost(lost);
    if (!sim_copy_legal(&w, queue->device)) return DUO_ERR_DEVICE;
    return sim_append(queue, &w);
}

duo_status sim_backend_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                            size_t src_pitch, size_t width, size_t height)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_COPY, queue->device, &go);
    if (go) status = append_copy(queue, dst, dst_pitch, src, src_pitch, width, height, false);
    return sim_leave(status);
}

duo_status sim_backend_copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                                size_t src_pitch, size_t width, size_t height)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_COPY, queue->device, &go);
    if (go) status = append_copy(queue, dst, dst_pitch, src, src_pitch, width, height, true);
    if (go && status == DUO_OK) status = sim_wait_for(queue, sim_here(queue));
    return sim_leave(status);
}

/* Counts as a copy within the device. */
duo_status sim_backend_fill(duo_queue *queue, void *dst, size_t pitch, unsigned char value,
                            size_t width, size_t height)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_COPY, queue->device, &go);
    if (!go) return sim_leave(status);
    const work w = {.kind = WORK_COPY,
                    .fills = true,
                    .value = value,
                    .dst = dst,
                    .src = dst,
                    .dst_pitch = pitch,
                    .src_pitch = pitch,
                    .width = width,
                    .height = height};
    if (!sim_copy_legal(&w, queue->device)) return sim_leave(DUO_ERR_DEVICE);
    return sim_leave(sim_append(queue, &w));
}

/* Counts as a copy within the device. */
duo_status sim_backend_tag(duo_queue *queue, const void *memory, size_t blocks, const void *key,
                           void *tags)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_COPY, queue->device, &go);
    if (!go) return sim_leave(status);
    const work w = {.kind = WORK_COPY,
                    .key = key,
                    .dst = tags,
                    .src = memory,
                    .dst_pitch = SIM_TAG,
                    .src_pitch = SIM_TAG_BLOCK,
                    .width = SIM_TAG,
                    .height = blocks};
    if (!sim_copy_legal(&w, queue->device)) return sim_leave(DUO_ERR_DEVICE);
    return sim_leave(sim_append(queue, &w));
}

/* A step of Freivalds' check, which counts as a copy within the device. */
static duo_status append_step(duo_queue *queue, work *w, double *sums, int64_t count)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_COPY, queue->device, &go);
    if (!go) return sim_leave(status);
    w->kind = WORK_COPY;
    w->dst = (char *)sums;
    w->src = w->dst;
    w->width = w->dst_pitch = w->src_pitch = (size_t)count * sizeof(double);
    w->height = 1;
    if (!sim_copy_legal(w, queue->device)) return sim_leave(DUO_ERR_DEVICE);
    return sim_leave(sim_append(queue, w));
}

duo_status sim_backend_freivalds_multiply(duo_queue *queue, const duo_freivalds_product *product)
{
    work w = {.product = *product};
    return append_step(queue, &w, product->sum, product->rows * product->count);
}

duo_status sim_backend_freivalds_compare(duo_queue *queue, const duo_freivalds_rows *rows,
                                         uint32_t *wrong, uint32_t number)
{
    work w = {.rows = *rows, .wrong = wrong, .ticket = number};
    return append_step(queue, &w, (double *)(uintptr_t)rows->result, rows->rows);
}

/* The GPU algorithm of an operation by its number, or NULL. */
static const duo_algorithm *gpu_algorithm(duo_operation operation, duo_algorithm_id id)
{
    if (id >= DUO_ALGORITHMS || duo_algorithm_operation(id) != operation) return NULL;
    const duo_algorithm *const algorithm = duo_algorithm_of(id);
    return algorithm->side == DUO_SIDE_GPU ? algorithm : NULL;
}

/* Every simulated algorithm of sgemm packs, so that packed operands are met often. The packed form
 * is a compact copy of the operand as it is stored; the algorithm then reads only that. */
size_t sim_backend_packed_bytes(duo_algorithm_id algorithm, const duo_call *call, int i)
{
    const duo_operand *const o = &call->operand[i];
    if (gpu_algorithm(DUO_SGEMM, algorithm) == NULL || i == DUO_C) return 0;
    return (size_t)o->rows * (size_t)o->columns * sizeof(float);
}

/* The operand as it is packed in `memory`: a range of the packed bytes, along its runs or run after
 * run. */
static duo_operand as_packed(const duo_call *call, int i, void *memory)
{
    duo_operand f = call->operand[i];
    const bool along_k = i == DUO_A ? call->transa : !call->transb;
    f.ld = along_k ? f.rows : duo_call_packed_rows(call, i);
    f.address = (float *)memory + f.packed_first * (along_k ? f.ld : 1);
    return f;
}

duo_status sim_backend_pack(duo_queue *queue, duo_algorithm_id algorithm, const duo_call *call,
                            int i, void *memory)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    const duo_status status = sim_enter(SIM_PACK, queue->device, &go);
    if (!go) return sim_leave(status);
    const duo_operand *const o = &call->operand[i];
    if (sim_backend_packed_bytes(algorithm, call, i) == 0) {
        sim_violation("pack: algorithm %d does not pack operand %d", (int)algorithm, i);
        return sim_leave(DUO_ERR_DEVICE);
    }
    if (!sim_packed_legal(call, i, memory, queue->device)) return sim_leave(DUO_ERR_DEVICE);
    const duo_operand packed = as_packed(call, i, memory);
    const work w = {.kind = WORK_COPY,
                    .dst = (char *)packed.address,
                    .src = (const char *)o->address,
                    .dst_pitch = (size_t)packed.ld * sizeof(float),
                    .src_pitch = (size_t)o->ld * sizeof(float),
                    .width = (size_t)o->rows * sizeof(float),
                    .height = (size_t)o->columns};
    if (!sim_copy_legal(&w, queue->device)) return sim_leave(DUO_ERR_DEVICE);
    return sim_leave(sim_append(queue, &w));
}

/* Sets the work of a launch. DUO_ERR_DEVICE: the launch is not allowed. */
static duo_status prepare_launch(work *w, const duo_queue *queue, duo_algorithm_id id,
                                 const duo_call *call)
{
    w->algorithm = gpu_algorithm(call->operation, id);
    if (w->algorithm == NULL) {
        sim_violation("launch: algorithm %d does not do operation %d on a GPU", (int)id,
                      (int)call->operation);
        return DUO_ERR_DEVICE;
    }
    if (!sim_launch_legal(w, queue->device)) return DUO_ERR_DEVICE;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &w->call.operand[i];
        if (o->packed == NULL) continue;
        if (sim_backend_packed_bytes(id, call, i) == 0) {
            sim_violation("launch: algorithm %d does not pack operand %d", (int)id, i);
            return DUO_ERR_DEVICE;
        }
        if (!sim_packed_legal(call, i, o->packed, queue->device)) return DUO_ERR_DEVICE;
        *o = as_packed(call, i, o->packed);
    }
    sim.last_algorithm = id;
    return DUO_OK;
}

duo_status sim_backend_launch(duo_queue *queue, duo_algorithm_id id, const duo_call *call,
                              uint64_t *pinned_result, uint32_t ticket)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_LAUNCH, queue->device, &go);
    if (!go) return sim_leave(status);
    work w = {.kind = WORK_LAUNCH, .call = *call, .pinned_result = pinned_result, .ticket = ticket};
    status = prepare_launch(&w, queue, id, call);
    return sim_leave(status == DUO_OK ? sim_append(queue, &w) : status);
}

/* Launches one product after the other. */
static duo_status append_products(duo_queue *queue, duo_algorithm_id id, const duo_call *call,
                                  const duo_batch *batch)
{
    duo_status status = DUO_OK;
    for (int64_t p = 0; p < batch->count && status == DUO_OK; p++) {
        work w = {.kind = WORK_LAUNCH, .call = *call};
        for (int i = 0; i < DUO_OPERANDS; i++) {
            if (!duo_operand_touched(&call->operand[i])) continue;
            w.shift[i] = batch->shift[i];
            if (batch->unread[i])
                w.list[i] = batch->pointer[i] + p;
            else
                w.call.operand[i].address = duo_batch_address(batch, call, i, p);
        }
        status = prepare_launch(&w, queue, id, &w.call);
        if (status == DUO_OK) status = sim_append(queue, &w);
    }
    return status;
}

duo_status sim_backend_launch_batch(duo_queue *queue, duo_algorithm_id id, const duo_group *group,
                                    int64_t groups)
{
    if (sim_forked()) return DUO_ERR_LOST;
    bool go;
    duo_status status = sim_enter(SIM_LAUNCH, queue->device, &go);
    if (!go) return sim_leave(status);
    for (int64_t g = 0; g < groups && status == DUO_OK; g++)
        status = append_products(queue, id, &group[g].call, &group[g].batch);
    return sim_leave(status);
}

/* Simulated algorithms need no workspace. */
duo_status sim_backend_trim(duo_queue *queue)
{
    (void)queue;
    return DUO_OK;
}
