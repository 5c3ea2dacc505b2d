/*
 * call.h - one call of an operation, as its algorithms see it.
 *
 * The public functions translate their arguments into a duo_call: column-major matrices, vectors
 * given by their logical first element. Placing replaces the addresses by addresses on the
 * algorithm's side (data/place.c). Nothing else changes on the way, so a CPU algorithm and a GPU
 * kernel read the same structure.
 */
#ifndef DUO_CALL_H
#define DUO_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "duoblas.h"
#include "product_order.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum duo_operation {
    DUO_SGEMM,
    DUO_SASUM,
    DUO_SSUM,
    DUO_SDOT,
    DUO_OPERATIONS
} duo_operation;

/*
 * The outcome of work that another algorithm may do instead: a duo_status, or DUO_DECLINED: the
 * next algorithm is to be tried. Then nothing was written, unless the function reports how much
 * was. DUO_DECLINED never reaches the user.
 */
typedef int duo_outcome;
enum { DUO_DECLINED = 1 };

typedef struct duo_region duo_region;             /* data/region.h */
typedef struct duo_batch duo_batch;               /* batch.h */
typedef struct duo_blas_library duo_blas_library; /* cpu/blas_library.h */

/*
 * Fortran's sgemm: every argument is passed by address, and the lengths of the two strings come
 * last. Integers have 64 bits, but values that fit into 32: on a little-endian processor a library
 * with 32-bit integers reads the same values from the first half.
 */
typedef void (*duo_fortran_sgemm)(const char *transa, const char *transb, const int64_t *m,
                                  const int64_t *n, const int64_t *k, const float *alpha,
                                  const float *a, const int64_t *lda, const float *b,
                                  const int64_t *ldb, const float *beta, float *c,
                                  const int64_t *ldc, long transa_length, long transb_length);

/*
 * The memory of one operand that a call touches: `columns` runs of `rows` floats, `ld` apart. A
 * vector has rows = 1, columns = n and ld = its increment (which may be zero or negative), and
 * address is its logical first element. Bytes between the runs are never touched.
 */
typedef struct duo_operand {
    float *address; /* the caller's; in a placed copy of the call, the algorithm's side's */
    int64_t rows, columns, ld;
    bool read, written; /* both false: the operand is not touched, and address may be NULL */

    /* Found out by data/locate.c. */
    duo_residence residence;
    bool on_host, on_device; /* is there a current copy of the operand? */
    bool registered;         /* the whole operand lies in one region */
    bool counts_as_device;   /* this region is device memory to the program, wherever it lies */
    bool in_kept;            /* this region is a kept array, with a device copy or without */
    bool crosses;            /* it overlaps regions without lying in one of them */
    uintptr_t low, high;     /* it spans [low, high), gaps included */
    duo_region *region;      /* it lies in this, or NULL; valid while the call's `changes` is */
    double credit_seconds;   /* DUO_AT_STALE: seconds of sending it that are paid (call/decide.c) */
    double send_bytes;       /* all stale bytes of its kept array on the device */
    double fetch_bytes;      /* the same on the host; 0 stands for the operand's span */
    double check_bytes;      /* DUO_AT_REMEMBERED: to be read, to see whether they are the same */
    bool promised;           /* it lies in a range of duo_prepare */
    bool prepared;           /* and is packed for the GPU, or may be packed (packed.h) */

    /* Set by placing, only in the placed copy of the call. */
    duo_region *held;  /* the region held for the operand, or NULL: data/residency.h */
    duo_region *fills; /* the remembered array whose device copy it is sent to; NULL: to a slot */
    bool host_written; /* the context's host_write is in the list of data/residency.c */
    void *packed;      /* memory with the operand packed for the algorithm, on its side; or NULL */

    /*
     * `packed` may hold a larger operand. Then it has packed_rows rows of op(A), or columns of
     * op(B), and this operand begins at packed_first. packed_rows = 0: it holds only this operand.
     * A range begins at a multiple of 64, and ends at one or at the end of packed_rows.
     */
    int64_t packed_rows, packed_first;
} duo_operand;

/* sgemm: operand A, B, C. Reductions: x, y (only sdot), result. */
enum { DUO_A = 0, DUO_B = 1, DUO_C = 2, DUO_X = 0, DUO_Y = 1, DUO_RESULT = 2, DUO_OPERANDS = 3 };

/* A part of a product is summed in the order of the whole product. */
typedef enum duo_part_order {
    DUO_NO_PART, /* the call is a whole product: its sizes decide */
    DUO_PART_OF_VECTOR,
    DUO_PART_OF_OTHER
} duo_part_order;

