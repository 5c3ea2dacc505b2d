/* command.c - `duoblas bench`: runs an experiment, and tells whether others disturbed it. */
#include <stdlib.h>

#include "bench/experiments/experiments.h"
#include "bench/measure/blas_instance.h"
#include "bench/measure/blas_rivals.h"
#include "bench/measure/noise.h"
#include "bench/tool/output.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "host/machine.h"

int duo_bench_problems(const duo_bench *b, duo_operation operation,
                       duo_problem problem[DUO_MOST_PROBLEMS])
{
    const int layout = b->layout >= 0 ? b->layout : 0;
    int count = 0;
    for (int i = 0; i < b->sizes; i++) {
        const int64_t n = b->size[i], edge = operation == DUO_SGEMM ? n : 1;
        problem[count++] = (duo_problem){.operation = operation, .shape = {n, edge, edge}};
    }
    for (int i = 0; i < b->shapes && count < DUO_MOST_PROBLEMS; i++)
        problem[count++] = (duo_problem){.operation = operation,
                                         .shape = {b->shape[i][0], b->shape[i][1], b->shape[i][2]}};
    for (int i = 0; i < count; i++) {
        problem[i].transa = layout / 2 != 0;
        problem[i].transb = layout % 2 != 0;
    }
    return count;
}

/* Prints the noise behind the figures, if others could disturb them. There is no line for intended
 * neighbours, and none in a child process, since its parent reads the output. */
static void tell_noise(const duo_bench *b)
{
    char text[160], line[200];
    const duo_noise noise = duo_noise_told(b->threads > 0 ? b->threads : duo_machine_threads());
    if (noise.looks == 0 || b->neighbours > 0 || b->child != NULL) return;
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
        .seed = 1, .side = -1, .math = -1, .layout = -1, .memory = -1, .profile = -1, .why = ""};
    duo_blas_instance_prepare();
    const int status = duo_bench_arguments(argc, argv, &bench);
    if (status != 0 || bench.experiment == NULL) return status;
    if (bench.plot != NULL && !duo_picture_possible(bench.plot)) return DUO_EXIT_FAILURE;
    for (int side = 0; side < 2; side++) bench.sides[side] = bench.side < 0 || bench.side == side;
    if (bench.sides[DUO_SIDE_CPU] && bench.child == NULL) duo_blas_rivals_look();
    duo_noise_begin();
    const int result = bench.experiment->run(&bench);
    if (result == EXIT_SUCCESS) tell_noise(&bench);
    return result;
}
