/*
 * new_memory.c - `duoblas bench new-memory`: products into memory that was just allocated, as array
 * libraries return their results.
 *
 * By turns: C in memory that was used before; C in new memory; and the pages of new memory made by
 * all threads alone, without a product.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/host/host.h"
#include "bench/studies/studies.h"
#include "bench/tool/table.h"
#include "bench/tool/tool.h"

enum { USED, NEW, PAGES, WAYS, MOST_ROUNDS = 64, PAGE = 4096 };

typedef struct new_memory {
    const duo_bench *bench;
    duo_context *context;
    duo_arrays arrays;
} new_memory;

static void make_pages(char *memory, int64_t bytes, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < bytes; i += PAGE) memory[i] = 0;
}

/* Seconds of one way; negative: it failed. */
static double time_once(const new_memory *n, duo_call call, int way)
{
    const int64_t bytes = 4 * call.m * call.n;
    const duo_implementation ours = duo_api_implementation(n->context, NULL, true);
    char *memory = NULL;
    bool good = true;
    if (way != USED) {
        memory =
            mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return -1.0;
        call.operand[DUO_C].address = (float *)(void *)memory;
    }
    const double begin = duo_now_seconds();
    if (way == PAGES)
        make_pages(memory, bytes, n->bench->threads);
    else
        good = ours.call(&ours, &call) && ours.finish(&ours);
    const double seconds = duo_now_seconds() - begin;
    if (memory != NULL) (void)munmap(memory, (size_t)bytes);
    return good ? seconds : -1.0;
}

static void print_row(const new_memory *n, const duo_call *call, bool titles, const double *median)
{
    duo_table t = duo_table_open(n->bench->csv);
    const double longer = median[USED] > median[PAGES] ? median[USED] : median[PAGES];
    t.titles = titles;
    duo_cell_word(&t, "memory", "A, B", -10,
                  (t.form == DUO_AS_CSV ? duo_place_names : duo_place_titles)[n->arrays.place]);
    duo_cell_count(&t, "n", "n", 6, call->n);
    duo_cell_seconds(&t, "used_seconds", "C used", median[USED]);
    duo_cell_seconds(&t, "new_seconds", "C new", median[NEW]);
    duo_cell_seconds(&t, "pages_seconds", "pages", median[PAGES]);
    duo_cell_number(&t, "new_over_used", "new/used", 8, 2, median[NEW] / median[USED]);
    duo_cell_number(&t, "new_over_longer", "new/longer", 10, 2, median[NEW] / longer);
    duo_row_end(&t);
    fflush(stdout);
}

static bool run(const new_memory *n, const duo_problem *problem, bool titles)
{
    const int rounds = n->bench->rounds > 0 ? n->bench->rounds : 15;
    const duo_call call = duo_arrays_call(&n->arrays, problem);
    double seconds[WAYS][MOST_ROUNDS], median[WAYS];
    for (int round = -1; round < rounds; round++)
        for (int way = 0; way < WAYS; way++) {
            const double once = time_once(n, call, way);
            if (once < 0.0) return false;
            if (round >= 0) seconds[way][round] = once;
        }
    for (int way = 0; way < WAYS; way++) median[way] = duo_median(seconds[way], rounds);
    if (titles) print_row(n, &call, true, median);
    print_row(n, &call, false, median);
    return true;
}

int duo_bench_new_memory(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    static const int64_t usual[] = {1024, 2048, 4096, 8192};
    duo_problem problem[DUO_MOST_PROBLEMS];
    if (b->sizes == 0) {
        b->sizes = sizeof usual / sizeof usual[0];
        memcpy(b->size, usual, sizeof usual);
    }
    const int problems = duo_bench_problems(b, DUO_SGEMM, problem);
    new_memory n = {.bench = b};
    /* The machine is opened only for the head. */
    bool good = duo_bench_open(b, &small, 1);
    if (good) duo_bench_head(b);
    duo_bench_close(b);
    const duo_place place = b->memory < 0 ? DUO_PLACE_PAGEABLE : (duo_place)b->memory;
    good = good && duo_create(&n.context) == DUO_OK && duo_warm_up(n.context) == DUO_OK &&
           duo_arrays_open(&n.arrays, n.context, place, problem, problems, b->seed);
    for (int i = 0; i < problems && good; i++) good = run(&n, &problem[i], i == 0);
    if (!good) fprintf(stderr, "duoblas: no memory, or duo_sgemm failed\n");
    duo_arrays_close(&n.arrays);
    if (n.context != NULL) (void)duo_destroy(n.context);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
