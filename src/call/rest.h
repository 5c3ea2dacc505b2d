/* rest.h - the rest of a call when its candidate fails after a part is done. */
#ifndef DUO_REST_H
#define DUO_REST_H

#include "call/execution.h"

/* Computes the parts of C that are not final, each by a call of its own. It takes resources.plan
 * away; the plan's steps tell which parts. */
duo_status duo_rest_of_product(duo_execution *e);

/* Computes the products that are not done, as a batch of their own. */
duo_status duo_rest_of_batch(duo_execution *e);

#endif
