/*
 * peers.c - `duoblas bench peers`: the public functions beside other libraries that this machine
 * has, their times and their errors on three kinds of data.
 *
 * The data is timed as uniform random numbers. All are timed by turns.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/experiments.h"
#include "bench/experiments/setup.h"
#include "bench/peers/cublas.h"
#include "bench/peers/gpu_peers.h"
#include "bench/peers/libraries.h"
#include "bench/peers/openblas.h"
#include "bench/reference/accuracy_data.h"
#include "bench/reference/sgemm_data.h"
#include "bench/tool/table.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"

/* Ours in four maths on two sides, cuBLAS twice, libraries; or sums: ours, CUB's, OpenBLAS. */
enum { MATHS = 4, KINDS = 3, MOST_ROWS = 2 * MATHS + 2 + DUO_MOST_LIBRARIES };

typedef struct row {
    duo_implementation implementation;
    duo_benchmark benchmark;
    double error[KINDS]; /* in 2^-24 of |A||B|, or of the sum of |terms|; negative: not known */
    double times_ours;   /* its time / ours on its side */
} row;

typedef struct peers {
    duo_bench *bench;
    duo_operation operation;
    duo_library library[DUO_MOST_LIBRARIES];
    int libraries;
    duo_context *context[2][MATHS]; /* ours, by duo_side and duo_math; NULL: not there */
    float *sum;                     /* a sum's result on the device */
    int rows;
    row row[MOST_ROWS];
} peers;

/* ---- Data ---- */

/* The kinds: indices of duo_sgemm_kinds and of duo_accuracy_kinds. The first is the timed one. */
static const int of_matrices[KINDS] = {2, 3, 4}, of_vectors[KINDS] = {0, 1, 2};

static const char *kind_name(const peers *p, int kind)
{
    return p->operation == DUO_SGEMM ? duo_sgemm_kinds[of_matrices[kind]].name
                                     : duo_accuracy_kinds[of_vectors[kind]].name;
}

/* Fills the host's operands, and the device's. False: the device failed. */
static bool fill(const peers *p, const duo_problem *problem, int kind)
{
    const duo_bench *const b = p->bench;
    const duo_call host = duo_problem_call(problem, &b->host, 0);
    if (p->operation == DUO_SGEMM)
        duo_sgemm_data_fill(&duo_sgemm_kinds[of_matrices[kind]], b->seed, &host);
    else
        duo_accuracy_fill(&duo_accuracy_kinds[of_vectors[kind]], p->operation, host.n, b->seed,
                          host.operand[DUO_X].address, NULL);
    return !b->gpu || (duo_copy(b->context, b->resident.input, b->host.input,
                                4 * duo_problem_input_floats(problem)) == DUO_OK &&
                       duo_synchronize(b->context) == DUO_OK);
}

/* ---- Implementations ---- */

static duo_context *open_context(const duo_bench *b, duo_side side, int math)
{
    duo_context *context = NULL;
    if (duo_create(&context) != DUO_OK) return NULL;
    const bool good = side == DUO_SIDE_GPU
                          ? duo_set_device(context, duo_environment_get()->device) == DUO_OK &&
                                duo_set_path(context, DUO_PATH_GPU) == DUO_OK
                          : duo_set_threads(context, b->threads) == DUO_OK &&
                                duo_set_path(context, DUO_PATH_CPU) == DUO_OK;
    if (good && duo_set_math(context, (duo_math)math) == DUO_OK) return context;
    (void)duo_destroy(context);
    return NULL;
}

static void add_ours(peers *p, duo_side side)
{
    static const char *const names[MATHS] = {
        [DUO_MATH_ACCURATE] = "DuoBLAS accurate",
        [DUO_MATH_IEEE] = "DuoBLAS ieee",
        [DUO_MATH_TF32] = "DuoBLAS tf32",
        [DUO_MATH_FLOAT64] = "DuoBLAS float64",
    };
    const duo_bench *const b = p->bench;
    const bool product = p->operation == DUO_SGEMM, gpu = side == DUO_SIDE_GPU;
    for (int math = 0; math < (product ? MATHS : 1); math++) {
        if (math == DUO_MATH_TF32 && !gpu) continue; /* there it is the same as accurate */
        duo_context *const context = open_context(b, side, math);
        if (context == NULL) continue;
        p->context[side][math] = context;
        duo_implementation *const ours = &p->row[p->rows++].implementation;
        *ours = duo_api_implementation(context, gpu ? &b->resident : &b->host, false);
        ours->name = product ? names[math] : "DuoBLAS";
        ours->side = side;
        ours->threads = gpu ? 0 : b->threads;
        if (gpu && !product) ours->result = p->sum;
    }
}

static void add_libraries(peers *p, duo_side side)
{
    const duo_bench *const b = p->bench;
    for (int i = 0; i < p->libraries; i++)
        if (p->library[i].side == side)
            p->rows += duo_peer_library(&p->row[p->rows].implementation, &p->library[i],
                                        side == DUO_SIDE_GPU ? &b->resident : &b->host);
}

