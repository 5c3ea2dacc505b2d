/*
 * neighbours.h - other processes that want the processors too: each computes without end.
 */
#ifndef DUO_NEIGHBOURS_H
#define DUO_NEIGHBOURS_H

#include <stdbool.h>

/*
 * Makes `count` of them, which sleep. To be called while the process has one thread and has opened
 * nothing, as they are forked. They end with it, however it ends. False: not all could be made.
 */
bool duo_neighbours_open(int count);
/* From here on they are busy. */
void duo_neighbours_wake(void);
void duo_neighbours_close(void);

#endif
