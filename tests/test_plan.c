/*
 * test_plan.c - plans of streamed products and batches, without any device: does every plan compute
 * them, from parts that are there, in slots that are free, within its memory, and do its
 * predictions agree with its steps?
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/plan_clock.h"
#include "data/plan_make.h"
#include "data/plan_steps.h"
#include "support/data.h"
#include "support/harness.h"

/* ---- Problems ---- */

/* 50 Tflop/s and a launch of 4 us; 2 TB/s and a launch of 2 us. */
static double multiply_seconds(const duo_plan_problem *of, int64_t m, int64_t n, int64_t k)
{
    (void)of;
    return 4e-6 + 2.0 * (double)m * (double)n * (double)k / 50e12;
}

static double pack_seconds(const duo_plan_problem *of, int operand, double elements)
{
    return 2e-6 + elements * (4.0 + of->packed_bytes[operand]) / 2e12;
}

/* Everything in pinned host memory, C read as well; nothing is packed; memory without end. */
static duo_plan_problem problem_of(int64_t m, int64_t n, int64_t k)
{
    return (duo_plan_problem){.m = m,
                              .n = n,
                              .k = k,
                              .sent = {true, true, true},
                              .pinned = {true, true, true},
                              .fetched = true,
                              .devices = 1,
                              .memory_bytes = INFINITY,
                              .up = 55e9,
                              .down = 55e9,
                              .both = 93e9,
                              .host_up = 40e9,
                              .host_down = 35e9,
                              .peer = 350e9,
                              .copy_seconds = 8e-6,
                              .multiply = multiply_seconds,
                              .pack = pack_seconds};
}

static void name_case(const char *test, const duo_plan_problem *of)
{
    char where[DUO_OPERANDS + 1] = "";
    for (int i = 0; i < DUO_OPERANDS; i++)
        where[i] = !of->sent[i] ? '-' : of->pinned[i] ? 'p' : 'h';
    test_case("plan/%s/%jdx%jdx%jd/%s%s%s/packed=%g,%g/devices=%d/memory=%g", test, (intmax_t)of->m,
              (intmax_t)of->n, (intmax_t)of->k, where, of->fetched ? "/fetched" : "",
              of->k_whole ? "/k-whole" : "", of->packed_bytes[0], of->packed_bytes[1], of->devices,
              of->memory_bytes);
}

/* ---- Contents of the slots ---- */

/* A part of an operand in a slot, [first, first + m) by [column, column + n) of it. It holds rows
 * from i and columns from j of C; of A and B, rows or columns from i, and k from j. */
typedef struct held {
    int64_t first, column, m, n, i, j;
    bool there, packed;
    int last; /* A, B: the last MULTIPLY that read it; C: its FETCH; -1: none */
} held;

typedef struct slot {
    held *part;
    int count, room;
} slot;

typedef struct checking {
    const duo_plan *plan;
    slot slot[DUO_PLAN_DEVICES][DUO_OPERANDS][DUO_PLAN_SLOTS];
    int at;            /* the step */
    const char *wrong; /* NULL: nothing yet */

    /* C by the edges of all products: how much of k is summed; -1: not begun. */
    int64_t *i_edge, *j_edge, *summed;
    bool *fetched;
    int rows, columns;
} checking;

static void expect(checking *c, bool ok, const char *what)
{
    if (!ok && c->wrong == NULL) c->wrong = what;
}

static held part_of(const duo_step *s, int operand)
{
    held h = {.first = s->first[operand], .i = s->i, .m = s->m, .last = -1};
    if (operand == DUO_B) {
        h.i = s->j;
        h.m = s->n;
    }
    h.j = operand == DUO_C ? s->j : s->p;
    h.n = operand == DUO_C ? s->n : s->k;
    h.column = operand == DUO_C ? s->column : s->deep;
    return h;
}

static slot *slot_of(checking *c, int device, const duo_step *s, int operand)
{
    return &c->slot[device][operand][s->slot[operand]];
}

static int64_t shared_length(int64_t a, int64_t a_length, int64_t b, int64_t b_length)
{
    const int64_t low = a > b ? a : b;
    const int64_t high = a + a_length < b + b_length ? a + a_length : b + b_length;
    return high > low ? high - low : 0;
}

