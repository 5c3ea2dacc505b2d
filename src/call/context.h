/*
 * context.h - a context: its policy, what it holds on a device, and its last call.
 *
 * One thread uses it at a time. Contexts are never freed: an ended one waits in a pool, so that a
 * stale handle is recognised.
 */
#ifndef DUO_CONTEXT_H
#define DUO_CONTEXT_H

#include "call/last.h"
#include "call/policy.h"
#include "data/resources.h"

struct duo_context {
    uint32_t magic;
    duo_policy policy;
    duo_resources resources;
    duo_last last;
    /* The CPU algorithm that its thread is in, or NULL; read after a fork alone. */
    const duo_algorithm *running;
    duo_context *next;  /* in the pool */
    duo_context *older; /* made before this one */
};

/* The context to use: ctx, or this thread's default one if NULL. Returns NULL for one that is not
 * live. */
duo_context *duo_context_of(duo_context *ctx);

/* This thread's default context if it has one already.  */
extern __thread duo_context *duo_context_default;

/* A new context with the environment's policy, or NULL. */
duo_context *duo_context_make(void);
/* Ends one that is live and no thread's default. */
duo_status duo_context_end(duo_context *ctx);

/* The queue on its device, opened if need be. DUO_ERR_DEVICE: no usable GPU (noted). */
duo_status duo_context_open(duo_context *ctx);

/* Runs a CPU algorithm, all operands in host memory. DUO_OK or DUO_DECLINED. */
static inline duo_outcome duo_context_run(duo_context *ctx, const duo_algorithm *algorithm,
                                          const duo_call *call)
{
    ctx->running = algorithm;
    const duo_outcome outcome = algorithm->run(call);
    ctx->running = NULL;
    return outcome;
}

#endif
