/* devices.c - the devices of the process (devices.h). */
#include "gpu/backend/devices.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "gpu/backend/memory_cap.h"
#include "host/environment.h"
#include "host/fork.h"
#include "host/lock.h"

/* Returns the status of the call. Repeats the call once if it fails without losing the device. */
#define TWICE(call)                                                                                \
    do {                                                                                           \
        const duo_status first = (call);                                                           \
        if (first == DUO_OK || first == DUO_ERR_LOST) return first;                                \
        return (call);                                                                             \
    } while (0)

static _Atomic(const duo_backend *) installed;
static atomic_int looked;  /* 0: the driver was not asked yet */
static int count;          /* of devices */
static char why_none[200]; /* why there are none */

/* A thread that sees a lost device also sees it counted: the losses are a count of these bits. */
uint64_t duo_devices_found, duo_devices_lost;
static atomic_int lost_before; /* devices of backends that were in use before this one */
_Static_assert(DUO_MOST_DEVICES <= 64, "there is a bit for each device");

static struct {
    char why[200]; /* why it was lost */
    /* Asked for once; 0: not yet. */
    atomic_int capability, multiprocessors, clock_khz;
    _Atomic double memory_bytes, memory_rate;
} devices[DUO_MOST_DEVICES];

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
    __atomic_store_n(&duo_devices_found, 0, __ATOMIC_RELEASE);
    atomic_fetch_add(&lost_before, __builtin_popcountll(__atomic_exchange_n(&duo_devices_lost, 0,
                                                                            __ATOMIC_SEQ_CST)));
    for (int i = 0; i < DUO_MOST_DEVICES; i++) {
        devices[i].why[0] = '\0';
        atomic_store(&devices[i].capability, 0);
        atomic_store(&devices[i].multiprocessors, 0);
        atomic_store(&devices[i].clock_khz, 0);
        atomic_store(&devices[i].memory_bytes, 0.0);
        atomic_store(&devices[i].memory_rate, 0.0);
    }
    duo_unlock(DUO_LOCK_DEVICES);
    duo_memory_forget();
}

bool duo_devices_looked(void)
{
    return atomic_load_explicit(&looked, memory_order_acquire) != 0 ||
           duo_backend_current()->absent != NULL;
}

static uint64_t bits_of(int number)
{
    return number < 64 ? (UINT64_C(1) << number) - 1 : UINT64_MAX;
}

int duo_devices(const char **why)
{
    if (duo_forked()) {
        *why = "the process is a fork: CUDA cannot be used";
        return 0;
    }
    if (duo_backend_current()->absent != NULL) {
        *why = duo_backend_current()->absent;
        return 0;
    }
    if (!duo_devices_looked()) {
        duo_lock(DUO_LOCK_DEVICES);
        if (!duo_devices_looked()) {
            const duo_backend *const backend = duo_backend_current();
            count = 0;
            const duo_status status = backend->count(&count);
            if (status != DUO_OK) count = 0;
            if (count > DUO_MOST_DEVICES) count = DUO_MOST_DEVICES;
            snprintf(why_none, sizeof why_none, "%s", count > 0 ? "" : backend->detail());
            __atomic_store_n(&duo_devices_found, bits_of(count), __ATOMIC_RELEASE);
            atomic_store_explicit(&looked, 1, memory_order_release);
        }
        duo_unlock(DUO_LOCK_DEVICES);
    }
    *why = why_none;
    return count;
}

void duo_device_lose(int device, const char *why)
{
    if (device < 0 || device >= DUO_MOST_DEVICES) return;
    duo_lock(DUO_LOCK_DEVICES);
    if (!duo_device_lost(device)) {
        snprintf(devices[device].why, sizeof devices[device].why, "lost: %.180s", why);
        __atomic_fetch_or(&duo_devices_lost, UINT64_C(1) << device, __ATOMIC_RELEASE);
    }
    duo_unlock(DUO_LOCK_DEVICES);
}

