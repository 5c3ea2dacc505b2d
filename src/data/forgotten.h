/*
 * forgotten.h - DUOBLAS_CHECK: finds arrays that the program wrote to without duo_changed.
 *
 * When a transfer has made bytes of the two copies equal, the host's are sampled (samples.h). Later
 * changes that the library knows of are in a stale range. When a call is about to use the device
 * copy, every other sample must still be as it was.
 */
#ifndef DUO_FORGOTTEN_H
#define DUO_FORGOTTEN_H

#include "data/resources.h"

/*
 * A call is about to read this part of the device copy of a kept array. If samples of it have
 * changed, says so (once for each array), and has everything sent again that is not newer on the
 * device, as if the program had called duo_changed. Under the residency lock.
 */
duo_status duo_forgotten_look(duo_resources *res, duo_region *region, duo_range part);

#endif
