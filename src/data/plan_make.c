/*
 * plan_make.c - makes plans (plan_make.h): several are tried, and the one with the least predicted
 * seconds is taken.
 *
 * held    A, B and C fit on the device. Panels of A and B arrive by turns; each multiplies with all
 *         that has arrived of the other, so the work that is possible grows with the square of what
 *         is there. (With k in two slabs the device would wait less in the beginning, but C comes
 *         home later: 58 to 70 ms instead of 54, 16384^3 on an H100.)
 * blocks  Otherwise: C in blocks, one after the other, each from a block of A and one of B, which
 *         stay where the next block of C needs them again. Where even these do not fit, k is cut in
 *         slabs, whose partial sums stay on the device.
 */
#include "data/plan_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/plan_clock.h"

/* Sizes of panels, and of blocks where memory is short, are multiples of these: tiles that every
 * algorithm multiplies whole. */
static const int64_t kUnit = 256, kLeastBlock = 128;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t whole_units(double size)
{
    const double units = floor(size / (double)kUnit);
    return units < 1.0 ? kUnit : (int64_t)units * kUnit;
}

/* ---- Steps ---- */

/* A longer plan takes the host seconds to queue, and more than 200 MB: blocks of little memory for
 * products beyond all bounds. */
enum { MOST_STEPS = 1 << 20 };

/* The plan that is being made. A failure to add a step is met once, at the end. */
typedef struct making {
    duo_plan *plan;
    const duo_plan_problem *of;
    bool failed;
} making;

static void add(making *w, duo_step step)
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
    plan->step[plan->count++] = step;
}

/* Sends rows of op(A) or columns of op(B), where they are in host memory. `where` has their range
 * and slot. */
static void send(making *w, duo_step where, int operand)
{
    where.operand = operand;
    where.kind = DUO_STEP_SEND;
    if (w->of->sent[operand]) add(w, where);
}

static void pack(making *w, duo_step where, int operand)
{
    where.operand = operand;
    where.kind = DUO_STEP_PACK;
    where.follows = -1;
    if (w->of->packed_bytes[operand] > 0.0) add(w, where);
}

/* Multiplies a tile of C, which is sent before the first slab of k, and fetched after the last. */
static void multiply(making *w, duo_step where)
{
    const duo_plan_problem *const of = w->of;
    const bool c_sent = where.starts && of->sent[DUO_C];
    if (c_sent) {
        send(w, where, DUO_C);
        where.follows = -1; /* the SEND has waited for that */
    }
    where.kind = DUO_STEP_MULTIPLY;
    where.ends = where.p + where.k == of->k;
    add(w, where);
    where.kind = DUO_STEP_FETCH;
    where.follows = -1;
    if (of->fetched && where.ends) add(w, where);
}

/* ---- Everything on the device ---- */

enum { MOST_PANELS = 64 };

/* A size in panels: [edge[i], edge[i + 1]). */
typedef struct cut {
    int panels;
    int64_t edge[MOST_PANELS + 1];
} cut;

/*
 * Panels of about the same size; with ramp > 1, the first and the last ones are smaller, so that
 * the device begins early, and has little left when the last one has arrived.
 */
static cut cut_of(int64_t from, int64_t size, int panels, int ramp)
{
    cut c = {.panels = 0, .edge = {from}};
    double weights = 0.0, sum = 0.0;
    for (int i = 0; i < panels; i++) weights += fmin(1.0, fmin(i + 1.0, panels - i) / ramp);
    for (int i = 0; i < panels; i++) {
        sum += fmin(1.0, fmin(i + 1.0, panels - i) / ramp) / weights;
        const int64_t units = (int64_t)llround(sum * (double)size / (double)kUnit);
        const int64_t edge = i + 1 < panels ? from + least(units * kUnit, size) : from + size;
        if (edge > c.edge[c.panels]) c.edge[++c.panels] = edge;
    }
    return c;
}

/* How a plan of everything on the device is made. */
typedef struct held_shape {
    int a_panels, b_panels, ramp;
} held_shape;

/*
 * Multiplies rows by columns that are all there. Large ones in chunks, so that the first goes home
 * while the next is multiplied: of a 24th of all the work, but no smaller than keeps every
 * multiprocessor busy for a few tiles.
 */
