/* verify_host.c - see verify_host.h */
#include "call/verify_host.h"

#include <stdlib.h>
#include <string.h>

#include "call/execution.h"
#include "cpu/freivalds_cpu.h"
#include "cpu/kernels.h"
#include "data/place.h"
#include "gpu/backend/devices.h"

/* The matrix C of each product; `call` has addresses in host memory. */
static float *c_of(const duo_call *call, int64_t product)
{
    const int64_t stride = call->batch != NULL ? call->batch->stride[DUO_C] : 0;
    return call->operand[DUO_C].address + product * stride;
}

/* Copies all C to memory without gaps, or back. */
static void copy_c(const duo_call *call, float *dense, bool back)
{
    const int64_t ld = call->operand[DUO_C].ld;
    for (int64_t p = 0; p < duo_call_count(call); p++)
        for (int64_t j = 0; j < call->n; j++, dense += call->m) {
            float *const column = c_of(call, p) + j * ld;
            const size_t bytes = (size_t)call->m * sizeof(float);
            memcpy(back ? column : dense, back ? dense : column, bytes);
        }
}

/* Brings a part's operands to the host; *call has their addresses. duo_place_end has to follow. */
static duo_status bring(duo_resources *res, const duo_call *whole, const duo_call *from,
                        duo_call *local, duo_call *call, duo_batch *batch)
{
    const duo_status status = duo_place_on_host(res, whole, local);
    *call = *local;
    if (from->batch != NULL) duo_batch_use_copies(from, local, call, batch);
    return status;
}

bool duo_verify_keep_before(duo_resources *res, duo_verify_part *part)
{
    duo_call local, call;
    duo_batch batch;
    const duo_call *const whole = duo_call_whole(&part->call);
    const size_t floats =
        (size_t)part->call.m * (size_t)part->call.n * (size_t)duo_verify_count(part);
    part->before = malloc(floats * sizeof(float));
    if (part->before == NULL) return false;
    const duo_status status = bring(res, whole, &part->call, &local, &call, &batch);
    if (status == DUO_OK) copy_c(&call, part->before, false);
    duo_place_end(res, whole, &local);
    return status == DUO_OK;
}

/* The sums of what C was: from the copy, or from the device. */
static duo_status old_sums(const duo_verify *v, duo_resources *res, const duo_verify_part *part,
                           double *old, int threads)
{
    const int64_t count = duo_verify_count(part);
    if (!part->sums) {
        duo_freivalds_product c = duo_verify_product_of(v, &part->call, DUO_C, NULL, old);
        c.x = part->before;
        c.ld = part->call.m;
        c.stride = part->call.m * part->call.n;
        duo_freivalds_cpu_multiply(&c, threads);
        return DUO_OK;
    }
    const size_t bytes = 2 * (size_t)(part->call.m * count) * sizeof(double);
    const char *const there = (const char *)res->checks.address + part->at;
    return duo_backend_current()->copy_now(res->queue, old, bytes, there, bytes, bytes, 1);
}

/* Multiplies on the host. `call` has addresses there. */
static void add_up(const duo_verify *v, const duo_call *call, const duo_verify_sums *s, int threads)
{
    if (call->operand[DUO_A].read) {
        const duo_freivalds_product b = duo_verify_product_of(v, call, DUO_B, NULL, s->between);
        duo_freivalds_cpu_multiply(&b, threads);
        const duo_freivalds_product a =
            duo_verify_product_of(v, call, DUO_A, s->between, s->product);
        duo_freivalds_cpu_multiply(&a, threads);
    }
    const duo_freivalds_product c = duo_verify_product_of(v, call, DUO_C, NULL, s->result);
    duo_freivalds_cpu_multiply(&c, threads);
}

duo_status duo_verify_check(const duo_verify *v, duo_context *ctx, const duo_verify_part *part,
                            int64_t *wrong)
{
    duo_resources *const res = &ctx->resources;
    const duo_call *const whole = duo_call_whole(&part->call);
    const int threads = duo_resources_threads(res);
    const int64_t doubles = duo_verify_doubles(part);
    const size_t old = 2 * (size_t)(part->call.m * duo_verify_count(part));
    double *const memory = malloc(((size_t)doubles + old) * sizeof(double));
    duo_call local, call;
    duo_batch batch;
    if (memory == NULL) return DUO_ERR_MEMORY;
    duo_verify_sums s = duo_verify_sums_at(part, memory);
    s.old = memory + doubles;
    duo_status status = bring(res, whole, &part->call, &local, &call, &batch);
    if (status == DUO_OK && part->call.beta != 0.0f)
        status = old_sums(v, res, part, s.old, threads);
    if (status == DUO_OK) {
        const duo_freivalds_rows rows =
            duo_verify_rows_of(part, &s, ctx->policy.math, v->own_bound);
        add_up(v, &call, &s, threads);
        *wrong = duo_freivalds_cpu_wrong(&rows);
    }
    duo_place_end(res, whole, &local);
    free(memory);
    return status;
}

/* ---- Again ---- */

/* By algorithms that never decline. */
static void multiply_again(const duo_call *call, duo_math math)
{
    const duo_algorithm_id id =
        math == DUO_MATH_FLOAT64 ? DUO_sgemm_cpu_float64 : DUO_sgemm_cpu_ffma;
    for (int64_t p = 0; p < duo_call_count(call); p++) {
        duo_call one = *call;
        if (call->batch != NULL) duo_call_products(call, p, 1, &one, NULL);
        (void)duo_algorithm_of(id)->run(&one);
    }
}

bool duo_verify_compute_again(duo_context *ctx, const duo_verify_part *part)
{
    duo_resources *const res = &ctx->resources;
    duo_verify_part again = *part;
    duo_call local, call;
    duo_batch batch;
    duo_operand *const c = &again.call.operand[DUO_C];
    if (part->call.beta != 0.0f && part->before == NULL) return false;
    if (again.call.batch != NULL) again.call.batch = &again.batch;
    c->written = true;
    if (duo_verify_locate(res, &again) != DUO_OK) return false;
    const duo_call *const whole = duo_call_whole(&again.call);
    duo_status status = bring(res, whole, &again.call, &local, &call, &batch);
    if (status == DUO_OK) {
        call.threads = duo_resources_threads(res);
        call.operand[DUO_C].read = part->call.beta != 0.0f;
        if (part->before != NULL) copy_c(&call, part->before, true);
        multiply_again(&call, ctx->policy.math);
        status = duo_place_from_host(res, whole, &local);
    }
    duo_place_end(res, whole, &local);
    return status == DUO_OK;
}
