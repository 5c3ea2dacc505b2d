/*
 * verify.c - see verify.h
 *
 * Each product is checked where its matrices are. If all of them are on the context's device, the
 * check is queued there behind the product, and duo_resources_finish learns what it has found. Else
 * they are brought to the host, where the team checks.
 *
 * The check needs C as it was before the call, if beta is not 0: on the host a copy of it, which
 * also lets a wrong result be computed again; on the device its sums.
 */
#include "call/verify.h"

#include <stdlib.h>
#include <string.h>

#include "call/verify_reduction.h"
#include "cpu/freivalds_cpu.h"
#include "cpu/kernels.h"
#include "data/checked.h"
#include "data/locate.h"
#include "data/place.h"
#include "gpu/backend/devices.h"
#include "host/float_mode.h"

static const double kUnit = 0x1p-24, kUnit64 = 0x1p-53;

/* ---- Which calls ---- */

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* The draw of the context's next call. */
static bool draw(duo_policy *policy, uint64_t *seed)
{
    const uint64_t number = ++policy->verify_calls;
    const uint64_t drawn = mix(policy->verify_seed + number * UINT64_C(0x9E3779B97F4A7C15));
    *seed = mix(drawn);
    return (double)(drawn >> 11) * 0x1p-53 < policy->verify_rate;
}

/* ---- Parts ---- */

static duo_status locate(duo_resources *res, duo_verify_part *part)
{
    duo_status status = duo_locate(res->device, &part->call);
    if (status == DUO_OK) status = duo_locate_ask(&res->report, &part->call);
    if (status != DUO_OK || part->call.batch == NULL) return status;
    status = duo_batch_locate(&part->call, res->device);
    if (status == DUO_OK) status = duo_locate_ask(&res->report, &part->batch.spans);
    return status == DUO_OK && part->batch.mixed ? DUO_ERR_UNSUPPORTED : status;
}

/* Its operands are only read, and not packed. */
static void only_reads(duo_call *call)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        o->read = duo_operand_touched(o);
        o->written = o->prepared = o->promised = false;
    }
}

/* The products of a call that has a shape and no groups: all in one part if they stand at equal
 * distances, else each in its own. */
static int64_t parts_of(const duo_call *call)
{
    bool even = true;
    for (int i = 0; i < DUO_OPERANDS && call->batch != NULL; i++)
        even &= !duo_operand_touched(&call->operand[i]) || duo_batch_even(call->batch, i);
    return even ? 1 : call->batch->count;
}

static void set_part(duo_verify_part *part, const duo_call *call)
{
    *part = (duo_verify_part){.call = *call};
    only_reads(&part->call);
    if (call->batch == NULL) return;
    part->batch = *call->batch;
    part->call.batch = &part->batch;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (!duo_operand_touched(&call->operand[i])) continue;
        part->call.operand[i].address = duo_batch_address(call->batch, call, i, 0);
        part->batch.pointer[i] = NULL;
    }
}

static const duo_call *group_of(duo_call *call, int64_t g)
{
    return call->batch != NULL ? duo_call_group(call, g) : call;
}

/* Cuts the call into its parts. False: there is no memory, or a list that only the device reads. */
static bool cut(duo_verify *v, duo_call *call)
{
    const int64_t groups = call->batch != NULL ? duo_batch_groups(call->batch) : 1;
    int64_t all = 0;
    for (int64_t g = 0; g < groups; g++) {
        const duo_call *const group = group_of(call, g);
        if (group->batch != NULL && duo_batch_unread(group->batch)) return false;
        all += parts_of(group);
    }
    v->part = all > 1 ? calloc((size_t)all, sizeof *v->part) : &v->own;
    if (v->part == NULL) return false;
    for (int64_t g = 0; g < groups; g++) {
        const duo_call *const group = group_of(call, g);
        const int64_t parts = parts_of(group);
        for (int64_t p = 0; p < parts; p++) {
            duo_call one = *group;
            if (parts > 1) duo_call_products(group, p, 1, &one, NULL);
            set_part(&v->part[v->parts++], &one);
        }
    }
    return true;
}

