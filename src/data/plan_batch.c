/*
 * plan_batch.c - plans of batches (plan_batch.h).
 *
 * Pieces take two slots by turns: while one is multiplied, the next is sent and the last one is
 * fetched. A matrix that all products share is sent before the first piece, and stays.
 */
#include "data/plan_batch.h"

#include <math.h>

#include "data/plan_clock.h"

/* Do all products share the operand's matrix? */
static bool stays(const duo_plan_problem *of, int operand)
{
    return operand != DUO_C && of->shared[operand];
}

static void set_spaces(duo_plan_making *w, int64_t products)
{
    const duo_plan_problem *const of = w->of;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_plan_space *const space = &w->plan->space[i];
        const int64_t depth = i == DUO_C ? of->n : of->k;
        *space = (duo_plan_space){.slots = 0};
        if (duo_plan_element_bytes(of, i) <= 0.0) continue;
        space->slots = stays(of, i) || products == of->products ? 1 : DUO_PLAN_SLOTS;
        space->extent = (stays(of, i) ? 1 : products) * (i == DUO_B ? of->n : of->m);
        for (int slot = 0; slot < space->slots; slot++) space->depth[slot] = depth;
    }
}

/* Sends A or B of a piece. after: the product that used the slot last; -1: none. */
static void send(duo_plan_making *w, duo_step piece, int operand, int after)
{
    if (stays(w->of, operand) && piece.product > 0) return;
    if (stays(w->of, operand)) piece.products = 1;
    piece.follows = after;
    duo_plan_send(w, piece, operand);
}

static void make_pieces(duo_plan_making *w, int64_t products)
{
    const duo_plan_problem *const of = w->of;
    /* The product from a slot, and the last step with it. */
    int multiplied[DUO_PLAN_SLOTS] = {-1, -1}, used[DUO_PLAN_SLOTS] = {-1, -1};
    int turn = 0;
    w->plan->held = false;
    w->plan->count = 0;
    set_spaces(w, products);
    for (int64_t first = 0; first < of->products && !w->failed; first += products) {
        duo_step piece = {.m = of->m, .n = of->n, .k = of->k, .product = first, .starts = true};
        piece.products = duo_plan_least(products, of->products - first);
        for (int i = 0; i < DUO_OPERANDS; i++)
            piece.slot[i] = w->plan->space[i].slots > 1 ? turn : 0;
        send(w, piece, DUO_A, multiplied[turn]);
        send(w, piece, DUO_B, multiplied[turn]);
        piece.follows = of->fetched ? used[turn] : -1;
        duo_plan_multiply(w, piece);
        used[turn] = w->plan->count - 1;
        multiplied[turn] = used[turn] - (of->fetched ? 1 : 0);
        turn = (turn + 1) % DUO_PLAN_SLOTS;
    }
}

/* Halves the pieces as long as they fit better, or at all. */
bool duo_plan_batch(duo_plan_making *w)
{
    int64_t best = 0;
    double least_seconds = INFINITY;
    for (int64_t products = w->of->products, before = 0; products != before;) {
        make_pieces(w, products);
        if (w->failed) break;
        const bool fits = duo_plan_bytes(w->plan) <= w->of->memory_bytes;
        const double seconds = fits ? duo_plan_seconds(w->plan) : INFINITY;
        if (fits && seconds >= least_seconds) break;
        if (fits) best = products;
        least_seconds = seconds;
        before = products;
        products = (products + 1) / 2;
    }
    w->failed = false;
    if (best > 0) make_pieces(w, best);
    return best > 0;
}