static int64_t shared(const held *a, const held *b)
{
    return shared_length(a->first, a->m, b->first, b->m) *
           shared_length(a->column, a->n, b->column, b->n);
}

/* Puts a part into a slot. The part that it overwrites must have been used by the step that it
 * follows. */
static void put(checking *c, slot *to, held part, int follows, int operand)
{
    const duo_plan_space *const space = &c->plan->space[operand];
    int kept = 0;
    expect(c, part.first >= 0 && part.first + part.m <= space->extent, "beyond the slot's extent");
    expect(c, part.column >= 0 && part.column + part.n <= space->depth[0], "beyond its depth");
    for (int i = 0; i < to->count; i++) {
        const held *const before = &to->part[i];
        if (shared(before, &part) == 0) {
            to->part[kept++] = *before;
            continue;
        }
        expect(c, before->last >= 0, "overwrites what was not used");
        expect(c, follows >= before->last, "overwrites what is in use");
    }
    to->count = kept;
    if (to->count == to->room) {
        to->room = to->room > 0 ? 2 * to->room : 16;
        to->part = realloc(to->part, (size_t)to->room * sizeof *to->part);
        if (to->part == NULL) abort();
    }
    part.there = true;
    to->part[to->count++] = part;
}

/* Do the parts of a slot that hold `wanted` cover it? Marks them. */
static bool covered(slot *in, const held *wanted, bool packed, bool mark_packed, int last)
{
    int64_t found = 0;
    for (int i = 0; i < in->count; i++) {
        held *const h = &in->part[i];
        const int64_t area = shared(h, wanted);
        if (area == 0) continue;
        if (h->i - h->first != wanted->i - wanted->first ||
            h->j - h->column != wanted->j - wanted->column || (packed && !h->packed))
            return false;
        found += area;
        if (mark_packed) h->packed = area == h->m * h->n;
        if (last >= 0) h->last = last;
    }
    return found == wanted->m * wanted->n;
}

/* ---- C ---- */

static int compare(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* Sorts the edges and drops those that are there twice; returns how many are left. */
static int unique(int64_t *edge, int count)
{
    int kept = 0;
    qsort(edge, (size_t)count, sizeof *edge, compare);
    for (int i = 0; i < count; i++)
        if (kept == 0 || edge[i] != edge[kept - 1]) edge[kept++] = edge[i];
    return kept;
}

static int index_of(const int64_t *edge, int count, int64_t wanted)
{
    const int64_t *const found = bsearch(&wanted, edge, (size_t)count, sizeof *edge, compare);
    return found == NULL ? -1 : (int)(found - edge);
}

static void begin_c(checking *c)
{
    const duo_plan *const plan = c->plan;
    int count = 0;
    const size_t most = 2 * (size_t)plan->count + 2;
    c->i_edge = malloc(most * sizeof *c->i_edge);
    c->j_edge = malloc(most * sizeof *c->j_edge);
    if (c->i_edge == NULL || c->j_edge == NULL) abort();
    c->i_edge[0] = c->j_edge[0] = 0;
    c->i_edge[1] = plan->of.m;
    c->j_edge[1] = plan->of.n;
    count = 2;
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        if (s->kind != DUO_STEP_MULTIPLY) continue;
        c->i_edge[count] = s->i;
        c->j_edge[count++] = s->j;
        c->i_edge[count] = s->i + s->m;
        c->j_edge[count++] = s->j + s->n;
    }
    c->rows = unique(c->i_edge, count) - 1;
    c->columns = unique(c->j_edge, count) - 1;
    const size_t cells = (size_t)c->rows * (size_t)c->columns;
    c->summed = malloc(cells * sizeof *c->summed);
    c->fetched = calloc(cells, sizeof *c->fetched);
    if (c->summed == NULL || c->fetched == NULL) abort();
    for (size_t i = 0; i < cells; i++) c->summed[i] = -1;
}

/* The cells of a tile, each one given to `visit`. */
static void each_cell(checking *c, const duo_step *s,
                      void (*visit)(checking *c, const duo_step *s, size_t cell))
{
    const int i0 = index_of(c->i_edge, c->rows + 1, s->i);
    const int i1 = index_of(c->i_edge, c->rows + 1, s->i + s->m);
    const int j0 = index_of(c->j_edge, c->columns + 1, s->j);
    const int j1 = index_of(c->j_edge, c->columns + 1, s->j + s->n);
    expect(c, i0 >= 0 && i1 > i0 && j0 >= 0 && j1 > j0, "a tile outside C");
    if (c->wrong != NULL) return;
    for (int j = j0; j < j1; j++)
        for (int i = i0; i < i1; i++) visit(c, s, (size_t)i + (size_t)j * (size_t)c->rows);
}

