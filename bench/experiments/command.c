/* command.c - `duoblas bench`: which experiment, at which problems. */
#include <stdlib.h>
#include <string.h>

#include "bench/experiments/arguments.h"
#include "bench/experiments/experiments.h"
#include "bench/measure/noise.h"
#include "bench/tool/options.h"
#include "bench/tool/picture.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "host/machine.h"

/* So many problems of an operation, from the sizes and shapes that were given. */
static int make_problems(const duo_bench_arguments *a, duo_operation operation,
                         duo_problem *problem)
{
    const bool matrix = operation == DUO_SGEMM;
    int count = 0;
    for (int i = 0; i < a->sizes; i++) {
        const int64_t n = a->size[i], edge = matrix ? n : 1;
        problem[count++] = (duo_problem){.operation = operation, .shape = {n, edge, edge}};
    }
    for (int i = 0; i < a->shapes && count < DUO_MOST_PROBLEMS; i++)
        problem[count++] = (duo_problem){.operation = operation,
                                         .shape = {a->shape[i][0], a->shape[i][1], a->shape[i][2]}};
    for (int i = 0; i < count; i++) {
        problem[i].transa = a->transa;
        problem[i].transb = a->transb;
    }
    return count;
}

static int run_ladder(duo_bench_arguments *a)
{
    static const int64_t edges[] = {256, 1000, 2048}, lengths[] = {1 << 12, 1 << 20, 1 << 24};
    duo_problem problem[DUO_MOST_PROBLEMS];
    const duo_operation operation = duo_tool_operation(a->what->name);
    if (a->sizes + a->shapes == 0) {
        a->sizes = 3;
        memcpy(a->size, operation == DUO_SGEMM ? edges : lengths, sizeof edges);
    }
    return duo_bench_ladder(a->bench, problem, make_problems(a, operation, problem));
}

static int run_mixed(duo_bench_arguments *a)
{
    static const int64_t product[3] = {384, 384, 384}, length = 1 << 20;
    return duo_bench_mixed(a->bench, a->shapes > 0 ? a->shape[0] : product,
                           a->sizes > 0 ? a->size[0] : length);
}

static int run_host(duo_bench_arguments *a)
{
    static const int64_t edges[] = {512, 1024, 2048, 4096, 8192, 16384};
    duo_problem problem[DUO_MOST_PROBLEMS];
    duo_bench *const b = a->bench;
    if (a->sizes == 0) {
        a->sizes = sizeof edges / sizeof edges[0];
        memcpy(a->size, edges, sizeof edges);
    }
    if (b->devices == 0) b->devices = 1;
    if (b->max_seconds <= 0.0) b->max_seconds = 120.0;
    return duo_bench_host(b, problem, make_problems(a, DUO_SGEMM, problem));
}

static int run_large(duo_bench_arguments *a)
{
    duo_problem problem[DUO_MOST_PROBLEMS];
    (void)make_problems(a, DUO_SGEMM, problem);
    return duo_bench_large(a->bench, problem);
}

static int run(duo_bench_arguments *a)
{
    duo_bench *const b = a->bench;
    duo_problem problem[DUO_MOST_PROBLEMS];
    switch (a->what->kind) {
    case DUO_LADDER:
        return run_ladder(a);
    case DUO_INTRODUCTION:
        return duo_bench_introduction(b);
    case DUO_ACCURACY:
        return duo_bench_accuracy(b, a->size, a->sizes);
    case DUO_ACCURACY_SGEMM:
        return duo_bench_accuracy_sgemm(b, problem, make_problems(a, DUO_SGEMM, problem));
    case DUO_SHAPES_OF_SGEMM:
        return duo_bench_shapes(b, problem, make_problems(a, DUO_SGEMM, problem));
    case DUO_ADAPT:
        return duo_bench_adapt(b);
    case DUO_MIXED:
        return run_mixed(a);
    case DUO_HOST:
        return run_host(a);
    case DUO_LARGE:
        return run_large(a);
    case DUO_TIMELINE:
        return duo_bench_timeline(a->file, b->plot);
    case DUO_GRAPHS:
        return duo_bench_graphs(b);
    case DUO_BATCHED:
        return duo_bench_batched(b);
    case DUO_OVERHEAD:
        return duo_bench_overhead();
    }
    return DUO_EXIT_USAGE;
}

/* Behind the figures, if there are any that others could disturb. Neighbours on purpose are no
 * news, and what another process of this command reads has a form of its own. */
static void tell_noise(const duo_bench *b)
{
    char text[160], line[200];
    const duo_noise noise = duo_noise_told(b->threads > 0 ? b->threads : duo_machine_threads());
    if (noise.looks == 0 || b->neighbours > 0 || b->stall_child != NULL) return;
    snprintf(line, sizeof line, "%s%s.", noise.noisy ? "" : "Machine ",
             duo_noise_text(&noise, text, sizeof text));
    if (b->csv)
        printf("# %s\n", line);
    else
        duo_text_wrap("", line, stdout);
}

int duo_tool_bench(int argc, char **argv)
{
    duo_bench bench = {
        .seed = 1, .math = -1, .layout = -1, .memory = -1, .why = "", .sides = {true, true}};
    duo_bench_arguments a = {.bench = &bench};
    const int status = duo_bench_parse(argc, argv, &a);
    if (status != 0) return status;
    if (bench.plot != NULL && !duo_picture_possible(bench.plot)) return DUO_EXIT_FAILURE;
    duo_noise_begin();
    const int result = run(&a);
    if (result == EXIT_SUCCESS) tell_noise(&bench);
    return result;
}
