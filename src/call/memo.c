/* memo.c - see memo.h */
#include "call/memo.h"

#include <string.h>

/* Will the next call have the same predictions? Learning changes ratios after a call, and a call
 * that runs without a stale array changes its credit. Groups are not compared. */
static bool lasting(const duo_call *call, const duo_conditions *conditions)
{
    return !duo_call_stale(duo_call_whole(call)) && conditions->ratios == NULL &&
           (call->batch == NULL || call->batch->group == NULL);
}

/* The call without the fields that no prediction reads. */
static duo_call key_of(const duo_call *call)
{
    duo_call key = *call;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &key.operand[i];
        o->address = NULL;
        o->region = NULL;
        o->low = o->high = 0;
    }
    key.batch = NULL;
    key.number = key.changes = 0;
    return key;
}

/* The same of its batch; zeros if it has none. Only two facts about a list matter: that there is
 * one, and whether it is even. */
static duo_batch batch_key_of(const duo_call *call)
{
    static float *const any[1];
    duo_batch key;
    memset(&key, 0, sizeof key);
    if (call->batch == NULL) return key;
    key = *call->batch;
    key.spans = key_of(&key.spans);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        key.list[i] = (duo_list){.even = key.list[i].even};
        key.shift[i] = 0;
        if (key.pointer[i] != NULL) key.pointer[i] = any;
    }
    return key;
}

static int place_of(const duo_call *call)
{
    const uint64_t mixed = ((uint64_t)call->m * 31 + (uint64_t)call->n) * 31 + (uint64_t)call->k;
    const uint64_t count = call->batch != NULL ? (uint64_t)call->batch->count : 0;
    return (int)((mixed + (mixed >> 7) + count + (uint64_t)call->operation * 5) % DUO_MEMOS);
}

static bool same_batch(const duo_memo *m, const duo_call *call)
{
    const duo_batch key = batch_key_of(call);
    return memcmp(&m->batch, &key, sizeof key) == 0;
}

const duo_memo *duo_memo_find(const duo_memo memo[DUO_MEMOS], const duo_call *call,
                              const duo_conditions *conditions, bool cpu_first)
{
    const duo_memo *const m = &memo[place_of(call)];
    if (m->count == 0 || m->cpu_first != cpu_first || m->call.m != call->m ||
        m->call.n != call->n || m->call.k != call->k)
        return NULL;
    const duo_call key = key_of(call);
    const bool batch = m->batch.count > 0;
    if (batch != (call->batch != NULL) || (batch && !same_batch(m, call))) return NULL;
    const bool same = memcmp(&m->call, &key, sizeof key) == 0 &&
                      memcmp(&m->conditions, conditions, sizeof *conditions) == 0;
    return same ? m : NULL;
}

void duo_memo_note(duo_memo memo[DUO_MEMOS], const duo_call *call, const duo_conditions *conditions,
                   bool cpu_first, bool short_list, const duo_choice *choice, int count)
{
    duo_memo *const m = &memo[place_of(call)];
    if (!lasting(call, conditions)) return;
    m->call = key_of(call);
    m->batch = batch_key_of(call);
    m->conditions = *conditions;
    m->cpu_first = cpu_first;
    m->short_list = short_list;
    m->count = count;
    memcpy(m->choice, choice, (size_t)count * sizeof *choice);
}

void duo_memo_forget(duo_memo memo[DUO_MEMOS])
{
    for (int i = 0; i < DUO_MEMOS; i++) memo[i].count = 0;
}