static void list_rows(peers *p)
{
    const duo_bench *const b = p->bench;
    const bool product = p->operation == DUO_SGEMM;
    if (b->sides[DUO_SIDE_CPU]) {
        add_ours(p, DUO_SIDE_CPU);
        if (product)
            add_libraries(p, DUO_SIDE_CPU);
        else
            p->rows += duo_peer_openblas(&p->row[p->rows].implementation, p->operation, b->threads,
                                         &b->host);
    }
    if (!b->sides[DUO_SIDE_GPU] || !b->gpu) return;
    add_ours(p, DUO_SIDE_GPU);
    for (int promise = 0; promise < DUO_CUB_PROMISES && b->gpu_peers; promise++)
        p->rows += duo_peer_cub(&p->row[p->rows].implementation, p->operation,
                                (duo_cub_promise)promise, b->queue, &b->resident, NULL);
    if (!product || b->cublas_why != NULL) return;
    p->rows += duo_peer_cublas(&p->row[p->rows].implementation, DUO_SGEMM, &b->resident, false);
    p->rows += duo_peer_cublas_tf32(&p->row[p->rows].implementation, &b->resident);
    add_libraries(p, DUO_SIDE_GPU);
}

/* ---- Measuring ---- */

static void find_ratios(peers *p)
{
    const row *ours[2] = {NULL, NULL}; /* the first of its side */
    for (int i = 0; i < p->rows; i++) {
        row *const r = &p->row[i];
        const row **const first = &ours[r->implementation.side];
        if (*first == NULL) *first = r;
        r->times_ours = r->benchmark.failed || (*first)->benchmark.failed
                            ? (double)NAN
                            : r->benchmark.median_seconds / (*first)->benchmark.median_seconds;
    }
}

static bool measure_times(peers *p, const duo_problem *problem)
{
    const duo_bench *const b = p->bench;
    duo_benchmark benchmark[MOST_ROWS];
    duo_effort effort =
        p->operation == DUO_SGEMM ? duo_bench_sustained_effort(b, problem) : duo_bench_effort(b);
    if (b->sides[DUO_SIDE_CPU]) effort.settle_seconds = duo_peer_settle_seconds();
    for (int i = 0; i < p->rows; i++)
        if (!duo_benchmark_open(&benchmark[i], &p->row[i].implementation, problem)) {
            while (i-- > 0) duo_benchmark_close(&benchmark[i]);
            return false;
        }
    duo_measure(benchmark, p->rows, &effort);
    for (int i = 0; i < p->rows; i++) p->row[i].benchmark = benchmark[i];
    find_ratios(p);
    return true;
}

/* The error of a row's result at slot 0; negative: it could not be fetched. */
static double error_of(const peers *p, const duo_problem *problem, const row *r,
                       const duo_product_exact *product, const duo_exact *sum)
{
    duo_product_errors errors;
    const duo_call call = duo_problem_call(problem, r->implementation.stock, 0);
    if (p->operation != DUO_SGEMM)
        return duo_bench_error(p->bench->context, problem, sum, &r->implementation);
    if (!duo_product_error(p->bench->context, product, &call.operand[DUO_C], &errors)) return -1.0;
    return errors.wrong > 0 ? (double)INFINITY : errors.largest;
}

static bool measure_errors(peers *p, const duo_problem *problem, int kind)
{
    const duo_bench *const b = p->bench;
    const bool is_product = p->operation == DUO_SGEMM;
    duo_product_exact product = {0};
    duo_exact sum = {0};
    if (!fill(p, problem, kind)) return false;
    if (is_product && !duo_bench_exact_product(b, problem, &product)) return false;
    if (!is_product) sum = duo_bench_exact(problem, &b->host);
    for (int i = 0; i < p->rows; i++) {
        row *const r = &p->row[i];
        const duo_call call = duo_problem_call(problem, r->implementation.stock, 0);
        r->error[kind] = -1.0;
        if (!r->benchmark.failed && duo_bench_spoil(b, &r->implementation, &call) &&
            duo_benchmark_call_once(&r->benchmark))
            r->error[kind] = error_of(p, problem, r, &product, &sum);
    }
    duo_product_exact_close(&product);
    return true;
}

/* ---- Printing ---- */

static void print_row(duo_table *t, const peers *p, const duo_problem *problem, const row *r)
{
    static const char *const names[KINDS] = {"error_u_1", "error_u_2", "error_u_3"};
    const duo_implementation *const c = &r->implementation;
    const double seconds = r->benchmark.failed ? (double)NAN : r->benchmark.median_seconds;
    duo_bench_problem_cells(t, problem);
    duo_cell_word(t, "side", "side", -4, duo_text_side(c->side));
    duo_cell_word(t, "library", "library", -19, c->name);
    duo_cell_seconds(t, "seconds_median", "median", seconds);
    duo_cell_seconds(t, "seconds_min", NULL,
                     r->benchmark.failed ? (double)NAN : r->benchmark.minimum_seconds);
    duo_cell_number(t, "times_ours", "x ours", 6, 2, r->times_ours);
    for (int kind = 0; kind < KINDS; kind++)
        duo_cell_number(t, names[kind], kind_name(p, kind), 13, -1,
                        r->error[kind] < 0.0 ? (double)NAN : r->error[kind]);
    duo_row_end(t);
}