static void sum_cell(checking *c, const duo_step *s, size_t cell)
{
    expect(c, s->starts == (c->summed[cell] < 0), "beta is applied twice, or never");
    expect(c, s->p == (s->starts ? 0 : c->summed[cell]), "k out of order");
    c->summed[cell] = s->p + s->k;
    expect(c, s->ends == (c->summed[cell] == c->plan->of.k), "a tile ends too early or too late");
}

static void fetch_cell(checking *c, const duo_step *s, size_t cell)
{
    (void)s;
    expect(c, !c->fetched[cell], "fetched twice");
    expect(c, c->summed[cell] == c->plan->of.k, "fetched before it is done");
    c->fetched[cell] = true;
}

static void check_c(checking *c)
{
    for (size_t i = 0; i < (size_t)c->rows * (size_t)c->columns; i++) {
        expect(c, c->summed[i] == c->plan->of.k, "not all of C is computed");
        expect(c, c->fetched[i] == c->plan->of.fetched, "not all of C is fetched");
    }
}

/* ---- Steps ---- */

static bool in_slot(const checking *c, int operand)
{
    const duo_plan_problem *const of = &c->plan->of;
    if (operand == DUO_C) return of->fetched;
    return of->sent[operand] || of->packed_bytes[operand] > 0.0;
}

static void check_send(checking *c, const duo_step *s)
{
    expect(c, c->plan->of.sent[s->operand], "sends what is not in host memory");
    put(c, slot_of(c, s->device, s, s->operand), part_of(s, s->operand), s->follows, s->operand);
}

static void check_share(checking *c, const duo_step *s)
{
    const held part = part_of(s, s->operand);
    expect(c, s->source != s->device, "shares with itself");
    expect(c, covered(slot_of(c, s->source, s, s->operand), &part, false, false, -1),
           "shares what is not there");
    put(c, slot_of(c, s->device, s, s->operand), part, s->follows, s->operand);
}

/* A range begins at a multiple of 64, and ends at one or at the end of the slot's parts
 * (call.h). */
static void check_range(checking *c, const duo_step *s, int operand)
{
    const int64_t first = s->first[operand], all = s->all[operand];
    const int64_t end = first + (operand == DUO_A ? s->m : s->n);
    expect(c, first % 64 == 0 && end <= all && (end % 64 == 0 || end == all), "no packed range");
    expect(c, all <= c->plan->space[operand].extent, "packed beyond the slot's extent");
}

static void check_pack(checking *c, const duo_step *s)
{
    const held part = part_of(s, s->operand);
    slot *const in = slot_of(c, s->device, s, s->operand);
    /* It follows all products before it: they are in its queue. */
    if (!c->plan->of.sent[s->operand]) put(c, in, part, c->at - 1, s->operand);
    check_range(c, s, s->operand);
    expect(c, covered(in, &part, false, true, -1), "packs what is not there");
}

static void check_multiply(checking *c, const duo_step *s)
{
    const duo_plan *const plan = c->plan;
    for (int i = DUO_A; i <= DUO_B; i++) {
        if (!in_slot(c, i)) continue;
        const bool packed = plan->of.packed_bytes[i] > 0.0;
        const held part = part_of(s, i);
        expect(c, s->k <= plan->space[i].depth[s->slot[i]], "deeper than the slot");
        expect(c, covered(slot_of(c, s->device, s, i), &part, packed, false, c->at),
               packed ? "multiplies what is not packed" : "multiplies what is not there");
        if (packed) check_range(c, s, i);
    }
    if (plan->of.fetched) {
        const held tile = part_of(s, DUO_C);
        slot *const in = slot_of(c, s->device, s, DUO_C);
        if (s->starts && !plan->of.sent[DUO_C]) put(c, in, tile, s->follows, DUO_C);
        expect(c, covered(in, &tile, false, false, -1), "adds to what is not there");
        expect(c, s->column + s->n <= plan->space[DUO_C].depth[s->slot[DUO_C]],
               "beyond the slot's columns");
    }
    each_cell(c, s, sum_cell);
}

