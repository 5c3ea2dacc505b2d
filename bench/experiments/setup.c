/* setup.c - see setup.h */
#include "bench/experiments/setup.h"
#include "bench/measure/blas_rivals.h"

#include <math.h>
#include <stdio.h>

#include "bench/peers/cublas.h"
#include "bench/peers/gpu_kernels.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"

duo_effort duo_bench_effort(const duo_bench *bench)
{
    return bench->quick ? (duo_effort){.sample_seconds = 0.002, .rounds = 3, .budget_seconds = 0.5}
                        : (duo_effort){.sample_seconds = 0.02, .rounds = 15, .budget_seconds = 4.0};
}

/* Calls with more FLOP than this, about 0.1 s on a large GPU, get fewer rounds. */
static const double kLongFlops = 4e12;

duo_effort duo_bench_sustained_effort(const duo_bench *bench, const duo_problem *problem)
{
    if (bench->quick)
        return (duo_effort){
            .sample_seconds = 0.03, .warm_seconds = 0.03, .rounds = 2, .budget_seconds = 0.5};
    return (duo_effort){.sample_seconds = 0.15,
                        .warm_seconds = 0.1,
                        .rounds = duo_problem_flops(problem) > kLongFlops ? 2 : 5,
                        .budget_seconds = 2.0};
}

static bool open_gpu(duo_bench *b, size_t input, size_t output)
{
    const int device = duo_environment_get()->device;
    b->device = (duo_device_info){.size = sizeof b->device};
    if (duo_devices(&b->why) == 0) return false;
    b->why = "the GPU could not be opened, or has too little memory";
    if (duo_device_describe(device, &b->device) != DUO_OK ||
        duo_set_device(b->context, device) != DUO_OK ||
        duo_set_path(b->context, DUO_PATH_GPU) != DUO_OK || duo_warm_up(b->context) != DUO_OK ||
        duo_backend_current()->open(device, NULL, DUO_PRIORITY_NORMAL, &b->queue) != DUO_OK ||
        !duo_stock_open(&b->resident, b->context, DUO_PLACE_DEVICE, input, output, b->seed,
                        &b->host) ||
        duo_malloc_host(b->context, sizeof *b->pinned, (void **)&b->pinned) != DUO_OK)
        return false;
    b->gpu_peers = device == 0 && duo_read_gpu_variants() > 0; /* in this build */
    b->cublas_why = device == 0 ? duo_peer_cublas_open(b->queue, b->math == DUO_MATH_TF32)
                                : "it is only used on device 0";
    return true;
}

static void say_too_large(const duo_problem *problem)
{
    char shape[DUO_TEXT], bytes[DUO_TEXT];
    fprintf(stderr, "duoblas: %s %s takes %s: this machine has less memory\n",
            duo_operation_name(problem->operation),
            duo_text_shape(problem->operation, problem->shape, shape),
            duo_text_bytes(duo_problem_bytes(problem), bytes));
}

bool duo_bench_open(duo_bench *b, const duo_problem *problem, int problems)
{
    size_t input = 0, output = 0;
    const size_t rotate = b->cold ? 2 * duo_machine_cache_bytes() + (64u << 20) : 0;
    for (int i = 0; i < problems; i++) {
        if (!duo_problem_fits(&problem[i])) {
            say_too_large(&problem[i]);
            return false;
        }
        const size_t in = duo_problem_input_floats(&problem[i]);
        const size_t out = duo_problem_output_floats(&problem[i]);
        const size_t slots = rotate / (4 * (in + out)) + 1;
        if (slots * in + DUO_OFFSETS > input) input = slots * in + DUO_OFFSETS;
        if (slots * out + DUO_OFFSETS > output) output = slots * out + DUO_OFFSETS;
    }
    if (b->threads == 0) b->threads = duo_machine_threads();
    if (duo_create(&b->context) != DUO_OK ||
        !duo_stock_open(&b->host, b->context, DUO_PLACE_PAGEABLE, input, output, b->seed, NULL)) {
        fprintf(stderr, "duoblas: out of memory\n");
        return false;
    }
    b->gpu = open_gpu(b, input, output);
    if (!b->gpu && !b->sides[DUO_SIDE_CPU]) {
        fprintf(stderr, "duoblas: there is no GPU for --side gpu: %s\n", b->why);
        return false;
    }
    b->host.rotate_bytes = b->resident.rotate_bytes = rotate;
    b->host.offset_floats = b->resident.offset_floats = (size_t)b->offset_floats;
    return true;
}

