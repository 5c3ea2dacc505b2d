/*
 * checkpoint.h - the file in which figures are kept as they are measured, so that --update can go
 * on.
 */
#ifndef DUO_CROSSOVER_CHECKPOINT_H
#define DUO_CROSSOVER_CHECKPOINT_H

#include "bench/crossover/files.h"

typedef struct duo_checkpoint {
    duo_files *files;
    bool update, force;
    double next; /* by duo_now_seconds: not before then are figures kept again */
} duo_checkpoint;

/* Finds the file of the figures, and reads those of an earlier run. False, and said on stderr:
 * they cannot be kept, or this run would replace what it should not. */
bool duo_checkpoint_begin(duo_checkpoint *checkpoint, duo_crossover *x);

/* For duo_crossover_measure; user: a duo_checkpoint. What was measured so far is kept, at most
 * once a second. */
void duo_checkpoint_write(duo_crossover *x, void *user);

#endif
