/* context.c - duo_create and duo_destroy. */
#include "call/context.h"

duo_status duo_create(duo_context **ctx)
{
    if (ctx == NULL) return DUO_ERR_NULL;
    duo_context *const made = duo_context_make();
    *ctx = made != NULL ? duo_handle_give(&made->handled) : NULL;
    return made != NULL ? DUO_OK : DUO_ERR_MEMORY;
}

duo_status duo_destroy(duo_context *given)
{
    if (given == NULL) return DUO_OK;
    duo_context *const ctx = duo_context_of(given);
    return ctx != NULL ? duo_context_end(ctx) : DUO_ERR_CONTEXT;
}
