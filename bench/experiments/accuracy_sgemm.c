/*
 * accuracy_sgemm.c - `duoblas bench accuracy sgemm`: errors of every sgemm algorithm and its peers
 * against float64, on all kinds of matrices of sgemm_data.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/experiments.h"
#include "bench/experiments/setup.h"
#include "bench/peers/cublas.h"
#include "bench/peers/openblas.h"
#include "bench/reference/sgemm_data.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

/* The usual shapes: squares, k long, k short. */
static const int64_t shapes[][3] = {{256, 256, 256},   {512, 512, 512},  {1024, 1024, 1024},
                                    {128, 128, 16384}, {2048, 2048, 16}, {2048, 2048, 2048}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], QUICK_SHAPES = 2 };

/* Norms over some hundred roundings may differ by this factor without a reason. */
static const double kClearly = 1.01;

enum { MOST_LINES = DUO_SGEMM_ALGORITHMS + 4, MOST_COLUMNS = DUO_MOST_PROBLEMS };

static const char *const kChosen[] = {"chosen on the CPU", "chosen on the GPU"};

/* One implementation's line in the table of one kind of data. */
typedef struct line {
    duo_implementation implementation;
    bool chosen; /* repeats, for each problem, the algorithm that dispatch chooses */
    bool known[MOST_COLUMNS];
    duo_product_errors errors[MOST_COLUMNS];
    int above, compared; /* problems: norm clearly larger than the peer's; all */
    double worst;        /* the largest ratio of its norm to the peer's */
} line;

typedef struct table {
    line line[MOST_LINES];
    int lines, columns;
    const duo_problem *problem; /* one for each column */
} table;

/* ---- Implementations ---- */

static void list_algorithms(const duo_bench *b, duo_side side, table *t)
{
    for (int i = 0; i < DUO_SGEMM_ALGORITHMS; i++) {
        const duo_algorithm *const algorithm = &duo_algorithm_tables[DUO_SGEMM].algorithm[i];
        if (algorithm->side != side || !duo_bench_wants(b, algorithm)) continue;
        t->line[t->lines++].implementation =
            side == DUO_SIDE_CPU ? duo_cpu_implementation(algorithm, b->threads, &b->host)
                                 : duo_gpu_implementation(algorithm, b->queue, &b->resident, false);
    }
}

static void list_chosen(duo_side side, table *t)
{
    line *const l = &t->line[t->lines++];
    l->implementation = (duo_implementation){.name = kChosen[side], .side = side};
    l->chosen = true;
}

static void list_lines(const duo_bench *b, table *t)
{
    if (b->sides[DUO_SIDE_CPU]) {
        list_algorithms(b, DUO_SIDE_CPU, t);
        list_chosen(DUO_SIDE_CPU, t);
        t->lines +=
            duo_peer_openblas(&t->line[t->lines].implementation, DUO_SGEMM, b->threads, &b->host);
    }
    if (b->sides[DUO_SIDE_GPU] && b->gpu) {
        list_algorithms(b, DUO_SIDE_GPU, t);
        list_chosen(DUO_SIDE_GPU, t);
        if (b->cublas_why == NULL)
            t->lines +=
                duo_peer_cublas(&t->line[t->lines].implementation, DUO_SGEMM, &b->resident, false);
    }
}

/* ---- One problem ---- */

static bool runs(const duo_bench *b, const duo_implementation *c, const duo_problem *problem,
                 duo_call *call)
{
    duo_conditions conditions;
    *call = duo_problem_call(problem, c->stock, 0);
    call->threads = c->threads > 0 ? c->threads : 1;
    if (c->algorithm != NULL && !duo_bench_conditions(b, c->algorithm, call, &conditions))
        return false;
    return duo_bench_spoil(b, c, call) && c->call(c, call) && (c->finish == NULL || c->finish(c));
}

static const line *line_of(const table *t, const duo_algorithm *algorithm)
{
    for (int i = 0; i < t->lines; i++)
        if (t->line[i].implementation.algorithm == algorithm) return &t->line[i];
    return NULL;
}

static void repeat_chosen(const duo_bench *b, const duo_call *call, int column, const table *t,
                          line *to)
{
    duo_choice chosen[DUO_CANDIDATES];
    const int count = duo_bench_choose(b, call, to->implementation.side, chosen);
    const line *const from = count > 0 ? line_of(t, chosen[0].algorithm) : NULL;
    to->known[column] = from != NULL && from->known[column];
    if (to->known[column]) to->errors[column] = from->errors[column];
}

static bool measure_column(const duo_bench *b, const duo_sgemm_data *data, int column, table *t)
{
    const duo_problem *const problem = &t->problem[column];
    const duo_call host = duo_problem_call(problem, &b->host, 0);
    duo_product_exact exact;
    duo_sgemm_data_fill(data, b->seed, &host);
    if (b->gpu && (duo_copy(b->context, b->resident.input, b->host.input,
                            4 * duo_problem_input_floats(problem)) != DUO_OK ||
                   duo_synchronize(b->context) != DUO_OK))
        return false;
    if (!duo_bench_exact_product(b, problem, &exact)) return false;
    for (int i = 0; i < t->lines; i++) {
        line *const l = &t->line[i];
        duo_call call;
        if (l->chosen) {
            repeat_chosen(b, &host, column, t, l);
            continue;
        }
        l->known[column] =
            runs(b, &l->implementation, problem, &call) &&
            duo_product_error(b->context, &exact, &call.operand[DUO_C], &l->errors[column]);
    }
    duo_product_exact_close(&exact);
    return true;
}