bool duo_device_answers(int device)
{
    duo_device_info info = {.size = sizeof info};
    if (!duo_device_usable(device)) return false;
    if (duo_backend_current()->describe(device, &info) != DUO_ERR_LOST) return true;
    duo_device_lose(device, duo_backend_current()->detail());
    return false;
}

int duo_device_found_lost(int device)
{
    const char *why;
    const int all = duo_devices(&why);
    if (!duo_device_answers(device)) return device;
    for (int other = 0; other < all; other++)
        if (other != device && !duo_device_answers(other)) return other;
    return device;
}

int duo_devices_losses(void)
{
    return atomic_load(&lost_before) +
           __builtin_popcountll(__atomic_load_n(&duo_devices_lost, __ATOMIC_ACQUIRE));
}

const char *duo_device_why(int device)
{
    const char *why;
    const int found = duo_devices(&why);
    if (found == 0) return why;
    if (device < 0 || device >= found) return "there is no device of this number";
    return duo_device_lost(device) ? devices[device].why : "";
}

/* ---- Facts ---- */

/* Asks for all at once. Threads that ask at the same time get the same answer. */
static void ask(int device)
{
    duo_device_info info = {.size = sizeof info};
    if (duo_backend_current()->describe(device, &info) != DUO_OK) return;
    atomic_store(&devices[device].memory_bytes, (double)info.memory_bytes);
    atomic_store(&devices[device].multiprocessors, info.multiprocessors);
    atomic_store(&devices[device].clock_khz, info.clock_khz);
    atomic_store(&devices[device].memory_rate,
                 duo_memory_rate(info.memory_clock_khz, info.memory_bus_bits));
    atomic_store(&devices[device].capability, 10 * info.capability_major + info.capability_minor);
}

int duo_device_capability(int device)
{
    if (!duo_device_usable(device)) return 0;
    atomic_int *const capability = &devices[device].capability;
    if (atomic_load_explicit(capability, memory_order_relaxed) == 0) ask(device);
    return atomic_load_explicit(capability, memory_order_relaxed);
}

/* Bytes that the device has in all; infinite if unknown. */
static double memory_of(int device)
{
    _Atomic double *const known = &devices[device].memory_bytes;
    if (atomic_load_explicit(known, memory_order_relaxed) == 0.0) ask(device);
    const double bytes = atomic_load_explicit(known, memory_order_relaxed);
    return bytes > 0.0 ? bytes : (double)INFINITY;
}

duo_device_facts duo_device_look(int device)
{
    duo_device_facts facts = {.room_bytes = (double)INFINITY};
    facts.capability = duo_device_capability(device);
    if (facts.capability == 0) return facts;
    facts.multiprocessors =
        atomic_load_explicit(&devices[device].multiprocessors, memory_order_relaxed);
    facts.speed = (double)facts.multiprocessors *
                  atomic_load_explicit(&devices[device].clock_khz, memory_order_relaxed);
    facts.memory_rate = atomic_load_explicit(&devices[device].memory_rate, memory_order_relaxed);
    facts.room_bytes = duo_memory_room_and_copies(device, memory_of(device));
    return facts;
}

/* ---- Memory ---- */

duo_status duo_device_allocate(int device, size_t bytes, void **address)
{
    *address = NULL;
    if (!duo_memory_take(device, bytes, memory_of(device))) return DUO_ERR_MEMORY;
    const duo_status status = duo_backend_current()->allocate(device, bytes, address);
    if (status != DUO_OK) duo_memory_give(device, bytes);
    return status;
}

/* Zeroes memory that is to be given back, if that is wanted. */
static duo_status wipe(int device, void *address, size_t bytes)
{
    if (!duo_environment_get()->wipe) return DUO_OK;
    TWICE(duo_backend_current()->wipe(device, address, bytes));
}

duo_status duo_device_release(int device, void *address, size_t bytes)
{
    const duo_status wiped = wipe(device, address, bytes);
    if (wiped != DUO_OK && wiped != DUO_ERR_LOST) return wiped;
    duo_memory_give(device, bytes);
    return duo_backend_current()->release(device, address);
}