static void check_fetch(checking *c, const duo_step *s)
{
    const held tile = part_of(s, DUO_C);
    const duo_step *const product = s - 1;
    expect(c, c->plan->of.fetched, "fetches what stays on the device");
    expect(c,
           c->at > 0 && product->kind == DUO_STEP_MULTIPLY && product->ends &&
               product->device == s->device && product->i == s->i && product->j == s->j &&
               product->m == s->m && product->n == s->n,
           "the step before a FETCH is its product");
    expect(c, covered(slot_of(c, s->device, s, DUO_C), &tile, false, false, c->at),
           "fetches what is not there");
    each_cell(c, s, fetch_cell);
}

static void check_step(checking *c, const duo_step *s)
{
    expect(c, s->device >= 0 && s->device < c->plan->of.devices, "no such device");
    expect(c, s->follows < c->at, "follows a later step");
    expect(c, s->p >= 0 && s->p + s->k <= c->plan->of.k, "beyond k");
    switch (s->kind) {
    case DUO_STEP_SEND:
        check_send(c, s);
        break;
    case DUO_STEP_SHARE:
        check_share(c, s);
        break;
    case DUO_STEP_PACK:
        check_pack(c, s);
        break;
    case DUO_STEP_MULTIPLY:
        check_multiply(c, s);
        break;
    case DUO_STEP_FETCH:
        check_fetch(c, s);
        break;
    }
}

static void check_steps(const duo_plan *plan)
{
    checking c = {.plan = plan};
    begin_c(&c);
    for (; c.at < plan->count && c.wrong == NULL; c.at++) check_step(&c, &plan->step[c.at]);
    const int step = c.at - 1;
    check_c(&c);
    CHECK(c.wrong == NULL, "step %d of %d: %s", step, plan->count, c.wrong);
    for (int d = 0; d < DUO_PLAN_DEVICES; d++)
        for (int i = 0; i < DUO_OPERANDS; i++)
            for (int s = 0; s < DUO_PLAN_SLOTS; s++) free(c.slot[d][i][s].part);
    free(c.i_edge);
    free(c.j_edge);
    free(c.summed);
    free(c.fetched);
}

/* ---- Bytes and seconds ---- */

/* Everything fits: each part goes over the link once, to one device or another. Blocks may be sent
 * again, but C is not. */
static void check_bytes(const duo_plan *plan)
{
    const duo_plan_problem *const of = &plan->of;
    const double whole[DUO_OPERANDS] = {(double)of->m * (double)of->k,
                                        (double)of->n * (double)of->k,
                                        (double)of->m * (double)of->n};
    double sent[DUO_OPERANDS] = {0.0}, fetched = 0.0;
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        const held part = part_of(s, s->kind == DUO_STEP_FETCH ? DUO_C : s->operand);
        const double elements = (double)part.m * (double)part.n;
        if (s->kind == DUO_STEP_SEND) sent[s->operand] += elements;
        if (s->kind == DUO_STEP_FETCH) fetched += (double)s->m * (double)s->n;
    }
    const bool blocks = !plan->held;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const double wanted = of->sent[i] ? whole[i] : 0.0;
        CHECK(blocks && i != DUO_C ? sent[i] >= wanted : sent[i] == wanted,
              "%g elements of operand %d are sent, of %g", sent[i], i, wanted);
    }
    CHECK(fetched == (of->fetched ? whole[DUO_C] : 0.0), "%g elements of C are fetched", fetched);
    CHECK(duo_plan_bytes(plan) <= of->memory_bytes, "%g bytes of slots", duo_plan_bytes(plan));
}

static bool is_compute(const duo_step *s)
{
    return s->kind == DUO_STEP_PACK || s->kind == DUO_STEP_MULTIPLY;
}

