/*
 * remembered.c - `duoblas bench remembered`: products that bring the same A again
 * (duo_set_remember).
 *
 * By turns, A staying as it is: A is sent by each product; it is kept (duo_keep); it is remembered,
 * and its bytes are compared, or its pages are watched.
 * With --random: random shapes with A and B written anew before each product, which is the worst
 * for remembering; by turns sent and remembered, and the sums of all calls are compared.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/host/host.h"
#include "bench/reference/random.h"
#include "bench/studies/studies.h"
#include "bench/tool/table.h"
#include "bench/tool/tool.h"

enum { SENT, KEPT, BYTES, PAGES, WAYS, MOST_ROUNDS = 64 };

typedef struct remembered {
    const duo_bench *bench;
    duo_context *context;
    duo_arrays arrays;
} remembered;

static void set_way(const remembered *r, int way)
{
    (void)duo_set_remember(r->context, way == BYTES   ? DUO_REMEMBER_BYTES
                                       : way == PAGES ? DUO_REMEMBER_PAGES
                                                      : DUO_REMEMBER_NONE);
}

/* Seconds of a call; negative: it failed. */
static double time_once(const remembered *r, const duo_call *call)
{
    const duo_implementation ours = duo_api_implementation(r->context, NULL, true);
    const double begin = duo_now_seconds();
    const bool good = ours.call(&ours, call) && ours.finish(&ours);
    return good ? duo_now_seconds() - begin : -1.0;
}

/* ---- A stays ---- */

static bool time_way(const remembered *r, const duo_call *call, int way, int rounds, double *median)
{
    enum { BEFORE = 12 }; /* until its pages are watched */
    double seconds[MOST_ROUNDS];
    const duo_operand *const a = &call->operand[DUO_A];
    const size_t bytes = (size_t)duo_operand_bytes(a);
    bool good = way != KEPT || duo_keep(r->context, a->address, bytes) == DUO_OK;
    set_way(r, way);
    for (int round = -BEFORE; round < rounds && good; round++) {
        const double once = time_once(r, call);
        good = once >= 0.0;
        if (round >= 0) seconds[round] = once;
    }
    if (way == KEPT && duo_release(r->context, a->address) != DUO_OK) return false;
    if (good) *median = duo_median(seconds, rounds);
    return good;
}

static void print_row(const remembered *r, const duo_call *call, bool titles, const double *median)
{
    duo_table t = duo_table_open(r->bench->csv);
    t.titles = titles;
    duo_cell_count(&t, "m", "m", 6, call->m);
    duo_cell_count(&t, "n", "n", 6, call->n);
    duo_cell_count(&t, "k", "k", 6, call->k);
    duo_cell_seconds(&t, "sent_seconds", "sent", median[SENT]);
    duo_cell_seconds(&t, "kept_seconds", "kept", median[KEPT]);
    duo_cell_seconds(&t, "bytes_seconds", "bytes", median[BYTES]);
    duo_cell_seconds(&t, "pages_seconds", "pages", median[PAGES]);
    duo_cell_number(&t, "sent_over_bytes", "sent/bytes", 10, 2, median[SENT] / median[BYTES]);
    duo_cell_number(&t, "sent_over_pages", "sent/pages", 10, 2, median[SENT] / median[PAGES]);
    duo_cell_number(&t, "pages_over_kept", "pages/kept", 10, 2, median[PAGES] / median[KEPT]);
    duo_row_end(&t);
    fflush(stdout);
}

static bool run(const remembered *r, const duo_problem *problem, bool titles)
{
    const int rounds = r->bench->rounds > 0 ? r->bench->rounds : 15;
    const duo_call call = duo_arrays_call(&r->arrays, problem);
    double median[WAYS];
    for (int way = 0; way < WAYS; way++)
        if (!time_way(r, &call, way, rounds, &median[way])) return false;
    if (titles) print_row(r, &call, true, median);
    print_row(r, &call, false, median);
    return true;
}

/* ---- A and B written anew ---- */

/* Other numbers, and never the same again. */
static void write_anew(const duo_operand *o)
{
    float *const x = o->address;
    const int64_t count = o->rows * o->columns;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) x[i] += 0x1p-20f;
}

