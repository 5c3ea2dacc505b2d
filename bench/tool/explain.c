/*
 * explain.c - who would serve a call, and what everybody would take, without running it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/stock.h"
#include "bench/tool/tool.h"
#include "choice/profile_in_use.h"
#include "choice/select.h"
#include "gpu/backend/backend.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"

static const char doc[] =
    "Predicts every candidate of one call from the profile in use, and names the one that would "
    "run. Nothing is computed. Operands are in plain host memory unless an option says otherwise."
    "\vOPERANDS is a list: a, b, c of sgemm; x, y, result of the reductions; or all.\n\n"
    "  duoblas explain sgemm 4096 4096 4096 --resident a,b\n"
    "  duoblas explain sdot 1000000 --resident x";

enum {
    OPTION_RESIDENT = 256,
    OPTION_PINNED,
    OPTION_KEPT,
    OPTION_PREPARED,
    OPTION_PATH,
    OPTION_TRANSPOSE,
    OPTION_THREADS
};

static const struct argp_option options[] = {
    {"resident", OPTION_RESIDENT, "OPERANDS", 0, "These are on the GPU (duo_malloc, duo_adopt)", 0},
    {"pinned", OPTION_PINNED, "OPERANDS", 0, "These are in pinned host memory", 0},
    {"kept", OPTION_KEPT, "OPERANDS", 0, "These are kept host arrays, current on the GPU", 0},
    {"prepared", OPTION_PREPARED, "OPERANDS", 0,
     "These were given to duo_prepare, and are split already; a, b, kept or resident", 0},
    {"path", OPTION_PATH, "auto|cpu|gpu", 0, "Which side may serve", 0},
    {"transpose", OPTION_TRANSPOSE, "nn|nt|tn|tt", 0, "A and B of sgemm, t for transposed", 0},
    {"threads", OPTION_THREADS, "N", 0, "Most CPU threads", 0},
    {0},
};

typedef struct arguments {
    duo_problem problem;
    int words;                                       /* operation and sizes so far */
    const char *resident, *pinned, *kept, *prepared; /* checked when the operation is known */
    const char *transpose;                           /* NULL: not given */
    duo_path path;
    int threads;
} arguments;

static const char *const paths[] = {"auto", "cpu", "gpu"};

static error_t refuse(struct argp_state *state, const char *what, const char *value)
{
    argp_error(state, "%s: %s", what, value);
    return EINVAL;
}

static error_t parse_path(arguments *a, struct argp_state *state, const char *value)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(value, paths[i]) == 0) {
            a->path = (duo_path)i;
            return 0;
        }
    return refuse(state, "no such path", value);
}

static error_t parse_word(arguments *a, struct argp_state *state, const char *value)
{
    if (a->words == 0) {
        a->problem.operation = duo_tool_operation(value);
        if (a->problem.operation == DUO_OPERATIONS)
            return refuse(state, "no such operation", value);
    } else {
        const int sizes = a->problem.operation == DUO_SGEMM ? 3 : 1;
        if (a->words > sizes) return refuse(state, "one size too many", value);
        if (!duo_tool_number(value, 1, INT64_C(1) << 40, &a->problem.shape[a->words - 1]))
            return refuse(state, "not a size", value);
    }
    a->words++;
    return 0;
}

