/*
 * packed.h - packed operands: what an algorithm made of an operand before it multiplies, kept
 * beside the array.
 *
 * An algorithm that splits its operands would write on each call what it wrote before. Where
 * duo_prepare has promised that an array rarely changes, the packed operand is written once, in
 * device memory of its own, and each later product of the algorithm with the same part of the array
 * finds it there. A list belongs to one region and is used under the residency lock.
 */
#ifndef DUO_PACKED_H
#define DUO_PACKED_H

#include "algorithms.h"
#include "call.h"
#include "data/range.h"

typedef struct duo_packed {
    struct duo_packed *next;
    /* What it was made of, for whom. */
    duo_algorithm_id algorithm;
    duo_range part; /* of the region */
    int64_t rows, columns, ld;
    bool along_k; /* neighbours in memory are neighbours in k */
    bool current; /* made since the part was written last */
    void *memory;
    size_t bytes;
} duo_packed;

typedef struct duo_packed_list {
    duo_range promised; /* by duo_prepare: rarely changes */
    duo_packed *first;
    bool full; /* there was no room for one: there will be no more of them */
} duo_packed_list;

/* Has duo_prepare promised that this part rarely changes? */
bool duo_packed_promised(const duo_packed_list *list, duo_range part);

/* May an operand that is this part be packed, or be so already? */
bool duo_packed_hoped(const duo_packed_list *list, duo_range part);

/* That of operand i, or NULL. */
duo_packed *duo_packed_find(const duo_packed_list *list, duo_algorithm_id algorithm,
                            const duo_call *call, int i, duo_range part);

/* Bytes of all. */
size_t duo_packed_bytes(const duo_packed_list *list);

/* A new one, whose memory is there and not written yet; NULL: out of host memory. */
duo_packed *duo_packed_add(duo_packed_list *list, duo_algorithm_id algorithm, const duo_call *call,
                           int i, duo_range part, void *memory, size_t bytes);

/* Bytes [from, to) of the region were written. */
void duo_packed_stale(duo_packed_list *list, size_t from, size_t to);

/* Gives all of them back to the device they are on. */
void duo_packed_drop(duo_packed_list *list, int device);

#endif
