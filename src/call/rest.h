/* rest.h - what is left of a call of which a part is done when its candidate fails. */
#ifndef DUO_REST_H
#define DUO_REST_H

#include "call/execution.h"

/* Computes the parts of C that are not final by the steps of resources.plan, which it takes away,
 * each as a call of its own. */
duo_status duo_rest_of_product(duo_execution *e);

/* Computes the products that are not done, as a batch of their own. */
duo_status duo_rest_of_batch(duo_execution *e);

#endif
