/*
 * tally.h - the counts of a summary, and the sentences that follow from them.
 */
#ifndef DUO_BLAS_TALLY_H
#define DUO_BLAS_TALLY_H

#include "blas/blas.h"

enum { NOWHERE = 2, PLACES };

/* The counts of an operation, or of all. */
typedef struct tally {
    int64_t calls[PLACES]; /* by duo_side; NOWHERE: nothing to do */
    double seconds[PLACES];
    double bytes;               /* of all operands */
    double sent_bytes;          /* sent to the device and back */
    double same_bytes;          /* not sent, as they were there from an earlier call */
    double expected_seconds[2]; /* by duo_side: predicted for all calls, if all ran on it */
    double chosen_seconds;      /* predicted for all calls on the sides where they ran */
    double profile_seconds;     /* the same only by the profile, without learning */
    int64_t without[2];         /* by duo_side: calls that this side could not do */
    int64_t small;              /* calls that would not be faster on a GPU */
    int64_t no_gpu;             /* calls without a usable GPU */
    int64_t missed;             /* calls that would be faster on a GPU, and that ... */
    double missed_seconds;      /* ... took so long, ... */
    double gpu_seconds;         /* ... and would take so long there, as predicted */
    double open_seconds;        /* opening a GPU takes so long */
    double checked_bytes;       /* read to see whether same_bytes are the same */
    double spared_seconds;      /* predicted: sending same_bytes takes so much longer */
    double again_bytes;         /* sent from the same address as before, and not remembered */
} tally;

void duo_blas_tally_add(tally *to, const tally *t);

/* Counts a call. bytes: its operands'. at: their addresses, of a product whose factors are not
 * remembered; else NULL. forked: was the process a copy of another one at its start? Called by one
 * thread at a time. */
void duo_blas_tally_call(tally *t, const duo_decision *d, double seconds, const double bytes[3],
                         const float *const at[3], bool forked);

/* Write the lines about all calls below the table. There was a call. */
void duo_blas_tell_sides(FILE *to, const tally *all);       /* if one side had done all */
void duo_blas_tell_missing_gpu(FILE *to, const tally *all); /* if no GPU was used */
void duo_blas_tell_remembered(FILE *to, const tally *all);  /* what was not sent, or in vain */
void duo_blas_tell_learned(FILE *to, const tally *all);     /* the effect of DUOBLAS_ADAPT */
void duo_blas_tell_checked(FILE *to);                       /* that of DUOBLAS_VERIFY */

#endif
