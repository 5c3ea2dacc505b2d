/* context.c - makes and pools contexts, and repairs them after a fork (context.h). */
#include "call/context.h"

#include <pthread.h>
#include <stdlib.h>

#include "call/capture.h"
#include "choice/profile_in_use.h"
#include "data/plan_make.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/fork.h"
#include "host/lock.h"

__thread duo_context *duo_context_default;

/*
 * Default contexts for when the heap has no memory: BLAS itself needs none, and has no status that
 * could tell. They are enough for 64 threads at once; a thread that ends leaves its context to
 * others.
 */
static struct {
    _Alignas(DUO_HANDLES) duo_context context;
} reserve[64];
static size_t reserved; /* how many are taken */

static duo_context *pool;   /* ended contexts, to be used again */
static duo_context *newest; /* the head of the list of all contexts, ended ones too */

/* Default contexts of threads that have ended, with queue and workspace, for the next thread. */
static duo_context *idle_defaults;
static pthread_key_t default_key;
static bool has_key;
static pthread_once_t default_once = PTHREAD_ONCE_INIT;

/* ---- Making ---- */

static void set_default_device(duo_resources *res)
{
    const duo_environment *const environment = duo_environment_get();
    res->device = environment->device;
    res->rank_device = environment->device_by_rank;
    duo_resources_settle_device(res);
    duo_resources_set_others(res, environment->devices + 1, environment->device_count - 1);
}

static void set_default_policy(duo_context *ctx)
{
    const duo_environment *const environment = duo_environment_get();
    ctx->policy.path = environment->path;
    ctx->policy.math = environment->math;
    ctx->policy.adapt = environment->adapt;
    ctx->policy.open = environment->open;
    ctx->policy.verify_rate = environment->verify;
    ctx->policy.verify_seed = ctx->policy.verify_calls = 0;
    ctx->resources.remember = environment->remember;
    ctx->resources.report.verbose = environment->verbose;
    set_default_device(&ctx->resources);
    duo_last_forget(&ctx->last);
}

static duo_context *take_reserve(void)
{
    return reserved < sizeof reserve / sizeof reserve[0] ? &reserve[reserved++].context : NULL;
}

/* A context of zeros. The list of all contexts is whole whenever the lock is free, and the lock is
 * free at a fork. */
static duo_context *take(bool is_default)
{
    duo_lock(DUO_LOCK_CONTEXTS);
    duo_context *ctx = pool != NULL ? pool : duo_handle_allocate(sizeof *ctx);
    if (ctx == NULL && is_default) ctx = take_reserve();
    if (ctx != NULL && ctx == pool) {
        pool = ctx->next;
        *ctx = (duo_context){.handled = ctx->handled,
                             .older = ctx->older,
                             .resources.deferred = ctx->resources.deferred};
    } else if (ctx != NULL) {
        ctx->older = newest;
        newest = ctx;
    }
    duo_unlock(DUO_LOCK_CONTEXTS);
    return ctx;
}

static duo_context *make(bool is_default)
{
    duo_context *const ctx = take(is_default);
    if (ctx == NULL) return NULL;
    set_default_policy(ctx);
    duo_handle_begin(&ctx->handled, DUO_HANDLE_CONTEXT);
    duo_policy_changed(&ctx->policy, &ctx->resources);
    const duo_environment *const environment = duo_environment_get();
    for (int i = 0; i < environment->complaints; i++)
        duo_report_event(&ctx->resources.report, environment->complaint[i]);
    return ctx;
}

duo_context *duo_context_make(void) { return make(false); }

duo_status duo_context_end(duo_context *ctx)
{
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    if (ctx->policy.capture != NULL) ctx->policy.capture->leave(ctx);
    duo_resources_close(&ctx->resources);
    const duo_status status = duo_resources_tell(&ctx->resources);
    duo_plan_free(&ctx->resources.plan);
    duo_context_forget_groups(ctx);
    ctx->handled.kind = DUO_HANDLE_NONE;
    duo_lock(DUO_LOCK_CONTEXTS);
    ctx->next = pool;
    pool = ctx;
    duo_unlock(DUO_LOCK_CONTEXTS);
    return status;
}

/* ---- Groups ---- */

