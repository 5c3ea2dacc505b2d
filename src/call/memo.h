/*
 * memo.h - predictions of a context's last calls: a call that is like one of them, under the same
 * conditions, has the same.
 *
 * To predict every algorithm takes a microsecond or two, as long as to queue a kernel; programs
 * repeat their calls.
 */
#ifndef DUO_MEMO_H
#define DUO_MEMO_H

#include "batch.h"
#include "choice/select.h"

enum { DUO_MEMOS = 8 };

/* count 0: it is empty. call, batch and conditions: all that predictions follow from, and else
 * zeros. */
typedef struct duo_memo {
    duo_call call;
    duo_batch batch; /* where it is one */
    duo_conditions conditions;
    bool cpu_first, short_list; /* may the CPU's algorithms do; do they? */
    int count;
    duo_choice choice[DUO_CANDIDATES];
} duo_memo;

/* The entry of a call that is like this one, or NULL. */
const duo_memo *duo_memo_find(const duo_memo memo[DUO_MEMOS], const duo_call *call,
                              const duo_conditions *conditions, bool cpu_first);

/* Notes what was predicted, unless that soon changes. */
void duo_memo_note(duo_memo memo[DUO_MEMOS], const duo_call *call, const duo_conditions *conditions,
                   bool cpu_first, bool short_list, const duo_choice *choice, int count);

/* Something else has changed: all entries are empty. */
void duo_memo_forget(duo_memo memo[DUO_MEMOS]);

#endif
