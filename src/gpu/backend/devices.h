/*
 * devices.h - the backend in use, which devices are usable, and how much of their memory is held.
 *
 * For the whole process; any thread.
 */
#ifndef DUO_DEVICES_H
#define DUO_DEVICES_H

#include "gpu/backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The backend in use. Tests put another in with duo_backend_install (NULL: the default again)
 * before any other use. */
const duo_backend *duo_backend_current(void);
void duo_backend_install(const duo_backend *backend);

/* Number of usable devices; the first call looks (and may take long). 0 after fork. *why: a text,
 * never NULL. */
int duo_devices(const char **why);
bool duo_devices_looked(void); /* has anyone looked yet? Never looks itself. */

bool duo_device_usable(int device);                /* looked, there, not lost */
void duo_device_lose(int device, const char *why); /* marks it lost for good, once */
bool duo_device_lost(int device);                  /* marked so */
int duo_devices_losses(void);                      /* how many were, ever; it never falls */
/* Its facts; 0 while nobody has looked. */
int duo_device_capability(int device); /* 10 * major + minor */
int duo_device_multiprocessors(int device);
const char *duo_device_why(int device); /* why it is not usable; "" if it is */

/*
 * The queue's functions with a second try: one that failed without losing the device changed
 * nothing, and a call may have no other way to its data. duo_queue_drain waits for everything after
 * something went wrong half way; if even that fails, nobody knows what the device still reads and
 * writes, so it counts as lost.
 */
duo_status duo_queue_open(int device, void *stream, duo_queue **queue);
duo_status duo_queue_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                          size_t src_pitch, size_t width, size_t height);
duo_status duo_queue_copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                              size_t src_pitch, size_t width, size_t height);
duo_status duo_queue_mark(duo_queue *queue, int mark);
duo_status duo_queue_wait_mark(duo_queue *queue, int mark);
duo_status duo_queue_finish(duo_queue *queue);
duo_status duo_queue_after(duo_queue *later, duo_queue *earlier);
duo_status duo_queue_drain(duo_queue *queue);

/* Device memory through the cap DUOBLAS_DEVICE_MEMORY; counts what is held. */
duo_status duo_device_allocate(int device, size_t bytes, void **address);
duo_status duo_device_release(int device, void *address, size_t bytes);
double duo_device_room(int device); /* bytes that may still be taken */

#ifdef __cplusplus
}
#endif

#endif