static error_t parse_end(const arguments *a, struct argp_state *state)
{
    if (a->words == 0)
        return refuse(state, "an operation is missing", "sgemm, sasum, ssum or sdot");
    if (a->words < (a->problem.operation == DUO_SGEMM ? 4 : 2))
        return refuse(state, "sizes are missing",
                      a->problem.operation == DUO_SGEMM ? "m n k" : "n");
    if (a->transpose != NULL && a->problem.operation != DUO_SGEMM)
        return refuse(state, "--transpose is for", "sgemm");
    if (a->prepared != NULL && a->problem.operation != DUO_SGEMM)
        return refuse(state, "--prepared is for", "sgemm");
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *const a = state->input;
    int64_t number;
    switch (key) {
    case OPTION_RESIDENT:
        a->resident = value;
        return 0;
    case OPTION_PINNED:
        a->pinned = value;
        return 0;
    case OPTION_KEPT:
        a->kept = value;
        return 0;
    case OPTION_PREPARED:
        a->prepared = value;
        return 0;
    case OPTION_PATH:
        return parse_path(a, state, value);
    case OPTION_TRANSPOSE:
        if (!duo_tool_transposes(value, &a->problem.transa, &a->problem.transb))
            return refuse(state, "bad value for --transpose", value);
        a->transpose = value;
        return 0;
    case OPTION_THREADS:
        if (!duo_tool_number(value, 1, 1 << 16, &number))
            return refuse(state, "bad value for --threads", value);
        a->threads = (int)number;
        return 0;
    case ARGP_KEY_ARG:
        return parse_word(a, state, value);
    case ARGP_KEY_END:
        return parse_end(a, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {options, parse, "OPERATION SIZE...", doc, duo_tool_help,
                                 NULL,    NULL};

/* ---- The call ---- */

static const char *const operand_names[2][DUO_OPERANDS] = {{"a", "b", "c"}, {"x", "y", "result"}};

/* What is done to an operand, or why it cannot be: NULL if it was. */
typedef const char *(*treatment)(duo_operand *o);

static const char *put(duo_operand *o, duo_residence residence)
{
    if (o->residence != DUO_AT_PAGEABLE && o->residence != residence)
        return "an operand cannot be in two places";
    o->residence = residence;
    o->on_device = residence == DUO_AT_DEVICE || residence == DUO_AT_KEPT;
    o->on_host = residence != DUO_AT_DEVICE;
    return NULL;
}

static const char *pin(duo_operand *o) { return put(o, DUO_AT_PINNED); }
static const char *keep(duo_operand *o) { return put(o, DUO_AT_KEPT); }
static const char *reside(duo_operand *o) { return put(o, DUO_AT_DEVICE); }

static const char *prepare(duo_operand *o)
{
    if (o->written) return "the output cannot be prepared";
    if (!o->on_device) return "what is prepared is kept or resident";
    o->prepared = true;
    return NULL;
}

/* Does it to the operands of a list. NULL, or what is wrong. */
static const char *to_each(duo_call *call, const char *list, treatment it)
{
    const char *const *const names = operand_names[call->operation != DUO_SGEMM];
    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ",");
        bool known = false;
        for (int i = 0; i < DUO_OPERANDS; i++) {
            duo_operand *const o = &call->operand[i];
            const bool named = strlen(names[i]) == length && strncmp(list, names[i], length) == 0;
            const bool all = length == 3 && strncmp(list, "all", 3) == 0;
            if ((!named && !all) || !(o->read || o->written)) continue;
            const char *const wrong = it(o);
            if (wrong != NULL) return wrong;
            known = true;
        }
        if (!known) return "no such operand";
        list += length + (list[length] == ',');
    }
    return NULL;
}

/* Puts the operands where the options say. NULL, or what is wrong. */
static const char *place_operands(duo_call *call, const arguments *a)
{
    const struct {
        const char *list;
        treatment it;
    } options_of[] = {
        {a->pinned, pin}, {a->kept, keep}, {a->resident, reside}, {a->prepared, prepare}};
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof options_of / sizeof options_of[0] && wrong == NULL; i++)
        wrong = to_each(call, options_of[i].list, options_of[i].it);
    return wrong;
}

/* ---- The answer ---- */

static void print_operands(const duo_call *call)
{
    static const char *const where[] = {
        [DUO_AT_UNUSED] = "not used",         [DUO_AT_PAGEABLE] = "host, pageable",
        [DUO_AT_PINNED] = "host, pinned",     [DUO_AT_KEPT] = "host, kept, current on the GPU",
        [DUO_AT_STALE] = "host, kept, stale", [DUO_AT_DEVICE] = "GPU",
    };
    const char *const *const names = operand_names[call->operation != DUO_SGEMM];
    for (int i = 0; i < DUO_OPERANDS; i++) {
        char size[DUO_TEXT];
        const duo_operand *const o = &call->operand[i];
        if (!o->read && !o->written) continue;
        printf("  %-7s %10s   %s%s\n", names[i], duo_text_bytes(duo_operand_bytes(o), size),
               where[o->residence],
               o->written    ? " (written)"
               : o->prepared ? " (prepared)"
                             : "");
    }
}

