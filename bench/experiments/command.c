/*
 * command.c - `duoblas bench`: options.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/bench.h"
#include "bench/tool/picture.h"

static const char doc[] =
    "Times every algorithm of an operation beside the peers that this machine has (OpenBLAS, "
    "cuBLAS), "
    "with their errors; reductions also beside OpenMP's simd loop, CUB and a bare read of the "
    "operands. GPU algorithms work on resident data, in a busy queue."
    "\vSIZES is a list of numbers, powers of two, and ranges of these. Of a reduction, lengths; of "
    "sgemm, edges of cubes.\n\n"
    "  duoblas bench sgemm -n 1000,4092\n"
    "  duoblas bench sgemm -s 4096x4096x64\n"
    "  duoblas bench ssum -n 2^10..2^28\n"
    "  duoblas bench sdot -n 2^20 --wait   with the result in the host's hands\n"
    "  duoblas bench introduction     the introductory experiment\n"
    "  duoblas bench accuracy         errors of the reductions on random vectors\n"
    "  duoblas bench accuracy sgemm   errors of the products on matrices of all kinds\n"
    "  duoblas bench shapes           60 shapes in all layouts: what dispatch chooses, and cuBLAS\n"
    "  duoblas bench shapes --side cpu --transpose nn   the same on the CPU, and OpenBLAS\n"
    "  duoblas bench mixed            sgemm, sasum and sdot by turns on the CPU, call by call\n"
    "  duoblas bench mixed --busy 8   the same beside 8 busy processes\n"
    "  duoblas bench --overhead       what dispatch adds to a tiny call";

enum {
    MOST_PROBLEMS = 64,
    OPTION_CSV = 256,
    OPTION_OVERHEAD,
    OPTION_COLD,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_WAIT,
    OPTION_READS,
    OPTION_SIDE,
    OPTION_OFFSET,
    OPTION_PLOT,
    OPTION_MATH,
    OPTION_TRANSPOSE,
    OPTION_ALGORITHMS,
    OPTION_PREPARED,
    OPTION_BUSY,
    OPTION_BESIDE
};

static const struct argp_option options[] = {
    {"size", 'n', "SIZES", 0, "Lengths, or edges of cubes", 0},
    {"shape", 's', "MxNxK", 0, "One shape of sgemm; may be given again", 0},
    {"csv", OPTION_CSV, NULL, 0, "Comma-separated values instead of a table", 0},
    {"quick", 'q', NULL, 0, "Fewer and shorter rounds", 0},
    {"cold", OPTION_COLD, NULL, 0, "Every call on other data, so that none comes from a cache", 0},
    {"wait", OPTION_WAIT, NULL, 0, "The host waits for each call on the GPU, and for its result",
     0},
    {"side", OPTION_SIDE, "cpu|gpu", 0, "This side alone", 0},
    {"reads", OPTION_READS, NULL, 0,
     "Every way of reading, every layout of cuBLAS, not the fastest alone", 0},
    {"algorithms", OPTION_ALGORITHMS, NULL, 0,
     "shapes: every algorithm, to see what the choice loses", 0},
    {"prepared", OPTION_PREPARED, "a|b|a,b", 0,
     "sgemm: on the GPU algorithms that split these have done it before, as after duo_prepare", 0},
    {"math", OPTION_MATH, "accurate|ieee|tf32|float64", 0, "Algorithms that serve this math alone",
     0},
    {"transpose", OPTION_TRANSPOSE, "nn|nt|tn|tt", 0,
     "A and B of sgemm, t for transposed; shapes: this layout alone", 0},
    {"offset", OPTION_OFFSET, "FLOATS", 0,
     "Every operand begins so far behind a boundary of 256 bytes (0 to 63)", 0},
    {"busy", OPTION_BUSY, "N", 0,
     "mixed: then again beside so many busy processes; as many as processors: one for each", 0},
    {"beside", OPTION_BESIDE, "LIBRARY", 0,
     "mixed: this BLAS does a product before each call, as a program does that has its own", 0},
    {"plot", OPTION_PLOT, "FILE", 0,
     "Draw GB/s (sgemm: GFLOP/s) against size: .svg or .png, by gnuplot", 0},
    {"threads", OPTION_THREADS, "N", 0, "CPU threads", 0},
    {"seed", OPTION_SEED, "N", 0, "Seed of the random data (default 1)", 0},
    {"overhead", OPTION_OVERHEAD, NULL, 0, "Nanoseconds of tiny reductions, beside OpenBLAS", 0},
    {0},
};

typedef struct arguments {
    duo_bench *bench;
    const char
        *what; /* operation, "introduction", "accuracy", "accuracy sgemm", "shapes" or "mixed" */
    bool overhead, transpose;
    bool transa, transb;
    int sizes, shapes;
    int64_t size[MOST_PROBLEMS], shape[MOST_PROBLEMS][3];
} arguments;

static error_t refuse(struct argp_state *state, const char *what, const char *value)
{
    argp_error(state, "%s: %s", what, value);
    return EINVAL;
}

