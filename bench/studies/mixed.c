/*
 * mixed.c - `duoblas bench mixed`: the times of a program that uses the operations by turns, by the
 * public API on the CPU, on plain host arrays.
 *
 * The threads of this library, and of others in the process, stay awake for a while after a call,
 * so the next call may find the processors taken. So each operation is timed by itself, one call
 * after the other, and by turns with the others. Both are also done on one thread: that shows the
 * cost of turns that comes from caches with the others' data. Every call is timed separately, since
 * the slow ones count. With neighbours, all this is done on the idle machine first, then beside
 * them. --beside: a BLAS of the program does a product before each of our calls.
 */
#include "bench/studies/mixed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/measure/noise.h"
#include "bench/peers/openblas.h"
#include "bench/studies/neighbours.h"
#include "bench/studies/studies.h"
#include "bench/tool/progress.h"
#include "bench/tool/tool.h"
#include "host/machine.h"

/* After this time idle threads of any library are asleep. */
static const double kAsleepSeconds = 0.3;

/* From this error on a reduction's result is wrong, in units of 2^-24 of the sum of |terms|. The
 * header's bound is far below; a block that is missing or counted twice is far above. */
static const double kWrongError = 64.0;

/* ---- Members ---- */

static bool open_member(const duo_bench *b, duo_mix *x, int which, duo_problem problem)
{
    duo_member *const m = &x->member[which];
    m->problem = problem;
    if (!duo_stock_open(&m->stock, x->context[0], DUO_PLACE_PAGEABLE,
                        duo_problem_input_floats(&problem), duo_problem_output_floats(&problem),
                        b->seed + (uint64_t)which, NULL))
        return false;
    m->call = duo_problem_call(&problem, &m->stock, 0);
    for (int i = 0; i < 2; i++) {
        if (which == DUO_THEIRS)
            (void)duo_peer_cblas(&m->implementation[i], &x->beside, DUO_SGEMM, &m->stock);
        else
            m->implementation[i] = duo_api_implementation(x->context[i], &m->stock, false);
        m->implementation[i].result = &m->result;
    }
    if (problem.operation == DUO_SGEMM)
        return duo_product_exact_open(&m->product, &m->call, NULL, NULL);
    m->sum = duo_bench_exact(&problem, &m->stock);
    return true;
}

static bool open_mix(const duo_bench *b, duo_mix *x, const int64_t product[3], int64_t length)
{
    const duo_problem problem[DUO_MEMBERS] = {
        {.operation = DUO_SGEMM, .shape = {product[0], product[1], product[2]}},
        {.operation = DUO_SASUM, .shape = {length, 1, 1}},
        {.operation = DUO_SDOT, .shape = {length, 1, 1}},
        [DUO_THEIRS] = {.operation = DUO_SGEMM, .shape = {product[0], product[1], product[2]}}};
    bool good = true;
    for (int i = 0; i < 2 && good; i++)
        good = duo_create(&x->context[i]) == DUO_OK &&
               duo_set_path(x->context[i], DUO_PATH_CPU) == DUO_OK;
    if (good && b->threads > 0) good = duo_set_threads(x->context[0], b->threads) == DUO_OK;
    good = good && duo_set_threads(x->context[1], 1) == DUO_OK;
    x->members = b->beside != NULL ? DUO_MEMBERS : DUO_OURS;
    for (int i = 0; i < x->members && good; i++) good = open_member(b, x, i, problem[i]);
    if (!good) fprintf(stderr, "duoblas: out of memory\n");
    return good;
}

static void close_mix(duo_mix *x)
{
    for (int i = 0; i < DUO_MEMBERS; i++) {
        duo_product_exact_close(&x->member[i].product);
        duo_stock_close(&x->member[i].stock);
    }
    for (int i = 0; i < 2; i++) (void)duo_destroy(x->context[i]);
}

/* ---- Calls ---- */

static bool call(const duo_member *m, bool one_thread)
{
    const duo_implementation *const c = &m->implementation[one_thread];
    return c->call(c, &m->call);
}

/* Makes the result wrong, so that an unwritten one is found. */
static void spoil(duo_member *m)
{
    const size_t bytes = 4 * duo_problem_output_floats(&m->problem);
    memset(m->stock.output, 0xff, bytes);
    memset(&m->result, 0xff, sizeof m->result);
}

static bool is_right(const duo_mix *x, const duo_member *m)
{
    if (m->problem.operation == DUO_SGEMM) {
        duo_product_errors e;
        return duo_product_error(x->context[0], &m->product, &m->call.operand[DUO_C], &e) &&
               e.wrong == 0 && e.share <= 1.0;
    }
    const double error =
        duo_bench_error(x->context[0], &m->problem, &m->sum, &m->implementation[0]);
    return error >= 0.0 && error <= kWrongError;
}

static void fall_asleep(void)
{
    const struct timespec pause = {.tv_nsec = (long)(kAsleepSeconds * 1e9)};
    nanosleep(&pause, NULL);
}

