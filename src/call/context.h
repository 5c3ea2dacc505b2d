/*
 * context.h - a context: its policy, its resources on a device, and its last call.
 *
 * One thread uses a context at a time. Contexts are never freed: an ended one waits in a pool
 * (host/handle.h).
 */
#ifndef DUO_CONTEXT_H
#define DUO_CONTEXT_H

#include "call/last.h"
#include "call/memo.h"
#include "call/policy.h"
#include "data/resources.h"
#include "host/handle.h"

struct duo_context {
    duo_handled handled;
    duo_policy policy;
    duo_resources resources;
    duo_last last;
    duo_memo memo[DUO_MEMOS];
    duo_group *groups; /* of the last call that had some; room for groups_room */
    int64_t groups_room;
    duo_context *next;  /* in the pool, or among the idle default contexts */
    duo_context *older; /* in the list of all: the one made before */
};

/* The context of a handle; for NULL the calling thread's default context. Returns NULL if the
 * handle is not live, or if there is no memory for a default context and no static one is free. */
duo_context *duo_context_of(duo_context *handle);

/* The calling thread's default context; NULL: it has none yet. */
extern __thread duo_context *duo_context_default;

/* A new context with the environment's policy, or NULL. */
duo_context *duo_context_make(void);
/* Ends a live context. DUO_ERR_CONTEXT: it is the calling thread's default; DUO_ERR_CAPTURE: its
 * stream is captured. */
duo_status duo_context_end(duo_context *ctx);

/* Opens the context's queue on its device, if that is not done yet. DUO_ERR_DEVICE: there is no
 * usable GPU, and the report says why. */
duo_status duo_context_open(duo_context *ctx);

/* Makes room for groups. If the last call had groups, it is forgotten. DUO_ERR_MEMORY: there is
 * none. */
duo_status duo_context_groups(duo_context *ctx, int64_t groups);
/* Frees the room. */
void duo_context_forget_groups(duo_context *ctx);

/* Do the context's calls become part of a graph, by duo_graph_begin or in the caller's capture of
 * its stream? Then nothing may wait. */
static inline bool duo_context_captured(const duo_context *ctx)
{
    return ctx->policy.capture != NULL ||
           (ctx->resources.stream != NULL && duo_resources_captured(&ctx->resources));
}

#endif
