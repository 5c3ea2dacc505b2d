/*
 * policy.h - a context's settings, the conditions of its next call that follow from them, and the
 * size up to which a call is tiny.
 */
#ifndef DUO_POLICY_H
#define DUO_POLICY_H

#include "choice/select.h"
#include "data/resources.h"

enum { DUO_TINY_EDGE = 512 }; /* the largest limit of tiny products */

typedef struct duo_policy {
    /*
     * Tiny calls skip prediction: their operands are in plain host memory, near no region, and
     * every size is at most this one, or a product multiplies no more than a cube of this edge and
     * touches little more memory. The limits follow from the algorithms' costs. They are -1
     * while calls are logged, asked about or perhaps captured, and if the path is the GPU's or the
     * math is float64. Until a larger call comes (unsettled) nothing is predicted, and no profile
     * is read. Until then calls within the limits take less than a GPU's launch on any machine.
     */
    int64_t tiny[DUO_OPERATIONS];
    const duo_algorithm *tiny_algorithm[DUO_OPERATIONS];
    bool unsettled[DUO_OPERATIONS];

    duo_path path;
    duo_math math;
    const duo_blas_library *program; /* the program's own BLAS; or NULL */
    bool adapt;                      /* does the library learn from calls? (adapt.h) */
    duo_open open;                   /* does a call wait until the GPU is open? (opening.h) */
    duo_decide decide;               /* of duo_set_decide; NULL: the least predicted time decides */
    void *decide_user;
    double verify_rate;          /* the part of calls whose results are checked (verify.h) */
    uint64_t verify_seed;        /* decides which */
    uint64_t verify_calls;       /* drawn so far */
    struct duo_capture *capture; /* records calls instead of making them; or NULL (capture.h) */
} duo_policy;

/* Do `count` products multiply no more than a cube of this edge, and touch little more memory? Then
 * they take no longer than the cube takes on another side, whatever their shape. */
static inline bool duo_fits_cube(int64_t m, int64_t n, int64_t k, int64_t count, int64_t edge)
{
    const double rows = (double)m, columns = (double)n, steps = (double)k, cube = (double)edge;
    const double work = rows * columns * steps * (double)count;
    const double floats = (rows * columns + rows * steps + steps * columns) * (double)count;
    return work <= cube * cube * cube && floats <= 8.0 * cube * cube;
}

/* The conditions under which a call of this context is made now, by the calling thread. */
duo_conditions duo_policy_conditions(const duo_policy *policy, duo_resources *res);

/* Sets the facts about the context's devices that streamed products use, as they are now. */
void duo_policy_devices(duo_conditions *conditions, const duo_resources *res);

/* Forgets the limits of tiny calls, after any change of policy, threads, log or capture. */
void duo_policy_changed(duo_policy *policy, const duo_resources *res);

/* Computes the limit, if it may matter to a call of this size (the largest size of a product).
 * True: the limit has grown. */
bool duo_policy_settle(duo_policy *policy, duo_resources *res, duo_operation operation,
                       int64_t size);

/* The program's own BLAS, if it may do products on the CPU: if the profile in use was measured with
 * it, or our own kernels are slow; in a child process never. Else NULL. */
const duo_blas_library *duo_policy_program(const duo_policy *policy);

#endif
