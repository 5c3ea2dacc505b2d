/* event.c - duo_event_create and its sisters. */
#include "call/capture.h"
#include "call/context.h"
#include "data/event.h"

duo_status duo_event_create(duo_event **event)
{
    if (event == NULL) return DUO_ERR_NULL;
    duo_event *const made = duo_event_make();
    *event = made != NULL ? duo_handle_give(&made->handled) : NULL;
    return made != NULL ? DUO_OK : DUO_ERR_MEMORY;
}

duo_status duo_event_destroy(duo_event *handle)
{
    if (handle == NULL) return DUO_OK;
    duo_event *const event = duo_event_of(handle);
    if (event == NULL) return DUO_ERR_EVENT;
    duo_event_end(event);
    return DUO_OK;
}

duo_status duo_event_record(duo_context *given, duo_event *handle)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    duo_event *const event = duo_event_of(handle);
    if (event == NULL) return DUO_ERR_EVENT;
    if (ctx->policy.capture != NULL) return ctx->policy.capture->record(ctx, event);
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    duo_event_set(event, &ctx->resources);
    return DUO_OK;
}

duo_status duo_event_wait(duo_context *given, duo_event *handle)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    duo_event *const event = duo_event_of(handle);
    if (event == NULL) return DUO_ERR_EVENT;
    duo_capture *const capture =
        ctx->policy.capture != NULL ? ctx->policy.capture : duo_event_capture(event);
    if (capture != NULL) return capture->wait(ctx, event);
    if (duo_resources_captured(&ctx->resources)) return DUO_ERR_CAPTURE;
    if (!duo_event_pending(event)) return DUO_OK;
    if (duo_context_open(ctx) == DUO_OK) return duo_event_follow(event, &ctx->resources);
    /* The context has no GPU. A loss of results is told when they are asked for. */
    const duo_status status = duo_event_finish(event);
    return status == DUO_ERR_LOST ? DUO_OK : status;
}

duo_status duo_event_synchronize(duo_event *handle)
{
    duo_event *const event = duo_event_of(handle);
    if (event == NULL) return DUO_ERR_EVENT;
    return duo_event_capture(event) == NULL ? duo_event_finish(event) : DUO_ERR_CAPTURE;
}

duo_status duo_event_query(duo_event *handle, int *done)
{
    bool passed;
    if (done == NULL) return DUO_ERR_NULL;
    duo_event *const event = duo_event_of(handle);
    if (event == NULL) return DUO_ERR_EVENT;
    if (duo_event_capture(event) != NULL) return DUO_ERR_CAPTURE;
    const duo_status status = duo_event_passed(event, &passed);
    *done = passed;
    return status;
}