static void strip(making *w, duo_step where)
{
    const double all = (double)w->of->m * (double)w->of->n / w->of->devices;
    const double most = fmax(all / 24.0, 3072.0 * 3072.0);
    const double elements = (double)where.m * (double)where.n;
    const bool by_rows = where.m > where.n;
    const int64_t size = by_rows ? where.m : where.n;
    int64_t chunk = size;
    if (w->of->fetched && elements > 1.5 * most)
        chunk = whole_units((double)size / ceil(elements / most) + (double)kUnit - 1.0);
    for (int64_t done = 0; done < size; done += chunk) {
        duo_step part = where;
        const int64_t length = least(chunk, size - done);
        if (by_rows) {
            part.i += done;
            part.m = length;
            part.first[DUO_A] += done;
            part.first[DUO_C] += done;
        } else {
            part.j += done;
            part.n = length;
            part.first[DUO_B] += done;
            part.column += done;
        }
        multiply(w, part);
    }
}

static double share_of(const duo_plan_problem *of, int device)
{
    return of->share[0] > 0.0 ? of->share[device] : 1.0 / of->devices;
}

/* Where the columns of C of so many devices end: at the nearest multiple of a unit. */
static int64_t columns_before(const duo_plan_problem *of, int devices)
{
    double share = 0.0;
    for (int d = 0; d < devices; d++) share += share_of(of, d);
    if (devices == 0 || devices == of->devices) return devices == 0 ? 0 : of->n;
    return least(of->n, whole_units((double)of->n * share + 0.5 * (double)kUnit));
}

/* The columns of C that a device has. */
static void columns_of(const duo_plan_problem *of, int device, int64_t *from, int64_t *to)
{
    *from = columns_before(of, device);
    *to = columns_before(of, device + 1);
}

/* The most columns that a device has. */
static int64_t most_columns_of(const duo_plan_problem *of)
{
    int64_t most = 0, from, to;
    for (int d = 0; d < of->devices; d++) {
        columns_of(of, d, &from, &to);
        if (to - from > most) most = to - from;
    }
    return most;
}

/* The panels of a plan of everything on the device. */
typedef struct panels {
    making *w;
    cut a, b[DUO_PLAN_DEVICES];
} panels;

static duo_step step_in(const panels *s, int device, int64_t i, int64_t i_end, int64_t j,
                        int64_t j_end)
{
    duo_step step = {.device = device,
                     .follows = -1,
                     .starts = true,
                     .i = i,
                     .m = i_end - i,
                     .j = j,
                     .n = j_end - j,
                     .k = s->w->of->k};
    step.first[DUO_A] = step.first[DUO_C] = i;
    step.first[DUO_B] = step.column = j - s->b[device].edge[0];
    step.all[DUO_A] = s->a.edge[s->a.panels];
    step.all[DUO_B] = s->b[device].edge[s->b[device].panels] - s->b[device].edge[0];
    return step;
}

/* The rows of panel x of A that a device is sent. */
typedef struct rows_sent {
    int64_t low, high;
} rows_sent;

static rows_sent rows_sent_to(const panels *s, int x, int device)
{
    const int devices = s->w->of->devices;
    const int64_t from = s->a.edge[x], to = s->a.edge[x + 1], rows = to - from;
    if (s->w->of->peer <= 0.0) return (rows_sent){from, to};
    return (rows_sent){
        from + rows * device / devices / kUnit * kUnit,
        device + 1 == devices ? to : from + rows * (device + 1) / devices / kUnit * kUnit};
}

/* A device copies from the others what they were sent of panel x. */
static void share_panel(const panels *s, int x, int device)
{
    for (int d = 0; d < s->w->of->devices; d++) {
        const rows_sent rows = rows_sent_to(s, x, d);
        if (d == device || rows.high <= rows.low) continue;
        duo_step share = step_in(s, device, rows.low, rows.high, 0, 0);
        share.kind = DUO_STEP_SHARE;
        share.operand = DUO_A;
        share.source = d;
        add(s->w, share);
    }
}

/* Panel x of A arrives: a part of it at each device, which then gives it to the others; or, where
 * devices do not reach each other, all of it at each. */