static error_t parse_sizes(arguments *a, struct argp_state *state, const char *list)
{
    for (const char *from = list;;) {
        int64_t low, high;
        char word[48];
        const size_t length = strcspn(from, ",");
        if (length >= sizeof word) return refuse(state, "bad value for --size", list);
        memcpy(word, from, length);
        word[length] = '\0';
        if (!duo_tool_range(word, &low, &high)) return refuse(state, "bad value for --size", list);
        for (int64_t size = low; size <= high; size *= 2) {
            if (a->sizes == MOST_PROBLEMS) return refuse(state, "too many sizes", list);
            a->size[a->sizes++] = size;
        }
        if (from[length] == '\0') return 0;
        from += length + 1;
    }
}

static error_t parse_math(arguments *a, struct argp_state *state, const char *value)
{
    static const struct {
        const char *name;
        duo_math math;
    } maths[] = {{"accurate", DUO_MATH_ACCURATE},
                 {"ieee", DUO_MATH_IEEE},
                 {"tf32", DUO_MATH_TF32},
                 {"float64", DUO_MATH_FLOAT64}};
    for (size_t i = 0; i < sizeof maths / sizeof maths[0]; i++) {
        if (strcmp(value, maths[i].name) != 0) continue;
        a->bench->math = (int)maths[i].math;
        return 0;
    }
    return refuse(state, "bad value for --math", value);
}

static bool is(const char *word, const char *name)
{
    return word != NULL && strcmp(word, name) == 0;
}

static error_t parse_word(arguments *a, struct argp_state *state, char *value)
{
    if (is(a->what, "accuracy") && strcmp(value, "sgemm") == 0) {
        a->what = "accuracy sgemm";
        return 0;
    }
    if (a->what != NULL) return refuse(state, "unexpected argument", value);
    if (!is(value, "introduction") && !is(value, "accuracy") && !is(value, "shapes") &&
        !is(value, "mixed") && duo_tool_operation(value) == DUO_OPERATIONS)
        return refuse(state, "no such operation", value);
    a->what = value;
    return 0;
}

