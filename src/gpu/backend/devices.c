/* devices.c - the devices of the process (devices.h). */
#include "gpu/backend/devices.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "host/environment.h"
#include "host/fork.h"
#include "host/lock.h"

enum { LARGEST_COUNT = 64 };

static _Atomic(const duo_backend *) installed;
static atomic_int looked; /* 0: not yet */
static int count;
static char why_none[200];
static atomic_int losses;

static struct {
    atomic_bool lost;
    char why[200];
    double total_bytes, held_bytes;
    atomic_int capability, multiprocessors; /* 0: not asked yet */
} devices[LARGEST_COUNT];

const duo_backend *duo_backend_current(void)
{
    const duo_backend *const backend = atomic_load_explicit(&installed, memory_order_acquire);
    return backend != NULL ? backend : duo_backend_default();
}

void duo_backend_install(const duo_backend *backend)
{
    duo_lock(DUO_LOCK_DEVICES);
    atomic_store_explicit(&installed, backend, memory_order_release);
    atomic_store_explicit(&looked, 0, memory_order_release);
    for (int i = 0; i < LARGEST_COUNT; i++) {
        atomic_store(&devices[i].lost, false);
        devices[i].why[0] = '\0';
        devices[i].total_bytes = devices[i].held_bytes = 0.0;
        atomic_store(&devices[i].capability, 0);
        atomic_store(&devices[i].multiprocessors, 0);
    }
    duo_unlock(DUO_LOCK_DEVICES);
}

bool duo_devices_looked(void) { return atomic_load_explicit(&looked, memory_order_acquire) != 0; }

int duo_devices(const char **why)
{
    if (duo_forked()) {
        *why = "the process is a fork: CUDA cannot be used";
        return 0;
    }
    if (!duo_devices_looked()) {
        duo_lock(DUO_LOCK_DEVICES);
        if (!duo_devices_looked()) {
            const duo_backend *const backend = duo_backend_current();
            count = 0;
            const duo_status status = backend->count(&count);
            if (status != DUO_OK) count = 0;
            if (count > LARGEST_COUNT) count = LARGEST_COUNT;
            snprintf(why_none, sizeof why_none, "%s", count > 0 ? "" : backend->detail());
            atomic_store_explicit(&looked, 1, memory_order_release);
        }
        duo_unlock(DUO_LOCK_DEVICES);
    }
    *why = why_none;
    return count;
}

bool duo_device_usable(int device)
{
    const char *why;
    if (!duo_devices_looked()) return false;
    return device >= 0 && device < duo_devices(&why) &&
           !atomic_load_explicit(&devices[device].lost, memory_order_acquire);
}

void duo_device_lose(int device, const char *why)
{
    if (device < 0 || device >= LARGEST_COUNT) return;
    duo_lock(DUO_LOCK_DEVICES);
    if (!atomic_load(&devices[device].lost)) {
        snprintf(devices[device].why, sizeof devices[device].why, "lost: %.180s", why);
        atomic_store_explicit(&devices[device].lost, true, memory_order_release);
        atomic_fetch_add_explicit(&losses, 1, memory_order_release);
    }
    duo_unlock(DUO_LOCK_DEVICES);
}

bool duo_device_lost(int device)
{
    return device >= 0 && device < LARGEST_COUNT &&
           atomic_load_explicit(&devices[device].lost, memory_order_acquire);
}

int duo_devices_losses(void) { return atomic_load_explicit(&losses, memory_order_acquire); }

const char *duo_device_why(int device)
{
    const char *why;
    const int found = duo_devices(&why);
    if (found == 0) return why;
    if (device < 0 || device >= found) return "there is no device of this number";
    return atomic_load_explicit(&devices[device].lost, memory_order_acquire) ? devices[device].why
                                                                             : "";
}

/* A fact that is asked for once; 0: nobody has looked yet. */
static int fact(int device, atomic_int *known)
{
    if (!duo_device_usable(device)) return 0;
    if (atomic_load_explicit(known, memory_order_relaxed) == 0) {
        duo_device_info info = {.size = sizeof info};
        if (duo_backend_current()->describe(device, &info) != DUO_OK) return 0;
        atomic_store_explicit(&devices[device].capability,
                              10 * info.capability_major + info.capability_minor,
                              memory_order_relaxed);
        atomic_store_explicit(&devices[device].multiprocessors, info.multiprocessors,
                              memory_order_relaxed);
    }
    return atomic_load_explicit(known, memory_order_relaxed);
}

