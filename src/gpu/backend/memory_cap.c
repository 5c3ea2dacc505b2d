/* memory_cap.c - bytes held on each device (memory_cap.h). */
#include "gpu/backend/memory_cap.h"

#include <math.h>

#include "gpu/backend/backend.h"
#include "host/environment.h"
#include "host/lock.h"

static double held_bytes[DUO_MOST_DEVICES], copy_bytes[DUO_MOST_DEVICES];

double duo_memory_most(double total_bytes)
{
    return fmin(duo_environment_get()->device_memory_bytes, total_bytes);
}

/* Under the lock. */
static double room_of(int device, double total_bytes)
{
    return duo_memory_most(total_bytes) - held_bytes[device];
}

bool duo_memory_take(int device, size_t bytes, double total_bytes)
{
    duo_lock(DUO_LOCK_DEVICES);
    const bool room = (double)bytes <= room_of(device, total_bytes);
    if (room) held_bytes[device] += (double)bytes;
    duo_unlock(DUO_LOCK_DEVICES);
    return room;
}

void duo_memory_give(int device, size_t bytes)
{
    duo_lock(DUO_LOCK_DEVICES);
    held_bytes[device] -= (double)bytes;
    duo_unlock(DUO_LOCK_DEVICES);
}

double duo_memory_room(int device, double total_bytes)
{
    duo_lock(DUO_LOCK_DEVICES);
    const double room = room_of(device, total_bytes);
    duo_unlock(DUO_LOCK_DEVICES);
    return room;
}

double duo_memory_room_and_copies(int device, double total_bytes)
{
    duo_lock(DUO_LOCK_DEVICES);
    const double bytes = room_of(device, total_bytes) + copy_bytes[device];
    duo_unlock(DUO_LOCK_DEVICES);
    return bytes;
}

void duo_memory_count_copy(int device, double bytes)
{
    duo_lock(DUO_LOCK_DEVICES);
    copy_bytes[device] += bytes;
    duo_unlock(DUO_LOCK_DEVICES);
}

double duo_memory_copies(int device)
{
    duo_lock(DUO_LOCK_DEVICES);
    const double bytes = copy_bytes[device];
    duo_unlock(DUO_LOCK_DEVICES);
    return bytes;
}

void duo_memory_forget(void)
{
    duo_lock(DUO_LOCK_DEVICES);
    for (int i = 0; i < DUO_MOST_DEVICES; i++) held_bytes[i] = copy_bytes[i] = 0.0;
    duo_unlock(DUO_LOCK_DEVICES);
}
