/*
 * memory_cap.h - bytes that the library holds on each device, under the cap DUOBLAS_DEVICE_MEMORY.
 *
 * It knows no backend, so backends may use it. total_bytes: all memory of the device, or infinite.
 */
#ifndef DUO_MEMORY_CAP_H
#define DUO_MEMORY_CAP_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts `bytes` more as held; false: there is no room, and nothing was counted. */
bool duo_memory_take(int device, size_t bytes, double total_bytes);
void duo_memory_give(int device, size_t bytes);

/* Bytes that may be held in all, and bytes that may still be taken. */
double duo_memory_most(double total_bytes);
double duo_memory_room(int device, double total_bytes);
/* The same, if copies make room. */
double duo_memory_room_and_copies(int device, double total_bytes);

/* Of the bytes held, `bytes` more are copies that can make room for others; negative: fewer. */
void duo_memory_count_copy(int device, double bytes);
double duo_memory_copies(int device);

/* Another backend is in use now: nothing is held. */
void duo_memory_forget(void);

#ifdef __cplusplus
}
#endif

#endif
