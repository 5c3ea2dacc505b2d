/* csv.c - every figure, as comma-separated values. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/selection.h"
#include "bench/tool/output.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

static void csv_line(void *to, const duo_case *c, const char *residence, duo_side side,
                     const duo_figure *f)
{
    FILE *const file = to;
    const int64_t *const s = c->problem.shape;
    const bool matrix = c->problem.operation == DUO_SGEMM;
    fprintf(file, "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%s,%d,%.4e,%.4e,%.5g,%.5g,%s\n",
            duo_operation_name(c->problem.operation), matrix ? s[0] : 1, matrix ? s[1] : s[0],
            matrix ? s[2] : 0, residence, duo_text_side(side),
            f->algorithm != NULL ? f->algorithm : "", f->threads, f->median_seconds,
            f->minimum_seconds, duo_problem_flops(&c->problem) / f->median_seconds * 1e-9,
            duo_problem_bytes(&c->problem) / f->median_seconds * 1e-9,
            f->predicted ? "predicted" : "measured");
}

bool duo_crossover_csv(const duo_crossover *x, const char *path)
{
    duo_output output;
    char date[DUO_TEXT], noise[160];
    if (!duo_output_open(&output, path)) return false;
    FILE *const file = output.file;
    fprintf(file,
            "# tool: duoblas crossover %s\n# commit: %s\n# compiler: %s\n# date: %s\n"
            "# cpu: %s\n# threads: %d\n# blas: %s\n",
            DUO_VERSION_STRING, duo_tool_commit, DUO_COMPILER, duo_text_date(date), x->cpu,
            x->threads, x->cpu_blas);
    duo_text_blas_warning("# ", file);
    if (x->noise.looks > 0)
        fprintf(file, "# noise: %s\n", duo_noise_text(&x->noise, noise, sizeof noise));
    if (x->gpu)
        fprintf(file, "# gpu: %s\n# driver: CUDA %s\n# clocks: core %d MHz, memory %d MHz (most)\n",
                x->gpu_name, x->driver, x->device_info.clock_khz / 1000,
                x->device_info.memory_clock_khz / 1000);
    else
        fprintf(file, "# gpu: none (%s); predicted for %s by profile %s\n", x->why, x->assumed->gpu,
                x->assumed->origin);
    fprintf(
        file,
        "# warm-up: at least one call of each; medians of interleaved rounds\n"
        "# cache: %s\n# data: uniform in (-1, 1), seed %" PRIu64 "\n"
        "# residence: host = CPU algorithms; pageable, pinned = host arrays with all transfers; "
        "resident = on the GPU; queue = the kernel alone in a busy queue\n"
        "operation,m,n,k,residence,side,algorithm,threads,seconds_median,seconds_min,gflops,"
        "gbytes_per_second,predicted\n",
        x->cold ? "cold (data rotate)" : "warm (same data every call)", x->seed);
    for (int i = 0; i < x->cases; i++) duo_series_each(&x->item[i], csv_line, file);
    return duo_output_close(&output, true);
}
