/* verify_device.c - see verify_device.h */
#include "call/verify_device.h"

#include "call/execution.h"
#include "data/place.h"
#include "gpu/backend/devices.h"

bool duo_verify_on_device(const duo_verify_part *part)
{
    const duo_call *const whole = duo_call_whole(&part->call);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &whole->operand[i];
        if (duo_operand_touched(o) && !o->on_device) return false;
    }
    return true;
}

/* Queues the sums of B, A and C after the call. placed: with addresses on the device. */
static duo_status queue_sums(const duo_verify *v, duo_resources *res, const duo_verify_part *part,
                             const duo_call *placed, const duo_verify_sums *s)
{
    const duo_backend *const backend = duo_backend_current();
    const size_t bytes = (size_t)duo_verify_doubles(part) * sizeof(double);
    duo_status status = backend->fill(res->queue, s->product, bytes, 0, bytes, 1);
    if (status == DUO_OK && placed->operand[DUO_A].read) {
        const duo_freivalds_product b = duo_verify_product_of(v, placed, DUO_B, NULL, s->between);
        status = backend->freivalds_multiply(res->queue, &b);
        const duo_freivalds_product a =
            duo_verify_product_of(v, placed, DUO_A, s->between, s->product);
        if (status == DUO_OK) status = backend->freivalds_multiply(res->queue, &a);
    }
    const duo_freivalds_product c = duo_verify_product_of(v, placed, DUO_C, NULL, s->result);
    return status == DUO_OK ? backend->freivalds_multiply(res->queue, &c) : status;
}

static duo_status queue_old(const duo_verify *v, duo_resources *res, const duo_call *placed,
                            double *old)
{
    const size_t bytes = 2 * (size_t)placed->m * (size_t)duo_call_count(placed) * sizeof(double);
    const duo_status status = duo_backend_current()->fill(res->queue, old, bytes, 0, bytes, 1);
    const duo_freivalds_product c = duo_verify_product_of(v, placed, DUO_C, NULL, old);
    return status == DUO_OK ? duo_backend_current()->freivalds_multiply(res->queue, &c) : status;
}

bool duo_verify_queue(const duo_verify *v, duo_context *ctx, const duo_verify_part *part,
                      bool before)
{
    duo_resources *const res = &ctx->resources;
    const duo_call *const whole = duo_call_whole(&part->call);
    duo_call local, call;
    duo_batch batch;
    duo_status status = DUO_ERR_DEVICE;
    double *const old = (double *)(void *)((char *)res->checks.address + part->at);
    res->on_gpu = true;
    if (duo_place_on_device(res, DUO_sgemm_gpu_ffma, whole, &local) == DUO_OK) {
        call = local;
        if (part->call.batch != NULL) duo_batch_use_copies(&part->call, &local, &call, &batch);
        if (before) {
            status = queue_old(v, res, &call, old);
        } else {
            duo_verify_sums s = duo_verify_sums_at(part, res->checks.address);
            s.old = old;
            const duo_freivalds_rows rows =
                duo_verify_rows_of(part, &s, ctx->policy.math, v->own_bound);
            status = queue_sums(v, res, part, &call, &s);
            if (status == DUO_OK)
                status = duo_backend_current()->freivalds_compare(res->queue, &rows, res->wrong,
                                                                  ++res->checks_queued);
        }
        if (status != DUO_OK) (void)duo_resources_failed(res, status, "check a result");
    }
    duo_place_queued(res, whole, &local, status == DUO_OK);
    res->on_gpu = false;
    duo_place_end(res, whole, &local);
    return status == DUO_OK;
}

bool duo_verify_make_room(duo_verify *v, duo_context *ctx)
{
    int64_t most = 0, old = 0;
    if (duo_context_open(ctx) != DUO_OK) return false;
    for (int64_t p = 0; p < v->parts; p++) {
        const int64_t doubles = duo_verify_doubles(&v->part[p]);
        if (doubles > most) most = doubles;
    }
    for (int64_t p = 0; p < v->parts; p++) {
        duo_verify_part *const part = &v->part[p];
        part->at = (size_t)(most + old) * sizeof(double);
        if (part->call.beta != 0.0f) old += 2 * part->call.m * duo_verify_count(part);
    }
    duo_resources *const res = &ctx->resources;
    const size_t bytes = (size_t)(most + old) * sizeof(double);
    return duo_resources_pin_wrong(res) == DUO_OK &&
           duo_resources_grow(res, res->device, &res->checks, bytes) == DUO_OK;
}
