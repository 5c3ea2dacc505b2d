/* context.c - contexts: made, pooled, configured. */
#define _GNU_SOURCE
#include "call/context.h"

#include <omp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/blas_library.h"
#include "host/environment.h"
#include "host/lock.h"
#include "host/team.h"

enum { LIVE = 0x44554f31, DEAD = 0x44554f30 };

__thread duo_context *duo_context_default;

/* Ended contexts, to be used again: their memory stays readable, so a stale handle is recognised.
 */
static duo_context *pool;

static duo_context *newest; /* of all contexts, whatever has become of them */

/* Default contexts of threads that have ended, with queue and workspace, for the next thread. */
static duo_context *idle_defaults;
static pthread_key_t default_key;
static bool has_key;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

/* ---- Making ---- */

/* Ranks of one machine are spread over its devices, once these were counted. */
static void settle_device(duo_context *ctx)
{
    const char *why;
    if (!ctx->rank_device || !duo_devices_looked()) return;
    const int count = duo_devices(&why);
    if (count > 0) ctx->device %= count;
    ctx->rank_device = false;
}

static void set_default_device(duo_context *ctx)
{
    const duo_environment *const environment = duo_environment_get();
    ctx->device = environment->device;
    ctx->rank_device = environment->device_by_rank;
    settle_device(ctx);
}

/* A context of zeros. The list of all is whole whenever the lock is free, as it is at a fork. */
static duo_context *take(void)
{
    duo_lock(DUO_LOCK_CONTEXTS);
    duo_context *const ctx = pool != NULL ? pool : calloc(1, sizeof *ctx);
    if (ctx != NULL && ctx == pool) {
        pool = ctx->next;
        *ctx = (duo_context){.older = ctx->older};
    } else if (ctx != NULL) {
        ctx->older = newest;
        newest = ctx;
    }
    duo_unlock(DUO_LOCK_CONTEXTS);
    return ctx;
}

static duo_context *make(void)
{
    duo_context *const ctx = take();
    if (ctx == NULL) return NULL;
    const duo_environment *const environment = duo_environment_get();
    ctx->path = environment->path;
    ctx->math = environment->math;
    ctx->verbose = environment->verbose;
    set_default_device(ctx);
    ctx->last_call.operation = DUO_OPERATIONS; /* none yet */
    ctx->last_seconds = -1.0;
    ctx->magic = LIVE;
    duo_context_policy(ctx);
    if (environment->complaint != NULL) {
        char text[sizeof ctx->note];
        snprintf(text, sizeof text, "the value of %s was not understood and is ignored",
                 environment->complaint);
        duo_explain_event(ctx, text);
    }
    return ctx;
}

/* A thread ends: no CUDA call here, its context just waits for another thread. */
static void retire(void *value)
{
    duo_context *const ctx = value;
    duo_lock(DUO_LOCK_CONTEXTS);
    ctx->next = idle_defaults;
    idle_defaults = ctx;
    duo_unlock(DUO_LOCK_CONTEXTS);
    duo_context_default = NULL;
}

/* Where the process has used up its keys, a default context ends with its thread, unused for ever. */
static void make_key(void) { has_key = pthread_key_create(&default_key, retire) == 0; }

static duo_context *make_default(void)
{
    pthread_once(&default_once, make_key);
    duo_lock(DUO_LOCK_CONTEXTS);
    duo_context *ctx = idle_defaults;
    if (ctx != NULL) idle_defaults = ctx->next;
    duo_unlock(DUO_LOCK_CONTEXTS);
    if (ctx != NULL) {
        /* The policy is the thread's, not its predecessor's. */
        const duo_environment *const environment = duo_environment_get();
        ctx->path = environment->path;
        ctx->math = environment->math;
        ctx->verbose = environment->verbose;
        ctx->threads = 0;
        ctx->log = NULL;
        ctx->program = NULL;
        ctx->last_call.operation = DUO_OPERATIONS;
        ctx->last_tiny = ctx->last_short = false;
        ctx->note[0] = ctx->detail[0] = '\0';
        const int device = ctx->device;
        set_default_device(ctx);
        if (ctx->device != device || ctx->stream != NULL) {
            (void)duo_context_close_queue(ctx);
            ctx->stream = NULL;
        }
        duo_context_policy(ctx);
    } else {
        ctx = make();
    }
    if (ctx == NULL) return NULL;
    if (has_key) (void)pthread_setspecific(default_key, ctx);
    duo_context_default = ctx;
    return ctx;
}

duo_context *duo_context_of(duo_context *ctx)
{
    if (ctx == NULL) return duo_context_default != NULL ? duo_context_default : make_default();
    return ctx->magic == LIVE ? ctx : NULL;
}