static void print_problem(const peers *p, const duo_problem *problem, bool first)
{
    const duo_bench *const b = p->bench;
    const row none = {.times_ours = (double)NAN, .error = {-1.0, -1.0, -1.0}};
    char shape[DUO_TEXT];
    duo_table table = duo_table_open(b->csv);
    if (!b->csv)
        printf("\n%s %s\n", duo_operation_name(p->operation),
               duo_text_shape(p->operation, problem->shape, shape));
    table.titles = true;
    if (first || !b->csv) print_row(&table, p, problem, &none);
    table.titles = false;
    for (int i = 0; i < p->rows; i++) print_row(&table, p, problem, &p->row[i]);
    fflush(stdout);
}

static void print_head(const peers *p)
{
    const duo_bench *const b = p->bench;
    const char *const mark = b->csv ? "# " : "";
    duo_bench_head(b);
    for (int i = 0; i < p->libraries; i++)
        if (i == 0 || strcmp(p->library[i].file, p->library[i - 1].file) != 0)
            printf("%s%s  %s\n", mark, i == 0 ? "Found" : "     ", p->library[i].file);
    if (p->operation == DUO_SGEMM && duo_libraries_missing()[0] != '\0')
        printf("%sNot found: %s\n", mark, duo_libraries_missing());
    if (b->csv)
        printf("# errors on: 1 %s, 2 %s, 3 %s\n", kind_name(p, 0), kind_name(p, 1),
               kind_name(p, 2));
}

static void print_foot(const peers *p)
{
    if (p->bench->csv) return;
    printf("\nTimes on the data of the first kind, caches warm%s.\n"
           "x ours: its time / that of the first row of its side.\n"
           "Behind it the largest error on each kind of data, against float64, over %s, "
           "in 2^-24.\n",
           p->bench->gpu ? "; GPU: data there, queue busy" : "",
           p->operation == DUO_SGEMM ? "|A||B|" : "the sum of |terms|");
}

/* ---- The experiment ---- */

static int problems_of(const peers *p, duo_problem problem[DUO_MOST_PROBLEMS])
{
    static const int64_t edges[] = {1024, 2048, 4096, 8192}, small[] = {512, 2048},
                         lengths[] = {1 << 10, 1 << 20, 1 << 24, 1 << 28};
    duo_bench *const b = p->bench;
    const char *why;
    if (b->sizes + b->shapes > 0) return duo_bench_problems(b, p->operation, problem);
    const bool gpu = b->sides[DUO_SIDE_GPU] && duo_devices(&why) > 0;
    const int64_t *const usual = p->operation != DUO_SGEMM ? lengths : gpu ? edges : small;
    b->sizes = b->quick ? 1 : usual == small ? 2 : 4;
    memcpy(b->size, usual, (size_t)b->sizes * sizeof *usual);
    return duo_bench_problems(b, p->operation, problem);
}

static bool open_peers(peers *p, const duo_problem *problem, int problems)
{
    duo_bench *const b = p->bench;
    if (!duo_bench_open(b, problem, problems)) return false;
    if (p->operation == DUO_SGEMM)
        p->libraries = duo_libraries_open(p->library, b->named, b->names, b->threads);
    if (p->libraries < 0) return false;
    if (b->gpu) p->sum = duo_problem_call(&problem[0], &b->resident, 0).operand[DUO_RESULT].address;
    list_rows(p);
    return true;
}

static bool measure(peers *p, const duo_problem *problem)
{
    bool good = fill(p, problem, 0) && measure_times(p, problem);
    for (int kind = 0; kind < KINDS && good; kind++) good = measure_errors(p, problem, kind);
    return good;
}

static void close_benchmarks(peers *p)
{
    for (int i = 0; i < p->rows; i++) duo_benchmark_close(&p->row[i].benchmark);
}

int duo_bench_peers(duo_bench *b)
{
    duo_problem problem[DUO_MOST_PROBLEMS];
    peers *const p = calloc(1, sizeof *p);
    if (p == NULL) return DUO_EXIT_FAILURE;
    p->bench = b;
    p->operation = strcmp(b->experiment->name, "peers") == 0 ? DUO_SGEMM : DUO_SSUM;
    const int problems = problems_of(p, problem);
    const bool opened = open_peers(p, problem, problems); /* if not, it has said why */
    bool good = opened;
    if (opened) print_head(p);
    for (int i = 0; i < problems && good; i++) {
        good = measure(p, &problem[i]);
        if (good) print_problem(p, &problem[i], i == 0);
        close_benchmarks(p);
    }
    if (good) print_foot(p);
    if (opened && !good) fprintf(stderr, "duoblas: out of memory, or the device failed\n");
    for (int i = 0; i < 2 * MATHS; i++) (void)duo_destroy(p->context[i / MATHS][i % MATHS]);
    duo_bench_close(b);
    free(p);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
