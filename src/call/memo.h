/*
 * memo.h - predictions of a context's last calls. A call that is like one of them has the same
 * predictions under the same conditions.
 *
 * Predicting every algorithm takes a microsecond or two, as long as queueing a kernel, and programs
 * repeat their calls.
 */
#ifndef DUO_MEMO_H
#define DUO_MEMO_H

#include "batch.h"
#include "choice/select.h"

enum { DUO_MEMOS = 8 };

/* An entry; count 0: it is empty. call, batch and conditions have all that predictions depend on.
 * Their other fields are zero. */
typedef struct duo_memo {
    duo_call call;
    duo_batch batch; /* zeros: it is none */
    duo_conditions conditions;
    bool cpu_first, short_list; /* as in duo_route_predict */
    int count;
    duo_choice choice[DUO_CANDIDATES];
} duo_memo;

/* The entry of a call that is like this one, or NULL. */
const duo_memo *duo_memo_find(const duo_memo memo[DUO_MEMOS], const duo_call *call,
                              const duo_conditions *conditions, bool cpu_first);

/* Notes predictions, unless the next call may change them. */
void duo_memo_note(duo_memo memo[DUO_MEMOS], const duo_call *call, const duo_conditions *conditions,
                   bool cpu_first, bool short_list, const duo_choice *choice, int count);

/* Empties all entries: something has changed that they do not note. */
void duo_memo_forget(duo_memo memo[DUO_MEMOS]);

#endif
