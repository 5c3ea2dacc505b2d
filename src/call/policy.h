/*
 * policy.h - what a context asks for, the conditions of its next call that follow from it, and up
 * to which size a call is tiny.
 */
#ifndef DUO_POLICY_H
#define DUO_POLICY_H

#include "choice/select.h"
#include "data/resources.h"

typedef struct duo_policy {
    /*
     * Tiny calls skip prediction: operands in plain host memory, nothing registered near them, and
     * every size at most this. Follows from the algorithms' costs; -1 while a call has to be told
     * of, or anything but float32 on either side is asked for.
     */
    int64_t tiny[DUO_OPERATIONS];
    const duo_algorithm *tiny_algorithm[DUO_OPERATIONS];

    duo_path path;
    duo_math math;
    duo_fortran_sgemm program; /* the program's own sgemm, to be used on the CPU; or NULL */
} duo_policy;

/* Under which conditions a call of this thread is made now. */
duo_conditions duo_policy_conditions(const duo_policy *policy, duo_resources *res);

/* After any change of policy, threads or log: finds the limits of tiny calls again. */
void duo_policy_changed(duo_policy *policy, const duo_resources *res);

#endif