typedef struct duo_call {
    duo_operation operation;
    bool swapped; /* a row-major sgemm: the caller's A and B, m and n are exchanged */
    bool transa, transb;
    int64_t m, n, k; /* reductions: only n; m = 1, k = 0 */
    duo_part_order part;
    bool ordered; /* sums shall have the documented order (product_order.h): DUO_MATH_IEEE */
    float alpha, beta;
    duo_operand operand[DUO_OPERANDS]; /* in a batch, of the first product */
    duo_batch *batch;                  /* the products of a batch; NULL: one product */
    uint64_t number;                 /* higher than all before if the call names regions; else 0 */
    uint64_t changes;                /* duo_residency_changes() when the operands were located */
    int threads;                     /* on the CPU: how many to use, >= 1 */
    const duo_blas_library *program; /* the program's own BLAS, for the CPU; or NULL */
    /* GPU: if not NULL, a reduction writes only its unrounded sum, here on the device. */
    double *unrounded;
} duo_call;

/* A word for each residence, by its number. */
extern const char *const duo_residence_names[DUO_AT_REMEMBERED + 1];

/* A call with dense operands in plain host memory. They have no addresses: a prediction needs none,
 * and a caller that runs the call sets them. */
duo_call duo_call_sgemm(bool transa, bool transb, int64_t m, int64_t n, int64_t k, float alpha,
                        float beta);
duo_call duo_call_reduction(duo_operation operation, int64_t n);

/* Sets the sizes of a sgemm, and from them the rows and columns of its operands. */
void duo_call_set_sizes(duo_call *call, int64_t m, int64_t n, int64_t k);

/* Is it a vector product (product_order.h), or a part of one? */
static inline bool duo_call_is_vector(const duo_call *call)
{
    return call->part == DUO_NO_PART ? duo_product_is_vector(call->m, call->n, call->k)
                                     : call->part == DUO_PART_OF_VECTOR;
}

/* The call for some rows and columns of C and some steps of k. Its operands have the addresses of
 * the whole call's. */
duo_call duo_call_part(const duo_call *call, int64_t m, int64_t n, int64_t k);

/* sgemm's operand i: are elements that are neighbours in memory neighbours in k? */
static inline bool duo_call_along_k(const duo_call *call, int i)
{
    return i == DUO_A ? call->transa : i == DUO_B && !call->transb;
}

/* Bytes of the operand's elements: a transfer moves these. */
static inline double duo_operand_bytes(const duo_operand *o)
{
    return 4.0 * (double)o->rows * (double)o->columns;
}

/* Bytes from the first of its elements in memory to the last, gaps included. */
static inline double duo_operand_span_bytes(const duo_operand *o)
{
    const double step = o->ld < 0 ? -(double)o->ld : (double)o->ld;
    return 4.0 * ((double)(o->columns - 1) * step + (double)o->rows);
}

/* sgemm: the rows of op(A), or columns of op(B), that packed memory of operand i is laid out
 * for. */
static inline int64_t duo_call_packed_rows(const duo_call *call, int i)
{
    const int64_t rows = call->operand[i].packed_rows;
    return rows > 0 ? rows : i == DUO_A ? call->m : call->n;
}

/* Does the call read or write the operand? */
static inline bool duo_operand_touched(const duo_operand *o) { return o->read || o->written; }

/* Does the operand lie in a kept array? */
static inline bool duo_operand_kept(const duo_operand *o)
{
    return o->residence == DUO_AT_KEPT || o->residence == DUO_AT_STALE;
}

/* Does the operand lie in host memory without a device copy? It may still count as device memory
 * (data/region.h). */
static inline bool duo_operand_lies_in_host(const duo_operand *o)
{
    return o->residence == DUO_AT_PAGEABLE || o->residence == DUO_AT_PINNED;
}

/* Does one of sgemm's operands lie in host memory, without a device copy? Then the product is
 * streamed. */
static inline bool duo_streams(const duo_call *call)
{
    bool host = false;
    for (int i = 0; i < DUO_OPERANDS && call->operation == DUO_SGEMM; i++)
        host |=
            duo_operand_touched(&call->operand[i]) && duo_operand_lies_in_host(&call->operand[i]);
    return host;
}

/* Does the call read a kept array with a device copy that is not current? */
static inline bool duo_call_stale(const duo_call *call)
{
    bool stale = false;
    for (int i = 0; i < DUO_OPERANDS; i++)
        stale |= call->operand[i].read && call->operand[i].residence == DUO_AT_STALE;
    return stale;
}

/* The address range [*low, *high) that the operand spans, gaps included; columns and rows > 0. */
static inline void duo_operand_span(const duo_operand *o, uintptr_t *low, uintptr_t *high)
{
    const intptr_t last = (intptr_t)((o->columns - 1) * o->ld) * 4;
    const uintptr_t first = (uintptr_t)o->address;
    *low = last < 0 ? first + (uintptr_t)last : first;
    *high = (last < 0 ? first : first + (uintptr_t)last) + (uintptr_t)o->rows * 4;
}

#ifdef __cplusplus
}
#endif

#endif
