/* verbose.h - the line that tells of a call: DUOBLAS_VERBOSE and duo_set_log. */
#ifndef DUO_VERBOSE_H
#define DUO_VERBOSE_H

#include "call/context.h"

/* Writes the line of the context's last call, if anyone wants lines. */
void duo_verbose_call(duo_context *ctx);

#endif
