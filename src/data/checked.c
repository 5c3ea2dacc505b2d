/* checked.c - see checked.h */
#include "data/checked.h"

#include <stdatomic.h>

#include "gpu/backend/devices.h"

static atomic_llong all_checked, all_wrong;
static atomic_int wrong_of[DUO_MOST_DEVICES];

void duo_checked_count(int64_t checked, int64_t wrong)
{
    atomic_fetch_add_explicit(&all_checked, checked, memory_order_relaxed);
    atomic_fetch_add_explicit(&all_wrong, wrong, memory_order_relaxed);
}

void duo_checked_counts(int64_t *checked, int64_t *wrong)
{
    *checked = atomic_load_explicit(&all_checked, memory_order_relaxed);
    *wrong = atomic_load_explicit(&all_wrong, memory_order_relaxed);
}

void duo_checked_reset(void)
{
    atomic_store(&all_checked, 0);
    atomic_store(&all_wrong, 0);
    for (int i = 0; i < DUO_MOST_DEVICES; i++) atomic_store(&wrong_of[i], 0);
}

void duo_checked_device(int device)
{
    if (device < 0 || device >= DUO_MOST_DEVICES) return;
    if (atomic_fetch_add(&wrong_of[device], 1) + 1 >= 2)
        duo_device_lose(device, "two of its results were wrong");
}
