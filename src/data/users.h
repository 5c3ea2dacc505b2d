/*
 * users.h - the queues with work on a region's bytes that others may have to wait for.
 *
 * A reader waits only for the last writer, so that readers run side by side. A writer waits for the
 * last writer and all readers; later queues then wait only for the new writer. Packing counts as
 * writing: the packed operands of a region count as its bytes.
 */
#ifndef DUO_USERS_H
#define DUO_USERS_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/backend/backend.h"

/* If all slots are taken, a new reader waits for one reader and takes its slot: waiting for the new
 * one covers both. */
enum { DUO_READERS = 8 };

typedef struct duo_user {
    duo_queue *queue; /* NULL: none, or its work is done */
    int device;       /* of the queue */
} duo_user;

typedef struct duo_users {
    duo_user writer;
    duo_user reader[DUO_READERS]; /* since the writer; in no order, with gaps */
} duo_users;

static inline bool duo_users_reads(const duo_users *users, const duo_queue *queue)
{
    for (int i = 0; i < DUO_READERS; i++)
        if (users->reader[i].queue == queue) return true;
    return false;
}

static inline bool duo_users_none(const duo_users *users)
{
    bool none = users->writer.queue == NULL;
    for (int i = 0; i < DUO_READERS; i++) none &= users->reader[i].queue == NULL;
    return none;
}

/* All of the queue's work is done. */
static inline void duo_users_forget(duo_users *users, const duo_queue *queue)
{
    if (users->writer.queue == queue) users->writer.queue = NULL;
    for (int i = 0; i < DUO_READERS; i++)
        if (users->reader[i].queue == queue) users->reader[i].queue = NULL;
}

#endif
