/*
 * neighbours.h - other processes that use the processors, too: each computes without end.
 */
#ifndef DUO_NEIGHBOURS_H
#define DUO_NEIGHBOURS_H

#include <stdbool.h>

/*
 * Forks `count` neighbours, which sleep. To be called while the process has one thread and nothing
 * open. They end with this process, in any case. False: not all could be made.
 */
bool duo_neighbours_open(int count);
/* Makes them busy. */
void duo_neighbours_wake(void);
void duo_neighbours_close(void);

#endif