static bool run_rewritten(const remembered *r, const duo_problem *problem, double *ratio)
{
    const int rounds = r->bench->rounds > 0 ? r->bench->rounds : 24;
    const duo_call call = duo_arrays_call(&r->arrays, problem);
    double seconds[WAYS] = {0.0};
    for (int round = -1; round < rounds; round++)
        for (int way = SENT; way <= BYTES; way += BYTES - SENT) {
            write_anew(&call.operand[DUO_A]);
            write_anew(&call.operand[DUO_B]);
            set_way(r, way);
            const double once = time_once(r, &call);
            if (once < 0.0) return false;
            if (round >= 0) seconds[way] += once;
        }
    *ratio = seconds[BYTES] / seconds[SENT];
    return true;
}

static void print_rewritten(const remembered *r, const duo_problem *p, bool titles, double ratio)
{
    duo_table t = duo_table_open(r->bench->csv);
    t.titles = titles;
    duo_cell_count(&t, "m", "m", 6, p->shape[0]);
    duo_cell_count(&t, "n", "n", 6, p->shape[1]);
    duo_cell_count(&t, "k", "k", 6, p->shape[2]);
    duo_cell_number(&t, "bytes_over_sent", "bytes/sent", 10, 3, ratio);
    duo_row_end(&t);
}

/* Edges from 64 to 6144, each power of two as often as the next. */
static duo_problem draw(uint64_t *state)
{
    duo_problem p = {.operation = DUO_SGEMM};
    for (int i = 0; i < 3; i++) p.shape[i] = (int64_t)(64.0 * pow(96.0, duo_random_unit(state)));
    return p;
}

static bool run_random(const remembered *r)
{
    enum { REPEATS = 3 };
    uint64_t state = r->bench->seed;
    double logarithms = 0.0, worst = 0.0;
    for (int i = 0; i < r->bench->random; i++) {
        const duo_problem problem = draw(&state);
        double ratio, least = INFINITY;
        for (int repeat = 0; repeat < REPEATS; repeat++) { /* only a loss that stays is one */
            if (!run_rewritten(r, &problem, &ratio)) return false;
            if (repeat == 0) logarithms += log(ratio);
            least = fmin(least, ratio);
            if (least <= 1.1) break;
        }
        worst = fmax(worst, least);
        if (i == 0) print_rewritten(r, &problem, true, least);
        print_rewritten(r, &problem, false, least);
    }
    if (!r->bench->csv)
        printf("%d shapes: geometric mean %.4f, worst of three repeats %.3f\n", r->bench->random,
               exp(logarithms / r->bench->random), worst);
    return true;
}

/* ---- The study ---- */

static int usual_problems(duo_problem *problem)
{
    static const int64_t edges[] = {1024, 2048, 4096, 8192}, columns[] = {64, 256, 1024, 4096};
    int count = 0;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (size_t j = 0; j < sizeof columns / sizeof columns[0]; j++)
            if (columns[j] <= edges[i])
                problem[count++] = (duo_problem){.operation = DUO_SGEMM,
                                                 .shape = {edges[i], columns[j], edges[i]}};
    return count;
}

int duo_bench_remembered(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    static const duo_problem largest = {.operation = DUO_SGEMM, .shape = {6144, 6144, 6144}};
    duo_problem problem[DUO_MOST_PROBLEMS];
    remembered r = {.bench = b};
    const bool given = b->sizes > 0 || b->shapes > 0;
    const int problems =
        given ? duo_bench_problems(b, DUO_SGEMM, problem) : usual_problems(problem);
    /* The machine is opened only for the head. */
    bool good = duo_bench_open(b, &small, 1);
    if (good) duo_bench_head(b);
    duo_bench_close(b);
    good =
        good && duo_create(&r.context) == DUO_OK && duo_warm_up(r.context) == DUO_OK &&
        duo_arrays_open(&r.arrays, r.context, DUO_PLACE_PAGEABLE,
                        b->random > 0 ? &largest : problem, b->random > 0 ? 1 : problems, b->seed);
    if (b->random > 0)
        good = good && run_random(&r);
    else
        for (int i = 0; i < problems && good; i++) good = run(&r, &problem[i], i == 0);
    if (!good) fprintf(stderr, "duoblas: no memory, or duo_sgemm failed\n");
    duo_arrays_close(&r.arrays);
    if (r.context != NULL) (void)duo_destroy(r.context);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