/* Steps begin when the steps that they follow are done, by the rules of plan.h. */
static void check_times(const duo_plan *plan)
{
    double up[DUO_PLAN_DEVICES] = {0.0}, compute[DUO_PLAN_DEVICES] = {0.0};
    double down[DUO_PLAN_DEVICES] = {0.0}, peer[DUO_PLAN_DEVICES] = {0.0}, end = 0.0;
    int early = 0;
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        double *const queue = is_compute(s)               ? &compute[s->device]
                              : s->kind == DUO_STEP_FETCH ? &down[s->device]
                              : s->kind == DUO_STEP_SHARE ? &peer[s->device]
                                                          : &up[s->device];
        double after = *queue;
        if (is_compute(s)) after = fmax(after, fmax(up[s->device], peer[s->device]));
        if (s->kind == DUO_STEP_FETCH) after = fmax(after, compute[s->device]);
        if (s->kind == DUO_STEP_SHARE) after = fmax(after, up[s->source]);
        if (s->follows >= 0) after = fmax(after, plan->step[s->follows].end);
        early += !(s->begin >= after) || !(s->end >= s->begin);
        *queue = s->end;
        end = fmax(end, s->end);
    }
    CHECK(early == 0, "%d steps begin before those that they follow are done", early);
    CHECK(plan->seconds >= end, "%g s, and the last step ends after %g", plan->seconds, end);
    const double bound = duo_plan_bound(plan);
    CHECK(bound > 0.0 && bound <= plan->seconds * (1.0 + 1e-9), "bound %g, predicted %g s", bound,
          plan->seconds);
}

static void check_plan(duo_plan *plan)
{
    check_steps(plan);
    check_bytes(plan);
    check_times(plan);
    const double again = duo_plan_seconds(plan);
    CHECK(again == plan->seconds, "%g s, then %g", plan->seconds, again);
}

/* ---- Tests ---- */

/* Every magnitude is as likely; often about a multiple of a tile. */
static int64_t random_size(test_rng *rng, int64_t most)
{
    const double size = exp(test_unit(rng) * log((double)most));
    const int64_t around = ((int64_t)size + 64) / 128 * 128 + test_between(rng, -1, 1);
    const int64_t chosen = test_between(rng, 0, 1) != 0 && around > 0 ? around : (int64_t)size;
    return chosen < 1 ? 1 : chosen > most ? most : chosen;
}

/* Device memory for blocks of at least a 40th of each size, so that plans have some thousand
 * steps. */
static double least_memory(const duo_plan_problem *of)
{
    const double m = fmax((double)of->m / 40.0, 256.0), n = fmax((double)of->n / 40.0, 256.0);
    const double k = fmin((double)of->k, fmax((double)of->k / 40.0, 4096.0));
    return 2.0 * (20.0 * (m + n) * k + 4.0 * m * n);
}

static duo_plan_problem random_problem(test_rng *rng, int64_t most)
{
    duo_plan_problem of =
        problem_of(random_size(rng, most), random_size(rng, most), random_size(rng, most));
    if (test_between(rng, 0, 15) == 0) of.k = 0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        of.sent[i] = test_between(rng, 0, 3) != 0;
        of.pinned[i] = test_between(rng, 0, 1) != 0;
    }
    for (int i = DUO_A; i <= DUO_B; i++) {
        of.packed_bytes[i] = 2.0 * (double)test_between(rng, 0, 3);
        of.pitch[i] = test_between(rng, 0, 1) != 0 ? random_size(rng, 100000) : 0;
    }
    of.fetched = of.sent[DUO_C] || test_between(rng, 0, 3) != 0;
    of.k_whole = test_between(rng, 0, 3) == 0;
    of.devices = (int)test_between(rng, 1, 4);
    if (!of.fetched) of.devices = 1; /* C on the device of the call */
    const double all = 24.0 * ((double)of.m + (double)of.n) * ((double)of.k + 1.0) +
                       4.0 * (double)of.m * (double)of.n;
    const double part = exp(-test_unit(rng) * 6.0);
    if (test_between(rng, 0, 2) != 0) of.memory_bytes = fmax(all * part, least_memory(&of));
    return of;
}

/* ---- Batches ---- */

/* Matrices in a slot: products [from, to). last: the last step with them; -1: none. */
typedef struct matrices {
    int64_t from, to;
    int last;
} matrices;

typedef struct pieces {
    const duo_plan *plan;
    matrices slot[DUO_OPERANDS][DUO_PLAN_SLOTS];
    int64_t sent[DUO_OPERANDS], multiplied, fetched;
    const char *wrong;
} pieces;

