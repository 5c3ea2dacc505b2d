/*
 * explain.c - predicts, without running a call, which algorithm would do it, and the time of every
 * candidate.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tool/explain.h"
#include "bench/measure/stock.h"
#include "bench/tool/arguments.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile_in_use.h"
#include "choice/select.h"
#include "cpu/blas_library.h"
#include "gpu/backend/backend.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"

static const char doc[] =
    "Predicts every candidate of one call from the profile in use, and names the one that would "
    "run. Nothing is computed. Operands are in plain memory unless an option says otherwise. "
    "Of a product that the GPU would do with plain or pinned operands, the plan, too: the parts in "
    "which they are sent, multiplied and fetched."
    "\vSizes are whole numbers, as in 1000, 2^20 or 1e6. OPERANDS is a list: a, b, c of sgemm; x, "
    "y, result of the reductions; or all. An operand is in one place.\n\n"
    "Examples:\n"
    "  $ duoblas explain sgemm 4096 4096 4096 --resident a,b\n"
    "  $ duoblas explain sgemm 1e5 1e5 2e4 --pinned a,b --memory 40G\n"
    "  $ duoblas explain sdot 2^20 --resident x";

/* ---- Operands ---- */

enum { RESIDENT, PINNED, KEPT, PREPARED };

/* Changes an operand. Returns NULL, or the reason of a failure. */
typedef const char *(*treatment)(duo_operand *o);

static const char *put(duo_operand *o, duo_residence residence)
{
    if (o->residence != DUO_AT_PAGEABLE && o->residence != residence)
        return "it cannot be in two places";
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
    if (!o->on_device) return "what is prepared is kept or on the GPU";
    o->prepared = true;
    return NULL;
}

/* ---- Arguments ---- */

enum { MOST_LISTS = 16 };

typedef struct arguments {
    duo_problem problem;
    int words; /* operation and sizes given so far */
    int lists;
    const char *list[MOST_LISTS]; /* operands; treatment[i] is for list[i] */
    treatment treatment[MOST_LISTS];
    int layout; /* 2 * transa + transb; -1: not given */
    int path;   /* duo_path */
    int threads, devices;
    double memory; /* bytes; infinite: not given */
    bool csv;
} arguments;

/* Stores a list of operands; they are looked up once the operation is known. */
static error_t parse_operands(const duo_option *option, struct argp_state *state, const char *list)
{
    static const treatment treatments[] = {
        [RESIDENT] = reside, [PINNED] = pin, [KEPT] = keep, [PREPARED] = prepare};
    arguments *const a = duo_option_target(option, state);
    if (a->lists == MOST_LISTS) return duo_tool_refuse(state, "too many lists of operands", list);
    a->list[a->lists] = list;
    a->treatment[a->lists++] = treatments[option->least];
    return 0;
}

static error_t parse_bytes(const duo_option *option, struct argp_state *state, const char *value)
{
    double *const bytes = duo_option_target(option, state);
    return duo_tool_bytes(value, bytes) ? 0 : duo_tool_bad_value(option, state, value);
}

#define AT(field) offsetof(arguments, field)
static const duo_option options[] = {
    {"resident", 0, "OPERANDS", 0, parse_operands, 0, RESIDENT, 0,
     "These are on the GPU (duo_malloc, duo_adopt)"},
    {"pinned", 0, "OPERANDS", 0, parse_operands, 0, PINNED, 0, "These are in pinned memory"},
    {"kept", 0, "OPERANDS", 0, parse_operands, 0, KEPT, 0,
     "These are kept, and current on the GPU"},
    {"prepared", 0, "OPERANDS", 0, parse_operands, 0, PREPARED, 0,
     "These were given to duo_prepare, and are split already; a, b, kept or on the GPU"},
    {"path", 0, "auto|cpu|gpu", 0, duo_parse_choice, AT(path), 0, 0, "Which side may serve"},
    {"transpose", 0, "nn|nt|tn|tt", 0, duo_parse_choice, AT(layout), 0, 0,
     "A and B of sgemm, t for transposed"},
    {"threads", 0, "N", 0, duo_parse_number, AT(threads), 1, 1 << 16, "Most CPU threads"},
    {"devices", 0, "N", 0, duo_parse_number, AT(devices), 1, DUO_PLAN_DEVICES,
     "GPUs, all alike and linked, of which a plan takes as many as pay (default 1)"},
    {"memory", 0, "BYTES[K|M|G]", 0, parse_bytes, AT(memory), 0, 0,
     "Free memory of each GPU (default: all that it has and DUOBLAS_DEVICE_MEMORY lets it use)"},
    {"csv", 0, NULL, 0, duo_parse_flag, AT(csv), 0, 0,
     "Instead of all that, the steps of the plan: device, lane, step, begin and end in ms"},
    {.name = NULL},
};