int duo_device_capability(int device)
{
    return device < 0 || device >= LARGEST_COUNT ? 0 : fact(device, &devices[device].capability);
}

int duo_device_multiprocessors(int device)
{
    return device < 0 || device >= LARGEST_COUNT ? 0
                                                 : fact(device, &devices[device].multiprocessors);
}

/* Bytes that the device has in all; the lock is held. */
static double total_of(int device)
{
    if (devices[device].total_bytes <= 0.0) {
        duo_device_info info = {.size = sizeof info};
        const bool good = duo_backend_current()->describe(device, &info) == DUO_OK;
        devices[device].total_bytes = good ? (double)info.memory_bytes : (double)INFINITY;
    }
    return devices[device].total_bytes;
}

/* Bytes that may still be held; the lock is held. */
static double room_of(int device)
{
    const double cap = fmin(duo_environment_get()->device_memory_bytes, total_of(device));
    return cap - devices[device].held_bytes;
}

duo_status duo_device_allocate(int device, size_t bytes, void **address)
{
    *address = NULL;
    duo_lock(DUO_LOCK_DEVICES);
    const bool room = (double)bytes <= room_of(device);
    if (room) devices[device].held_bytes += (double)bytes;
    duo_unlock(DUO_LOCK_DEVICES);
    if (!room) return DUO_ERR_MEMORY;
    const duo_status status = duo_backend_current()->allocate(device, bytes, address);
    if (status != DUO_OK) {
        duo_lock(DUO_LOCK_DEVICES);
        devices[device].held_bytes -= (double)bytes;
        duo_unlock(DUO_LOCK_DEVICES);
    }
    return status;
}

duo_status duo_device_release(int device, void *address, size_t bytes)
{
    duo_lock(DUO_LOCK_DEVICES);
    devices[device].held_bytes -= (double)bytes;
    duo_unlock(DUO_LOCK_DEVICES);
    return duo_backend_current()->release(device, address);
}

double duo_device_room(int device)
{
    if (!duo_device_usable(device))
        return INFINITY; /* not looked at yet: the allocation will tell */
    duo_lock(DUO_LOCK_DEVICES);
    const double room = room_of(device);
    duo_unlock(DUO_LOCK_DEVICES);
    return room;
}

/* ---- Second tries ---- */

/* Evaluates the call again if it failed without losing the device. */
#define TWICE(call)                                                                                \
    do {                                                                                           \
        const duo_status first = (call);                                                           \
        if (first == DUO_OK || first == DUO_ERR_LOST) return first;                                \
        return (call);                                                                             \
    } while (0)

duo_status duo_queue_open(int device, void *stream, duo_queue **queue)
{
    TWICE(duo_backend_current()->open(device, stream, queue));
}

duo_status duo_queue_copy(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                          size_t src_pitch, size_t width, size_t height)
{
    TWICE(duo_backend_current()->copy(queue, dst, dst_pitch, src, src_pitch, width, height));
}

duo_status duo_queue_copy_now(duo_queue *queue, void *dst, size_t dst_pitch, const void *src,
                              size_t src_pitch, size_t width, size_t height)
{
    TWICE(duo_backend_current()->copy_now(queue, dst, dst_pitch, src, src_pitch, width, height));
}

duo_status duo_queue_mark(duo_queue *queue, int mark)
{
    TWICE(duo_backend_current()->mark(queue, mark));
}

duo_status duo_queue_wait_mark(duo_queue *queue, int mark)
{
    TWICE(duo_backend_current()->wait_mark(queue, mark));
}

duo_status duo_queue_finish(duo_queue *queue) { TWICE(duo_backend_current()->finish(queue)); }

duo_status duo_queue_after(duo_queue *later, duo_queue *earlier)
{
    TWICE(duo_backend_current()->after(later, earlier));
}

duo_status duo_queue_drain(duo_queue *queue)
{
    return duo_queue_finish(queue) == DUO_OK ? DUO_OK : DUO_ERR_LOST;
}
