/* arguments.c - see arguments.h */
#include "bench/experiments/arguments.h"

#include <string.h>

#include "bench/experiments/arguments_help.h"
#include "bench/experiments/experiment_list.h"
#include "bench/graphs/graphs.h"
#include "bench/tool/options.h"
#include "bench/tool/picture.h"
#include "choice/profile_built_in.h"

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
    return a->what != NULL
               ? 0
               : duo_tool_bad_word(state, "no such operation", value, duo_experiment_names);
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
        return duo_tool_refuse(state, "an operation is missing", duo_experiment_names);
    return duo_experiment_check(a, state);
}

/* What an option without a value sets; NULL: it has one. */
static bool *flag_of(duo_bench_arguments *a, int key)
{
    switch (key) {
    case 'q':
        return &a->bench->quick;
    case DUO_OPTION_CSV:
        return &a->bench->csv;
    case DUO_OPTION_WAIT:
        return &a->bench->wait;
    case DUO_OPTION_READS:
        return &a->bench->reads;
    case DUO_OPTION_ALGORITHMS:
        return &a->bench->algorithms;
    case DUO_OPTION_COLD:
        return &a->bench->cold;
    case DUO_OPTION_OVERHEAD:
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
    case DUO_OPTION_SIDE:
        return parse_side(b, state, value);
    case DUO_OPTION_MATH:
        return parse_math(b, state, value);
    case DUO_OPTION_TRANSPOSE:
        return parse_transpose(a, state, value);
    case DUO_OPTION_PREPARED:
        return parse_prepared(b, state, value);
    case DUO_OPTION_OFFSET:
        return duo_tool_number_option(state, "--offset", value, 0, DUO_OFFSETS - 1,
                                      &b->offset_floats);
    case DUO_OPTION_THREADS:
        return duo_tool_threads_option(state, value, &b->threads);
    case DUO_OPTION_BUSY:
        refused = duo_tool_number_option(state, "--busy", value, 0, 4096, &number);
        b->neighbours = (int)number;
        return refused;
    case DUO_OPTION_PROFILE:
        b->profile = value;
        return duo_profile_built_in(value) != NULL ? 0
                                                   : duo_tool_bad_value(state, "--profile", value);
    case DUO_OPTION_MEMORY:
        return parse_memory(b, state, value);
    case DUO_OPTION_DEVICES:
        refused = duo_tool_number_option(state, "--devices", value, 1, DUO_MOST_DEVICES, &number);
        b->devices = (int)number;
        return refused;
    case DUO_OPTION_ROUNDS:
        refused = duo_tool_number_option(state, "--rounds", value, 1, 64, &number);
        b->rounds = (int)number;
        return refused;
    case DUO_OPTION_MAX_SECONDS:
        refused = duo_tool_number_option(state, "--max-seconds", value, 1, 86400, &number);
        b->max_seconds = (double)number;
        return refused;
    case DUO_OPTION_SEED:
        refused = duo_tool_number_option(state, "--seed", value, 0, INT64_MAX, &number);
        b->seed = (uint64_t)number;
        return refused;
    case DUO_OPTION_RANDOM:
        refused = duo_tool_number_option(state, "--random", value, 1, 100000, &number);
        b->random = (int)number;
        return refused;
    case DUO_OPTION_TIMELINE:
        b->timeline = value;
        return 0;
    case DUO_OPTION_ONLY:
        b->parts = duo_graphs_parts_of(value);
        return b->parts != 0 ? 0 : duo_tool_bad_value(state, "--only", value);
    case DUO_OPTION_STALL_CHILD:
        b->stall_child = value;
        return 0;
    case DUO_OPTION_PLOT:
        b->plot = value;
        return duo_picture_named_well(value) ? 0 : duo_tool_bad_value(state, "--plot", value);
    case DUO_OPTION_BESIDE:
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
    duo_bench_options, parse, duo_bench_words, duo_bench_doc, duo_tool_help, NULL, NULL};

int duo_bench_parse(int argc, char **argv, duo_bench_arguments *arguments)
{
    return duo_tool_parse(&argp, argc, argv, arguments);
}