static void expect_of(pieces *p, bool ok, const char *what)
{
    if (!ok && p->wrong == NULL) p->wrong = what;
}

static void fill_slot(pieces *p, const duo_step *s, int operand, int at)
{
    matrices *const in = &p->slot[operand][s->slot[operand]];
    expect_of(p, s->slot[operand] < p->plan->space[operand].slots, "no such slot");
    expect_of(p, s->follows >= in->last, "overwrites what is in use");
    *in = (matrices){s->product, s->product + s->products, at};
}

static void use_slot(pieces *p, const duo_step *s, int operand, int at)
{
    const bool shared = operand != DUO_C && p->plan->of.shared[operand];
    matrices *const in = &p->slot[operand][s->slot[operand]];
    expect_of(p,
              shared ? in->from == 0 && in->to == 1
                     : in->from == s->product && in->to == s->product + s->products,
              "the matrices are not there");
    in->last = at;
}

static void check_piece(pieces *p, const duo_step *s, int at)
{
    const duo_plan_problem *const of = &p->plan->of;
    expect_of(p, s->m == of->m && s->n == of->n && s->k == of->k, "cuts a product");
    expect_of(p, s->products > 0 && s->product + s->products <= of->products, "no such products");
    switch (s->kind) {
    case DUO_STEP_SEND:
        expect_of(p, of->sent[s->operand], "sends what is not in host memory");
        p->sent[s->operand] += s->products;
        fill_slot(p, s, s->operand, at);
        break;
    case DUO_STEP_MULTIPLY:
        expect_of(p, s->product == p->multiplied && s->starts && s->ends, "not the next piece");
        p->multiplied += s->products;
        if (of->fetched && !of->sent[DUO_C]) fill_slot(p, s, DUO_C, at);
        for (int i = 0; i < DUO_OPERANDS; i++)
            if (i == DUO_C ? of->fetched : of->sent[i]) use_slot(p, s, i, at);
        break;
    case DUO_STEP_FETCH:
        expect_of(p, s->product == p->fetched && s[-1].kind == DUO_STEP_MULTIPLY,
                  "not the piece before it");
        p->fetched += s->products;
        use_slot(p, s, DUO_C, at);
        break;
    default:
        expect_of(p, false, "no step of a batch");
    }
}

static void check_batch(const duo_plan *plan)
{
    const duo_plan_problem *const of = &plan->of;
    pieces p = {.plan = plan};
    for (int i = 0; i < DUO_OPERANDS; i++)
        for (int s = 0; s < DUO_PLAN_SLOTS; s++) p.slot[i][s] = (matrices){-1, -1, -1};
    int at = 0;
    for (; at < plan->count && p.wrong == NULL; at++) check_piece(&p, &plan->step[at], at);
    CHECK(p.wrong == NULL, "step %d of %d: %s", at - 1, plan->count, p.wrong);
    CHECK(p.multiplied == of->products, "%jd products", (intmax_t)p.multiplied);
    CHECK(p.fetched == (of->fetched ? of->products : 0), "%jd fetched", (intmax_t)p.fetched);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const bool once = i != DUO_C && of->shared[i];
        CHECK(p.sent[i] == (!of->sent[i] ? 0
                            : once       ? 1
                                         : of->products),
              "operand %d: %jd sent", i, (intmax_t)p.sent[i]);
    }
    CHECK(duo_plan_bytes(plan) <= of->memory_bytes, "%g bytes of slots", duo_plan_bytes(plan));
    check_times(plan);
}

/* Bytes of one product in every slot that the plan must have. */
static double least_of_batch(const duo_plan_problem *of)
{
    const double elements[DUO_OPERANDS] = {(double)of->m * (double)of->k,
                                           (double)of->n * (double)of->k,
                                           (double)of->m * (double)of->n};
    double bytes = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const bool once = of->products == 1 || (i != DUO_C && of->shared[i]);
        if (i == DUO_C ? of->fetched : of->sent[i]) bytes += (once ? 4.0 : 8.0) * elements[i];
    }
    return bytes;
}

