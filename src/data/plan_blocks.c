/*
 * plan_blocks.c - plans of C in blocks (plan_blocks.h).
 *
 * One after the other. Each is the product of a block of A and one of B, which stay if the next
 * block of C needs them again. If that is predicted to take less, k is cut into slabs; partial sums
 * stay on the device.
 */
#include "data/plan_blocks.h"

#include <math.h>
#include <string.h>

/* Rows and columns of a block are this times a power of two, or all: tiles that every algorithm
 * multiplies whole. */
static const int64_t kLeastBlock = 128;

/* Rows, columns and k of a block, and whether a block of A stays while blocks of B pass by. */
typedef struct block_shape {
    int64_t rows, columns, depth;
    bool a_stays;
} block_shape;

static double ceiling(int64_t size, int64_t part) { return ceil((double)size / (double)part); }

static double block_bytes(const duo_plan_problem *of, const block_shape *b)
{
    const double rows = (double)b->rows, columns = (double)b->columns, depth = (double)b->depth;
    return DUO_PLAN_SLOTS * (rows * depth * duo_plan_element_bytes(of, DUO_A) +
                             columns * depth * duo_plan_element_bytes(of, DUO_B) +
                             rows * columns * duo_plan_element_bytes(of, DUO_C));
}

/* Seconds, only from the totals: sending, multiplying and fetching at the same time, plus the first
 * and last block, which nothing overlaps. */
static double block_seconds(const duo_plan_problem *of, const block_shape *b, int64_t n)
{
    const double step = 10e-6; /* seconds that the host takes to queue a block's steps */
    const double row_blocks = ceiling(of->m, b->rows), column_blocks = ceiling(n, b->columns);
    const double slabs = ceiling(of->k, b->depth);
    const double a = 4.0 * (double)of->m * (double)of->k * of->sent[DUO_A];
    const double bb = 4.0 * (double)n * (double)of->k * of->sent[DUO_B];
    const double c = 4.0 * (double)of->m * (double)n;
    const bool whole = b->depth >= of->k;
    const double up = (whole && b->a_stays ? a : a * column_blocks) +
                      (whole && !b->a_stays ? bb : bb * row_blocks) + c * of->sent[DUO_C];
    const double down = of->fetched ? c : 0.0;
    const double work =
        row_blocks * column_blocks * slabs * of->multiply(of, b->rows, b->columns, b->depth);
    const double ends = (double)(b->rows + b->columns) * (double)b->depth * 4.0 / of->up +
                        (double)b->rows * (double)b->columns * 4.0 / of->down;
    return fmax(work, fmax(fmax(up / of->up, down / of->down), (up + down) / of->both)) + ends +
           step * row_blocks * column_blocks * slabs;
}

/* The depth of k to try after this one: slabs of 32768, and then halves down to 2048. */
static int64_t shallower(int64_t depth)
{
    if (depth > 32768) return 32768;
    if (depth <= 2048) return 0;
    int64_t power = 2048;
    while (2 * power < depth) power *= 2;
    return power;
}

/* The best blocks that fit, for n columns. False: none fit. */
static bool choose_blocks(const duo_plan_problem *of, int64_t n, block_shape *best)
{
    const double memory = of->memory_bytes;
    double least_seconds = INFINITY;
    const int64_t k = of->k > 0 ? of->k : 1;
    for (int64_t depth = k; depth > 0; depth = of->k_whole ? 0 : shallower(depth))
        for (int64_t rows = kLeastBlock;; rows *= 2) {
            block_shape b = {.rows = duo_plan_least(rows, of->m), .depth = depth};
            const double fixed =
                DUO_PLAN_SLOTS * (double)b.rows * (double)depth * duo_plan_element_bytes(of, DUO_A);
            const double each =
                DUO_PLAN_SLOTS * ((double)depth * duo_plan_element_bytes(of, DUO_B) +
                                  (double)b.rows * duo_plan_element_bytes(of, DUO_C));
            const double most = each > 0.0 ? (memory - fixed) / each : (double)n;
            for (int64_t columns = kLeastBlock; (double)duo_plan_least(columns, n) <= most;
                 columns *= 2) {
                for (int stays = 0; stays < 2; stays++) {
                    b.columns = duo_plan_least(columns, n);
                    b.a_stays = stays != 0;
                    const double seconds = block_seconds(of, &b, n);
                    if (block_bytes(of, &b) > memory || seconds >= least_seconds) continue;
                    least_seconds = seconds;
                    *best = b;
                }
                if (columns >= n) break;
            }
            if (rows >= of->m) break;
        }
    return least_seconds < (double)INFINITY;
}