static void free_parts(duo_verify *v)
{
    for (int64_t p = 0; p < v->parts; p++) free(v->part[p].before);
    if (v->part != &v->own) free(v->part);
}

/* ---- The steps of a check ---- */

static int64_t count_of(const duo_verify_part *part) { return duo_call_count(&part->call); }

/* op(X) of operand i; `by` is the vector's sums. */
static duo_freivalds_product product_of(const duo_verify *v, const duo_call *call, int i,
                                        const double *by, double *sum)
{
    const int64_t rows = i == DUO_B ? call->k : call->m, columns = i == DUO_A ? call->k : call->n;
    const int64_t count = duo_call_count(call);
    return (duo_freivalds_product){
        .x = call->operand[i].address,
        .ld = call->operand[i].ld,
        .stride = call->batch != NULL ? call->batch->stride[i] : 0,
        .trans = i == DUO_A ? call->transa : i == DUO_B && call->transb,
        .rows = rows,
        .columns = columns,
        .count = count,
        .by = by,
        .by_magnitude = by != NULL ? by + columns * count : NULL,
        .by_largest = by != NULL ? by + 2 * columns * count : NULL,
        .seed = v->seed,
        /* Algorithms may lose what is below 2^-136 of elements below 2^-113 (docs/numerics.md). */
        .least = i == DUO_C ? 0.0 : 0x1p-112,
        .sum = sum,
        .magnitude = sum + rows * count,
        .largest = i == DUO_C ? NULL : sum + 2 * rows * count};
}

/*
 * Of a product that an algorithm of this library computed alone, its documented bound. Else that of
 * one chain over k, which a BLAS may add to C once for every 128 of k. */
static duo_freivalds_bound bound_of(const duo_call *call, duo_math math, bool own)
{
    const double k = call->operand[DUO_A].read ? (double)call->k : 0.0, n = (double)call->n;
    const double chain = own ? fmin(k, 260.0 + k / 16.0) + 3.0 : k + 3.0;
    const double rounded = math == DUO_MATH_TF32 ? 0x1p-10 : 0.0;
    const bool float64 = math == DUO_MATH_FLOAT64;
    return (duo_freivalds_bound){
        .alpha = call->alpha,
        .beta = call->beta,
        .per_product = float64 ? (k + 2.0) * kUnit64 : rounded + chain * kUnit,
        .per_old = float64 ? (k + 2.0) * kUnit64 : (2.0 + k / 128.0) * kUnit,
        .per_result = float64 ? 1.01 * kUnit : 0.0,
        .sums = (n + k + 8.0) * kUnit64,
        .least = n * (k + 3.0) * 0x1p-149 * fmax(1.0, fabs(call->alpha))};
}

/* Sums of a part, one behind the other: each with its magnitudes, and the first two with their
 * largest ones. */
typedef struct sums {
    double *product, *between, *result, *old; /* A (B r), B r, C r, C' r */
    int64_t doubles;                          /* of the first three */
} sums;

static sums sums_at(const duo_verify_part *part, double *memory)
{
    const int64_t m = part->call.m * count_of(part), k = part->call.k * count_of(part);
    return (sums){.product = memory,
                  .between = memory + 3 * m,
                  .result = memory + 3 * (m + k),
                  .doubles = 5 * m + 3 * k};
}

static duo_freivalds_rows rows_of(const duo_verify_part *part, const sums *s, duo_math math,
                                  bool own)
{
    const duo_call *const call = &part->call;
    const int64_t rows = call->m * count_of(part);
    const bool product = call->operand[DUO_A].read, old = call->beta != 0.0f;
    return (duo_freivalds_rows){.rows = rows,
                                .product = product ? s->product : NULL,
                                .product_magnitude = product ? s->product + rows : NULL,
                                .product_largest = product ? s->product + 2 * rows : NULL,
                                .old = old ? s->old : NULL,
                                .old_magnitude = old ? s->old + rows : NULL,
                                .result = s->result,
                                .result_magnitude = s->result + rows,
                                .bound = bound_of(call, math, own)};
}