/* ---- The table of one kind ---- */

/* Is an element beyond the bound, or not the exact number that the data demands? */
static bool is_bad(const duo_sgemm_data *data, const duo_product_errors *e)
{
    return e->wrong > 0 || !(e->share <= 1.0) || (data->exact && e->unequal > 0);
}

static void print_cell(const duo_sgemm_data *data, const duo_product_errors *e)
{
    const char mark = is_bad(data, e) ? '*' : ' ';
    if (e->wrong > 0)
        printf("  %8" PRId64 " wrong%c", e->wrong, mark);
    else if (data->exact && e->unequal > 0)
        printf("  %7" PRId64 " errors%c", e->unequal, mark);
    else if (data->exact)
        printf("  %14s ", "exact");
    else
        printf("  %8.2e %5.3f%c", e->frobenius, e->share, mark);
}

static void print_table(const duo_sgemm_data *data, const table *t)
{
    char shape[DUO_TEXT];
    printf("\n%-22s", data->name);
    for (int c = 0; c < t->columns; c++) {
        const int64_t *const s = t->problem[c].shape;
        snprintf(shape, sizeof shape, "%" PRId64 "x%" PRId64 "x%" PRId64, s[0], s[1], s[2]);
        printf("  %14s ", shape);
    }
    printf("\n");
    for (int i = 0; i < t->lines; i++) {
        printf("  %-20s", t->line[i].implementation.name);
        for (int c = 0; c < t->columns; c++)
            if (t->line[i].known[c])
                print_cell(data, &t->line[i].errors[c]);
            else
                printf("  %14s ", "-");
        printf("\n");
    }
}

static void print_csv(const duo_sgemm_data *data, const table *t)
{
    for (int c = 0; c < t->columns; c++)
        for (int i = 0; i < t->lines; i++) {
            const duo_product_errors *const e = &t->line[i].errors[c];
            const duo_problem *const p = &t->problem[c];
            const int64_t *const s = p->shape;
            if (!t->line[i].known[c]) continue;
            printf("%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%.4g,%.4g,%.4g,%" PRId64
                   ",%" PRId64 "\n",
                   data->name, s[0], s[1], s[2], duo_text_transposes(p->transa, p->transb),
                   t->line[i].implementation.name, e->frobenius, e->largest, e->share, e->unequal,
                   e->wrong);
        }
}

/* ---- Beside the peers ---- */

static const line *peer_of(const table *t, duo_side side)
{
    for (int i = 0; i < t->lines; i++)
        if (t->line[i].implementation.peer && t->line[i].implementation.side == side)
            return &t->line[i];
    return NULL;
}

static void compare(const duo_sgemm_data *data, table *t)
{
    for (int i = 0; i < t->lines; i++) {
        line *const l = &t->line[i];
        const line *const peer = peer_of(t, l->implementation.side);
        for (int c = 0; c < t->columns && peer != NULL && l != peer; c++) {
            if (data->exact || !l->known[c] || !peer->known[c]) continue;
            const double ours = l->errors[c].frobenius, theirs = peer->errors[c].frobenius;
            const double ratio = ours == theirs ? 1.0 : ours / theirs;
            l->compared++;
            l->above += !(ratio <= kClearly);
            l->worst = fmax(l->worst, ratio);
        }
    }
}

static void print_summary(const duo_bench *b, const table *t)
{
    const char *const mark = b->csv ? "# " : "";
    if (!b->csv)
        printf("\nEach first the norm of the error / norm of the product, then the largest |error| "
               "/ bound,\nthe bound being (k+3) 2^-24 |A||B|, and underflow. * beyond the bound, "
               "or wrong: Inf or NaN\nthat should not be there, or are missing, or integers that "
               "are not exact.\n");
    for (int i = 0; i < t->lines; i++) {
        const line *const l = &t->line[i];
        if (l->compared > 0)
            printf("%snorm of %s more than 1 %% above that of %s at %d of %d, at most %.2f times\n",
                   mark, l->implementation.name,
                   peer_of(t, l->implementation.side)->implementation.name, l->above, l->compared,
                   l->worst);
    }
}

int duo_bench_accuracy_sgemm(duo_bench *b)
{
    duo_problem problem[DUO_MOST_PROBLEMS];
    if (b->sizes + b->shapes == 0) {
        b->shapes = b->quick ? QUICK_SHAPES : SHAPES;
        memcpy(b->shape, shapes, sizeof shapes);
    }
    const int problems = duo_bench_problems(b, DUO_SGEMM, problem);
    table *const t = calloc(1, sizeof *t);
    bool good = t != NULL && duo_bench_open(b, problem, problems);
    const bool opened = good;
    if (good) {
        t->problem = problem;
        t->columns = problems;
        list_lines(b, t);
        duo_bench_head(b);
        if (b->csv)
            printf("data,m,n,k,transposes,algorithm,frobenius,error_u,error_over_bound,unequal,"
                   "wrong\n");
    }
    for (int kind = 0; kind < DUO_SGEMM_KINDS && good; kind++) {
        const duo_sgemm_data *const data = &duo_sgemm_kinds[kind];
        for (int c = 0; c < problems && good; c++) good = measure_column(b, data, c, t);
        if (good && b->csv) print_csv(data, t);
        if (good && !b->csv) print_table(data, t);
        if (good) compare(data, t);
        fflush(stdout);
    }
    if (good) print_summary(b, t);
    if (opened && !good) fprintf(stderr, "duoblas: out of memory, or the device failed\n");
    duo_bench_close(b);
    free(t);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