static void batches(void)
{
    test_rng rng = test_rng_for("plans of batches");
    duo_plan plan = {.step = NULL};
    int cut = 0;
    for (int i = 0; i < 300; i++) {
        duo_plan_problem of =
            problem_of(random_size(&rng, 500), random_size(&rng, 500), random_size(&rng, 500));
        of.products = random_size(&rng, i % 10 == 0 ? 100000 : 3000);
        for (int o = 0; o < DUO_OPERANDS; o++) {
            of.sent[o] = test_between(&rng, 0, 3) != 0;
            of.pinned[o] = test_between(&rng, 0, 1) != 0;
        }
        of.fetched = of.sent[DUO_C] || test_between(&rng, 0, 3) != 0;
        for (int o = DUO_A; o <= DUO_B; o++) of.shared[o] = test_between(&rng, 0, 3) == 0;
        const double least = least_of_batch(&of);
        if (i % 3 == 1) of.memory_bytes = least * (1.0 + 10.0 * test_unit(&rng));
        if (i % 3 == 2) of.memory_bytes = 0.99 * least;
        name_case("batch", &of);
        const bool made = duo_plan_make(&plan, &of);
        CHECK(made == (of.memory_bytes >= least), "a plan: %d", made);
        if (made) check_batch(&plan);
        cut += made && plan.space[DUO_C].slots > 1;
    }
    CHECK(cut > 50, "only %d batches in pieces", cut);
    duo_plan_free(&plan);
}

/* What goes over the link takes nearly all the time, whatever comes first or last. */
static void batches_overlap(void)
{
    duo_plan plan = {.step = NULL};
    for (int way = 0; way < 6; way++) {
        duo_plan_problem of = problem_of(64, 64, way % 3 == 0 ? 64 : way % 3 == 1 ? 8 : 512);
        of.products = 3000;
        of.sent[DUO_C] = way >= 3;
        name_case("batch at the link's rate", &of);
        if (!CHECK(duo_plan_make(&plan, &of), "no plan")) continue;
        const double bound = duo_plan_bound(&plan);
        CHECK(plan.seconds <= 1.3 * bound, "%g s, bound %g", plan.seconds, bound);
    }
    duo_plan_free(&plan);
}

static void random_plans(void)
{
    test_rng rng = test_rng_for("plans");
    duo_plan plan = {.step = NULL};
    int made = 0, blocks = 0;
    for (int i = 0; i < 600; i++) {
        const duo_plan_problem of = random_problem(&rng, i % 10 == 0 ? 100000 : 12000);
        name_case("random", &of);
        const bool fits = duo_plan_make(&plan, &of);
        CHECK(fits || of.k_whole, "no plan");
        if (!fits) continue;
        made++;
        blocks += !plan.held;
        check_plan(&plan);
        const bool cut = !plan.held && plan.count > 0 && plan.space[DUO_A].slots > 0 &&
                         plan.space[DUO_A].depth[0] < of.k;
        CHECK(!of.k_whole || !cut, "k is cut");
    }
    printf("      %d plans, %d of them in blocks\n", made, blocks);
    duo_plan_free(&plan);
    CHECK(plan.step == NULL && plan.room == 0, "not freed");
}

static void edges(void)
{
    static const int64_t shapes[][3] = {
        {1, 1, 0},      {1, 1, 1},        {5000, 7000, 0},    {1, 90000, 5000},   {90000, 1, 5000},
        {1, 1, 100000}, {129, 127, 4096}, {4097, 4095, 4097}, {8192, 8192, 8192},
    };
    duo_plan plan = {.step = NULL};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int packed = 0; packed < 2; packed++)
            for (int devices = 1; devices <= 4; devices++) {
                duo_plan_problem of = problem_of(shapes[s][0], shapes[s][1], shapes[s][2]);
                of.packed_bytes[DUO_A] = of.packed_bytes[DUO_B] = packed != 0 ? 4.0 : 0.0;
                of.devices = devices;
                name_case("edges", &of);
                if (CHECK(duo_plan_make(&plan, &of), "no plan")) check_plan(&plan);
                of.memory_bytes = 12e6;
                name_case("edges", &of);
                if (CHECK(duo_plan_make(&plan, &of), "no plan")) check_plan(&plan);
            }
    duo_plan_free(&plan);
}

/* Panels that are too deep for the memory are cut. Products beyond all bounds get no plan, and do
 * not take the host's memory. */