static void print_candidates(const duo_call *call, const duo_conditions *conditions,
                             const duo_choice *choice, int count, int best)
{
    printf("\n  %-20s %-4s %7s %10s   %10s   %10s\n", "candidate", "side", "threads", "transfers",
           "work", "total");
    for (int i = 0; i < count; i++) {
        char transfers[DUO_TEXT], work[DUO_TEXT], total[DUO_TEXT], threads[16] = "-";
        const duo_algorithm *const algorithm = choice[i].algorithm;
        const bool cpu = algorithm->side == DUO_SIDE_CPU;
        const double moved = duo_transfer_seconds(call, algorithm->side, conditions->profile);
        if (cpu) snprintf(threads, sizeof threads, "%d", choice[i].threads);
        printf("  %-20s %-4s %7s  %s    %s    %s  %s\n", algorithm->name, cpu ? "cpu" : "gpu",
               threads, duo_text_seconds(moved, transfers),
               duo_text_seconds(choice[i].seconds - moved, work),
               duo_text_seconds(choice[i].seconds, total),
               !choice[i].accepts ? "cannot do this call"
               : i == best        ? "<- would run"
                                  : "");
    }
}

/* One sentence: the winner against the best of the other side. */
static void print_reason(const duo_call *call, const duo_conditions *conditions,
                         const duo_choice *choice, int count, int best)
{
    const duo_side side = choice[best].algorithm->side;
    int other = -1;
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side != side && choice[i].accepts &&
            (other < 0 || choice[i].seconds < choice[other].seconds))
            other = i;
    const char *const name = side == DUO_SIDE_CPU ? "CPU" : "GPU";
    if (conditions->path != DUO_PATH_AUTO) {
        printf("\nThe %s serves because the path is %s.\n", name, paths[conditions->path]);
        return;
    }
    if (other < 0 || isinf(choice[other].seconds)) {
        printf("\nThe %s serves: the other side has no candidate.\n", name);
        return;
    }
    const double gpu_moves = duo_transfer_seconds(call, DUO_SIDE_GPU, conditions->profile);
    printf("\nThe %s wins by a factor of %.3g.", name,
           choice[other].seconds / choice[best].seconds);
    if (side == DUO_SIDE_CPU && choice[other].seconds - gpu_moves < choice[best].seconds)
        printf(" With its operands resident the GPU would win: the transfers decide.");
    printf("\n");
}

int duo_tool_explain(int argc, char **argv)
{
    arguments a = {.problem.shape = {1, 1, 1}, .path = duo_environment_get()->path};
    int status = duo_tool_parse(&argp, argc, argv, &a);
    if (status != 0) return status;
    const duo_stock nowhere = {.place = DUO_PLACE_PAGEABLE};
    duo_call call = duo_problem_call(&a.problem, &nowhere, 0);
    const char *const wrong = place_operands(&call, &a);
    if (wrong != NULL) {
        fprintf(stderr, "%s: %s: %s\n", argv[0], duo_operation_name(call.operation), wrong);
        argp_help(&argp, stderr, ARGP_HELP_SHORT_USAGE, argv[0]);
        return DUO_EXIT_USAGE;
    }

    const char *why;
    duo_device_info info = {.size = sizeof info};
    const bool gpu = duo_devices(&why) > 0 &&
                     duo_device_describe(duo_environment_get()->device, &info) == DUO_OK;
    if (gpu) duo_profile_check_gpu(info.name);
    const duo_profile *const profile = duo_profile_in_use();
    const duo_conditions conditions = {
        .profile = profile,
        .path = a.path,
        .math = duo_environment_get()->math,
        .threads = a.threads > 0 ? a.threads : duo_machine_threads(),
        .gpu = a.path != DUO_PATH_CPU,
        .capability = 10 * info.capability_major + info.capability_minor,
        .device_memory_bytes = gpu ? (double)info.memory_bytes : (double)INFINITY};
    duo_choice choice[DUO_CANDIDATES];
    const int count = duo_predict(&call, &conditions, choice);
    const int best = duo_select(choice, count, &conditions);

    char shape[DUO_TEXT];
    printf("%s %s%s%s, up to %d CPU thread%s\n", duo_operation_name(call.operation),
           duo_text_shape(call.operation, a.problem.shape, shape), a.transpose ? " " : "",
           a.transpose ? a.transpose : "", conditions.threads, conditions.threads == 1 ? "" : "s");
    print_operands(&call);
    print_candidates(&call, &conditions, choice, count, best);
    if (best >= 0)
        print_reason(&call, &conditions, choice, count, best);
    else
        printf("\nNothing does %s in the math of DUOBLAS_MATH.\n",
               duo_operation_name(call.operation));
    if (!gpu)
        printf("There is no GPU here (%s): its times are predicted for an\n%s, and the CPU would "
               "do the work.\n",
               why, profile->gpu);
    printf("Profile: %s (%s).\n", profile->origin, duo_profile_why());
    return EXIT_SUCCESS;
}
