/* arguments.c - see arguments.h */
#include "bench/experiments/arguments.h"

#include <string.h>

#include "bench/experiments/experiment_list.h"
#include "bench/tool/options.h"
#include "bench/tool/output.h"
#include "choice/profile_in_use.h"

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
    "  duoblas bench shapes --random 400 --seed 7   random products in all layouts\n"
    "  duoblas bench mixed            sgemm, sasum and sdot by turns on the CPU, call by call\n"
    "  duoblas bench mixed --busy 8   the same beside 8 busy processes\n"
    "  duoblas bench adapt --profile h100   random calls with and without learning, by the "
    "profile of another machine\n"
    "  duoblas bench host             products of host arrays: rates of the machine, the bound "
    "that "
    "follows from them, copies + cuBLAS, cuBLASXt\n"
    "  duoblas bench host -n 2^9..2^15 --memory pinned --devices 2\n"
    "  duoblas bench host -n 16384 --memory pinned --timeline STEPS.csv --plot STEPS.svg\n"
    "  duoblas bench large -s 60000x60000x2000   one product, checked: for DUOBLAS_DEVICE_MEMORY, "
    "and arrays beyond the device's memory\n"
    "  duoblas bench timeline STEPS.csv --plot FILE   draws lines of "
    "device,lane,step,begin_ms,end_ms; lanes are up, multiply, down and host\n"
    "  duoblas bench --overhead       what dispatch adds to a tiny call";

enum {
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
    OPTION_PROFILE,
    OPTION_BESIDE,
    OPTION_MEMORY,
    OPTION_DEVICES,
    OPTION_ROUNDS,
    OPTION_MAX_SECONDS,
    OPTION_TIMELINE,
    OPTION_RANDOM
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
     "mixed: then again beside so many busy processes; as many as processors: one for each; adapt: "
     "beside so many",
     0},
    {"profile", OPTION_PROFILE, "h100|h200|generic", 0,
     "adapt: this built-in profile (default: the one in use)", 0},
    {"beside", OPTION_BESIDE, "LIBRARY", 0,
     "mixed: this BLAS does a product before each call, as a program does that has its own", 0},
    {"memory", OPTION_MEMORY, "pinned|pageable", 0,
     "host: operands in this kind of memory alone; large: in this one (default pageable)", 0},
    {"devices", OPTION_DEVICES, "N", 0,
     "host: rates, cuBLASXt, the bound and duo_sgemm on the first N devices (default 1)", 0},
    {"rounds", OPTION_ROUNDS, "N", 0,
     "host: samples of each (default 9; quick: 5, or 3 from 16384 on), fewer of what is slow; "
     "large: calls (default 2)",
     0},
    {"max-seconds", OPTION_MAX_SECONDS, "SECONDS", 0,
     "host: about how long it may take (default 120); slow peers get fewer rounds, or none", 0},
    {"timeline", OPTION_TIMELINE, "FILE", 0,
     "host: write when the steps of duo_sgemm's last product ran, as CSV; --plot draws them", 0},
    {"plot", OPTION_PLOT, "FILE", 0,
     "Draw GB/s (sgemm: GFLOP/s) against size, or a timeline: .svg or .png, by gnuplot", 0},
    {"threads", OPTION_THREADS, "N", 0, "CPU threads", 0},
    {"seed", OPTION_SEED, "N", 0, "Seed of the random data (default 1)", 0},
    {"random", OPTION_RANDOM, "N", 0,
     "shapes: N random products, with gaps between columns and a beta, drawn by --seed; the worst "
     "ten are named",
     0},
    {"overhead", OPTION_OVERHEAD, NULL, 0, "Nanoseconds of tiny reductions, beside OpenBLAS", 0},
    {0},
};

/* ---- Parsing ---- */

static error_t parse_sizes(duo_bench_arguments *a, struct argp_state *state, const char *list)
{
    for (const char *from = list;;) {
        int64_t low, high;
        char word[48];
        const size_t length = strcspn(from, ",");
        if (length >= sizeof word) return duo_tool_bad_value(state, "--size", list);
        memcpy(word, from, length);
        word[length] = '\0';
        if (!duo_tool_range(word, &low, &high)) return duo_tool_bad_value(state, "--size", list);
        for (int64_t size = low; size <= high; size *= 2) {
            if (a->sizes == DUO_MOST_PROBLEMS)
                return duo_tool_refuse(state, "too many sizes", list);
            a->size[a->sizes++] = size;
        }
        if (from[length] == '\0') return 0;
        from += length + 1;
    }
}

static error_t parse_shape(duo_bench_arguments *a, struct argp_state *state, const char *value)
{
    if (a->shapes == DUO_MOST_PROBLEMS || !duo_tool_shape(value, a->shape[a->shapes]))
        return duo_tool_bad_value(state, "--shape", value);
    a->shapes++;
    return 0;
}

static error_t parse_side(duo_bench *b, struct argp_state *state, const char *value)
{
    const bool cpu = strcmp(value, "cpu") == 0;
    if (!cpu && strcmp(value, "gpu") != 0) return duo_tool_bad_value(state, "--side", value);
    b->sides[DUO_SIDE_CPU] = cpu;
    b->sides[DUO_SIDE_GPU] = !cpu;
    return 0;
}

static error_t parse_math(duo_bench *b, struct argp_state *state, const char *value)
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
        b->math = (int)maths[i].math;
        return 0;
    }
    return duo_tool_bad_value(state, "--math", value);
}

static error_t parse_transpose(duo_bench_arguments *a, struct argp_state *state, const char *value)
{
    if (!duo_tool_transposes(value, &a->transa, &a->transb))
        return duo_tool_bad_value(state, "--transpose", value);
    a->transpose = true;
    a->bench->layout = 2 * a->transa + a->transb;
    return 0;
}

