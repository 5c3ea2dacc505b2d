/*
 * devices.h - the backend in use and its devices: which are usable or lost, and how much of their
 * memory is held. One state for the whole process; every function may be called from any thread.
 */
#ifndef DUO_DEVICES_H
#define DUO_DEVICES_H

#include "gpu/backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The backend in use. Tests install another one before any other use; NULL: the default again. */
const duo_backend *duo_backend_current(void);
void duo_backend_install(const duo_backend *backend);

/* The number of devices, lost ones too; 0 in a child process. The first call asks the driver, which
 * may take long. *why: the reason if there is none; never NULL. */
int duo_devices(const char **why);
/* Are the devices known? Not before duo_devices has asked the driver, if there is one. */
bool duo_devices_looked(void);

/* A bit for each device: the devices that were found when they were counted, and all lost ones. In
 * a child process none was found. */
extern uint64_t duo_devices_found, duo_devices_lost;

/* Is it marked as lost? */
static inline bool duo_device_lost(int device)
{
    return device >= 0 && device < DUO_MOST_DEVICES &&
           (__atomic_load_n(&duo_devices_lost, __ATOMIC_ACQUIRE) >> device & 1) != 0;
}

/* Was it found, and is it not lost? */
static inline bool duo_device_usable(int device)
{
    const uint64_t usable = __atomic_load_n(&duo_devices_found, __ATOMIC_ACQUIRE) &
                            ~__atomic_load_n(&duo_devices_lost, __ATOMIC_ACQUIRE);
    return device >= 0 && device < DUO_MOST_DEVICES && (usable >> device & 1) != 0;
}

void duo_device_lose(int device, const char *why); /* marks the device as lost, for good */
/* Asks the device whether it is still there, and marks it if not. Takes longer than a call: only
 * for cases in which no queue of the device would tell. */
bool duo_device_answers(int device);
/* A copy in a queue of this device found a device lost. Which: this one, or one with memory that it
 * was to read or write? */
int duo_device_found_lost(int device);
int duo_devices_losses(void); /* the number of marked ones; it never falls */

/* Facts of a device for decisions. */
typedef struct duo_device_facts {
    int capability; /* 10 * major + minor */
    int multiprocessors;
    double memory_rate; /* bytes a second, by its clock and width; 0: unknown */
    double speed;       /* multiprocessors times kHz: to compare devices by */
    double room_bytes;  /* that may be taken, if copies and packed operands make room */
} duo_device_facts;

/* All zeros, and infinite room, for a device that is not usable. */
duo_device_facts duo_device_look(int device);
int duo_device_capability(int device);
const char *duo_device_why(int device); /* why it is not usable; "" if it is */

/*
 * Functions of the backend with a second try: a try that failed without losing the device changed
 * nothing, and a call may have no other way to its data. Those that wait or ask never say
 * DUO_ERR_MEMORY. duo_queue_drain waits for all work after a failure half way. If even that fails,
 * the device may still read or write anything, so the result is DUO_ERR_LOST.
 */
duo_status duo_device_link(int device, int other, bool *direct);
duo_status duo_queue_open(int device, void *stream, duo_priority priority, duo_queue **queue);
duo_status duo_queue_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                          size_t src_pitch, size_t width, size_t height);
duo_status duo_queue_copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                              size_t src_pitch, size_t width, size_t height);
duo_status duo_queue_fill(duo_queue *queue, void *dst, size_t pitch, unsigned char value,
                          size_t width, size_t height);
duo_status duo_queue_mark(duo_queue *queue, int mark);
duo_status duo_queue_wait_mark(duo_queue *queue, int mark);
duo_status duo_queue_passed(duo_queue *queue, int mark, bool *passed);
duo_status duo_queue_finish(duo_queue *queue);
duo_status duo_queue_idle(duo_queue *queue, bool *idle);
duo_status duo_queue_after(duo_queue *later, duo_queue *earlier);
duo_status duo_queue_after_mark(duo_queue *later, duo_queue *earlier, int mark);
duo_status duo_queue_after_signal(duo_queue *later, duo_signal *signal);
duo_status duo_signal_open(int device, duo_signal **signal);
duo_status duo_signal_set(duo_signal *signal, duo_queue *queue);
duo_status duo_signal_passed(duo_signal *signal, bool *passed);
duo_status duo_signal_wait(duo_signal *signal);
duo_status duo_queue_replay(duo_queue *queue, duo_recorded *recorded);
duo_status duo_queue_drain(duo_queue *queue);

/*
 * Device memory under the cap DUOBLAS_DEVICE_MEMORY, and counted. Copies of host memory, and packed
 * operands, are also counted apart: if memory is short they can make room for others (data/room.h).
 */
duo_status duo_device_allocate(int device, size_t bytes, void **address);
/* Memory is zeroed before it is given back, if DUOBLAS_WIPE says so. If that fails, but the device
 * is not lost, the memory stays, and is counted. */
duo_status duo_device_release(int device, void *address, size_t bytes);
duo_status duo_pinned_release(int device, void *address, size_t bytes); /* of the backend's pin */
void duo_device_count_copy(int device, double bytes); /* adds bytes of copies; negative: fewer */
/* Bytes; infinite if the device was not looked at. An allocation may still fail: other processes
 * use the device, too. */
double duo_device_most(int device);   /* that may be held in all */
double duo_device_room(int device);   /* that may still be taken */
double duo_device_copies(int device); /* of copies and packed operands; never infinite */

#ifdef __cplusplus
}
#endif

#endif