static error_t parse_word(void *into, struct argp_state *state, const char *value)
{
    arguments *const a = into;
    if (a->words == 0) {
        a->problem.operation = duo_tool_operation(value);
        if (a->problem.operation == DUO_OPERATIONS)
            return duo_tool_bad_word(state, "no such operation", value, DUO_TOOL_OPERATIONS);
    } else {
        const int sizes = a->problem.operation == DUO_SGEMM ? 3 : 1;
        if (a->words > sizes) return duo_tool_refuse(state, "one size too many", value);
        if (!duo_tool_size(value, &a->problem.shape[a->words - 1]))
            return duo_tool_bad_word(state, "not a size", value, "1000, 2^20, 1e6, up to 2^40");
    }
    a->words++;
    return 0;
}

static error_t parse_end(void *into, struct argp_state *state)
{
    const arguments *const a = into;
    if (a->words == 0)
        return duo_tool_refuse(state, "an operation is missing", DUO_TOOL_OPERATIONS);
    if (a->words < (a->problem.operation == DUO_SGEMM ? 4 : 2))
        return duo_tool_refuse(state, "sizes are missing",
                               a->problem.operation == DUO_SGEMM ? "m n k" : "n");
    if (a->layout >= 0 && a->problem.operation != DUO_SGEMM)
        return duo_tool_refuse(state, "--transpose is for", "sgemm");
    for (int i = 0; i < a->lists; i++)
        if (a->treatment[i] == prepare && a->problem.operation != DUO_SGEMM)
            return duo_tool_refuse(state, "--prepared is for", "sgemm");
    if (a->csv && a->problem.operation != DUO_SGEMM)
        return duo_tool_refuse(state, "--csv is for", "sgemm");
    return 0;
}

/* ---- The call ---- */

/* Treats the operand of this name, or all. Returns NULL, or the reason of a failure. */
static const char *treat(duo_call *call, const char *name, treatment it)
{
    const char *const *const names = duo_explain_operands(call->operation);
    const bool all = strcmp(name, "all") == 0;
    const char *wrong = call->operation == DUO_SGEMM  ? "there are a, b, c"
                        : call->operation == DUO_SDOT ? "there are x, y, result"
                                                      : "there are x, result";
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call->operand[i];
        if ((!all && strcmp(name, names[i]) != 0) || !(o->read || o->written)) continue;
        wrong = it(o);
        if (wrong != NULL) return wrong;
    }
    return wrong;
}

/* Treats a list of operands. False, after a message: it failed. */
static bool treat_all(duo_call *call, const char *list, treatment it)
{
    for (;;) {
        char name[16];
        const size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        const char *const wrong = treat(call, name, it);
        if (wrong != NULL) {
            fprintf(stderr, "duoblas explain: %s, operand %s: %s\n",
                    duo_operation_name(call->operation), name, wrong);
            return false;
        }
        if (list[length] == '\0') return true;
        list += length + 1;
    }
}

/* Puts the operands where the options say, then prepares them. */
static bool place_operands(duo_call *call, const arguments *a)
{
    bool good = true;
    for (int preparing = 0; preparing < 2; preparing++)
        for (int i = 0; i < a->lists && good; i++)
            if ((a->treatment[i] == prepare) == (preparing != 0))
                good = treat_all(call, a->list[i], a->treatment[i]);
    return good;
}

/* ---- Command ---- */

/* Bytes of each GPU that the library may use; infinite without a GPU. */
static double memory_of(const arguments *a, bool gpu, const duo_device_info *info)
{
    const double all = gpu ? (double)info->memory_bytes : (double)INFINITY;
    return fmin(a->memory, fmin(all, duo_environment_get()->device_memory_bytes));
}

/* The call's conditions here; without a GPU, the conditions of a machine with one; on the CPU's
 * path, without any. Several GPUs are alike, and reach each other's memory. */
