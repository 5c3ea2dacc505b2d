/* rest.h - what is left of a product when the devices that streamed it failed half way. */
#ifndef DUO_REST_H
#define DUO_REST_H

#include "call/context.h"

/*
 * Computes the parts of C that are not final by the steps of resources.plan, which it takes away,
 * each as a call of its own: `execute` is duo_execute.
 */
duo_status duo_rest_run(duo_context *ctx, const duo_call *call,
                        duo_status (*execute)(duo_context *ctx, duo_call *call));

#endif
