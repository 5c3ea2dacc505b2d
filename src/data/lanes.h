/* lanes.h - the queues of a streamed product on each device. */
#ifndef DUO_LANES_H
#define DUO_LANES_H

#include "data/resources.h"

/* Opens the queues of the plan's devices that are not open, and links these devices. Lane i is on
 * device[i]; the device of the context's queue comes first. */
duo_status duo_lanes_open(duo_resources *res, const int *device, int devices);

/* Something that concerns two lanes failed. If a device is lost, the failure does not say which:
 * asks a queue of each. */
duo_status duo_lanes_failed_between(duo_resources *res, const duo_lane *one, const duo_lane *other,
                                    duo_status status, const char *doing);

#endif