static duo_conditions conditions_of(const arguments *a, bool gpu, const duo_device_info *info)
{
    duo_conditions conditions = {.profile = duo_profile_in_use(),
                                 .path = (duo_path)a->path,
                                 .math = duo_environment_get()->math,
                                 .threads = a->threads > 0 ? a->threads : duo_machine_threads(),
                                 .gpu = a->path != (int)DUO_PATH_CPU,
                                 .capability = 10 * info->capability_major + info->capability_minor,
                                 .device_memory_bytes = memory_of(a, gpu, info),
                                 .devices = a->devices,
                                 .linked = a->devices > 1};
    for (int i = 0; i < a->devices; i++) conditions.speed[i] = 1.0;
    return conditions;
}

/* Would a GPU algorithm with a plan run? Then *best is set to it. */
static bool is_streamed(const duo_call *call, const duo_conditions *conditions, duo_choice *best)
{
    duo_choice choice[DUO_CANDIDATES];
    if (!duo_streams(call)) return false;
    const int count = duo_predict(call, conditions, choice);
    const int index = duo_select(choice, count, conditions);
    if (index < 0 || choice[index].algorithm->side != DUO_SIDE_GPU) return false;
    *best = choice[index];
    return true;
}

/* Prints the plan, if there is one: its parts, or (CSV) its steps. */
static int explain_plan(const arguments *a, const duo_call *call, const duo_conditions *conditions)
{
    duo_choice best;
    duo_explained_plan explained;
    if (!is_streamed(call, conditions, &best)) {
        if (!a->csv) return EXIT_SUCCESS;
        fprintf(stderr,
                "duoblas: the call has no plan: the GPU does not do it with plain or pinned "
                "operands\n");
        return DUO_EXIT_FAILURE;
    }
    if (!duo_explain_plan_open(&explained, call, best.algorithm, conditions,
                               best.devices > 0 ? best.devices : 1,
                               conditions->device_memory_bytes))
        return DUO_EXIT_FAILURE;
    explained.table_seconds = best.seconds;
    if (a->csv)
        duo_steps_predicted(stdout, &explained.plan);
    else
        duo_explain_plan_print(&explained);
    duo_explain_plan_close(&explained);
    return EXIT_SUCCESS;
}

static void print_head(const arguments *a, int threads)
{
    char shape[DUO_TEXT];
    const duo_operation operation = a->problem.operation;
    printf("%s %s%s%s, up to %d CPU thread%s\n", duo_operation_name(operation),
           duo_text_shape(operation, a->problem.shape, shape), a->layout >= 0 ? " " : "",
           a->layout >= 0 ? duo_text_transposes(a->problem.transa, a->problem.transb) : "", threads,
           threads == 1 ? "" : "s");
}

static int explain(const arguments *a, const duo_call *call)
{
    const char *why;
    duo_device_info info = {.size = sizeof info};
    const bool gpu = duo_devices(&why) > 0 &&
                     duo_device_describe(duo_environment_get()->device, &info) == DUO_OK;
    if (gpu) duo_profile_check_gpu(info.name);
    /* One that the user names counts if it is there. */
    if (call->operation == DUO_SGEMM && duo_blas_library_asked()) (void)duo_blas_library_get();
    const duo_conditions conditions = conditions_of(a, gpu, &info);
    if (a->csv) return explain_plan(a, call, &conditions);
    print_head(a, conditions.threads);
    duo_explain_print(call, &conditions, gpu);
    const int status = explain_plan(a, call, &conditions);
    if (!gpu)
        printf("There is no GPU here (%s): its times are those predicted for an\n%s.\n", why,
               conditions.profile->gpu);
    printf("Profile: %s (%s).\n", conditions.profile->origin, duo_profile_why());
    duo_text_blas_warning("", stdout);
    return status;
}

int duo_tool_explain(int argc, char **argv)
{
    static const duo_stock nowhere = {.place = DUO_PLACE_PAGEABLE};
    arguments a = {.problem.shape = {1, 1, 1},
                   .layout = -1,
                   .path = (int)duo_environment_get()->path,
                   .devices = 1,
                   .memory = INFINITY};
    duo_arguments command = {.words = "OPERATION SIZE...",
                             .doc = doc,
                             .option = options,
                             .into = &a,
                             .word = parse_word,
                             .end = parse_end};
    const int status = duo_tool_parse(&command, argc, argv);
    if (status != 0) return status;
    a.problem.transa = a.layout >= 0 && a.layout / 2 != 0;
    a.problem.transb = a.layout >= 0 && a.layout % 2 != 0;
    duo_call call = duo_problem_call(&a.problem, &nowhere, 0);
    if (place_operands(&call, &a)) return explain(&a, &call);
    duo_tool_usage(&command, argv[0]);
    return DUO_EXIT_USAGE;
}
