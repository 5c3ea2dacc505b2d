/*
 * remembered.h - factors in plain host memory that are not sent again while their bytes are the
 * same.
 *
 * When a factor is sent for the second time, it goes to a device copy of its own instead of a slot,
 * and stays there. The device makes tags of the copy's pages (tags.h). Before the next product uses
 * the copy, the team makes the tags of host memory, and compares. It reads host memory once: that
 * is faster than sending. Pages that differ are sent. So the copy is never newer than host memory:
 * to doubt it, to evict it or to lose it costs time, never data.
 *
 * A factor that has changed at large after each use is let pass for 4 products, then 8, up to 256:
 * so a program that rewrites its operands hardly loses anything. One that has been found the same
 * since it was sent is sent to its copy again at once: a weight that is used twice between updates.
 *
 * Only products, only factors without gaps of at least duo_remembered_least bytes, and only on one
 * device. Factors that a call writes to are forgotten.
 */
#ifndef DUO_REMEMBERED_H
#define DUO_REMEMBERED_H

#include "data/resources.h"

/* The smallest factor that is remembered. Tests change it. */
extern size_t duo_remembered_least;

/*
 * A product begins: a factor that has a device copy gets DUO_AT_REMEMBERED, and the bytes that a
 * check would read. What the call writes is forgotten.
 */
void duo_remembered_find(const duo_resources *res, duo_call *call);

/*
 * A product has run on the CPU. `hoped` becomes the call with those factors as remembered ones that
 * came before, and were not written to by a call since. False: there are none. If the GPU had been
 * faster with them, duo_remembered_earn adds the lost seconds to their credit: it is taken off the
 * price of sending them.
 */
bool duo_remembered_hope(const duo_resources *res, const duo_call *call, duo_call *hoped);
void duo_remembered_earn(const duo_call *call, const duo_call *hoped, double seconds);

/*
 * The product is to run on the GPU: checks its remembered factors and sends the pages that differ.
 * False: one of them has changed at large, or could not be checked. It is not current on the device
 * any more, so the call is to be located again. The context's queue is open.
 */
bool duo_remembered_check(duo_resources *res, const duo_call *call);

/* Places a remembered factor of a call that was checked. DUO_DECLINED: it is not there any more.
 * Under the residency lock. */
duo_outcome duo_remembered_place(duo_resources *res, const duo_operand *o, duo_operand *local);

/*
 * duo_remembered_begin comes before factors are sent. Some factors fill the copy of an array:
 * `local` then names the array. duo_remembered_end comes after the product. sent: were the copies
 * filled?
 */
void duo_remembered_begin(duo_resources *res, const duo_call *call, duo_call *local);
void duo_remembered_end(duo_call *local, bool sent);

/* Forgets all arrays that overlap [low, high) and are not in use. */
void duo_remembered_forget(uintptr_t low, uintptr_t high);

#endif