static void a_arrives(panels *s, int x, int b_there)
{
    const int devices = s->w->of->devices;
    const int64_t from = s->a.edge[x], to = s->a.edge[x + 1];
    const bool shared = s->w->of->sent[DUO_A] && s->w->of->peer > 0.0;
    for (int d = 0; d < devices; d++) {
        const rows_sent rows = rows_sent_to(s, x, d);
        if (rows.high > rows.low) send(s->w, step_in(s, d, rows.low, rows.high, 0, 0), DUO_A);
    }
    for (int d = 0; d < devices && shared; d++) share_panel(s, x, d);
    for (int d = 0; d < devices; d++) {
        const cut *const b = &s->b[d];
        pack(s->w, step_in(s, d, from, to, 0, 0), DUO_A);
        const int64_t there = b->edge[least(b_there, b->panels)];
        if (there > b->edge[0]) strip(s->w, step_in(s, d, from, to, b->edge[0], there));
    }
}

static void b_arrives(panels *s, int x, int a_there)
{
    for (int d = 0; d < s->w->of->devices; d++) {
        const cut *const b = &s->b[d];
        if (x >= b->panels) continue;
        const int64_t there = s->a.edge[a_there];
        send(s->w, step_in(s, d, 0, 0, b->edge[x], b->edge[x + 1]), DUO_B);
        pack(s->w, step_in(s, d, 0, 0, b->edge[x], b->edge[x + 1]), DUO_B);
        if (there > 0) strip(s->w, step_in(s, d, 0, there, b->edge[x], b->edge[x + 1]));
    }
}

/* Panels of A and B by turns: always of the one of which less has arrived. */
static void arrive(panels *s)
{
    const duo_plan_problem *const of = s->w->of;
    int a = 0, b = 0, b_panels = 0;
    for (int d = 0; d < of->devices; d++)
        if (s->b[d].panels > b_panels) b_panels = s->b[d].panels;
    while (a < s->a.panels || b < b_panels) {
        const double a_part = (double)s->a.edge[a] / (double)of->m;
        const double b_part = (double)b / b_panels;
        if (a < s->a.panels && (b == b_panels || a_part <= b_part)) {
            a_arrives(s, a, b);
            a++;
        } else {
            b_arrives(s, b, a);
            b++;
        }
    }
}

static void make_held(making *w, const held_shape *shape)
{
    const duo_plan_problem *const of = w->of;
    duo_plan_space *const space = w->plan->space;
    w->plan->held = true;
    w->plan->count = 0;
    memset(space, 0, sizeof w->plan->space);
    const int64_t widest = most_columns_of(of);
    panels s = {.w = w};
    const bool a_moves = of->sent[DUO_A], b_moves = of->sent[DUO_B] || !a_moves;
    s.a = cut_of(0, of->m, a_moves ? shape->a_panels : 1, shape->ramp);
    for (int d = 0; d < of->devices; d++) {
        int64_t from, to;
        columns_of(of, d, &from, &to);
        s.b[d] = cut_of(from, to - from, b_moves ? shape->b_panels : 1, shape->ramp);
    }
    for (int i = DUO_A; i <= DUO_B; i++)
        if (of->sent[i] || of->packed_bytes[i] > 0.0)
            space[i] = (duo_plan_space){
                .slots = 1, .extent = i == DUO_A ? of->m : widest, .depth = {of->k}};
    if (of->fetched)
        space[DUO_C] = (duo_plan_space){.slots = 1, .extent = of->m, .depth = {widest}};
    arrive(&s);
}

/* ---- Blocks ---- */

/* Rows, columns and k of a block, and whether the block of A stays while those of B pass by. */
typedef struct block_shape {
    int64_t rows, columns, depth;
    bool a_stays;
} block_shape;

static double ceiling(int64_t size, int64_t part) { return ceil((double)size / (double)part); }

/* Bytes on the device of an element of operand i: as sent, and packed. */
static double element_bytes(const duo_plan_problem *of, int i)
{
    if (i == DUO_C) return of->fetched ? 4.0 : 0.0;
    return (of->sent[i] ? 4.0 : 0.0) + of->packed_bytes[i];
}

enum { TURNS = 2 }; /* slots of each operand: one is filled while the other is used */