duo_status duo_pinned_release(int device, void *address, size_t bytes)
{
    const duo_status wiped = wipe(device, address, bytes);
    if (wiped == DUO_ERR_LOST)
        memset(address, 0, bytes);
    else if (wiped != DUO_OK)
        return wiped;
    return duo_backend_current()->unpin(address);
}

void duo_device_count_copy(int device, double bytes) { duo_memory_count_copy(device, bytes); }

double duo_device_copies(int device)
{
    return duo_device_usable(device) ? duo_memory_copies(device) : 0.0;
}

double duo_device_most(int device)
{
    return duo_device_usable(device) ? duo_memory_most(memory_of(device)) : (double)INFINITY;
}

double duo_device_room(int device)
{
    if (!duo_device_usable(device)) return INFINITY; /* unknown: an allocation will tell */
    return duo_memory_room(device, memory_of(device));
}

/* ---- Second tries ---- */

/* Waiting takes no memory that could be freed. So if a driver says it is out of memory, this is a
 * failure of the moment: waiting again may succeed. */
static duo_status waited(duo_status status)
{
    return status == DUO_ERR_MEMORY ? DUO_ERR_DEVICE : status;
}

duo_status duo_device_link(int device, int other, bool *direct)
{
    TWICE(duo_backend_current()->link(device, other, direct));
}

duo_status duo_queue_open(int device, void *stream, duo_priority priority, duo_queue **queue)
{
    TWICE(duo_backend_current()->open(device, stream, priority, queue));
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

duo_status duo_queue_fill(duo_queue *queue, void *dst, size_t pitch, unsigned char value,
                          size_t width, size_t height)
{
    TWICE(duo_backend_current()->fill(queue, dst, pitch, value, width, height));
}

duo_status duo_queue_mark(duo_queue *queue, int mark)
{
    TWICE(duo_backend_current()->mark(queue, mark));
}

duo_status duo_queue_wait_mark(duo_queue *queue, int mark)
{
    TWICE(waited(duo_backend_current()->wait_mark(queue, mark)));
}

duo_status duo_queue_passed(duo_queue *queue, int mark, bool *passed)
{
    TWICE(waited(duo_backend_current()->passed(queue, mark, passed)));
}

duo_status duo_queue_finish(duo_queue *queue)
{
    TWICE(waited(duo_backend_current()->finish(queue)));
}

duo_status duo_queue_idle(duo_queue *queue, bool *idle)
{
    TWICE(waited(duo_backend_current()->idle(queue, idle)));
}

duo_status duo_queue_after(duo_queue *later, duo_queue *earlier)
{
    TWICE(duo_backend_current()->after(later, earlier));
}

duo_status duo_queue_after_mark(duo_queue *later, duo_queue *earlier, int mark)
{
    TWICE(duo_backend_current()->after_mark(later, earlier, mark));
}

duo_status duo_queue_after_signal(duo_queue *later, duo_signal *signal)
{
    TWICE(duo_backend_current()->after_signal(later, signal));
}

duo_status duo_signal_open(int device, duo_signal **signal)
{
    TWICE(duo_backend_current()->signal_open(device, signal));
}

duo_status duo_signal_set(duo_signal *signal, duo_queue *queue)
{
    TWICE(duo_backend_current()->signal_set(signal, queue));
}

duo_status duo_signal_passed(duo_signal *signal, bool *passed)
{
    TWICE(waited(duo_backend_current()->signal_passed(signal, passed)));
}

duo_status duo_signal_wait(duo_signal *signal)
{
    TWICE(waited(duo_backend_current()->signal_wait(signal)));
}

duo_status duo_queue_replay(duo_queue *queue, duo_recorded *recorded)
{
    TWICE(duo_backend_current()->replay(queue, recorded));
}

duo_status duo_queue_drain(duo_queue *queue)
{
    return duo_queue_finish(queue) == DUO_OK ? DUO_OK : DUO_ERR_LOST;
}

/* In a child process no device can be used. */
static void in_child(void) { __atomic_store_n(&duo_devices_found, 0, __ATOMIC_RELEASE); }

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}
