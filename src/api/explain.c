/* explain.c - duo_explain_last and duo_error_detail. */
#include <string.h>

#include "call/context.h"
#include "call/reason.h"

duo_status duo_explain_last(duo_context *given, duo_decision *decision)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (decision == NULL) return DUO_ERR_NULL;
    const size_t size = decision->size;
    if (size < offsetof(duo_decision, ran)) return DUO_ERR_SIZE; /* what all versions have */
    if (ctx->last.tiny) ctx->resources.report.note[0] = '\0'; /* the note is of an earlier call */
    const duo_conditions conditions = duo_policy_conditions(&ctx->policy, &ctx->resources);
    duo_last_complete(&ctx->last, &conditions);
    duo_decision whole = {.size = size};
    duo_last_describe(&ctx->last, ctx->resources.report.note, &whole);
    duo_reason_add(&ctx->last, &whole);
    memcpy(decision, &whole, size < sizeof whole ? size : sizeof whole);
    return DUO_OK;
}

const char *duo_error_detail(duo_context *given)
{
    const duo_context *const ctx = duo_context_of(given);
    return ctx != NULL ? ctx->resources.report.detail : "";
}