/* The block in a device's slot while blocks are made. */
typedef struct held_block {
    int64_t first, p; /* first of the operand's rows or columns, and of k */
    int used;         /* the number of its last use; 0: never */
    int last;         /* the step that used it last; a step that overwrites it waits for it */
} held_block;

typedef struct device_blocks {
    held_block slot[DUO_OPERANDS][DUO_PLAN_SLOTS];
    int uses, tiles;
} device_blocks;

/* The slot that has the operand's block. If none has it, the block is sent to one. */
static int bring(duo_plan_making *w, device_blocks *d, duo_step *step, int operand)
{
    held_block *const slot = d->slot[operand];
    const int64_t first = operand == DUO_A ? step->i : step->j;
    int at = slot[0].used <= slot[1].used ? 0 : 1;
    d->uses++;
    for (int i = 0; i < DUO_PLAN_SLOTS; i++)
        if (slot[i].used > 0 && slot[i].first == first && slot[i].p == step->p) {
            slot[i].used = d->uses;
            return i;
        }
    duo_step where = *step;
    where.slot[operand] = at;
    where.follows = slot[at].used > 0 ? slot[at].last : -1;
    slot[at] = (held_block){first, step->p, d->uses, -1};
    duo_plan_send(w, where, operand);
    duo_plan_pack(w, where, operand);
    return at;
}

/* All slabs of one block of C. */
static void block_of_c(duo_plan_making *w, device_blocks *d, const block_shape *b, duo_step step)
{
    held_block *const c = &d->slot[DUO_C][d->tiles % DUO_PLAN_SLOTS];
    step.slot[DUO_C] = d->tiles % DUO_PLAN_SLOTS;
    do { /* once also without any k */
        step.k = duo_plan_least(b->depth, w->of->k - step.p);
        step.slot[DUO_A] = bring(w, d, &step, DUO_A);
        step.slot[DUO_B] = bring(w, d, &step, DUO_B);
        step.starts = step.p == 0;
        step.follows = step.starts && w->of->fetched && d->tiles >= DUO_PLAN_SLOTS ? c->last : -1;
        duo_plan_multiply(w, step);
        c->last = w->plan->count - 1;
        d->slot[DUO_A][step.slot[DUO_A]].last = d->slot[DUO_B][step.slot[DUO_B]].last = c->last;
        step.p += b->depth;
    } while (step.p < w->of->k && !w->failed);
    d->tiles++;
}

/* The outer loop is over the blocks of the operand that stays; the inner one turns around at each
 * end, so that the last block of the other operand serves twice. */
bool duo_plan_blocks(duo_plan_making *w)
{
    const duo_plan_problem *const of = w->of;
    device_blocks blocks[DUO_PLAN_DEVICES] = {0};
    int64_t from, to;
    const int64_t most_columns = duo_plan_most_columns(of);
    block_shape b = {0};
    if (!choose_blocks(of, most_columns, &b)) return false;
    w->plan->held = false;
    duo_plan_space *const space = w->plan->space;
    w->plan->count = 0;
    memset(space, 0, sizeof w->plan->space);
    for (int i = DUO_A; i <= DUO_B; i++)
        if (duo_plan_element_bytes(of, i) > 0.0)
            space[i] = (duo_plan_space){.slots = DUO_PLAN_SLOTS,
                                        .extent = i == DUO_A ? b.rows : b.columns,
                                        .depth = {b.depth, b.depth}};
    if (of->fetched)
        space[DUO_C] = (duo_plan_space){
            .slots = DUO_PLAN_SLOTS, .extent = b.rows, .depth = {b.columns, b.columns}};
    const int64_t rows = (int64_t)ceiling(of->m, b.rows);
    const int64_t columns = (int64_t)ceiling(most_columns, b.columns);
    const int64_t outer = b.a_stays ? rows : columns, inner = b.a_stays ? columns : rows;
    for (int64_t x = 0; x < outer && !w->failed; x++)
        for (int64_t y = 0; y < inner && !w->failed; y++)
            for (int d = 0; d < of->devices; d++) {
                const int64_t turned = x % 2 == 0 ? y : inner - 1 - y;
                const int64_t row = b.a_stays ? x : turned, column = b.a_stays ? turned : x;
                duo_plan_columns(of, d, &from, &to);
                duo_step step = {
                    .device = d, .follows = -1, .i = row * b.rows, .j = from + column * b.columns};
                step.m = duo_plan_least(b.rows, of->m - step.i);
                step.n = duo_plan_least(b.columns, to - step.j);
                step.all[DUO_A] = step.m;
                step.all[DUO_B] = step.n;
                if (step.n > 0) block_of_c(w, &blocks[d], &b, step);
            }
    return true;
}