static double block_bytes(const duo_plan_problem *of, const block_shape *b)
{
    const double rows = (double)b->rows, columns = (double)b->columns, depth = (double)b->depth;
    return TURNS *
           (rows * depth * element_bytes(of, DUO_A) + columns * depth * element_bytes(of, DUO_B) +
            rows * columns * element_bytes(of, DUO_C));
}

/* Seconds by the totals alone: what is sent, multiplied and fetched at the same time, and the first
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

/* The best blocks for n columns that fit. False: none do. */
static bool choose_blocks(const duo_plan_problem *of, int64_t n, block_shape *best)
{
    const double memory = of->memory_bytes;
    double least_seconds = INFINITY;
    const int64_t k = of->k > 0 ? of->k : 1;
    for (int64_t depth = k; depth > 0; depth = of->k_whole ? 0 : shallower(depth))
        for (int64_t rows = kLeastBlock;; rows *= 2) {
            block_shape b = {.rows = least(rows, of->m), .depth = depth};
            const double fixed = TURNS * (double)b.rows * (double)depth * element_bytes(of, DUO_A);
            const double each = TURNS * ((double)depth * element_bytes(of, DUO_B) +
                                         (double)b.rows * element_bytes(of, DUO_C));
            const double most = each > 0.0 ? (memory - fixed) / each : (double)n;
            for (int64_t columns = kLeastBlock; (double)least(columns, n) <= most; columns *= 2) {
                for (int stays = 0; stays < 2; stays++) {
                    b.columns = least(columns, n);
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

/* What a device's slots hold while blocks are made. */
typedef struct held_block {
    int64_t first, p; /* of the operand's rows or columns, and of k */
    int used;         /* the number of its last use; 0: never */
    int last;         /* the step that used it last, which whoever overwrites it follows */
} held_block;

typedef struct device_blocks {
    held_block slot[DUO_OPERANDS][TURNS];
    int uses, tiles;
} device_blocks;

/* The slot where the block of an operand is, or now is sent to. */
static int bring(making *w, device_blocks *d, duo_step *step, int operand)
{
    held_block *const slot = d->slot[operand];
    const int64_t first = operand == DUO_A ? step->i : step->j;
    int at = slot[0].used <= slot[1].used ? 0 : 1;
    d->uses++;
    for (int i = 0; i < TURNS; i++)
        if (slot[i].used > 0 && slot[i].first == first && slot[i].p == step->p) {
            slot[i].used = d->uses;
            return i;
        }
    duo_step where = *step;
    where.slot[operand] = at;
    where.follows = slot[at].used > 0 ? slot[at].last : -1;
    slot[at] = (held_block){first, step->p, d->uses, -1};
    send(w, where, operand);
    pack(w, where, operand);
    return at;
}

/* All slabs of one block of C. */
static void block_of_c(making *w, device_blocks *d, const block_shape *b, duo_step step)
{
    held_block *const c = &d->slot[DUO_C][d->tiles % TURNS];
    step.slot[DUO_C] = d->tiles % TURNS;
    do { /* once also without any k */
        step.k = least(b->depth, w->of->k - step.p);
        step.slot[DUO_A] = bring(w, d, &step, DUO_A);
        step.slot[DUO_B] = bring(w, d, &step, DUO_B);
        step.starts = step.p == 0;
        step.follows = step.starts && w->of->fetched && d->tiles >= TURNS ? c->last : -1;
        multiply(w, step);
        const int fetch = w->plan->count - 1, product = step.ends ? fetch - 1 : fetch;
        c->last = fetch;
        d->slot[DUO_A][step.slot[DUO_A]].last = d->slot[DUO_B][step.slot[DUO_B]].last = product;
        step.p += b->depth;
    } while (step.p < w->of->k);
    d->tiles++;
}

/* The outer loop is over the blocks of the operand that stays; the inner one turns at each end, so
 * that the block of the other operand that is there serves twice. */
static bool make_blocks(making *w)
{
    const duo_plan_problem *const of = w->of;
    device_blocks blocks[DUO_PLAN_DEVICES] = {0};
    int64_t from, to;
    const int64_t most_columns = most_columns_of(of);
    block_shape b = {0};
    if (!choose_blocks(of, most_columns, &b)) return false;
    w->plan->held = false;
    duo_plan_space *const space = w->plan->space;
    w->plan->count = 0;
    memset(space, 0, sizeof w->plan->space);
    for (int i = DUO_A; i <= DUO_B; i++)
        if (element_bytes(of, i) > 0.0)
            space[i] = (duo_plan_space){.slots = TURNS,
                                        .extent = i == DUO_A ? b.rows : b.columns,
                                        .depth = {b.depth, b.depth}};
    if (of->fetched)
        space[DUO_C] =
            (duo_plan_space){.slots = TURNS, .extent = b.rows, .depth = {b.columns, b.columns}};
    const int64_t rows = (int64_t)ceiling(of->m, b.rows);
    const int64_t columns = (int64_t)ceiling(most_columns, b.columns);
    const int64_t outer = b.a_stays ? rows : columns, inner = b.a_stays ? columns : rows;
    for (int64_t x = 0; x < outer; x++)
        for (int64_t y = 0; y < inner; y++)
            for (int d = 0; d < of->devices; d++) {
                const int64_t turned = x % 2 == 0 ? y : inner - 1 - y;
                const int64_t row = b.a_stays ? x : turned, column = b.a_stays ? turned : x;
                columns_of(of, d, &from, &to);
                duo_step step = {
                    .device = d, .follows = -1, .i = row * b.rows, .j = from + column * b.columns};
                step.m = least(b.rows, of->m - step.i);
                step.n = least(b.columns, to - step.j);
                step.all[DUO_A] = step.m;
                step.all[DUO_B] = step.n;
                if (step.n > 0) block_of_c(w, &blocks[d], &b, step);
            }
    return true;
}

/* ---- The choice ---- */

double duo_plan_bytes(const duo_plan *plan)
{
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_plan_space *const space = &plan->space[i];
        for (int slot = 0; slot < space->slots; slot++)
            bytes +=
                (double)space->extent * (double)space->depth[slot] * element_bytes(&plan->of, i);
    }
    return bytes;
}

/* Everything that is sent, packed or fetched, on a device. */
static double held_bytes(const duo_plan_problem *of)
{
    const double n = (double)most_columns_of(of);
    return (double)of->m * (double)of->k * element_bytes(of, DUO_A) +
           n * (double)of->k * element_bytes(of, DUO_B) +
           (double)of->m * n * element_bytes(of, DUO_C);
}

/* Makes the plan of this shape; is it the best so far? */
static void try_shape(making *w, const held_shape *shape, held_shape *best, double *least_seconds)
{
    make_held(w, shape);
    if (w->failed) return;
    const double seconds = duo_plan_seconds(w->plan);
    if (seconds >= *least_seconds) return;
    *least_seconds = seconds;
    *best = *shape;
}

/*
 * The shapes that are tried. A panel should take the link longer than a step takes the host: of at
 * least a MiB. Of A half as many panels as of B: each panel of either multiplies with all of the
 * other, and where one of them is cut across its runs, wide panels are cheaper to send.
 */
static bool make_best_held(making *w)
{
    enum { MOST_B = 16, MOST_RAMP = 2 };
    const duo_plan_problem *const of = w->of;
    const double least_panel = 0x1p20;
    const double bytes =
        4.0 * ((double)of->m + (double)of->n) * (double)of->k + 4.0 * (double)of->m * (double)of->n;
    held_shape best = {1, 1, 1};
    double least_seconds = INFINITY;
    try_shape(w, &best, &best, &least_seconds);
    for (int b = 2; b <= MOST_B && bytes / (3.0 * b) >= least_panel; b *= 2)
        for (int ramp = 1; ramp <= (b < 8 ? 1 : MOST_RAMP); ramp++)
            for (int a = b / 2; a >= 1 && a >= b / 4; a /= 2) {
                const held_shape shape = {a, b, ramp};
                try_shape(w, &shape, &best, &least_seconds);
            }
    make_held(w, &best);
    return !w->failed;
}

bool duo_plan_make(duo_plan *plan, const duo_plan_problem *problem)
{
    making w = {.plan = plan, .of = problem};
    plan->of = *problem;
    const bool made =
        held_bytes(problem) <= problem->memory_bytes ? make_best_held(&w) : make_blocks(&w);
    if (!made || w.failed) return false;
    plan->seconds = duo_plan_seconds(plan);
    return true;
}

void duo_plan_free(duo_plan *plan)
{
    free(plan->step);
    *plan = (duo_plan){.step = NULL};
}
