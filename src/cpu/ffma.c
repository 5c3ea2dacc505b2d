/*
 * ffma.c - products on the CPU (ffma.h): the clone for this CPU; a product shared out among
 * threads. How C is shared out never changes a bit.
 *
 *   Tiles   C is cut into tiles, each a product of its own. In float32, if there are too few of
 *           them and k is long, each segment of k is a piece, too. Its sums stand beside C until
 *           all are there.
 *   Panels  Of a large product the threads pack a panel of B together. Then each multiplies rows of
 *           A by it, while others pack the next panel. Tasks are taken from one list in order, and
 *           one waits only for earlier ones. These have begun, so nobody waits for a thread that
 *           does not come.
 *   Packed  Tiles and panels find an operand packed as a whole if duo_prepare promised that it
 *           rarely changes. With a packed B there are no panels.
 */
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "cpu/ffma.h"
#include "cpu/kernels.h"
#include "host/scratch.h"
#include "host/team.h"

/* ---- The clone ---- */

#if defined(__x86_64__)
static bool runs_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma");
}
static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

static bool runs_always(void) { return true; }

/* Best first. */
static const struct {
    duo_clone clone;
    bool (*runs_here)(void);
} clones[] = {
#if defined(__x86_64__)
    {{"avx512", &duo_ffma_avx512, &duo_float64_avx512}, runs_avx512},
    {{"avx2", &duo_ffma_avx2, &duo_float64_avx2}, runs_avx2},
#endif
    {{"portable", &duo_ffma_portable, &duo_float64_portable}, runs_always},
};

static _Atomic(const duo_clone *) in_use;

const duo_clone *duo_ffma_clone(int index)
{
    const int count = (int)(sizeof clones / sizeof clones[0]);
    for (int i = 0; index >= 0 && i < count; i++)
        if (clones[i].runs_here() && index-- == 0) return &clones[i].clone;
    return NULL;
}

const duo_clone *duo_ffma_set(const duo_clone *clone)
{
    if (clone == NULL) clone = duo_ffma_clone(0);
    atomic_store_explicit(&in_use, clone, memory_order_relaxed);
    return clone;
}

const duo_clone *duo_ffma_current(void)
{
    const duo_clone *const clone = atomic_load_explicit(&in_use, memory_order_relaxed);
    return __builtin_expect(clone != NULL, 1) ? clone : duo_ffma_set(NULL);
}

