/*
 * large.c - `duoblas bench large`: one product that is large relative to the device's or the host's
 * memory. Rows and columns drawn at random are checked.
 *
 * The operands exist once. The environment limits the memory on a device: DUOBLAS_DEVICE_MEMORY.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/host/host.h"
#include "bench/reference/product_error.h"
#include "bench/studies/studies.h"
#include "bench/tool/table.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"

typedef struct large {
    const duo_bench *bench;
    duo_problem problem;
    duo_context *context;
    duo_arrays arrays;
} large;

static void print_head(const large *l, double fill_seconds)
{
    char shape[DUO_TEXT], bytes[DUO_TEXT], seconds[DUO_TEXT];
    const char *const mark = l->bench->csv ? "# " : "";
    const char *const cap = getenv("DUOBLAS_DEVICE_MEMORY");
    duo_bench_head(l->bench);
    printf("%ssgemm %s %s, %s, %s; device memory: %s; made in %s\n", mark,
           duo_text_shape(DUO_SGEMM, l->problem.shape, shape),
           duo_text_transposes(l->problem.transa, l->problem.transb),
           duo_place_titles[l->arrays.place], duo_text_bytes(duo_problem_bytes(&l->problem), bytes),
           cap != NULL ? cap : "all", duo_text_seconds(fill_seconds, seconds));
    fflush(stdout);
}

static void print_row(const large *l, int number, double seconds, const duo_decision *d,
                      double error)
{
    duo_table t = duo_table_open(l->bench->csv);
    const duo_problem *const p = &l->problem;
    t.titles = number == 0;
    duo_cell_word(&t, "memory", NULL, 0, duo_place_names[l->arrays.place]);
    duo_cell_count(&t, "m", NULL, 0, p->shape[0]);
    duo_cell_count(&t, "n", NULL, 0, p->shape[1]);
    duo_cell_count(&t, "k", NULL, 0, p->shape[2]);
    duo_cell_word(&t, "transposes", NULL, 0, duo_text_transposes(p->transa, p->transb));
    duo_cell_count(&t, "call", "call", 4, number);
    duo_cell_seconds(&t, "seconds", "took", seconds);
    duo_cell_number(&t, "gflops", "GFLOP/s", 8, 0, 1e-9 * duo_problem_flops(p) / seconds);
    duo_cell_word(&t, "side", "side", -4, duo_text_side(d->side));
    duo_cell_word(&t, "algorithm", "algorithm", -20, d->algorithm);
    duo_cell_seconds(&t, "predicted_seconds", "predicted", d->predicted_seconds);
    duo_cell_number(&t, "error_u", "error/u", 7, -1, error);
    duo_cell_word(&t, NULL, "", 0, d->note);
    duo_row_end(&t);
    fflush(stdout);
}

/* Makes a call, and checks it. False, after a message on stderr: it failed, or its result is
 * wrong. */
static bool call_once(const large *l, const duo_product_sample *sample, int number)
{
    const duo_implementation ours = duo_api_implementation(l->context, NULL, true);
    const duo_call call = duo_arrays_call(&l->arrays, &l->problem);
    duo_decision d = {.size = sizeof d};
    duo_product_sample_spoil(sample);
    const double begin = duo_now_seconds();
    const bool called = ours.call(&ours, &call) && ours.finish(&ours);
    const double seconds = duo_now_seconds() - begin;
    const duo_sample_error error = duo_product_sample_error(sample);
    if (!called || duo_explain_last(l->context, &d) != DUO_OK) {
        fprintf(stderr, "duoblas: duo_sgemm failed\n");
        return false;
    }
    if (number == 1) print_row(l, 0, seconds, &d, error.largest);
    print_row(l, number, seconds, &d, error.largest);
    if (!error.right) fprintf(stderr, "duoblas: the result is wrong\n");
    return error.right;
}

static bool run(large *l)
{
    const duo_bench *const b = l->bench;
    duo_product_sample sample;
    const double begin = duo_now_seconds();
    const duo_place place = b->memory < 0 ? DUO_PLACE_PAGEABLE : (duo_place)b->memory;
    if (!duo_arrays_open(&l->arrays, l->context, place, &l->problem, 1, b->seed)) {
        fprintf(stderr, "duoblas: out of memory\n");
        return false;
    }
    const duo_call call = duo_arrays_call(&l->arrays, &l->problem);
    print_head(l, duo_now_seconds() - begin);
    bool good = duo_product_sample_open(&sample, &call, 2, b->seed);
    if (!good) fprintf(stderr, "duoblas: out of memory\n");
    if (!good) return false;
    for (int i = 0; i < (b->rounds > 0 ? b->rounds : 2) && good; i++)
        good = call_once(l, &sample, i + 1);
    duo_product_sample_close(&sample);
    if (!b->csv)
        printf(
            "error/u: the largest |error| / |A||B| in 2^-24, of 2 rows, 2 columns and 64 entries, "
            "against float64\n");
    return good;
}

int duo_bench_large(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    duo_problem problem[DUO_MOST_PROBLEMS];
    (void)duo_bench_problems(b, DUO_SGEMM, problem);
    large l = {.bench = b, .problem = problem[0]};
    /* The machine is opened only for the head, then closed, which frees its device memory. */
    bool good = duo_bench_open(b, duo_problem_fits(problem) ? &small : problem, 1);
    duo_bench_close(b);
    good = good && duo_create(&l.context) == DUO_OK && duo_warm_up(l.context) == DUO_OK && run(&l);
    duo_arrays_close(&l.arrays);
    if (l.context != NULL) (void)duo_destroy(l.context);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
