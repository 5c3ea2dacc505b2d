/*
 * documented.h - the statuses that the header says a function returns.
 *
 * The paragraph `Returns` of its comment names them. `as duo_x`, and `what duo_x returns`, stand
 * for all statuses of that function. Text in parentheses is commentary.
 */
#ifndef DUO_TESTS_DOCUMENTED_H
#define DUO_TESTS_DOCUMENTED_H

#include <stdint.h>

enum { DOCUMENTED_MOST = 80 };

typedef struct documented {
    char name[64];
    uint32_t statuses; /* bit -s stands for status s */
} documented;

/* Finds every function of the header that returns a status. Returns how many there are. */
int documented_read(const char *header, documented function[DOCUMENTED_MOST]);

#endif
