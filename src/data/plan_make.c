/*
 * plan_make.c - makes plans (plan_make.h): of everything on the device if A, B and C fit, otherwise
 * of C in blocks.
 */
#include "data/plan_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/plan_batch.h"
#include "data/plan_clock.h"
#include "data/plan_steps.h"

/*
 * ---- Everything on the device ----
 *
 * Panels of A and B arrive in turn; each is multiplied with all of the other operand that has
 * arrived, so the possible work grows with the square of the arrived part. (With k in two slabs the
 * device would wait less in the beginning, but C would come home later: 58 to 70 ms instead of 54,
 * 16384^3 on an H100.)
 */

enum { MOST_PANELS = 64 };

/* A range cut into panels: [edge[i], edge[i + 1]). */
typedef struct cut {
    int panels;
    int64_t edge[MOST_PANELS + 1];
} cut;

/* Panels of about the same size. */
static cut cut_of(int64_t from, int64_t size, int panels)
{
    cut c = {.panels = 0, .edge = {from}};
    for (int i = 1; i <= panels; i++) {
        const int64_t units = (int64_t)llround((double)i / panels * (double)size / DUO_PLAN_UNIT);
        const int64_t edge =
            i < panels ? from + duo_plan_least(units * DUO_PLAN_UNIT, size) : from + size;
        if (edge > c.edge[c.panels]) c.edge[++c.panels] = edge;
    }
    return c;
}

/* The shape of a plan of everything on the device: the panels of A and B, and how fast B arrives
 * relative to A, which comes first: 1, 1/2 or 1/3. */
typedef struct held_shape {
    int a_panels, b_panels;
    double b_pace;
} held_shape;

/*
 * Multiplies rows by columns that are all there. Large products go in chunks, so that one is
 * fetched while the next is multiplied. A chunk is a 24th of all the work, but large enough to keep
 * every multiprocessor busy for a few tiles.
 */
static void strip(duo_plan_making *w, duo_step where)
{
    const double all = (double)w->of->m * (double)w->of->n / w->of->devices;
    const double most = fmax(all / 24.0, 3072.0 * 3072.0);
    const double elements = (double)where.m * (double)where.n;
    const bool by_rows = where.m > where.n;
    const int64_t size = by_rows ? where.m : where.n;
    int64_t chunk = size;
    if (w->of->fetched && elements > 1.5 * most)
        chunk = duo_plan_whole_units((double)size / ceil(elements / most) + (double)DUO_PLAN_UNIT -
                                     1.0);
    for (int64_t done = 0; done < size && !w->failed; done += chunk) {
        duo_step part = where;
        const int64_t length = duo_plan_least(chunk, size - done);
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
        duo_plan_multiply(w, part);
    }
}