/* ---- On the device ---- */

static bool is_on_device(const duo_verify_part *part)
{
    const duo_call *const whole = duo_call_whole(&part->call);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &whole->operand[i];
        if (!duo_operand_touched(o)) continue;
        if (!o->on_device || (o->residence != DUO_AT_DEVICE && !duo_operand_kept(o))) return false;
    }
    return true;
}

/* Multiplies operands from `first` on; placed: with addresses on the device. */
static duo_status queue_sums(const duo_verify *v, duo_resources *res, const duo_call *placed,
                             const sums *s)
{
    const duo_backend *const backend = duo_backend_current();
    const size_t bytes = (size_t)s->doubles * sizeof(double);
    duo_status status = backend->fill(res->queue, s->product, bytes, 0, bytes, 1);
    if (status == DUO_OK && placed->operand[DUO_A].read) {
        const duo_freivalds_product b = product_of(v, placed, DUO_B, NULL, s->between);
        status = backend->freivalds_multiply(res->queue, &b);
        const duo_freivalds_product a = product_of(v, placed, DUO_A, s->between, s->product);
        if (status == DUO_OK) status = backend->freivalds_multiply(res->queue, &a);
    }
    const duo_freivalds_product c = product_of(v, placed, DUO_C, NULL, s->result);
    return status == DUO_OK ? backend->freivalds_multiply(res->queue, &c) : status;
}

static duo_status queue_old(const duo_verify *v, duo_resources *res, const duo_call *placed,
                            double *old)
{
    const size_t bytes = 2 * (size_t)placed->m * (size_t)duo_call_count(placed) * sizeof(double);
    const duo_status status = duo_backend_current()->fill(res->queue, old, bytes, 0, bytes, 1);
    const duo_freivalds_product c = product_of(v, placed, DUO_C, NULL, old);
    return status == DUO_OK ? duo_backend_current()->freivalds_multiply(res->queue, &c) : status;
}

/* Queues the steps for a part whose operands are on the device: of C before the call, or all.
 * False: that was not possible. */
