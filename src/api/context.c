/* context.c - duo_create and duo_destroy. */
#include "call/context.h"

duo_status duo_create(duo_context **ctx)
{
    if (ctx == NULL) return DUO_ERR_NULL;
    *ctx = duo_context_make();
    return *ctx != NULL ? DUO_OK : DUO_ERR_MEMORY;
}

duo_status duo_destroy(duo_context *ctx) { return ctx == NULL ? DUO_OK : duo_context_end(ctx); }
