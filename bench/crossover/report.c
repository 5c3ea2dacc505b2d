/* report.c - tables and crossover sizes, as people read them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "host/machine.h"

static const char *const place_titles[DUO_PLACES] = {
    [DUO_PLACE_PAGEABLE] = "host arrays, pageable",
    [DUO_PLACE_PINNED] = "host arrays, pinned",
    [DUO_PLACE_DEVICE] = "resident on the GPU",
};

void duo_crossover_head(const duo_crossover *x, FILE *file)
{
    fprintf(file, "CPU   %s, %d thread%s\n", duo_machine_cpu(), x->threads,
            x->threads == 1 ? "" : "s");
    fprintf(file, "BLAS  %s\n", x->cpu_blas);
    duo_text_blas_warning("      ", file);
    if (x->gpu)
        fprintf(file, "GPU   %s, driver for CUDA %s\n", x->gpu_name, x->driver);
    else
        fprintf(file,
                "GPU   none: %s\n"
                "      GPU times below are PREDICTED, not measured: those of an %s\n"
                "      (profile \"%s\"), as if it were in this machine.\n",
                x->why, x->assumed->gpu, x->assumed->origin);
}

static void print_figure(FILE *file, const duo_figure *f)
{
    char text[DUO_TEXT];
    fprintf(file, " %s%s", f->predicted ? "~" : " ",
            duo_text_seconds(f->median_seconds > 0.0 ? f->median_seconds : (double)INFINITY, text));
}

static void print_case(const duo_case *c, int width, FILE *file)
{
    char shape[DUO_TEXT];
    const duo_figure *const cpu = duo_crossover_cpu(c);
    fprintf(file, "%*s", width, duo_text_shape(c->problem.operation, c->problem.shape, shape));
    print_figure(file, cpu);
    fprintf(file, " %4d", cpu->threads);
    for (int place = 0; place < DUO_PLACES; place++) {
        const double ratio = duo_crossover_log_ratio(c, (duo_place)place);
        fprintf(file, "  ");
        print_figure(file, duo_crossover_gpu(c, (duo_place)place));
        if (isnan(ratio))
            fprintf(file, " %8s", "-");
        else
            fprintf(file, " %7.*f%s", ratio > -2.3 ? 2 : 1, exp(-ratio), ratio < 0.0 ? "*" : " ");
    }
    fputc('\n', file);
}

static void print_operation(const duo_crossover *x, duo_operation operation, FILE *file)
{
    const int width = operation == DUO_SGEMM ? 20 : 10;
    fprintf(file, "\n%s%s\n", duo_operation_name(operation),
            operation == DUO_SGEMM ? ", C := A*B, m x n x k" : "");
    fprintf(file, "%*s  %-15s", width, "", "      CPU");
    for (int place = 0; place < DUO_PLACES; place++) fprintf(file, "  %20s", place_titles[place]);
    fprintf(file, "\n%*s  %10s %4s", width, operation == DUO_SGEMM ? "shape" : "n", "time   ",
            "thr");
    for (int place = 0; place < DUO_PLACES; place++)
        fprintf(file, "    %10s %7s ", "time   ", "CPU/GPU");
    fputc('\n', file);
    const char *family = NULL;
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        if (c->problem.operation != operation) continue;
        if (family != NULL && strcmp(family, c->family) != 0) fputc('\n', file);
        family = c->family;
        print_case(c, width, file);
    }
}

static void print_crossing(const duo_crossover *x, duo_operation operation, const char *family,
                           duo_place place, FILE *file)
{
    char text[DUO_TEXT];
    const duo_crossing c = duo_crossover_find(x, operation, family, place);
    fprintf(file, "  %-6s %-12s %-22s ", duo_operation_name(operation), family,
            place_titles[place]);
    switch (c.verdict) {
    case DUO_WINS_NEVER:
        fprintf(file, "never (up to n = %" PRId64 ")", c.largest);
        break;
    case DUO_WINS_FROM:
        fprintf(file, "GPU wins from n = %" PRId64 ", at every larger size (curves meet near %s)",
                c.n, duo_text_about(c.between, text));
        break;
    case DUO_WINS_ALWAYS:
        fprintf(file, "GPU wins at every size measured, from n = %" PRId64, c.n);
        break;
    default:
        fprintf(file, "not measured");
    }
    fprintf(file, "%s\n", c.predicted ? "  ~" : "");
}

void duo_crossover_print(const duo_crossover *x, FILE *file)
{
    for (int operation = 0; operation < DUO_OPERATIONS; operation++)
        if (x->wanted[operation]) print_operation(x, (duo_operation)operation, file);
    fprintf(file,
            "\nTimes are medians; * marks where the GPU wins, ~ what is predicted, not measured");
    if (!x->gpu)
        fprintf(file, ":\nthe GPU's times, and the CPU's where one call would take too long");
    else if (x->skipped > 0)
        fprintf(file, ",\nbecause it would take too long or too much memory");
    fprintf(file,
            ".\nCaches %s. Host arrays: with all transfers. Resident:\n"
            "operands on the GPU; reductions return their number to the host, sgemm leaves C\n"
            "there and its calls queue up.\n",
            x->cold ? "cold: every call on other data" : "warm: every call on the same data");
    fprintf(file, "\nCrossover: from what size on the GPU wins\n");
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const char *family[DUO_CASES];
        const int families = duo_crossover_families(x, (duo_operation)operation, family);
        for (int i = 0; i < families; i++)
            for (int place = 0; place < DUO_PLACES; place++)
                print_crossing(x, (duo_operation)operation, family[i], (duo_place)place, file);
    }
}
