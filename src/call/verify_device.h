/* verify_device.h - checks of products where all matrices are on the context's device. */
#ifndef DUO_VERIFY_DEVICE_H
#define DUO_VERIFY_DEVICE_H

#include "call/verify_part.h"

bool duo_verify_on_device(const duo_verify_part *part);

/* Makes room on the device for sums. The parts are checked one after the other, and use the same
 * room. Behind it each part has its own for the sums of C before the call. */
bool duo_verify_make_room(duo_verify *v, duo_context *ctx);

/* Queues the steps for a part whose operands are on the device: of C before the call, or all.
 * duo_resources_finish learns what they have found. False: that was not possible. */
bool duo_verify_queue(const duo_verify *v, duo_context *ctx, const duo_verify_part *part,
                      bool before);

#endif
