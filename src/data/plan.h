/*
 * plan.h - the plan of a product, or a batch, with operands in host memory. It is the order of the
 * steps that send, multiply and fetch parts on one or several devices.
 *
 * A device has four queues that work at the same time: up (sends), compute (packs, multiplies),
 * down (fetches), and, with several devices, peer (copies from the others). A plan is one list of
 * steps for all queues. A step waits for the earlier steps of its own queue, and also for others:
 *   PACK, MULTIPLY every earlier SEND and SHARE to their device; FETCH every earlier MULTIPLY on
 *   its device; SHARE every earlier SEND to the device that it copies from.
 * A step that overwrites a slot names the step that used it last in `follows`: a SEND of A or B
 * names the last MULTIPLY from that slot, or the FETCH behind it; a SEND of C, or a MULTIPLY, names
 * the FETCH from that slot.
 *
 * A plan consists only of numbers: it can be shown, and checked, without any device.
 */
#ifndef DUO_PLAN_H
#define DUO_PLAN_H

#include "call.h"

/* Slots of an operand on a device: one is filled while the other is used. */
enum { DUO_PLAN_DEVICES = 8, DUO_PLAN_SLOTS = 2 };

typedef enum duo_step_kind {
    DUO_STEP_SEND,     /* a part of an operand, from host memory to a slot */
    DUO_STEP_SHARE,    /* a part of A, from a slot of another device to the same slot here */
    DUO_STEP_PACK,     /* a part of A or B, into the layout that the algorithm multiplies from */
    DUO_STEP_MULTIPLY, /* a tile of C from rows of op(A) and columns of op(B) */
    DUO_STEP_FETCH     /* a tile of C, to host memory */
} duo_step_kind;

/*
 * A step works on rows [i, i + m) of op(A) and C, columns [j, j + n) of op(B) and C, and [p, p + k)
 * of k, as far as its operand has these dimensions. (A PACK works on the same [p, p + k) as the
 * SENDs and SHAREs of that part, one or several.) Of a batch it works on whole matrices of products
 * [product, product + products).
 */
typedef struct duo_step {
    duo_step_kind kind;
    int operand;        /* SEND, SHARE, PACK: DUO_A, DUO_B or DUO_C */
    int device, source; /* numbers among the plan's devices; SHARE: copies from `source` */
    int follows;        /* the step that it follows beyond the rules above; -1: none */
    bool starts;        /* MULTIPLY: first of its tile, so beta is the caller's, else 1 */
    bool ends;          /* MULTIPLY: the last of its tile */
    int64_t i, m, j, n, p, k;
    int64_t product, products; /* no batch: 0, 1 */
    int slot[DUO_OPERANDS];
    int64_t first[DUO_OPERANDS]; /* A: row i, B: column j, C: row i, counted within the slot */
    int64_t column;              /* C: column j within the slot */
    int64_t deep;                /* SEND, SHARE of A or B: p, counted within the slot */
    /* PACK, MULTIPLY: rows of op(A), and columns of op(B), that are packed together in the slot. A
     * range of them begins at a multiple of 64, and ends at one or at the end (call.h). */
    int64_t all[2];
    double begin, end; /* predicted seconds from the start of the call (plan_clock.c) */
    /* Set while the plan runs (data/stream.c). */
    int mark;     /* MULTIPLY, FETCH: the mark behind it, in its queue */
    int64_t done; /* FETCH: elements of the tile, by columns, that are final in host memory;
                     MULTIPLY: 1 once it is queued */
} duo_step;

/* The slots of one operand on each device. A slot of A holds `extent` rows of op(A), a slot of B
 * `extent` columns of op(B), over depth[slot] of k; a slot of C holds `extent` rows and depth[slot]
 * columns. In a batch `extent` is the sum over all matrices of a slot. */
typedef struct duo_plan_space {
    int slots; /* 0: the operand stays where it is on the device, or is not touched */
    int64_t extent, depth[DUO_PLAN_SLOTS];
} duo_plan_space;

/* The product that a plan is made for. Seconds and bytes/s are for one device. */
typedef struct duo_plan_problem {
    int64_t m, n, k;
    int64_t products;            /* of a batch, each of this size, on one device; 0: no batch */
    bool shared[2];              /* all products of the batch have the same A, the same B */
    int algorithm;               /* duo_algorithm_id; the plan does not look at it */
    bool sent[DUO_OPERANDS];     /* the operand is in host memory and is read */
    bool pinned[DUO_OPERANDS];   /* the devices reach that memory themselves */
    bool fetched;                /* C is in host memory */
    bool k_whole;                /* k must not be cut: sums are scaled and rounded once */
    int64_t pitch[DUO_OPERANDS]; /* floats from run to run if panels are cut across the runs (panels
                                    of rows); 0: a panel is one range of memory */
    int devices;
    double share[DUO_PLAN_DEVICES]; /* a device's part of C's columns; in all 1. All 0: equal */
    double memory_bytes;            /* the plan may use this on each device */
    double packed_bytes[2];         /* of an element of A, B, when packed; 0: it is not */
    double up, down, both;          /* the link's rates; the sum of both ways at once */
    double host_up, host_down;      /* rates of copies from pageable memory to stages, and back */
    double peer;                    /* rate between devices; 0: every device is sent all of A */
    double copy_seconds;            /* the fixed part of a transfer */
    /* Seconds to multiply packed operands on one device, and to pack `elements`. */
    double (*multiply)(const struct duo_plan_problem *of, int64_t m, int64_t n, int64_t k);
    double (*pack)(const struct duo_plan_problem *of, int operand, double elements);
    const void *model; /* for these two */
} duo_plan_problem;

typedef struct duo_plan {
    duo_plan_problem of;
    duo_plan_space space[DUO_OPERANDS];
    duo_step *step;
    int count, room; /* steps, and how many there is memory for */
    bool held;       /* everything fits on the device; else C is in blocks */
    double seconds;  /* predicted */
    bool ran;        /* the `done` of its steps is valid (data/stream.c) */
} duo_plan;

#endif