duo_status duo_create(duo_context **ctx)
{
    if (ctx == NULL) return DUO_ERR_NULL;
    *ctx = make();
    return *ctx != NULL ? DUO_OK : DUO_ERR_MEMORY;
}

duo_status duo_destroy(duo_context *ctx)
{
    if (ctx == NULL) return DUO_OK;
    if (ctx->magic != LIVE || ctx == duo_context_default) return DUO_ERR_CONTEXT;
    const duo_status status = duo_context_close_queue(ctx);
    ctx->magic = DEAD;
    duo_lock(DUO_LOCK_CONTEXTS);
    ctx->next = pool;
    pool = ctx;
    duo_unlock(DUO_LOCK_CONTEXTS);
    return status;
}

/* ---- Policy ---- */

static int threads_now(const duo_context *ctx)
{
    if (duo_machine_forked() || omp_in_parallel()) return 1;
    return ctx->threads > 0 ? ctx->threads : duo_machine_threads_now();
}

duo_conditions duo_context_conditions(duo_context *ctx)
{
    settle_device(ctx);
    duo_conditions conditions = {.profile = duo_profile_in_use(),
                                 .path = ctx->path,
                                 .math = ctx->math,
                                 .threads = threads_now(ctx)};
    conditions.gpu = ctx->path != DUO_PATH_CPU && !duo_machine_forked() &&
                     (!duo_devices_looked() || duo_device_usable(ctx->device));
    if (conditions.gpu) {
        conditions.capability = duo_device_capability(ctx->device);
        conditions.device_memory_bytes = duo_device_room(ctx->device);
        for (int i = 0; i < DUO_OPERANDS; i++)
            conditions.device_memory_bytes += (double)ctx->workspace[i].bytes;
    }
    return conditions;
}

/* The algorithm that serves a call of this edge (sgemm) or length with all operands in plain host memory.
 */
static const duo_algorithm *algorithm_for_size(const duo_conditions *conditions,
                                               duo_operation operation, int64_t size)
{
    duo_call call = {.operation = operation, .m = 1, .n = size, .threads = 1};
    duo_operand *const o = call.operand;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        o[i] = (duo_operand){.rows = 1, .columns = size, .ld = 1, .on_host = true};
        o[i].residence = DUO_AT_PAGEABLE;
        o[i].read = i < 2;
        o[i].written = i == 2;
    }
    if (operation == DUO_SGEMM) {
        call.m = call.k = size;
        for (int i = 0; i < DUO_OPERANDS; i++) o[i].rows = o[i].ld = size;
    } else {
        o[DUO_RESULT].columns = 1;
        if (operation != DUO_SDOT) o[DUO_Y] = (duo_operand){0};
    }
    duo_choice choice[DUO_CANDIDATES];
    const int count = duo_predict(&call, conditions, choice);
    const int best = duo_select(choice, count, conditions);
    return best >= 0 && choice[best].threads == 1 ? choice[best].algorithm : NULL;
}

void duo_context_policy(duo_context *ctx)
{
    /* One thread, because a tiny call must not ask OpenMP anything; GPU as promising as its profile
     * says. */
    duo_conditions conditions = {.profile = duo_profile_in_use(),
                                 .path = ctx->path,
                                 .math = ctx->math,
                                 .threads = ctx->threads > 0 ? ctx->threads : duo_machine_threads(),
                                 .gpu = ctx->path != DUO_PATH_CPU,
                                 .device_memory_bytes = 1e18};
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        ctx->tiny[operation] = -1;
        ctx->tiny_algorithm[operation] = NULL;
        if (ctx->verbose > 0 || ctx->log != NULL || ctx->path == DUO_PATH_GPU) continue;
        if (ctx->math == DUO_MATH_FLOAT64) continue; /* the short way is float32's */
        /* Calls are monotone in every size, so the limit for cubes holds for all that fits in the
         * cube. */
        const int64_t most = operation == DUO_SGEMM ? 512 : 32768;
        const duo_algorithm *const algorithm =
            algorithm_for_size(&conditions, (duo_operation)operation, 1);
        if (algorithm == NULL || algorithm->side != DUO_SIDE_CPU) continue;
        int64_t size = 1;
        while (2 * size <= most &&
               algorithm_for_size(&conditions, (duo_operation)operation, 2 * size) == algorithm)
            size *= 2;
        ctx->tiny[operation] = size;
        ctx->tiny_algorithm[operation] = algorithm;
    }
}

duo_status duo_set_path(duo_context *given, duo_path path)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (path != DUO_PATH_AUTO && path != DUO_PATH_CPU && path != DUO_PATH_GPU) return DUO_ERR_ENUM;
    ctx->path = path;
    duo_context_policy(ctx);
    return DUO_OK;
}

