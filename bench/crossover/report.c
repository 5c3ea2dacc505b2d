/*
 * report.c - tables, crossover sizes and CSV.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/crossover/crossover.h"
#include "host/machine.h"

static const char *const place_titles[DUO_PLACES] = {
    [DUO_PLACE_PAGEABLE] = "host arrays, pageable",
    [DUO_PLACE_PINNED] = "host arrays, pinned",
    [DUO_PLACE_DEVICE] = "resident on the GPU",
};

/* ---- Where the GPU starts to win ---- */

static const duo_figure *gpu_figure(const duo_case *c, duo_place place)
{
    return &c->figure[DUO_SERIES_GPU + (int)place];
}

/* log(GPU time / CPU time): negative where the GPU wins; NaN: nothing to compare. */
static double log_ratio(const duo_case *c, duo_place place)
{
    const double gpu = gpu_figure(c, place)->median_seconds;
    const double cpu = duo_crossover_cpu(c)->median_seconds;
    return gpu > 0.0 && cpu > 0.0 && isfinite(gpu) && isfinite(cpu) ? log(gpu / cpu) : (double)NAN;
}

static bool any_predicted(const duo_case *c, duo_place place)
{
    return gpu_figure(c, place)->predicted || duo_crossover_cpu(c)->predicted;
}

duo_crossing duo_crossover_find(const duo_crossover *x, duo_operation operation, const char *family,
                                duo_place place)
{
    const duo_case *at[DUO_CASES];
    int count = 0;
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        if (c->problem.operation == operation && strcmp(c->family, family) == 0 &&
            !isnan(log_ratio(c, place)))
            at[count++] = c;
    }
    duo_crossing crossing = {.verdict = DUO_WINS_UNKNOWN};
    if (count == 0) return crossing;
    int first = count; /* of those from which on the GPU wins everywhere */
    while (first > 0 && log_ratio(at[first - 1], place) < 0.0) first--;
    crossing.largest = at[count - 1]->n;
    crossing.verdict = first == count ? DUO_WINS_NEVER
                       : first == 0   ? DUO_WINS_ALWAYS
                                      : DUO_WINS_FROM;
    const duo_case *const winner = at[first < count ? first : count - 1];
    crossing.n = winner->n;
    crossing.predicted = any_predicted(winner, place);
    if (crossing.verdict == DUO_WINS_FROM) {
        const duo_case *const loser = at[first - 1];
        const double before = log_ratio(loser, place), after = log_ratio(winner, place);
        const double part = before / (before - after);
        crossing.between = (double)loser->n * pow((double)winner->n / (double)loser->n, part);
        crossing.predicted = crossing.predicted || any_predicted(loser, place);
    }
    return crossing;
}

int duo_crossover_families(const duo_crossover *x, duo_operation operation,
                           const char *family[DUO_CASES])
{
    int count = 0;
    for (int i = 0; i < x->cases; i++) {
        if (x->item[i].problem.operation != operation) continue;
        if (count == 0 || strcmp(family[count - 1], x->item[i].family) != 0)
            family[count++] = x->item[i].family;
    }
    return count;
}

/* ---- Text ---- */

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
        const double ratio = log_ratio(c, (duo_place)place);
        fprintf(file, "  ");
        print_figure(file, gpu_figure(c, (duo_place)place));
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

/* ---- CSV ---- */

static void csv_line(FILE *file, const duo_case *c, const char *residence, duo_side side,
                     const duo_figure *f)
{
    if (f->median_seconds <= 0.0 || !isfinite(f->median_seconds)) return;
    const int64_t *const s = c->problem.shape;
    const bool matrix = c->problem.operation == DUO_SGEMM;
    fprintf(file, "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s,%s,%d,%.4e,%.4e,%.5g,%.5g,%s\n",
            duo_operation_name(c->problem.operation), matrix ? s[0] : 1, matrix ? s[1] : s[0],
            matrix ? s[2] : 0, residence, side == DUO_SIDE_CPU ? "cpu" : "gpu",
            f->algorithm != NULL ? f->algorithm : "", f->threads, f->median_seconds,
            f->minimum_seconds, duo_problem_flops(&c->problem) / f->median_seconds * 1e-9,
            duo_problem_bytes(&c->problem) / f->median_seconds * 1e-9,
            f->predicted ? "predicted" : "measured");
}

static void csv_case(FILE *file, const duo_case *c)
{
    const duo_algorithm_table table = duo_algorithm_tables[c->problem.operation];
    for (int i = 0; i < table.count; i++) {
        const duo_algorithm *const algorithm = &table.algorithm[i];
        const bool cpu = algorithm->side == DUO_SIDE_CPU;
        csv_line(file, c, cpu ? "host" : "queue", algorithm->side,
                 &c->figure[DUO_SERIES_ONE + (int)algorithm->id]);
        if (cpu)
            csv_line(file, c, "host", algorithm->side,
                     &c->figure[DUO_SERIES_ALL + (int)algorithm->id]);
    }
    for (int place = 0; place < DUO_PLACES; place++)
        csv_line(file, c, duo_place_names[place], DUO_SIDE_GPU, gpu_figure(c, (duo_place)place));
}

bool duo_crossover_csv(const duo_crossover *x, const char *path)
{
    duo_output output;
    char date[DUO_TEXT];
    if (!duo_output_open(&output, path)) return false;
    FILE *const file = output.file;
    fprintf(file,
            "# tool: duoblas crossover %d.%d.%d\n# commit: %s\n# compiler: %s\n# date: %s\n"
            "# cpu: %s\n# threads: %d\n# blas: %s\n",
            DUO_VERSION_MAJOR, DUO_VERSION_MINOR, DUO_VERSION_PATCH, duo_tool_commit, DUO_COMPILER,
            duo_text_date(date), duo_machine_cpu(), x->threads, x->cpu_blas);
    duo_text_blas_warning("# ", file);
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
    for (int i = 0; i < x->cases; i++) csv_case(file, &x->item[i]);
    return duo_output_close(&output, true);
}
