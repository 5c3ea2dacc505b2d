/*
 * remembered_pages.h - remembered arrays that are not compared, as the system tells whether their
 * pages were written (host/written.h).
 *
 * The system does not see every device. So one of DUO_REMEMBERED_TURNS blocks is compared all the
 * same, another one in each check. If a change was not told, no pages are watched any more.
 *
 * Both functions need the residency lock, and the context's queue on the array's device.
 */
#ifndef DUO_REMEMBERED_PAGES_H
#define DUO_REMEMBERED_PAGES_H

#include "data/remembered_bytes.h"

enum { DUO_REMEMBERED_TURNS = 64 };

/* Is the operand, a part of the array, the same as in the copy? False also if its pages are not
 * watched, or were written: its bytes have to be compared. */
bool duo_remembered_pages_same(duo_resources *res, duo_region *region, const duo_operand *o);

/* Watches the array's pages if the operand is all of it, and that is possible. Its bytes are then
 * compared once more: they may have been written before. */
void duo_remembered_pages_watch(duo_resources *res, duo_region *region, const duo_operand *o);

#endif