double duo_ffma_pieces(double work)
{
    const double piece = 1 << 16, least = 3.0;
    const double pieces = floor(work / piece) + 1.0;
    return pieces < least ? 1.0 : pieces;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t rounded(int64_t a, int64_t unit) { return ceiling(a, unit) * unit; }

/* ---- Tiles ---- */

typedef struct tiles {
    const duo_ffma *clone;
    const duo_product *p;
    int64_t rows, columns; /* of a tile */
    int64_t down, across;
    double cost;      /* of a step of k of a tile */
    int64_t segments; /* of k, each a piece; 1: a piece has all of k */
    float *sums;      /* of the segments, if there are several: for duo_ffma's finish */
} tiles;

static void tile_piece(void *job, int64_t number)
{
    const tiles *const t = job;
    const duo_product *const p = t->p;
    const int64_t area = t->down * t->across, which = number % area, s = number / area;
    const int64_t i = which % t->down * t->rows, j = which / t->down * t->columns;
    const duo_product tile =
        duo_product_tile(p, i, smaller(t->rows, p->m - i), j, smaller(t->columns, p->n - j));
    if (t->segments == 1) {
        t->clone->multiply(&tile);
        return;
    }
    const int64_t first = s * DUO_SEGMENT;
    const duo_product part = duo_product_steps(&tile, first, smaller(DUO_SEGMENT, p->k - first),
                                               t->sums + (s * p->n + j) * p->m + i, p->m);
    t->clone->multiply(&part);
}

static void finish_piece(void *job, int64_t number)
{
    const tiles *const t = job;
    const duo_product *const p = t->p;
    const int64_t j = number * t->columns;
    t->clone->finish(p, t->sums, t->segments, j, smaller(t->columns, p->n - j));
}

static int useful_threads(double work, int threads)
{
    return (int)fmin(duo_ffma_pieces(work), threads);
}

/* Costs in steps of a vector. SHARED_LINE: a line of the cache with rows of two tiles, which goes
 * from thread to thread for each column. SUM: a vector of sums of a segment is written and added.
 * JOB: a second job, which adds them. */
enum { SHARED_LINE = 400, SUM = 8, JOB = 10000 };

/* The cost of a step of k of a tile: multiplications, and loads of A and B. */
static double step_cost(int64_t rows, int64_t columns)
{
    return (double)rows * (double)columns / 16.0 + 0.7 * (double)(rows + columns);
}

/*
 * `pieces` tiles, each of whole vectors of rows: those with least work and edges. Few rows, or few
 * columns, are not cut.
 */
static void cut(tiles *t, int64_t pieces)
{
    enum { LINE = 64 };
    const duo_product *const p = t->p;
    const int64_t vector = t->clone->rows / 2;
    const int64_t row_unit = p->n <= DUO_FEW_LINES ? vector : t->clone->rows;
    const bool packed_b = p->packed != NULL && p->packed->b != NULL; /* cut between its tiles */
    const int64_t column_unit = packed_b                ? t->clone->panel_width(p->n)
                                : p->m <= DUO_FEW_LINES ? vector
                                : p->n <= DUO_FEW_LINES ? DUO_FEW_LINES
                                                        : t->clone->columns / 2;
    const int64_t row_units = ceiling(p->m, row_unit), column_units = ceiling(p->n, column_unit);
    const bool whole_lines =
        (uintptr_t)p->c % LINE == 0 && p->ldc * (int64_t)sizeof(float) % LINE == 0;
    const double shared_line = whole_lines ? 0.0 : (double)SHARED_LINE / (double)p->k;
    for (int64_t down = 1; down <= pieces; down++) {
        const int64_t rows = ceiling(row_units, down) * row_unit;
        const int64_t columns = ceiling(column_units, pieces / down) * column_unit;
        const double cost =
            step_cost(smaller(rows, rounded(p->m, vector)), smaller(columns, p->n)) +
            (rows < p->m ? shared_line * (double)columns : 0.0);
        if (down > 1 && cost >= t->cost) continue;
        t->cost = cost;
        t->rows = rows;
        t->columns = columns;
    }
    t->down = ceiling(p->m, t->rows);
    t->across = ceiling(p->n, t->columns);
}

/* The cost of a product for the thread that does most. */
static double longest(const tiles *t, int threads)
{
    const duo_product *const p = t->p;
    const double steps = (double)ceiling(p->k, t->segments);
    const double sums = (double)p->m * (double)p->n * (double)t->segments / 16.0;
    return (double)ceiling(t->down * t->across * t->segments, threads) * t->cost * steps +
           (t->segments > 1 ? JOB + SUM * sums / threads : 0.0);
}

/* Makes each segment of k a piece, if that takes clearly less time: then there are fewer and larger
 * tiles. */
static void cut_k(tiles *t, int64_t pieces, int threads)
{
    const duo_product *const p = t->p;
    const int64_t segments = ceiling(p->k, DUO_SEGMENT);
    const int64_t floats = p->m * p->n * segments;
    tiles deep = *t;
    if (t->clone->number_bytes != sizeof(float)) return; /* sums are written as C is: as floats */
    if (segments == 1 || floats > 16 << 20) return;
    deep.segments = segments;
    cut(&deep, larger(1, pieces / segments));
    if (1.35 * longest(&deep, threads) >= longest(t, threads)) return;
    deep.sums = duo_scratch_take((size_t)floats * sizeof(float));
    if (deep.sums != NULL) *t = deep;
}

/* If each thread has work for some tens of microseconds, three tiles a thread: threads are not
 * equally fast, as other programs and virtual machines share the processors. */
static int64_t pieces_for(const duo_product *p, int threads)
{
    const double each = (double)p->m * (double)p->n * (double)p->k / threads;
    return each < 1 << 20 ? threads : (int64_t)3 * threads;
}

static void in_tiles(const duo_ffma *clone, const duo_product *p, int threads)
{
    tiles t = {.clone = clone, .p = p, .segments = 1};
    const int64_t pieces = pieces_for(p, threads);
    cut(&t, pieces);
    cut_k(&t, pieces, threads);
    duo_team_run(tile_piece, &t, t.down * t.across * t.segments, threads);
    if (t.segments > 1) {
        const double floats = (double)p->m * (double)p->n * (double)t.segments;
        t.columns = rounded(ceiling(p->n, threads), clone->columns);
        duo_team_run(finish_piece, &t, ceiling(p->n, t.columns), useful_threads(floats, threads));
    }
    duo_scratch_give(t.sums);
}

/* ---- Panels ---- */

enum { BUFFERS = 2 };

typedef struct panels {
    const duo_ffma *clone;
    const duo_product *p;
    int64_t columns;          /* of a panel */
    int64_t groups, segments; /* tasks that pack a panel: groups of columns, by segments */
    int64_t rows, multiplies; /* rows of a task that multiplies; such tasks of a panel */
    int64_t tasks;
    char *panel[BUFFERS];
    _Alignas(128) atomic_llong next;
    _Alignas(128) atomic_llong packed[BUFFERS], multiplied[BUFFERS]; /* tasks that are done */
} panels;

static void await(atomic_llong *count, int64_t least)
{
    enum { SPINS = 200 };
    for (int i = 0; atomic_load_explicit(count, memory_order_acquire) < least; i++) {
        if (i < SPINS) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else {
            (void)sched_yield();
        }
    }
}

static void task(panels *w, int64_t number)
{
    const int64_t packs = w->groups * w->segments, each = packs + w->multiplies, q = number / each,
                  i = number % each;
    const int64_t buffer = q % BUFFERS, round = q / BUFFERS;
    const int64_t j = q * w->columns;
    const duo_product panel =
        duo_product_tile(w->p, 0, w->p->m, j, smaller(w->columns, w->p->n - j));
    if (i < packs) {
        const int64_t group = rounded(ceiling(panel.n, w->groups), w->clone->panel_width(panel.n));
        const int64_t first = i % w->segments * DUO_SEGMENT, from = i / w->segments * group;
        await(&w->multiplied[buffer], round * w->multiplies);
        if (from < panel.n)
            w->clone->pack(&panel, first, from, smaller(group, panel.n - from), w->panel[buffer]);
        atomic_fetch_add_explicit(&w->packed[buffer], 1, memory_order_release);
        return;
    }
    const int64_t row = (i - packs) * w->rows;
    const duo_product part =
        duo_product_tile(&panel, row, smaller(w->rows, panel.m - row), 0, panel.n);
    await(&w->packed[buffer], (round + 1) * packs);
    if (!w->clone->multiply_panel(&part, w->panel[buffer])) w->clone->multiply(&part);
    atomic_fetch_add_explicit(&w->multiplied[buffer], 1, memory_order_release);
}

static void take_tasks(void *job, int64_t member)
{
    panels *const w = job;
    (void)member;
    for (;;) {
        const int64_t number = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (number >= w->tasks) return;
        task(w, number);
    }
}

/* False: it is no large product, or there is no memory. */
static bool in_panels(const duo_ffma *clone, const duo_product *p, int threads)
{
    enum { LEAST_COLUMNS = 256, LEAST_STEPS = 64, PANEL = 16 << 20 /* bytes */, MOST = 1020 };
    const int64_t row_tiles = ceiling(p->m, clone->rows);
    if (p->vector || p->n < LEAST_COLUMNS || p->k < LEAST_STEPS || row_tiles < 2 * threads ||
        (p->packed != NULL && p->packed->b != NULL) || !clone->packs_b(p))
        return false;
    panels w = {.clone = clone, .p = p};
    const int64_t columns = PANEL / clone->number_bytes / p->k;
    const int64_t widest = rounded(smaller(MOST, larger(LEAST_COLUMNS, columns)), clone->columns);
    w.columns = rounded(ceiling(p->n, ceiling(p->n, widest)), clone->columns);
    const int64_t count = ceiling(p->n, w.columns);
    w.segments = ceiling(p->k, DUO_SEGMENT);
    w.groups = ceiling(2 * threads, w.segments);
    w.rows = smaller(rounded(ceiling(p->m, 3 * threads), clone->rows), clone->block_rows);
    w.multiplies = ceiling(p->m, w.rows);
    w.tasks = count * (w.groups * w.segments + w.multiplies);
    const size_t bytes = (size_t)(clone->panel_numbers(w.columns, p->k) * clone->number_bytes);
    const int buffers = count > 1 ? BUFFERS : 1;
    w.panel[0] = duo_scratch_take(bytes * (size_t)buffers);
    if (w.panel[0] == NULL) return false;
    w.panel[1] = w.panel[0] + (buffers > 1 ? bytes : 0);
    duo_team_run(take_tasks, &w, threads, threads);
    duo_scratch_give(w.panel[0]);
    return true;
}

/* ---- Packed operands ---- */

/* The clone's functions that an algorithm uses; NULL: it is not one of the family. */
static const duo_ffma *functions_of(duo_algorithm_id algorithm)
{
    const duo_clone *const clone = duo_ffma_current();
    return algorithm == DUO_sgemm_cpu_ffma      ? clone->float32
           : algorithm == DUO_sgemm_cpu_float64 ? clone->float64
                                                : NULL;
}

/* Numbers of a step of k in all of op(A), or op(B), packed. */
static int64_t packed_rows(const duo_ffma *clone, const duo_call *call, int i)
{
    return i == DUO_A ? rounded(call->m, clone->rows) : call->n;
}

duo_packed_form duo_ffma_packed_form(duo_algorithm_id algorithm, const duo_call *call, int i)
{
    const duo_ffma *const clone = functions_of(algorithm);
    if (clone == NULL || i == DUO_C || call->m <= DUO_FEW_LINES || call->n <= DUO_FEW_LINES ||
        call->k < DUO_MANY)
        return (duo_packed_form){0};
    return (duo_packed_form){
        .clone = clone,
        .bytes = (size_t)(packed_rows(clone, call, i) * call->k * clone->number_bytes)};
}

/* Packs segments of an operand, in groups of rows of op(A) or columns of op(B). */
typedef struct packing {
    const duo_ffma *clone;
    const duo_product *p;
    int operand;
    int64_t all, group, groups;
    void *memory;
} packing;

static void pack_piece(void *job, int64_t number)
{
    const packing *const w = job;
    const int64_t first = number / w->groups * DUO_SEGMENT;
    const int64_t from = number % w->groups * w->group;
    if (w->operand == DUO_A)
        w->clone->pack_rows(w->p, first, from, smaller(w->group, w->p->m - from), w->all,
                            w->memory);
    else
        w->clone->pack(w->p, first, from, smaller(w->group, w->p->n - from), w->memory);
}

void duo_ffma_pack(duo_algorithm_id algorithm, const duo_call *call, int i, void *memory)
{
    enum { GROUP = 20 }; /* tiles: as many as keep a thread some microseconds */
    const duo_ffma *const clone = functions_of(algorithm);
    const duo_product p = duo_product_of(clone, call, NULL);
    const int64_t rows = i == DUO_A ? p.m : p.n;
    packing w = {.clone = clone,
                 .p = &p,
                 .operand = i,
                 .all = packed_rows(clone, call, i),
                 .group = GROUP * (i == DUO_A ? clone->rows : clone->panel_width(p.n)),
                 .memory = memory};
    w.groups = ceiling(rows, w.group);
    duo_team_run(pack_piece, &w, w.groups * ceiling(p.k, DUO_SEGMENT), call->threads);
}

/* ---- A product ---- */

duo_product duo_product_of(const duo_ffma *clone, const duo_call *call, duo_packed_factors *packed)
{
    const duo_operand *const a = &call->operand[DUO_A], *const b = &call->operand[DUO_B],
                             *const c = &call->operand[DUO_C];
    const bool any = packed != NULL && (a->packed != NULL || b->packed != NULL);
    if (any)
        *packed = (duo_packed_factors){.a = a->packed,
                                       .b = b->packed,
                                       .rows = packed_rows(clone, call, DUO_A),
                                       .columns = packed_rows(clone, call, DUO_B)};
    return (duo_product){.transa = call->transa,
                         .transb = call->transb,
                         .vector = duo_call_is_vector(call),
                         .m = call->m,
                         .n = call->n,
                         .k = call->k,
                         .alpha = call->alpha,
                         .beta = call->beta,
                         .a = a->address,
                         .b = b->address,
                         .c = c->address,
                         .lda = a->ld,
                         .ldb = b->ld,
                         .ldc = c->ld,
                         .packed = any ? packed : NULL,
                         .row = 0,
                         .column = 0,
                         .step = 0};
}

void duo_ffma_share(const duo_ffma *clone, const duo_call *call)
{
    duo_packed_factors packed;
    const duo_product p = duo_product_of(clone, call, &packed);
    const double work = (double)p.m * (double)p.n * (double)p.k;
    const int useful = call->threads > 1 ? useful_threads(work, call->threads) : 1;
    if (useful <= 1)
        clone->multiply(&p);
    else if (!in_panels(clone, &p, useful))
        in_tiles(clone, &p, useful);
}