static error_t parse_prepared(duo_bench *b, struct argp_state *state, const char *value)
{
    b->prepared = strcmp(value, "a") == 0     ? 1
                  : strcmp(value, "b") == 0   ? 2
                  : strcmp(value, "a,b") == 0 ? 3
                                              : 0;
    return b->prepared != 0 ? 0 : duo_tool_bad_value(state, "--prepared", value);
}

static error_t parse_memory(duo_bench *b, struct argp_state *state, const char *value)
{
    for (int place = DUO_PLACE_PAGEABLE; place <= DUO_PLACE_PINNED; place++)
        if (strcmp(value, duo_place_names[place]) == 0) b->memory = place;
    return b->memory >= 0 ? 0 : duo_tool_bad_value(state, "--memory", value);
}

static error_t parse_word(duo_bench_arguments *a, struct argp_state *state, const char *value)
{
    if (a->what != NULL && a->what->kind == DUO_TIMELINE && a->file == NULL) {
        a->file = value;
        return 0;
    }
    if (a->what != NULL && a->what->kind == DUO_ACCURACY && strcmp(value, "sgemm") == 0) {
        a->what = &duo_experiment_accuracy_sgemm;
        return 0;
    }
    if (a->what != NULL) return duo_tool_refuse(state, "unexpected argument", value);
    a->what = duo_experiment_of(value);
    return a->what != NULL ? 0 : duo_tool_refuse(state, "no such operation", value);
}

static error_t parse_end(duo_bench_arguments *a, struct argp_state *state)
{
    const duo_experiment *const named = a->what;
    if (a->overhead) a->what = &duo_experiment_overhead;
    if (a->bench->plot != NULL && a->what != NULL && !a->what->plot)
        return duo_tool_refuse(state, "--plot is for an operation, not", a->what->name);
    if (a->overhead)
        return named == NULL ? 0 : duo_tool_refuse(state, "--overhead stands alone", named->name);
    if (a->what == NULL)
        return duo_tool_refuse(state, "an operation is missing",
                               "sgemm, sasum, ssum, sdot, introduction, accuracy, shapes, mixed, "
                               "adapt, host, large, timeline");
    return duo_experiment_check(a, state);
}

/* What an option without a value sets; NULL: it has one. */
static bool *flag_of(duo_bench_arguments *a, int key)
{
    switch (key) {
    case 'q':
        return &a->bench->quick;
    case OPTION_CSV:
        return &a->bench->csv;
    case OPTION_WAIT:
        return &a->bench->wait;
    case OPTION_READS:
        return &a->bench->reads;
    case OPTION_ALGORITHMS:
        return &a->bench->algorithms;
    case OPTION_COLD:
        return &a->bench->cold;
    case OPTION_OVERHEAD:
        return &a->overhead;
    default:
        return NULL;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    duo_bench_arguments *const a = state->input;
    duo_bench *const b = a->bench;
    bool *const flag = flag_of(a, key);
    int64_t number = 0;
    error_t refused = 0;
    if (flag != NULL) *flag = true;
    if (flag != NULL) return 0;
    switch (key) {
    case 'n':
        return parse_sizes(a, state, value);
    case 's':
        return parse_shape(a, state, value);
    case OPTION_SIDE:
        return parse_side(b, state, value);
    case OPTION_MATH:
        return parse_math(b, state, value);
    case OPTION_TRANSPOSE:
        return parse_transpose(a, state, value);
    case OPTION_PREPARED:
        return parse_prepared(b, state, value);
    case OPTION_OFFSET:
        return duo_tool_number_option(state, "--offset", value, 0, DUO_OFFSETS - 1,
                                      &b->offset_floats);
    case OPTION_THREADS:
        return duo_tool_threads_option(state, value, &b->threads);
    case OPTION_BUSY:
        refused = duo_tool_number_option(state, "--busy", value, 0, 4096, &number);
        b->neighbours = (int)number;
        return refused;
    case OPTION_PROFILE:
        b->profile = value;
        return duo_profile_built_in(value) != NULL ? 0
                                                   : duo_tool_bad_value(state, "--profile", value);
    case OPTION_MEMORY:
        return parse_memory(b, state, value);
    case OPTION_DEVICES:
        refused = duo_tool_number_option(state, "--devices", value, 1, DUO_MOST_DEVICES, &number);
        b->devices = (int)number;
        return refused;
    case OPTION_ROUNDS:
        refused = duo_tool_number_option(state, "--rounds", value, 1, 64, &number);
        b->rounds = (int)number;
        return refused;
    case OPTION_MAX_SECONDS:
        refused = duo_tool_number_option(state, "--max-seconds", value, 1, 86400, &number);
        b->max_seconds = (double)number;
        return refused;
    case OPTION_SEED:
        refused = duo_tool_number_option(state, "--seed", value, 0, INT64_MAX, &number);
        b->seed = (uint64_t)number;
        return refused;
    case OPTION_RANDOM:
        refused = duo_tool_number_option(state, "--random", value, 1, 100000, &number);
        b->random = (int)number;
        return refused;
    case OPTION_TIMELINE:
        b->timeline = value;
        return 0;
    case OPTION_PLOT:
        b->plot = value;
        return 0;
    case OPTION_BESIDE:
        b->beside = value;
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
    options,
    parse,
    "OPERATION\nintroduction\naccuracy [sgemm]\nshapes\nmixed\nhost\nlarge\n"
    "timeline STEPS.csv\n--overhead",
    doc,
    duo_tool_help,
    NULL,
    NULL};

int duo_bench_parse(int argc, char **argv, duo_bench_arguments *arguments)
{
    return duo_tool_parse(&argp, argc, argv, arguments);
}
