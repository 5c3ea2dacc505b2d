/* memo.c - see memo.h */
#include "call/memo.h"

#include <string.h>

/* Ratios change with every call that is learned from, the credit of a kept array likewise. */
static bool lasting(const duo_call *call, const duo_conditions *conditions)
{
    bool kept = false;
    for (int i = 0; i < DUO_OPERANDS; i++) kept |= duo_operand_kept(&call->operand[i]);
    return !kept && conditions->ratios == NULL;
}

/* Without what no prediction looks at. */
static duo_call key_of(const duo_call *call)
{
    duo_call key = *call;
    for (int i = 0; i < DUO_OPERANDS; i++) key.operand[i].address = NULL;
    key.number = 0;
    return key;
}

static int place_of(const duo_call *call)
{
    const uint64_t mixed = ((uint64_t)call->m * 31 + (uint64_t)call->n) * 31 + (uint64_t)call->k;
    return (int)((mixed + (mixed >> 7) + (uint64_t)call->operation * 5) % DUO_MEMOS);
}

const duo_memo *duo_memo_find(const duo_memo memo[DUO_MEMOS], const duo_call *call,
                              const duo_conditions *conditions, bool cpu_first)
{
    const duo_memo *const m = &memo[place_of(call)];
    if (m->count == 0 || m->cpu_first != cpu_first || m->call.m != call->m ||
        m->call.n != call->n || m->call.k != call->k || m->call.operation != call->operation)
        return NULL;
    const duo_call key = key_of(call);
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

int duo_memo_predict(duo_memo memo[DUO_MEMOS], const duo_call *call,
                     const duo_conditions *conditions, duo_choice choice[DUO_CANDIDATES])
{
    const duo_memo *const found = duo_memo_find(memo, call, conditions, false);
    if (found != NULL) {
        memcpy(choice, found->choice, (size_t)found->count * sizeof choice[0]);
        return found->count;
    }
    const int count = duo_predict(call, conditions, choice);
    duo_memo_note(memo, call, conditions, false, false, choice, count);
    return count;
}