/* Makes and times one call. False: it failed. */
static bool timed(duo_member *m, duo_way how, bool counted)
{
    const double begin = duo_now_seconds();
    const bool good = call(m, how == DUO_ALONE_ONE || how == DUO_BY_TURNS_ONE);
    const double seconds = duo_now_seconds() - begin;
    if (counted && m->calls[how] < DUO_MOST_CALLS) m->seconds[how][m->calls[how]++] = seconds;
    return good;
}

static bool has_turns(duo_way how) { return how == DUO_BY_TURNS || how == DUO_BY_TURNS_ONE; }

/* One turn: a call of each member from first to last, with theirs before each of ours. */
static bool turn(duo_mix *x, duo_way how, int first, int last, bool counted)
{
    bool good = true;
    for (int i = first; i <= last && good; i++) {
        if (has_turns(how) && x->members > DUO_OURS)
            good = timed(&x->member[DUO_THEIRS], how, counted);
        good = good && timed(&x->member[i], how, counted);
    }
    return good;
}

/* Takes all turns, after a pause and a warm-up, and checks the last result of each member. */
static bool take_turns(duo_mix *x, duo_way how, int first, int last)
{
    bool good = true;
    fall_asleep();
    duo_noise_look();
    const double begin = duo_now_seconds();
    while (good && duo_now_seconds() - begin < x->warm_seconds)
        good = turn(x, how, first, last, false);
    for (int i = 0; i < x->members; i++) spoil(&x->member[i]);
    const double end = duo_now_seconds() + x->most_seconds;
    for (int i = 0; i < x->calls && good; i++) {
        good = turn(x, how, first, last, true);
        if (duo_now_seconds() > end) break;
    }
    for (int i = 0; i < x->members && good; i++) {
        const bool called = (i >= first && i <= last) || (i == DUO_THEIRS && has_turns(how));
        if (!called || is_right(x, &x->member[i])) continue;
        fprintf(stderr, "duoblas: %s gave a wrong result\n",
                duo_operation_name(x->member[i].problem.operation));
        return false;
    }
    return good;
}

/* Measures all ways in rounds, so that they meet the same machine. */
static bool measure(duo_mix *x)
{
    bool good = true;
    for (int i = 0; i < x->members; i++) memset(x->member[i].calls, 0, sizeof x->member[i].calls);
    for (int round = 0; round < x->rounds && good; round++) {
        for (int i = 0; i < x->members && good; i++)
            good = take_turns(x, DUO_ALONE, i, i) &&
                   (i == DUO_THEIRS || take_turns(x, DUO_ALONE_ONE, i, i));
        good = good && take_turns(x, DUO_BY_TURNS, 0, DUO_OURS - 1) &&
               take_turns(x, DUO_BY_TURNS_ONE, 0, DUO_OURS - 1);
    }
    return good;
}

/* ---- Command ---- */

static bool open_beside(const duo_bench *b, duo_mix *x)
{
    const char *why;
    duo_implementation product;
    if (b->beside == NULL) return true;
    if (!duo_blas_instance_open(&x->beside, b->beside, &why)) {
        fprintf(stderr, "duoblas: cannot open %s: %s\n", b->beside, why);
        return false;
    }
    if (duo_peer_cblas(&product, &x->beside, DUO_SGEMM, NULL)) return true;
    fprintf(stderr, "duoblas: %s has no cblas_sgemm\n", b->beside);
    return false;
}

static bool run(duo_bench *b, duo_mix *x, const int64_t product[3], int64_t length)
{
    x->rounds = b->quick ? 2 : 5;
    x->calls = b->quick ? 20 : DUO_MOST_CALLS / x->rounds;
    x->warm_seconds = b->quick ? 0.002 : 0.05;
    x->most_seconds = b->quick ? 0.2 : 1.0;
    if (!open_beside(b, x) || !open_mix(b, x, product, length)) return false;
    if (b->threads == 0) b->threads = duo_machine_threads();
    b->why = "not used";
    duo_mixed_head(b, x);
    if (!measure(x)) return false;
    duo_mixed_print(b, x, 0);
    if (b->neighbours > 0) {
        duo_neighbours_wake();
        if (!measure(x)) return false;
        duo_mixed_print(b, x, b->neighbours);
    }
    duo_mixed_foot(b);
    return true;
}

int duo_bench_mixed(duo_bench *b)
{
    static const int64_t usual[3] = {384, 384, 384};
    const int64_t *const product = b->shapes > 0 ? b->shape[0] : usual;
    const int64_t length = b->sizes > 0 ? b->size[0] : 1 << 20;
    /* First of all: the neighbours are to be processes of one thread with nothing open. */
    bool good = duo_neighbours_open(b->neighbours);
    if (!good) fprintf(stderr, "duoblas: cannot start %d processes\n", b->neighbours);
    duo_interrupt_watch();
    duo_mix *const x = calloc(1, sizeof *x);
    good = good && x != NULL && run(b, x, product, length);
    if (x != NULL) close_mix(x);
    free(x);
    duo_neighbours_close();
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
