/*
 * packed.h - packed operands: copies of operands in the layout that an algorithm reads.
 *
 * An algorithm that splits or packs its operands would write the same copy on each call. If
 * duo_prepare has promised that an array rarely changes, the copy is written once, in memory of its
 * own on the algorithm's side. Each later product of the algorithm with the same part of the array
 * finds it there. A list belongs to one region and is used under the residency lock.
 */
#ifndef DUO_PACKED_H
#define DUO_PACKED_H

#include "algorithms.h"
#include "call.h"
#include "data/range.h"

typedef struct duo_packed {
    struct duo_packed *next;
    /* The operand, and the algorithm that it is packed for. */
    duo_algorithm_id algorithm;
    duo_range part; /* of the region */
    int64_t rows, columns, ld;
    bool along_k; /* neighbours in the operand's memory are neighbours in k */
    /* On the CPU: the clone that reads it, and whether it is packed as A or as B. */
    const void *clone;
    int as;

    uint64_t number; /* no other packed operand ever has the same */
    bool current;    /* packed since the part was written last */
    void *memory;    /* on the region's device, or in host memory */
    size_t bytes;
} duo_packed;

typedef struct duo_packed_list {
    duo_range promised; /* the part of the region that duo_prepare says rarely changes */
    duo_packed *first;
    bool full[2]; /* by side: one found no room, so no more are made */
} duo_packed_list;

/* Has duo_prepare promised that this part rarely changes? */
bool duo_packed_promised(const duo_packed_list *list, duo_range part);

/* Is this part promised, and is it packed for the GPU already or is there room to pack it? */
bool duo_packed_hoped(const duo_packed_list *list, duo_range part);

/* Operand i of this call as the algorithm packs it, without memory. clone: NULL for the GPU. */
duo_packed duo_packed_of(duo_algorithm_id algorithm, const void *clone, const duo_call *call, int i,
                         duo_range part);

/* The packed operand in the list that is the same but for its memory; NULL: there is none. */
duo_packed *duo_packed_find(const duo_packed_list *list, const duo_packed *wanted);

/* The packed operand in this memory: there is one. */
duo_packed *duo_packed_in(const duo_packed_list *list, const void *memory);

/* Bytes of all packed operands of a side in the list. */
size_t duo_packed_bytes(const duo_packed_list *list, duo_side side);

/* Adds a packed operand with its `memory`, for the GPU on `device`, which is not written yet.
 * NULL: out of host memory. */
duo_packed *duo_packed_add(duo_packed_list *list, const duo_packed *wanted, int device,
                           void *memory, size_t bytes);

/* Bytes [from, to) of the region were written. */
void duo_packed_stale(duo_packed_list *list, size_t from, size_t to);

/* Frees all packed operands of a side; the GPU's have their memory on `device`. */
void duo_packed_drop(duo_packed_list *list, duo_side side, int device);

#endif