/* The last call had the groups: it can no longer be explained. */
static void forget_last(duo_last *last)
{
    if (!last->tiny && last->call.batch != NULL && last->batch.group != NULL) duo_last_forget(last);
    last->batch.group = NULL;
}

void duo_context_forget_groups(duo_context *ctx)
{
    forget_last(&ctx->last);
    free(ctx->groups);
    ctx->groups = NULL;
    ctx->groups_room = 0;
}

duo_status duo_context_groups(duo_context *ctx, int64_t groups)
{
    forget_last(&ctx->last);
    if (groups <= ctx->groups_room) return DUO_OK;
    duo_group *const room = calloc((size_t)groups, sizeof *room); /* which sees an overflow */
    if (room == NULL) return DUO_ERR_MEMORY;
    free(ctx->groups);
    ctx->groups = room;
    ctx->groups_room = groups;
    return DUO_OK;
}

/* ---- Default contexts ---- */

/* A thread ends: its default context waits for another thread. No CUDA call is made in a thread's
 * destructor. */
static void retire(void *value)
{
    duo_context *const ctx = value;
    duo_lock(DUO_LOCK_CONTEXTS);
    ctx->next = idle_defaults;
    idle_defaults = ctx;
    duo_unlock(DUO_LOCK_CONTEXTS);
    duo_context_default = NULL;
}

/* A process has a limited number of keys. If all are taken, the default context of a thread that
 * ends is not used again. */
static void make_key(void) { has_key = pthread_key_create(&default_key, retire) == 0; }

/* Makes an ended thread's default context the calling thread's: with the environment's policy, not
 * with the other thread's settings. */
static void renew(duo_context *ctx)
{
    duo_resources *const res = &ctx->resources;
    const int device = res->device;
    res->threads = 0;
    res->program_threads = NULL;
    res->report.log = NULL;
    res->report.note[0] = res->report.detail[0] = '\0';
    ctx->policy.program = NULL;
    ctx->policy.decide = NULL;
    set_default_policy(ctx);
    if (res->device != device || res->stream != NULL || res->priority != DUO_PRIORITY_NORMAL ||
        duo_environment_get()->wipe) { /* the buffers hold the other thread's data */
        duo_resources_close(res);
        res->stream = NULL;
        res->priority = DUO_PRIORITY_NORMAL;
    }
    duo_policy_changed(&ctx->policy, res);
}

static duo_context *make_default(void)
{
    pthread_once(&default_once, make_key);
    duo_lock(DUO_LOCK_CONTEXTS);
    duo_context *ctx = idle_defaults;
    if (ctx != NULL) idle_defaults = ctx->next;
    duo_unlock(DUO_LOCK_CONTEXTS);
    if (ctx != NULL)
        renew(ctx);
    else
        ctx = make(true);
    if (ctx == NULL) return NULL;
    if (has_key) (void)pthread_setspecific(default_key, ctx);
    duo_context_default = ctx;
    return ctx;
}

duo_context *duo_context_of(duo_context *handle)
{
    if (handle == NULL) return duo_context_default != NULL ? duo_context_default : make_default();
    return duo_handle_object(handle, DUO_HANDLE_CONTEXT);
}

/* ---- The device ---- */

duo_status duo_context_open(duo_context *ctx)
{
    duo_resources *const res = &ctx->resources;
    duo_status status = duo_resources_open(res);
    if (status == DUO_ERR_DEVICE && res->others != 0) { /* perhaps only now devices were counted */
        duo_resources_replace_device(res);
        status = duo_resources_open(res);
    }
    if (res->opened) { /* the profile in use may be of another GPU */
        duo_device_info info = {.size = sizeof info};
        res->opened = false;
        if (duo_backend_current()->describe(res->queue_device, &info) == DUO_OK)
            duo_profile_check_gpu(info.name);
    }
    return status;
}

/* ---- Forks ---- */

static void in_child(void)
{
    for (duo_context *ctx = newest; ctx != NULL; ctx = ctx->older) {
        duo_resources_in_child(&ctx->resources);
        duo_memo_forget(ctx->memo);
        duo_last_forget(&ctx->last); /* it was the parent's; another thread may have been at it */
        ctx->resources.report.note[0] = '\0';
    }
}

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}
