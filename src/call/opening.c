/* opening.c - opens the GPU in the background (opening.h). */
#define _GNU_SOURCE
#include "call/opening.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "gpu/backend/devices.h"
#include "host/fork.h"
#include "host/thread.h"

/* The part of the price that is lost before opening begins. */
static const double kPart = 1.0 / 16.0;

static _Atomic bool goes_on;
static _Atomic double lost; /* since a GPU was opened last */
static int wanted;          /* the device */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;

bool duo_opening_goes_on(void) { return atomic_load_explicit(&goes_on, memory_order_acquire); }

static void wait(void)
{
    pthread_mutex_lock(&mutex);
    while (duo_opening_goes_on()) pthread_cond_wait(&done, &mutex);
    pthread_mutex_unlock(&mutex);
}

/* What the driver registers for the end of the process runs after this, if this is registered
 * later. */
static void wait_at_exit(void) { (void)atexit(wait); }

static void *open_device(void *unused)
{
    const char *why;
    (void)unused;
    const int devices = duo_devices(&why);
    wait_at_exit();
    if (wanted < devices) {
        (void)duo_backend_current()->load(wanted);
        wait_at_exit();
    }
    pthread_mutex_lock(&mutex);
    atomic_store(&lost, 0.0);
    atomic_store_explicit(&goes_on, false, memory_order_release);
    pthread_cond_broadcast(&done);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* False: there is no thread for it. */
static bool begin(int device)
{
    if (atomic_exchange(&goes_on, true)) return true;
    wanted = device;
    wait_at_exit();
    if (duo_thread_make_short(open_device, NULL)) return true;
    atomic_store(&goes_on, false);
    return false;
}

bool duo_opening_put_off(double seconds, double open_seconds, int device)
{
    double before = atomic_load(&lost);
    while (!atomic_compare_exchange_weak(&lost, &before, before + seconds)) continue;
    return before + seconds < kPart * open_seconds || begin(device);
}

/* A child process uses no device. */
static void in_child(void)
{
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&done, NULL);
    atomic_store(&goes_on, false);
}

static __attribute__((constructor)) void watch_forks(void)
{
    static duo_fork_handler handler = {.run = in_child};
    duo_fork_in_child(&handler);
}
