/*
 * opening.h - opens the GPU in the background (duo_set_open).
 *
 * Opening takes as long as hundreds of calls. So a call does not wait for it: it runs on the CPU,
 * and adds the time that it loses. When a sixteenth of what opening takes is lost, a thread opens
 * the GPU: the driver, its context and all kernels. Calls stay on the CPU until it is done. So a
 * process that needs no GPU never opens one, and another one loses little.
 *
 * A process that ends while the thread is at work waits for it: the driver cannot be
 * taken down while it starts.
 */
#ifndef DUO_OPENING_H
#define DUO_OPENING_H

#include <stdbool.h>

/* A call loses `seconds` because `device` is not open; to open it takes open_seconds. True: the
 * call runs on the CPU. False: it is to open the device itself, as no thread can be made. */
bool duo_opening_put_off(double seconds, double open_seconds, int device);

/* Is a thread opening a GPU? */
bool duo_opening_goes_on(void);

#endif
