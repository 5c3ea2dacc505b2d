/* groups.h - batches of different shapes that one call names. */
#ifndef DUO_GROUPS_H
#define DUO_GROUPS_H

#include "call/context.h"

/* Runs batches, each of some products: as many of them as possible together, in one launch or by
 * one job of the team. The array may be in another order after it. DUO_DECLINED: lists that the
 * host has not read have to be read first, and nothing was written. */
duo_outcome duo_execute_groups(duo_context *ctx, duo_group *group, int64_t groups);

#endif