static bool queue_part(const duo_verify *v, duo_context *ctx, const duo_verify_part *part,
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
            sums s = sums_at(part, res->checks.address);
            s.old = old;
            const duo_freivalds_rows rows = rows_of(part, &s, ctx->policy.math, v->own_bound);
            status = queue_sums(v, res, &call, &s);
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

/* Makes room on the device for the sums of all parts: those that are there during the call behind
 * those of one part. */
static bool make_room(duo_verify *v, duo_context *ctx)
{
    int64_t most = 0, old = 0;
    if (duo_context_open(ctx) != DUO_OK) return false;
    for (int64_t p = 0; p < v->parts; p++) {
        const duo_verify_part *const part = &v->part[p];
        const sums s = sums_at(part, NULL);
        if (s.doubles > most) most = s.doubles;
    }
    for (int64_t p = 0; p < v->parts; p++) {
        duo_verify_part *const part = &v->part[p];
        part->at = (size_t)(most + old) * sizeof(double);
        if (part->call.beta != 0.0f) old += 2 * part->call.m * count_of(part);
    }
    duo_resources *const res = &ctx->resources;
    const size_t bytes = (size_t)(most + old) * sizeof(double);
    return duo_resources_pin_wrong(res) == DUO_OK &&
           duo_resources_grow(res, res->device, &res->checks, bytes) == DUO_OK;
}

/* ---- On the host ---- */

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

/* Keeps what C was. */
static bool keep_before(duo_resources *res, duo_verify_part *part)
{
    duo_call local, call;
    duo_batch batch;
    const duo_call *const whole = duo_call_whole(&part->call);
    const size_t floats = (size_t)part->call.m * (size_t)part->call.n * (size_t)count_of(part);
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
    const int64_t count = count_of(part);
    if (!part->sums) {
        duo_freivalds_product c = product_of(v, &part->call, DUO_C, NULL, old);
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
static void add_up(const duo_verify *v, const duo_call *call, const sums *s, int threads)
{
    if (call->operand[DUO_A].read) {
        const duo_freivalds_product b = product_of(v, call, DUO_B, NULL, s->between);
        duo_freivalds_cpu_multiply(&b, threads);
        const duo_freivalds_product a = product_of(v, call, DUO_A, s->between, s->product);
        duo_freivalds_cpu_multiply(&a, threads);
    }
    const duo_freivalds_product c = product_of(v, call, DUO_C, NULL, s->result);
    duo_freivalds_cpu_multiply(&c, threads);
}

/* Checks a part on the host. *wrong: its rows that are wrong. */
static duo_status check_on_host(const duo_verify *v, duo_context *ctx, const duo_verify_part *part,
                                int64_t *wrong)
{
    duo_resources *const res = &ctx->resources;
    const duo_call *const whole = duo_call_whole(&part->call);
    const int threads = duo_resources_threads(res);
    sums s = sums_at(part, NULL);
    const size_t old = 2 * (size_t)(part->call.m * count_of(part));
    double *const memory = malloc(((size_t)s.doubles + old) * sizeof(double));
    duo_call local, call;
    duo_batch batch;
    if (memory == NULL) return DUO_ERR_MEMORY;
    s = sums_at(part, memory);
    s.old = memory + s.doubles;
    duo_status status = bring(res, whole, &part->call, &local, &call, &batch);
    if (status == DUO_OK && part->call.beta != 0.0f)
        status = old_sums(v, res, part, s.old, threads);
    if (status == DUO_OK) {
        const duo_freivalds_rows rows = rows_of(part, &s, ctx->policy.math, v->own_bound);
        add_up(v, &call, &s, threads);
        *wrong = duo_freivalds_cpu_wrong(&rows);
    }
    duo_place_end(res, whole, &local);
    free(memory);
    return status;
}

/* ---- Again, on the CPU ---- */

static duo_outcome multiply_again(const duo_call *call, duo_math math)
{
    const duo_algorithm_id id =
        math == DUO_MATH_FLOAT64 ? DUO_sgemm_cpu_float64 : DUO_sgemm_cpu_ffma;
    duo_outcome outcome = DUO_OK;
    for (int64_t p = 0; p < duo_call_count(call) && outcome == DUO_OK; p++) {
        duo_call one = *call;
        if (call->batch != NULL) duo_call_products(call, p, 1, &one, NULL);
        outcome = duo_algorithm_of(id)->run(&one);
    }
    return outcome;
}

/* Computes a part's products anew. False: C is gone as it was before, or cannot be written. */
static bool compute_again(duo_context *ctx, const duo_verify_part *part)
{
    duo_resources *const res = &ctx->resources;
    duo_verify_part again = *part;
    duo_call local, call;
    duo_batch batch;
    duo_operand *const c = &again.call.operand[DUO_C];
    if (c->read && part->call.beta != 0.0f && part->before == NULL) return false;
    if (again.call.batch != NULL) again.call.batch = &again.batch;
    c->written = true;
    if (locate(res, &again) != DUO_OK) return false;
    const duo_call *const whole = duo_call_whole(&again.call);
    duo_outcome outcome = bring(res, whole, &again.call, &local, &call, &batch);
    if (outcome == DUO_OK) {
        call.threads = duo_resources_threads(res);
        call.operand[DUO_C].read = part->call.beta != 0.0f;
        if (part->before != NULL) copy_c(&call, part->before, true);
        outcome = multiply_again(&call, ctx->policy.math);
    }
    if (outcome == DUO_OK) outcome = duo_place_from_host(res, whole, &local);
    duo_place_end(res, whole, &local);
    return outcome == DUO_OK;
}

/* ---- Products ---- */

/* Finds all operands. *before: does a part read C? *device: is everything on the device? */
static bool find_parts(duo_verify *v, duo_context *ctx, bool *before, bool *device)
{
    *before = false;
    *device = true;
    for (int64_t p = 0; p < v->parts; p++) {
        duo_verify_part *const part = &v->part[p];
        if (locate(&ctx->resources, part) != DUO_OK) return false;
        *before |= part->call.beta != 0.0f;
        *device &= is_on_device(part);
    }
    return true;
}

static bool begin_products(duo_verify *v, duo_context *ctx)
{
    duo_resources *const res = &ctx->resources;
    bool before, device;
    if (!find_parts(v, ctx, &before, &device)) return false;
    if (!before) return true;
    device = device && make_room(v, ctx);
    for (int64_t p = 0; p < v->parts; p++) {
        duo_verify_part *const part = &v->part[p];
        if (part->call.beta == 0.0f) continue;
        part->sums = device && queue_part(v, ctx, part, true);
        if (!part->sums && !keep_before(res, part)) return false;
    }
    v->device = res->queue_device;
    return true;
}

/* Are the sums of what C was still there? Not if the queue was closed meanwhile. */
static bool has_before(const duo_verify *v, const duo_resources *res, const duo_verify_part *part)
{
    return !part->sums || (res->queue != NULL && res->queue_device == v->device &&
                           duo_device_usable(v->device) && res->checks.address != NULL);
}

/* Checks a part: queues that, or does it, and computes the part again if it is wrong. */
static duo_status end_part(duo_verify *v, duo_execution *e, duo_verify_part *part)
{
    duo_context *const ctx = e->ctx;
    duo_resources *const res = &ctx->resources;
    const duo_algorithm *const ran = e->choice[e->ran].algorithm;
    int64_t wrong = 0;
    v->own_bound = ran->id != DUO_sgemm_cpu_openblas && !e->partly;
    if (locate(res, part) != DUO_OK || !has_before(v, res, part)) return DUO_OK;
    if (part->before == NULL && is_on_device(part) && (part->sums || make_room(v, ctx)) &&
        queue_part(v, ctx, part, false)) {
        res->unwaited = true;
        duo_checked_count(1, 0);
        return DUO_OK;
    }
    if (check_on_host(v, ctx, part, &wrong) != DUO_OK) return DUO_OK;
    duo_checked_count(1, wrong > 0);
    if (wrong == 0) return DUO_OK;
    if (ran->side == DUO_SIDE_GPU) duo_checked_device(res->device);
    v->own_bound = true;
    if (compute_again(ctx, part) && check_on_host(v, ctx, part, &wrong) == DUO_OK && wrong == 0) {
        duo_report_note(&res->report, "the result of %s was wrong; the CPU computed it again",
                        ran->name);
        return DUO_OK;
    }
    duo_report_note(&res->report, "the result of %s is wrong", ran->name);
    return DUO_ERR_WRONG;
}

/* ---- Calls ---- */

/* On the heap, as it is large: calls run on small stacks, too. */
duo_verify *duo_verify_begin(duo_context *ctx, duo_call *call)
{
    uint64_t seed;
    if (!draw(&ctx->policy, &seed)) return NULL;
    if (!float_mode_usual(float_mode_read())) return NULL; /* the bounds are for the default mode */
    duo_verify *const v = calloc(1, sizeof *v);
    if (v == NULL) return NULL;
    v->seed = seed;
    const bool ready = call->operation != DUO_SGEMM ? !duo_verify_overlaps(call)
                                                    : cut(v, call) && begin_products(v, ctx);
    if (ready) return v;
    free_parts(v);
    free(v);
    return NULL;
}

duo_status duo_verify_end(duo_verify *v, duo_execution *e, duo_status status)
{
    if (v == NULL) return status;
    if (e->call->operation != DUO_SGEMM && status == DUO_OK) status = duo_verify_reduction(e);
    for (int64_t p = 0; p < v->parts && status == DUO_OK; p++) status = end_part(v, e, &v->part[p]);
    free_parts(v);
    free(v);
    return status;
}