/* The panels of a plan of everything on the device. */
typedef struct panels {
    duo_plan_making *w;
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

/* The part of panel x of A that a device is sent: some of its rows; or, if rows are cut across runs
 * of memory, some of k, so that runs keep their length. The whole panel if devices are not
 * linked. */
static duo_step part_sent_to(const panels *s, int x, int device)
{
    const duo_plan_problem *const of = s->w->of;
    const int64_t from = s->a.edge[x], to = s->a.edge[x + 1];
    const bool along_k = of->pitch[DUO_A] > 0;
    const int64_t size = along_k ? of->k : to - from;
    const int64_t low = size * device / of->devices, high = size * (device + 1) / of->devices;
    duo_step part = step_in(s, device, from, to, 0, 0);
    if (of->peer <= 0.0) return part;
    if (along_k) {
        part.p = part.deep = low;
        part.k = high - low;
    } else {
        part.i = part.first[DUO_A] = from + low;
        part.m = high - low;
    }
    return part;
}

/* A device copies from the others their parts of panel x. */
static void share_panel(const panels *s, int x, int device)
{
    for (int d = 0; d < s->w->of->devices; d++) {
        duo_step share = part_sent_to(s, x, d);
        if (d == device || share.m == 0 || share.k == 0) continue;
        share.device = device;
        share.kind = DUO_STEP_SHARE;
        share.operand = DUO_A;
        share.source = d;
        duo_plan_add(s->w, share);
    }
}

/* Panel x of A arrives: a part at each device, which the others copy; or, if devices do not reach
 * each other, all of it at each. */
static void a_arrives(panels *s, int x, int b_there)
{
    const int devices = s->w->of->devices;
    const int64_t from = s->a.edge[x], to = s->a.edge[x + 1];
    const bool shared = s->w->of->sent[DUO_A] && s->w->of->peer > 0.0;
    duo_step part[DUO_PLAN_DEVICES];
    for (int d = 0; d < devices; d++) part[d] = part_sent_to(s, x, d);
    duo_plan_send_by_turns(s->w, part, DUO_A);
    for (int d = 0; d < devices && shared; d++) share_panel(s, x, d);
    for (int d = 0; d < devices; d++) {
        const cut *const b = &s->b[d];
        duo_plan_pack(s->w, step_in(s, d, from, to, 0, 0), DUO_A);
        const int64_t there = b->edge[duo_plan_least(b_there, b->panels)];
        if (there > b->edge[0]) strip(s->w, step_in(s, d, from, to, b->edge[0], there));
    }
}

static void b_arrives(panels *s, int x, int a_there)
{
    duo_step part[DUO_PLAN_DEVICES];
    for (int d = 0; d < s->w->of->devices; d++) {
        const cut *const b = &s->b[d];
        const int64_t end = b->edge[b->panels];
        part[d] = x < b->panels ? step_in(s, d, 0, 0, b->edge[x], b->edge[x + 1])
                                : step_in(s, d, 0, 0, end, end);
    }
    duo_plan_send_by_turns(s->w, part, DUO_B);
    for (int d = 0; d < s->w->of->devices; d++) {
        const cut *const b = &s->b[d];
        if (x >= b->panels) continue;
        const int64_t there = s->a.edge[a_there];
        duo_plan_pack(s->w, step_in(s, d, 0, 0, b->edge[x], b->edge[x + 1]), DUO_B);
        if (there > 0) strip(s->w, step_in(s, d, 0, there, b->edge[x], b->edge[x + 1]));
    }
}

/* Panels of A and B in turn. */
static void arrive(panels *s, double b_pace)
{
    const duo_plan_problem *const of = s->w->of;
    int a = 0, b = 0, b_panels = 0;
    for (int d = 0; d < of->devices; d++)
        if (s->b[d].panels > b_panels) b_panels = s->b[d].panels;
    while (a < s->a.panels || b < b_panels) {
        const double a_part = (double)s->a.edge[a] / (double)of->m;
        const double b_part = (double)b / b_panels;
        if (a < s->a.panels && (b == b_panels || a_part * b_pace <= b_part)) {
            a_arrives(s, a, b);
            a++;
        } else {
            b_arrives(s, b, a);
            b++;
        }
    }
}

static void make_held(duo_plan_making *w, const held_shape *shape)
{
    const duo_plan_problem *const of = w->of;
    duo_plan_space *const space = w->plan->space;
    w->plan->held = true;
    w->plan->count = 0;
    memset(space, 0, sizeof w->plan->space);
    const int64_t widest = duo_plan_most_columns(of);
    panels s = {.w = w};
    const bool a_moves = of->sent[DUO_A], b_moves = of->sent[DUO_B] || !a_moves;
    s.a = cut_of(0, of->m, a_moves ? shape->a_panels : 1);
    for (int d = 0; d < of->devices; d++) {
        int64_t from, to;
        duo_plan_columns(of, d, &from, &to);
        s.b[d] = cut_of(from, to - from, b_moves ? shape->b_panels : 1);
    }
    for (int i = DUO_A; i <= DUO_B; i++)
        if (of->sent[i] || of->packed_bytes[i] > 0.0)
            space[i] = (duo_plan_space){
                .slots = 1, .extent = i == DUO_A ? of->m : widest, .depth = {of->k}};
    if (of->fetched)
        space[DUO_C] = (duo_plan_space){.slots = 1, .extent = of->m, .depth = {widest}};
    arrive(&s, shape->b_pace);
}

/* Makes the plan of this shape; is it the best so far? */
static void try_shape(duo_plan_making *w, const held_shape *shape, held_shape *best,
                      double *least_seconds)
{
    make_held(w, shape);
    if (w->failed) return;
    const double seconds = duo_plan_seconds(w->plan);
    if (seconds >= *least_seconds) return;
    *least_seconds = seconds;
    *best = *shape;
}

/*
 * The shapes to try; each try takes 4 us. They were chosen from 75 shapes, timed on an H100's host
 * for cubes of 1024 to 16384 from pinned and pageable memory: the clock finds them best, and they
 * were best or nearly. Mostly A has fewer panels and is there first: wide panels are cheaper to
 * send if they are cut across runs. Narrow panels of B come last, and leave little to multiply and
 * fetch when all has arrived.
 */
static const held_shape kShapes[] = {
    {1, 2, 1.0},        {1, 3, 1.0},       {1, 4, 1.0},       {1, 8, 1.0}, {2, 4, 0.5},
    {2, 8, 0.5},        {3, 6, 1.0 / 3.0}, {3, 8, 1.0 / 3.0}, {4, 8, 0.5}, {3, 12, 1.0 / 3.0},
    {5, 16, 1.0 / 3.0}, {6, 10, 1.0},      {6, 12, 1.0},      {6, 16, 1.0}};

/* A panel should take the link longer than a step takes the host: it has at least a MiB. */
/* Tries panels of several sizes, and makes the plan that is predicted to take least; it replaces
 * w->plan. False: there is no host memory for it, or it has too many steps. */
static bool plan_held(duo_plan_making *w)
{
    enum { SHAPES = sizeof kShapes / sizeof kShapes[0] };
    const duo_plan_problem *const of = w->of;
    const double least_panel = 0x1p20;
    const double bytes =
        4.0 * ((double)of->m + (double)of->n) * (double)of->k + 4.0 * (double)of->m * (double)of->n;
    held_shape best = {1, 1, 1.0};
    double least_seconds = INFINITY;
    try_shape(w, &best, &best, &least_seconds);
    for (int i = 0; i < SHAPES; i++)
        if (bytes / (3.0 * kShapes[i].b_panels) >= least_panel)
            try_shape(w, &kShapes[i], &best, &least_seconds);
    make_held(w, &best);
    return !w->failed;
}

/*
 * ---- C in blocks ----
 *
 * One after the other. Each is the product of a block of A and one of B, which stay if the next
 * block of C needs them again. If that is predicted to take less, k is cut into slabs; partial sums
 * stay on the device.
 */

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
/* Makes the plan of the blocks that are predicted to take least; it replaces w->plan. False: no
 * blocks fit the memory that the plan may use. w->failed: a step could not be added. */
static bool plan_blocks(duo_plan_making *w)
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

/* ---- The plan ---- */

/* Bytes on a device of everything that is sent, packed or fetched. */
static double held_bytes(const duo_plan_problem *of)
{
    const double n = (double)duo_plan_most_columns(of);
    return (double)of->m * (double)of->k * duo_plan_element_bytes(of, DUO_A) +
           n * (double)of->k * duo_plan_element_bytes(of, DUO_B) +
           (double)of->m * n * duo_plan_element_bytes(of, DUO_C);
}

bool duo_plan_make(duo_plan *plan, const duo_plan_problem *problem)
{
    duo_plan_making w = {.plan = plan, .of = problem};
    plan->of = *problem;
    const bool made = problem->products > 0                          ? duo_plan_batch(&w)
                      : held_bytes(problem) <= problem->memory_bytes ? plan_held(&w)
                                                                     : plan_blocks(&w);
    if (!made || w.failed) return false;
    plan->seconds = duo_plan_seconds(plan);
    return true;
}

void duo_plan_free(duo_plan *plan)
{
    free(plan->step);
    *plan = (duo_plan){.step = NULL};
}