duo_status duo_set_math(duo_context *given, duo_math math)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (math != DUO_MATH_ACCURATE && math != DUO_MATH_IEEE && math != DUO_MATH_TF32 &&
        math != DUO_MATH_FLOAT64)
        return DUO_ERR_ENUM;
    ctx->math = math;
    duo_context_policy(ctx);
    return DUO_OK;
}

duo_status duo_set_threads(duo_context *given, int threads)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (threads < 0) return DUO_ERR_SIZE;
    ctx->threads = threads < DUO_TEAM_MOST ? threads : DUO_TEAM_MOST;
    duo_context_policy(ctx);
    return DUO_OK;
}

duo_status duo_set_device(duo_context *given, int device)
{
    duo_context *const ctx = duo_context_of(given);
    const char *why;
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (device < 0 || device >= duo_devices(&why)) return DUO_ERR_DEVICE;
    settle_device(ctx);
    if (device == ctx->device) return DUO_OK;
    (void)duo_context_close_queue(ctx);
    ctx->device = device;
    ctx->stream = NULL;
    return DUO_OK;
}

duo_status duo_set_stream(duo_context *given, void *cuda_stream)
{
    duo_context *const ctx = duo_context_of(given);
    const char *why;
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    const int count = duo_devices(&why);
    settle_device(ctx);
    if (count == 0 || !duo_device_usable(ctx->device)) return DUO_ERR_DEVICE;
    if (ctx->stream == cuda_stream) return DUO_OK;
    (void)duo_context_close_queue(ctx);
    ctx->stream = cuda_stream;
    return DUO_OK;
}

duo_status duo_set_log(duo_context *given, void (*log)(void *user, const char *line), void *user)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    ctx->log = log;
    ctx->log_user = user;
    duo_context_policy(ctx);
    return DUO_OK;
}

duo_status duo_set_cpu_sgemm(duo_context *given, void (*sgemm)(void))
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    const duo_fortran_sgemm program = (duo_fortran_sgemm)sgemm;
    ctx->program = program != NULL && duo_blas_library_yields_to(program) ? program : NULL;
    duo_context_policy(ctx);
    return DUO_OK;
}

/* ---- Device side ---- */

void duo_context_note(duo_context *ctx, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ctx->note, sizeof ctx->note, format, arguments);
    va_end(arguments);
    snprintf(ctx->detail, sizeof ctx->detail, "%s", ctx->note);
    duo_explain_event(ctx, ctx->note);
}

static duo_status failed_on(duo_context *ctx, int device, duo_status status, const char *doing)
{
    const char *const detail = duo_backend_current()->detail();
    duo_context_note(ctx, "GPU %d: %s: %.100s", device, doing, detail);
    if (status == DUO_ERR_LOST) {
        duo_device_lose(device, detail);
        duo_residency_lose_device(device);
    }
    return status;
}

duo_status duo_context_failed(duo_context *ctx, duo_status status, const char *doing)
{
    return failed_on(ctx, ctx->queue != NULL ? ctx->queue_device : ctx->device, status, doing);
}

static duo_status open_queue(duo_context *ctx, int device, void *stream)
{
    const duo_status status = duo_queue_open(device, stream, &ctx->queue);
    if (status != DUO_OK) {
        ctx->queue = NULL;
        return failed_on(ctx, device, status, "open a queue");
    }
    ctx->queue_device = device;
    duo_device_info info = {.size = sizeof info};
    if (duo_backend_current()->describe(device, &info) == DUO_OK) duo_profile_check_gpu(info.name);
    return DUO_OK;
}

duo_status duo_context_queue(duo_context *ctx)
{
    const char *why;
    const int count = duo_devices(&why);
    settle_device(ctx);
    if (count == 0 || !duo_device_usable(ctx->device)) {
        duo_context_note(ctx, "no GPU: %s", duo_device_why(ctx->device));
        return DUO_ERR_DEVICE;
    }
    if (ctx->queue != NULL) return DUO_OK;
    return open_queue(ctx, ctx->device, ctx->stream);
}

duo_status duo_context_reach(duo_context *ctx, const duo_region *region)
{
    const duo_status status = duo_context_queue(ctx);
    if (status == DUO_OK) return DUO_OK;
    if (!duo_device_usable(region->device)) return DUO_ERR_LOST;
    if (duo_device_usable(ctx->device) || ctx->on_gpu) return status;
    if (ctx->queue != NULL && ctx->queue_device == region->device) return DUO_OK;
    const bool unwaited = ctx->unwaited; /* what the lost device had; duo_synchronize says so */
    (void)duo_context_close_queue(ctx);
    ctx->unwaited = unwaited;
    return open_queue(ctx, region->device, NULL);
}