static void little_memory(void)
{
    duo_plan plan = {.step = NULL};
    duo_plan_problem of = problem_of(300, 200, 3000000);
    of.memory_bytes = 2e6; /* less than two blocks of 128 x 2048 of A and of B take */
    name_case("little", &of);
    CHECK(!duo_plan_make(&plan, &of), "a plan of %g bytes", duo_plan_bytes(&plan));
    of.memory_bytes = 5e6;
    name_case("little", &of);
    if (CHECK(duo_plan_make(&plan, &of), "no plan")) check_plan(&plan);
    of.k_whole = true;
    name_case("little", &of);
    CHECK(!duo_plan_make(&plan, &of), "a plan of %g bytes", duo_plan_bytes(&plan));
    of = problem_of(100000, 100000, 100000);
    of.memory_bytes = 5e6;
    name_case("little", &of);
    CHECK(!duo_plan_make(&plan, &of), "a plan of %d steps", plan.count);
    duo_plan_free(&plan);
}

/* Checks the order in which two devices are sent one operand. */
static void check_turns(const duo_plan *plan, int operand, double most_bytes)
{
    double ahead = 0.0; /* bytes of device 0 minus bytes of device 1, since another operand */
    int sends = 0;
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        if (s->kind != DUO_STEP_SEND) continue;
        if (s->operand != operand) {
            ahead = 0.0;
            continue;
        }
        const double bytes = 4.0 * (double)(operand == DUO_A ? s->m : s->n) * (double)s->k;
        sends++;
        ahead += s->device == 0 ? bytes : -bytes;
        CHECK(bytes <= most_bytes, "step %d sends %g bytes", i, bytes);
        CHECK(ahead <= most_bytes && ahead >= -most_bytes, "step %d: %g bytes ahead", i, ahead);
        CHECK(operand == DUO_B || (s->k < plan->of.k) == (plan->of.pitch[DUO_A] > 0),
              "step %d sends %jd of k", i, (intmax_t)s->k);
    }
    CHECK(sends > 0, "nothing is sent");
}

/* Pageable operands of several devices go up in turn, a stage each; pinned ones in whole panels. A
 * is divided by rows if a panel is one range of memory, else by k. */
static void by_turns(void)
{
    const double stage = 0x1p23;
    duo_plan plan = {.step = NULL};
    for (int pinned = 0; pinned < 2; pinned++)
        for (int across = 0; across < 2; across++) {
            duo_plan_problem of = problem_of(6000, 7000, 5000);
            of.devices = 2;
            of.sent[DUO_C] = false;
            for (int i = DUO_A; i <= DUO_B; i++) {
                of.pinned[i] = pinned != 0;
                of.pitch[i] = across != 0 ? 9000 : 0;
            }
            name_case(across != 0 ? "turns-across" : "turns", &of);
            if (!CHECK(duo_plan_make(&plan, &of), "no plan")) continue;
            check_plan(&plan);
            for (int i = DUO_A; i <= DUO_B; i++)
                check_turns(&plan, i, pinned != 0 ? (double)INFINITY : stage);
        }
    duo_plan_free(&plan);
}

/* Memory never hurts by much: blocks are predicted by their totals. */
static void more_memory(void)
{
    static const int64_t sizes[][3] = {
        {8192, 8192, 8192}, {20000, 3000, 5000}, {3000, 20000, 500}, {500, 600, 200000}};
    duo_plan plan = {.step = NULL};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        double before = INFINITY;
        for (double bytes = 16e6; bytes < 40e9; bytes *= 2.0) {
            duo_plan_problem of = problem_of(sizes[s][0], sizes[s][1], sizes[s][2]);
            of.memory_bytes = bytes;
            name_case("more", &of);
            if (!CHECK(duo_plan_make(&plan, &of), "no plan")) continue;
            CHECK(plan.seconds <= 1.15 * before, "%g s, with half the memory %g", plan.seconds,
                  before);
            before = fmin(before, plan.seconds);
        }
        CHECK(before <= 1.5 * duo_plan_bound(&plan), "%g s, bound %g", before,
              duo_plan_bound(&plan));
    }
    duo_plan_free(&plan);
}

static const test_entry tests[] = {
    {"random_plans", random_plans},       {"edges", edges},
    {"little_memory", little_memory},     {"by_turns", by_turns},
    {"more_memory", more_memory},         {"batches", batches},
    {"batches_overlap", batches_overlap}, {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "plan", tests); }
