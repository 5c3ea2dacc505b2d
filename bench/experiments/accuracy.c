/*
 * accuracy.c - `duoblas bench accuracy`: errors of the reductions and their peers on the same
 * random vectors.
 *
 * Errors are against the exact sum, in units of u sum|terms| with u = 2^-24. Only our CPU
 * algorithms are run: the GPU's give the same bits.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/experiments.h"
#include "bench/measure/benchmark.h"
#include "bench/peers/cublas.h"
#include "bench/peers/openblas.h"
#include "bench/reference/accuracy_data.h"
#include "bench/reference/exact_sum.h"
#include "bench/tool/table.h"
#include "bench/tool/tool.h"

/* A line of the table takes kElements elements (a tenth if quick): 100 vectors of 2^20; more
 * shorter or fewer longer ones, at most VECTORS. Those give the root mean square within 3 %. */
enum { VECTORS = 1000, MOST_COLUMNS = 8 };
static const int64_t kElements = INT64_C(100) << 20;

typedef struct column {
    duo_implementation implementation;
    char name[24];
    bool wrong; /* its error exceeds the bound for any order of additions */

    /* over the vectors of one line */
    double worst, squares;
    double relative[VECTORS];
} column;

/* One of our algorithms and a peer: `above` counts lines with a larger root mean square of ours. */
typedef struct pair {
    char ours[24], peer[24];
    int above, lines;
} pair;

typedef struct tally {
    pair pair[MOST_COLUMNS * MOST_COLUMNS];
    int pairs, groups; /* groups of rows printed so far */
} tally;

/* ---- Columns ---- */

static void add_column(column *c, int *count, duo_implementation implementation, const char *name)
{
    c[*count] = (column){.implementation = implementation};
    snprintf(c[*count].name, sizeof c[*count].name, "%.*s", (int)strcspn(name, " "), name);
    ++*count;
}

static int open_columns(const duo_bench *b, duo_operation operation, column *c)
{
    int count = 0;
    duo_implementation peer;
    const duo_algorithm_table *const table = &duo_algorithm_tables[operation];
    for (int i = 0; i < table->count; i++)
        if (table->algorithm[i].side == DUO_SIDE_CPU)
            add_column(c, &count,
                       duo_cpu_implementation(&table->algorithm[i], b->threads, &b->host),
                       strchr(table->algorithm[i].name, '_') + 1);
    if (duo_peer_openblas(&peer, operation, b->threads, &b->host))
        add_column(c, &count, peer, peer.name);
    if (b->gpu && b->cublas_why == NULL && duo_peer_cublas(&peer, operation, &b->resident, true) &&
        !peer.other_operation)
        add_column(c, &count, peer, peer.name);
    return count;
}

/* Runs the implementation once and fetches its result. */
static bool run(const duo_bench *b, const duo_implementation *implementation,
                const duo_problem *problem, float *result)
{
    duo_call call = duo_problem_call(problem, implementation->stock, 0);
    call.threads = implementation->threads;
    return duo_bench_spoil(b, implementation, &call) &&
           implementation->call(implementation, &call) &&
           (implementation->finish == NULL || implementation->finish(implementation)) &&
           duo_copy(b->context, result, call.operand[DUO_RESULT].address, sizeof *result) == DUO_OK;
}

/* ---- One vector ---- */

typedef struct exact {
    double sum, magnitude;
} exact;

static exact exactly(duo_operation operation, int64_t n, const float *x, const float *y)
{
    duo_exact_sum sum = {0};
    double magnitude = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double term = operation == DUO_SDOT    ? (double)x[i] * (double)y[i]
                            : operation == DUO_SASUM ? fabs((double)x[i])
                                                     : (double)x[i];
        duo_exact_sum_add(&sum, term);
        magnitude += fabs(term);
    }
    return (exact){duo_exact_sum_value(&sum), magnitude};
}

static void judge(column *c, int vector, int64_t n, double got, exact want)
{
    const double difference = fabs(got - want.sum);
    const double error = difference < (double)INFINITY ? difference : (double)INFINITY; /* NaN */
    const double units = error / (want.magnitude * 0x1p-24);
    c->worst = fmax(c->worst, units);
    c->squares += units * units;
    c->relative[vector] = error / fabs(want.sum);
    /* In any order, n - 1 additions and a product err by at most n u, to first order. */
    if (units > 1.01 * (double)n) c->wrong = true;
}

static bool measure_vector(const duo_bench *b, const duo_problem *problem,
                           const duo_accuracy_data *data, int vector, column *c, int columns)
{
    const int64_t n = problem->shape[0];
    const duo_call here = duo_problem_call(problem, &b->host, 0);
    float *const x = here.operand[DUO_X].address, *const y = here.operand[DUO_Y].address;
    const uint64_t kind = (uint64_t)(data - duo_accuracy_kinds);
    const uint64_t seed = ((b->seed * 64 + kind) * 64 + (uint64_t)problem->operation) * 1024;
    duo_accuracy_fill(data, problem->operation, n, seed + (uint64_t)vector + ((uint64_t)n << 32), x,
                      y);
    const exact want = exactly(problem->operation, n, x, y);
    if (b->gpu && (duo_copy(b->context, b->resident.input, b->host.input,
                            4 * duo_problem_input_floats(problem)) != DUO_OK ||
                   duo_synchronize(b->context) != DUO_OK))
        return false;
    for (int i = 0; i < columns; i++) {
        float got = 0.0f;
        if (!run(b, &c[i].implementation, problem, &got)) return false;
        judge(&c[i], vector, n, (double)got, want);
    }
    return true;
}

/* ---- Lines ---- */