duo_status duo_context_pin_result(duo_context *ctx)
{
    void *slot = NULL;
    if (ctx->pinned_result != NULL) return DUO_OK;
    const duo_status status = duo_backend_current()->pin(ctx->queue_device, 64, &slot);
    if (status != DUO_OK) return duo_context_failed(ctx, status, "pin a result slot");
    ctx->pinned_result = slot;
    *ctx->pinned_result = 0;
    ctx->ticket = 0;
    return DUO_OK;
}

static void free_workspace(duo_context *ctx)
{
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (ctx->workspace[i].address != NULL)
            (void)duo_device_release(ctx->queue_device, ctx->workspace[i].address,
                                     ctx->workspace[i].bytes);
        ctx->workspace[i] = (duo_space){0};
    }
}

duo_status duo_context_close_queue(duo_context *ctx)
{
    if (ctx->queue == NULL) return DUO_OK;
    const duo_backend *const backend = duo_backend_current();
    duo_status status = duo_queue_finish(ctx->queue);
    if (status != DUO_OK) status = duo_context_failed(ctx, status, "finish");
    duo_residency_lock();
    duo_residency_forget_queue(ctx->queue);
    duo_residency_unlock();
    duo_stage_free(ctx);
    free_workspace(ctx);
    if (ctx->pinned_result != NULL) (void)backend->unpin(ctx->pinned_result);
    const duo_status closed = backend->close(ctx->queue); /* which has waited once more */
    if (closed == DUO_OK && status != DUO_ERR_LOST) status = DUO_OK;
    ctx->pinned_result = NULL;
    ctx->queue = NULL;
    const bool unwaited = ctx->unwaited;
    ctx->unwaited = false;
    return unwaited ? status : DUO_OK;
}

void duo_contexts_in_child(void)
{
    for (duo_context *ctx = newest; ctx != NULL; ctx = ctx->older) {
        /* A thread that is gone may have held the locks of the inner BLAS. */
        if (ctx->running != NULL && duo_algorithm_calls_blas(ctx->running->id))
            duo_blas_library_abandon("another thread was inside it when the process forked");
        /* The parent's: not to be touched. */
        ctx->queue = NULL;
        ctx->pinned_result = NULL;
        memset(ctx->workspace, 0, sizeof ctx->workspace);
        memset(ctx->stage, 0, sizeof ctx->stage);
        memset(ctx->stage_busy, 0, sizeof ctx->stage_busy);
        ctx->reading_host = ctx->unwaited = ctx->on_gpu = false;
    }
}

duo_status duo_space_device(duo_context *ctx, duo_space *space, size_t bytes)
{
    if (bytes <= space->bytes) return DUO_OK;
    if (space->address != NULL)
        (void)duo_device_release(ctx->queue_device, space->address, space->bytes);
    *space = (duo_space){0};
    const duo_status status = duo_device_allocate(ctx->queue_device, bytes, &space->address);
    if (status != DUO_OK) return duo_context_failed(ctx, status, "allocate workspace");
    space->bytes = bytes;
    return DUO_OK;
}

duo_status duo_warm_up(duo_context *given)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    (void)duo_blas_library_get();
    duo_team_warm_up(threads_now(ctx));
    if (ctx->path == DUO_PATH_CPU || duo_context_queue(ctx) != DUO_OK) return DUO_OK;
    if (duo_backend_current()->load(ctx->device) != DUO_OK)
        (void)duo_context_failed(ctx, DUO_ERR_DEVICE, "load the kernels");
    /* One reduction through workspace and stages, so that their first sizes are there. */
    float x[256] = {0}, sum;
    const duo_path path = ctx->path;
    (void)duo_set_path(ctx, DUO_PATH_GPU);
    (void)duo_ssum(ctx, 256, x, 1, &sum);
    (void)duo_set_path(ctx, path);
    return DUO_OK;
}

duo_status duo_synchronize(duo_context *given)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (ctx->queue == NULL) return DUO_OK;
    duo_status status = DUO_ERR_LOST;
    if (duo_device_usable(ctx->queue_device)) {
        status = duo_queue_finish(ctx->queue);
        if (status != DUO_OK) (void)duo_context_failed(ctx, status, "synchronize");
    }
    if (!duo_device_usable(ctx->device)) status = DUO_ERR_LOST; /* the queue may have moved on */
    if (!ctx->unwaited) return DUO_OK;
    ctx->unwaited = status != DUO_OK && status != DUO_ERR_LOST; /* they may come yet */
    return status;
}

duo_status duo_trim(duo_context *given)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (ctx->queue == NULL) return DUO_OK;
    (void)duo_queue_finish(ctx->queue);
    duo_stage_free(ctx);
    free_workspace(ctx);
    (void)duo_backend_current()->trim(ctx->queue);
    return DUO_OK;
}