void duo_bench_close(duo_bench *b)
{
    duo_stock_close(&b->resident);
    duo_stock_close(&b->host);
    if (b->pinned != NULL) (void)duo_free_host(b->context, b->pinned);
    if (b->queue != NULL) (void)duo_backend_current()->close(b->queue);
    (void)duo_destroy(b->context);
}

void duo_bench_head(const duo_bench *b)
{
    char blas[384], date[DUO_TEXT];
    const char *const mark = b->csv ? "# " : "";
    printf("%sDuoBLAS " DUO_VERSION_STRING ", commit %s, %s, %s\n", mark, duo_tool_commit,
           DUO_COMPILER, duo_text_date(date));
    printf("%sCPU   %s, %d thread%s\n%sBLAS  %s\n", mark, duo_machine_cpu(), b->threads,
           b->threads == 1 ? "" : "s", mark, duo_text_blas(blas, sizeof blas));
    duo_text_blas_warning(b->csv ? "#       " : "      ", stdout);
    if (duo_blas_rivals_text()[0] != '\0')
        printf("%s      other BLAS: %s\n", mark, duo_blas_rivals_text());
    if (b->gpu)
        printf("%sGPU   %s; cuBLAS: %s; CUB: %s\n", mark, b->device.name,
               b->cublas_why != NULL ? b->cublas_why : "yes",
               b->gpu_peers ? "yes" : "only in builds with CUDA, on device 0");
    else
        printf("%sGPU   none: %s\n", mark, b->why);
    if (b->prepared != 0)
        printf("%sThe algorithms that split operands have split %s before.\n", mark,
               b->prepared == 3   ? "A and B"
               : b->prepared == 1 ? "A"
                                  : "B");
}

void duo_bench_problem_cells(duo_table *t, const duo_problem *problem)
{
    const int64_t *const s = problem->shape;
    const bool matrix = problem->operation == DUO_SGEMM;
    duo_cell_word(t, "operation", NULL, 0, duo_operation_name(problem->operation));
    duo_cell_count(t, "m", NULL, 0, matrix ? s[0] : 1);
    duo_cell_count(t, "n", NULL, 0, matrix ? s[1] : s[0]);
    duo_cell_count(t, "k", NULL, 0, matrix ? s[2] : 0);
}

/* ---- Which algorithms ---- */

static int capability_of(const duo_bench *b)
{
    return 10 * b->device.capability_major + b->device.capability_minor;
}

bool duo_bench_wants(const duo_bench *b, const duo_algorithm *algorithm)
{
    if (b->math >= 0) return duo_algorithm_serves(algorithm, (duo_math)b->math);
    for (int math = DUO_MATH_ACCURATE; math <= DUO_MATH_FLOAT64; math++)
        if (math != DUO_MATH_TF32 && duo_algorithm_serves(algorithm, (duo_math)math)) return true;
    return false;
}

static duo_conditions conditions_of(const duo_bench *b, duo_side side, duo_math math)
{
    return (duo_conditions){.profile = duo_profile_in_use(),
                            .path = side == DUO_SIDE_GPU ? DUO_PATH_GPU : DUO_PATH_CPU,
                            .math = math,
                            .threads = b->threads,
                            .gpu = side == DUO_SIDE_GPU,
                            .capability = capability_of(b),
                            .device_memory_bytes = (double)INFINITY};
}

bool duo_bench_conditions(const duo_bench *b, const duo_algorithm *algorithm, const duo_call *call,
                          duo_conditions *conditions)
{
    if (!duo_bench_wants(b, algorithm)) return false;
    for (int math = DUO_MATH_ACCURATE; math <= DUO_MATH_FLOAT64; math++) {
        if ((b->math >= 0 && b->math != math) || !duo_algorithm_serves(algorithm, (duo_math)math))
            continue;
        *conditions = conditions_of(b, DUO_SIDE_GPU, (duo_math)math);
        if (algorithm->accepts(call, conditions)) return true;
    }
    return false;
}

int duo_bench_choose(const duo_bench *b, const duo_call *call, duo_side side,
                     duo_choice chosen[DUO_CANDIDATES])
{
    const duo_conditions conditions =
        conditions_of(b, side, b->math >= 0 ? (duo_math)b->math : DUO_MATH_ACCURATE);
    duo_choice choice[DUO_CANDIDATES];
    const int candidates = duo_predict(call, &conditions, choice);
    int count = 0;
    for (int i = 0; i < candidates; i++) choice[i].declined = choice[i].algorithm->side != side;
    for (int best; (best = duo_select(choice, candidates, &conditions)) >= 0;
         choice[best].declined = true)
        chosen[count++] = choice[best];
    return count;
}