static void print_head(const duo_bench *b)
{
    duo_bench_head(b);
    if (!b->csv)
        printf("\nErrors in units of u sum|terms|, u = 2^-24: largest, root mean square; of "
               "ill-conditioned\ndata also the median error relative to the result.\n");
}

static pair *pair_of(tally *t, const column *ours, const column *peer)
{
    pair *p = t->pair;
    while (p < t->pair + t->pairs &&
           (strcmp(p->ours, ours->name) != 0 || strcmp(p->peer, peer->name) != 0))
        p++;
    if (p < t->pair + t->pairs) return p;
    memcpy(p->ours, ours->name, sizeof p->ours);
    memcpy(p->peer, peer->name, sizeof p->peer);
    t->pairs++;
    return p;
}

/* Counts for each peer whether our rms is larger, and names these peers in `note`. */
static void compare(const column *c, int columns, int i, tally *t, char note[128])
{
    size_t length = (size_t)snprintf(note, 128, c[i].wrong ? "*" : "");
    for (int j = 0; j < columns; j++) {
        if (c[i].implementation.peer || !c[j].implementation.peer) continue;
        pair *const p = pair_of(t, &c[i], &c[j]);
        p->lines++;
        if (c[i].squares <= c[j].squares) continue;
        p->above++;
        if (length < 128)
            length += (size_t)snprintf(note + length, 128 - length, " above %s", p->peer);
    }
}

static void print_row(duo_table *t, const duo_problem *problem, const duo_accuracy_data *data,
                      int vectors, column *c, const char *note)
{
    const double relative = duo_median(c->relative, vectors);
    duo_cell_word(t, "operation", "", -5, duo_operation_name(problem->operation));
    duo_cell_word(t, "data", "data", -14, data->name);
    duo_cell_count(t, "n", "n", 9, problem->shape[0]);
    duo_cell_count(t, "vectors", "of", 4, vectors);
    duo_cell_word(t, "algorithm", "algorithm", -16, c->name);
    duo_cell_number(t, "max", "largest", 8, -1, c->worst);
    duo_cell_number(t, "rms", "rms", 8, -1, sqrt(c->squares / vectors));
    duo_cell_number(t, "median_relative", "relative", 8, -1,
                    data->condition > 0.0 || t->form == DUO_AS_CSV ? relative : (double)NAN);
    duo_cell_count(t, "wrong", NULL, 0, c->wrong);
    duo_cell_word(t, NULL, "", 0, note);
    duo_row_end(t);
}

static void print_tally(const duo_bench *b, const tally *t)
{
    const char *const mark = b->csv ? "# " : "";
    if (!b->csv)
        printf("\n* has given errors beyond those of any order of additions: wrong, not "
               "inaccurate\n");
    for (const pair *p = t->pair; p < t->pair + t->pairs; p++)
        printf("%srms of %s above that of %s at %d of %d (operation, data, n)\n", mark, p->ours,
               p->peer, p->above, p->lines);
}

static bool measure_line(const duo_bench *b, const duo_problem *problem,
                         const duo_accuracy_data *data, column *c, int columns, tally *t)
{
    char note[128] = "";
    duo_table table = duo_table_open(b->csv);
    const int64_t n = problem->shape[0];
    const int64_t share = b->quick ? 10 : 1, room = kElements / share / n;
    const int64_t most = VECTORS / share;
    const int vectors = (int)(room > most ? most : room < 1 ? 1 : room);
    for (int i = 0; i < columns; i++) c[i].worst = c[i].squares = 0.0;
    for (int vector = 0; vector < vectors; vector++)
        if (!measure_vector(b, problem, data, vector, c, columns)) return false;
    table.titles = t->groups++ == 0;
    if (table.titles) print_row(&table, problem, data, vectors, c, NULL);
    for (int i = 0; i < columns; i++) {
        compare(c, columns, i, t, note);
        print_row(&table, problem, data, vectors, &c[i], note);
    }
    fflush(stdout);
    return true;
}

int duo_bench_accuracy(duo_bench *b)
{
    const int64_t *size = b->size;
    int sizes = b->sizes;
    static const int64_t usual[] = {1 << 6,  1 << 8,  1 << 10, 1 << 12, 1 << 14,
                                    1 << 16, 1 << 18, 1 << 20, 1 << 24};
    if (sizes == 0) {
        size = usual;
        sizes = b->quick ? 6 : 9;
    }
    duo_problem longest = {.operation = DUO_SDOT, .shape = {size[0], 1, 1}};
    for (int s = 0; s < sizes; s++)
        if (size[s] > longest.shape[0]) longest.shape[0] = size[s];
    bool good = duo_bench_open(b, &longest, 1);
    tally t = {0};
    if (good) print_head(b);
    const bool opened = good;
    for (int operation = DUO_SASUM; operation <= DUO_SDOT && good; operation++) {
        column c[MOST_COLUMNS];
        const int columns = open_columns(b, (duo_operation)operation, c);
        for (int kind = 0; kind < DUO_ACCURACY_KINDS; kind++) {
            const duo_accuracy_data *const data = &duo_accuracy_kinds[kind];
            for (int s = 0; s < sizes && good; s++) {
                /* sasum adds absolute values, which do not cancel. */
                if (data->condition > 0.0 &&
                    (operation == DUO_SASUM || size[s] < DUO_ACCURACY_SHORTEST_ILL))
                    continue;
                const duo_problem problem = {.operation = (duo_operation)operation,
                                             .shape = {size[s], 1, 1}};
                good = measure_line(b, &problem, data, c, columns, &t);
            }
        }
    }
    if (good) print_tally(b, &t);
    if (opened && !good) fprintf(stderr, "duoblas: an implementation failed\n");
    duo_bench_close(b);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
