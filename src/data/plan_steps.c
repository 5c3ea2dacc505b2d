/*
 * plan_steps.c - adds steps to a plan that is being made, and tells each device's part
 * (plan_steps.h).
 */
#include "data/plan_steps.h"

#include <math.h>
#include <stdlib.h>

/* A longer plan takes the host seconds to queue, and more than 200 MB: enormous products in blocks
 * of little memory. A fuzzer would spend most of its time on those. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { MOST_STEPS = 1 << 10 };
#else
enum { MOST_STEPS = 1 << 20 };
#endif

void duo_plan_add(duo_plan_making *w, duo_step step)
{
    duo_plan *const plan = w->plan;
    if (plan->count == MOST_STEPS) w->failed = true;
    if (w->failed) return;
    if (plan->count == plan->room) {
        const int room = plan->room > 0 ? 2 * plan->room : 64;
        duo_step *const grown = realloc(plan->step, (size_t)room * sizeof *grown);
        if (grown == NULL) {
            w->failed = true;
            return;
        }
        plan->step = grown;
        plan->room = room;
    }
    if (w->of->products == 0) step.products = 1;
    plan->step[plan->count++] = step;
}

void duo_plan_send(duo_plan_making *w, duo_step where, int operand)
{
    where.operand = operand;
    where.kind = DUO_STEP_SEND;
    if (w->of->sent[operand]) duo_plan_add(w, where);
}

/* The length of a step's range along its operand's rows or columns, or along k. */
static int64_t length_of(const duo_step *s, int operand, bool along_k)
{
    return along_k ? s->k : operand == DUO_A ? s->m : s->n;
}

/* Takes the first `length` off `left`; returns it. */
static duo_step take(duo_step *left, int operand, bool along_k, int64_t length)
{
    duo_step part = *left;
    int64_t *const size = along_k ? &left->k : operand == DUO_A ? &left->m : &left->n;
    *(along_k ? &part.k : operand == DUO_A ? &part.m : &part.n) = length;
    *size -= length;
    *(along_k ? &left->p : operand == DUO_A ? &left->i : &left->j) += length;
    *(along_k ? &left->deep : &left->first[operand]) += length;
    return part;
}

/* Whole runs of memory that fill the largest stage; or the whole part. */
static int64_t turn_of(const duo_plan_problem *of, const duo_step *s, int operand, bool along_k)
{
    const double most = 0x1p23; /* DUO_LARGEST_STAGE */
    const int64_t length = length_of(s, operand, along_k);
    const double run = 4.0 * (double)length_of(s, operand, !along_k);
    if (of->pinned[operand] || of->devices == 1 || run * (double)length <= most) return length;
    return duo_plan_least(length, (int64_t)fmax(most / run, 1.0));
}

void duo_plan_send_by_turns(duo_plan_making *w, duo_step where[DUO_PLAN_DEVICES], int operand)
{
    const bool along_k = w->of->pitch[operand] > 0;
    int64_t turn[DUO_PLAN_DEVICES];
    for (int d = 0; d < w->of->devices; d++) turn[d] = turn_of(w->of, &where[d], operand, along_k);
    for (bool more = true; more && !w->failed;) {
        more = false;
        for (int d = 0; d < w->of->devices; d++) {
            const int64_t left = length_of(&where[d], operand, along_k);
            if (left == 0 || length_of(&where[d], operand, !along_k) == 0) continue;
            duo_plan_send(w, take(&where[d], operand, along_k, duo_plan_least(turn[d], left)),
                          operand);
            more = true;
        }
    }
}

void duo_plan_pack(duo_plan_making *w, duo_step where, int operand)
{
    where.operand = operand;
    where.kind = DUO_STEP_PACK;
    where.follows = -1;
    if (w->of->packed_bytes[operand] > 0.0) duo_plan_add(w, where);
}

void duo_plan_multiply(duo_plan_making *w, duo_step where)
{
    const duo_plan_problem *const of = w->of;
    const bool c_sent = where.starts && of->sent[DUO_C];
    if (c_sent) {
        duo_plan_send(w, where, DUO_C);
        where.follows = -1; /* the SEND follows it already */
    }
    where.kind = DUO_STEP_MULTIPLY;
    where.ends = where.p + where.k == of->k;
    duo_plan_add(w, where);
    where.kind = DUO_STEP_FETCH;
    where.follows = -1;
    if (of->fetched && where.ends) duo_plan_add(w, where);
}

int64_t duo_plan_whole_units(double size)
{
    const double units = floor(size / (double)DUO_PLAN_UNIT);
    return units < 1.0 ? DUO_PLAN_UNIT : (int64_t)units * DUO_PLAN_UNIT;
}

static double share_of(const duo_plan_problem *of, int device)
{
    return of->share[0] > 0.0 ? of->share[device] : 1.0 / of->devices;
}

/* Where the columns of C of the first `devices` end: at the nearest multiple of a unit. */
static int64_t columns_before(const duo_plan_problem *of, int devices)
{
    double share = 0.0;
    for (int d = 0; d < devices; d++) share += share_of(of, d);
    if (devices == 0 || devices == of->devices) return devices == 0 ? 0 : of->n;
    const double end = (double)of->n * share + 0.5 * (double)DUO_PLAN_UNIT;
    return duo_plan_least(of->n, duo_plan_whole_units(end));
}

void duo_plan_columns(const duo_plan_problem *of, int device, int64_t *from, int64_t *to)
{
    *from = columns_before(of, device);
    *to = columns_before(of, device + 1);
}

int64_t duo_plan_most_columns(const duo_plan_problem *of)
{
    int64_t most = 0, from, to;
    for (int d = 0; d < of->devices; d++) {
        duo_plan_columns(of, d, &from, &to);
        if (to - from > most) most = to - from;
    }
    return most;
}

double duo_plan_element_bytes(const duo_plan_problem *of, int i)
{
    if (i == DUO_C) return of->fetched ? 4.0 : 0.0;
    return (of->sent[i] ? 4.0 : 0.0) + of->packed_bytes[i];
}

double duo_plan_bytes(const duo_plan *plan)
{
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_plan_space *const space = &plan->space[i];
        for (int slot = 0; slot < space->slots; slot++)
            bytes += (double)space->extent * (double)space->depth[slot] *
                     duo_plan_element_bytes(&plan->of, i);
    }
    return bytes;
}
