/* checked.h - what duo_set_verify has found in this process (call/verify.h). */
#ifndef DUO_CHECKED_H
#define DUO_CHECKED_H

#include <stdint.h>

/* Adds to the numbers of results that were checked, and found to be wrong. */
void duo_checked_count(int64_t checked, int64_t wrong);
void duo_checked_counts(int64_t *checked, int64_t *wrong);

/* A result of this device was wrong. After the second one the device counts as lost. */
void duo_checked_device(int device);

/* Tests: all numbers become 0. */
void duo_checked_reset(void);

#endif
