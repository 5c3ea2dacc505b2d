/* explain.c - duo_explain_last, duo_error_detail, texts of the status codes, and the version. */
#include "call/context.h"
#include "call/explain.h"
#include "duoblas.h"
#include "host/sized.h"

/* Every version has these fields. */
enum { LEAST = offsetof(duo_decision, ran) };

duo_status duo_explain_last(duo_context *given, duo_decision *decision)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (decision == NULL) return DUO_ERR_NULL;
    if (decision->size < LEAST) return DUO_ERR_SIZE;
    if (ctx->last.tiny) ctx->resources.report.note[0] = '\0'; /* the note is of an earlier call */
    const duo_conditions conditions = duo_policy_conditions(&ctx->policy, &ctx->resources);
    duo_explain_complete(&ctx->last, &conditions);
    duo_decision whole = {.size = decision->size};
    duo_explain_decision(&ctx->last, ctx->resources.report.note, &whole);
    duo_explain_reason(&ctx->last, duo_resources_no_gpu(&ctx->resources), &whole);
    duo_sized_give(decision, &whole, sizeof whole);
    return DUO_OK;
}

const char *duo_error_detail(duo_context *given)
{
    const duo_context *const ctx = duo_context_of(given);
    return ctx != NULL ? ctx->resources.report.detail : "";
}

/* ---- Texts ---- */

const char *duo_status_string(duo_status status)
{
    switch (status) {
#define DUO_STATUS_CASE(name, value, text)                                                         \
    case name:                                                                                     \
        return text;
        DUO_STATUS_LIST(DUO_STATUS_CASE)
#undef DUO_STATUS_CASE
    }
    return "unknown status";
}

int duo_version(void) { return DUO_VERSION; }