static error_t parse_end(const arguments *a, struct argp_state *state)
{
    const bool introduction = is(a->what, "introduction"), shapes = is(a->what, "shapes");
    const bool accuracy = is(a->what, "accuracy"), products = is(a->what, "accuracy sgemm");
    const bool mixed = is(a->what, "mixed");
    const bool operation =
        !a->overhead && !introduction && !shapes && !accuracy && !products && !mixed;
    const bool matrix = is(a->what, "sgemm") || products;
    if (a->bench->plot != NULL && !operation)
        return refuse(state, "--plot is for an operation, not",
                      a->overhead ? "--overhead" : a->what);
    if (a->overhead) return a->what == NULL ? 0 : refuse(state, "--overhead stands alone", a->what);
    if (a->what == NULL)
        return refuse(state, "an operation is missing",
                      "sgemm, sasum, ssum, sdot, introduction, accuracy, shapes, mixed");
    if (introduction && a->sizes + a->shapes > 0)
        return refuse(state, "its sizes are fixed", a->what);
    if (mixed && (a->sizes > 1 || a->shapes > 1))
        return refuse(state, "one length of the reductions and one shape of sgemm are for",
                      a->what);
    if (!mixed && (a->bench->neighbours > 0 || a->bench->beside != NULL))
        return refuse(state, "--busy and --beside are for mixed, not", a->what);
    if (a->shapes > 0 && !matrix && !shapes && !mixed)
        return refuse(state, "--shape is for sgemm, not", a->what);
    if (a->bench->algorithms && !shapes)
        return refuse(state, "--algorithms is for shapes, not", a->what);
    if (a->transpose && !matrix && !shapes)
        return refuse(state, "--transpose is for sgemm, not", a->what);
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *const a = state->input;
    int64_t number;
    switch (key) {
    case 'n':
        return parse_sizes(a, state, value);
    case 's':
        if (a->shapes == MOST_PROBLEMS || !duo_tool_shape(value, a->shape[a->shapes]))
            return refuse(state, "bad value for --shape", value);
        a->shapes++;
        return 0;
    case 'q':
        a->bench->quick = true;
        return 0;
    case OPTION_CSV:
        a->bench->csv = true;
        return 0;
    case OPTION_WAIT:
        a->bench->wait = true;
        return 0;
    case OPTION_READS:
        a->bench->reads = true;
        return 0;
    case OPTION_ALGORITHMS:
        a->bench->algorithms = true;
        return 0;
    case OPTION_SIDE:
        if (strcmp(value, "cpu") != 0 && strcmp(value, "gpu") != 0)
            return refuse(state, "bad value for --side", value);
        a->bench->sides[DUO_SIDE_CPU] = strcmp(value, "cpu") == 0;
        a->bench->sides[DUO_SIDE_GPU] = !a->bench->sides[DUO_SIDE_CPU];
        return 0;
    case OPTION_OFFSET:
        if (!duo_tool_number(value, 0, DUO_OFFSETS - 1, &a->bench->offset_floats))
            return refuse(state, "bad value for --offset", value);
        return 0;
    case OPTION_PLOT:
        a->bench->plot = value;
        return 0;
    case OPTION_MATH:
        return parse_math(a, state, value);
    case OPTION_TRANSPOSE:
        if (!duo_tool_transposes(value, &a->transa, &a->transb))
            return refuse(state, "bad value for --transpose", value);
        a->transpose = true;
        a->bench->layout = 2 * a->transa + a->transb;
        return 0;
    case OPTION_PREPARED:
        a->bench->prepared = strcmp(value, "a") == 0     ? 1
                             : strcmp(value, "b") == 0   ? 2
                             : strcmp(value, "a,b") == 0 ? 3
                                                         : 0;
        return a->bench->prepared != 0 ? 0 : refuse(state, "bad value for --prepared", value);
    case OPTION_COLD:
        a->bench->cold = true;
        return 0;
    case OPTION_THREADS:
        if (!duo_tool_number(value, 1, 1 << 16, &number))
            return refuse(state, "bad value for --threads", value);
        a->bench->threads = (int)number;
        return 0;
    case OPTION_BUSY:
        if (!duo_tool_number(value, 0, 4096, &number))
            return refuse(state, "bad value for --busy", value);
        a->bench->neighbours = (int)number;
        return 0;
    case OPTION_BESIDE:
        a->bench->beside = value;
        return 0;
    case OPTION_SEED:
        if (!duo_tool_number(value, 0, INT64_MAX, &number))
            return refuse(state, "bad value for --seed", value);
        a->bench->seed = (uint64_t)number;
        return 0;
    case OPTION_OVERHEAD:
        a->overhead = true;
        return 0;
    case ARGP_KEY_ARG:
        return parse_word(a, state, value);
    case ARGP_KEY_END:
        return parse_end(a, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options, parse,         "OPERATION\nintroduction\naccuracy [sgemm]\nshapes\nmixed\n--overhead",
    doc,     duo_tool_help, NULL,
    NULL};

/* ---- Command ---- */

/* Those that were asked for. */
static int make_problems(const arguments *a, duo_operation operation, duo_problem *problem)
{
    const bool matrix = operation == DUO_SGEMM;
    int count = 0;
    for (int i = 0; i < a->sizes; i++) {
        const int64_t n = a->size[i], edge = matrix ? n : 1;
        problem[count++] = (duo_problem){.operation = operation, .shape = {n, edge, edge}};
    }
    for (int i = 0; i < a->shapes && count < MOST_PROBLEMS; i++)
        problem[count++] = (duo_problem){.operation = operation,
                                         .shape = {a->shape[i][0], a->shape[i][1], a->shape[i][2]}};
    for (int i = 0; i < count; i++) {
        problem[i].transa = a->transa;
        problem[i].transb = a->transb;
    }
    return count;
}

static int run_ladder(arguments *a, duo_problem *problem)
{
    static const int64_t edges[] = {256, 1000, 2048}, lengths[] = {1 << 12, 1 << 20, 1 << 24};
    const duo_operation operation = duo_tool_operation(a->what);
    if (a->sizes + a->shapes == 0) {
        a->sizes = 3;
        memcpy(a->size, operation == DUO_SGEMM ? edges : lengths, sizeof edges);
    }
    const int problems = make_problems(a, operation, problem);
    return duo_bench_ladder(a->bench, problem, problems);
}

static int run_mixed(const arguments *a)
{
    static const int64_t product[3] = {384, 384, 384}, length = 1 << 20;
    return duo_bench_mixed(a->bench, a->shapes > 0 ? a->shape[0] : product,
                           a->sizes > 0 ? a->size[0] : length);
}

static int run(arguments *a)
{
    duo_bench *const b = a->bench;
    duo_problem problem[MOST_PROBLEMS];
    if (a->overhead) return duo_bench_overhead();
    if (is(a->what, "introduction")) return duo_bench_introduction(b);
    if (is(a->what, "accuracy")) return duo_bench_accuracy(b, a->size, a->sizes);
    if (is(a->what, "accuracy sgemm"))
        return duo_bench_accuracy_sgemm(b, problem, make_problems(a, DUO_SGEMM, problem));
    if (is(a->what, "shapes"))
        return duo_bench_shapes(b, problem, make_problems(a, DUO_SGEMM, problem));
    if (is(a->what, "mixed")) return run_mixed(a);
    return run_ladder(a, problem);
}

int duo_tool_bench(int argc, char **argv)
{
    duo_bench bench = {.seed = 1, .math = -1, .layout = -1, .why = "", .sides = {true, true}};
    arguments a = {.bench = &bench};
    const int status = duo_tool_parse(&argp, argc, argv, &a);
    if (status != 0) return status;
    const char *const problem_of_plot = bench.plot != NULL ? duo_picture_problem(bench.plot) : NULL;
    if (problem_of_plot != NULL)
        fprintf(stderr, "duoblas: cannot draw %s: %s\n", bench.plot, problem_of_plot);
    if (problem_of_plot != NULL || (bench.plot != NULL && !duo_output_possible(bench.plot)))
        return DUO_EXIT_FAILURE;
    return run(&a);
}
