/*
 * checks.c - `duoblas bench checks`: what checks of results cost (duo_set_verify).
 *
 * By turns: products without checks, with a check of each, and of one in ten. Operands in device
 * memory, where there is a GPU, or in host memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/host/host.h"
#include "bench/studies/studies.h"
#include "bench/tool/table.h"
#include "bench/tool/tool.h"

enum { NONE, EACH, TENTH, WAYS, MOST_ROUNDS = 64, CALLS = 10 };
static const double rates[WAYS] = {0.0, 1.0, 0.1};

typedef struct checks {
    const duo_bench *bench;
    duo_context *context[WAYS];
    duo_arrays arrays;
    void *device[3]; /* copies of the arrays; NULL: they stay in host memory */
} checks;

/* Copies the operands to the device. */
static bool send(checks *c, const duo_call *call)
{
    for (int i = 0; i < 3; i++) {
        const size_t bytes = (size_t)duo_operand_bytes(&call->operand[i]);
        if (duo_malloc(c->context[NONE], bytes, &c->device[i]) != DUO_OK ||
            duo_copy(c->context[NONE], c->device[i], call->operand[i].address, bytes) != DUO_OK)
            return false;
    }
    return duo_synchronize(c->context[NONE]) == DUO_OK;
}

static void take_back(checks *c)
{
    for (int i = 0; i < 3; i++) {
        if (c->device[i] != NULL) (void)duo_free(c->context[NONE], c->device[i]);
        c->device[i] = NULL;
    }
}

/* Seconds of a call, of several; negative: one failed. */
static double time_once(const checks *c, const duo_call *call, int way)
{
    bool good = true;
    const duo_implementation ours = duo_api_implementation(c->context[way], NULL, true);
    const double begin = duo_now_seconds();
    for (int i = 0; i < CALLS && good; i++) good = ours.call(&ours, call);
    good = good && ours.finish(&ours);
    return good ? (duo_now_seconds() - begin) / CALLS : -1.0;
}

static void print_row(const checks *c, const duo_call *call, bool titles, const double *median)
{
    duo_table t = duo_table_open(c->bench->csv);
    t.titles = titles;
    duo_cell_word(&t, "memory", "memory", -10,
                  (t.form == DUO_AS_CSV ? duo_place_names : duo_place_titles)[c->arrays.place]);
    duo_cell_count(&t, "n", "n", 6, call->n);
    duo_cell_seconds(&t, "seconds", "unchecked", median[NONE]);
    duo_cell_seconds(&t, "checked_seconds", "checked", median[EACH]);
    duo_cell_number(&t, "cost", "cost %", 7, 1, 100.0 * (median[EACH] / median[NONE] - 1.0));
    duo_cell_number(&t, "cost_of_tenth", "of 1 in 10, %", 14, 1,
                    100.0 * (median[TENTH] / median[NONE] - 1.0));
    duo_row_end(&t);
    fflush(stdout);
}

static bool run(checks *c, const duo_problem *problem, bool titles)
{
    const int rounds = c->bench->rounds > 0 ? c->bench->rounds : 15;
    duo_call call = duo_arrays_call(&c->arrays, problem);
    double seconds[WAYS][MOST_ROUNDS], median[WAYS];
    bool good = c->arrays.place != DUO_PLACE_DEVICE || send(c, &call);
    for (int i = 0; i < 3; i++)
        if (c->device[i] != NULL) call.operand[i].address = c->device[i];
    for (int round = -1; round < rounds && good; round++)
        for (int way = 0; way < WAYS; way++) {
            const double once = time_once(c, &call, way);
            good = good && once >= 0.0;
            if (round >= 0) seconds[way][round] = once;
        }
    take_back(c);
    if (!good) return false;
    for (int way = 0; way < WAYS; way++) median[way] = duo_median(seconds[way], rounds);
    if (titles) print_row(c, &call, true, median);
    print_row(c, &call, false, median);
    return true;
}

int duo_bench_checks(duo_bench *b)
{
    static const duo_problem small = {.operation = DUO_SGEMM, .shape = {64, 64, 64}};
    static const int64_t usual[] = {1024, 2048, 4096, 8192};
    duo_problem problem[DUO_MOST_PROBLEMS];
    int64_t checked = 0, wrong = 0;
    if (b->sizes == 0) {
        b->sizes = sizeof usual / sizeof usual[0];
        memcpy(b->size, usual, sizeof usual);
    }
    const int problems = duo_bench_problems(b, DUO_SGEMM, problem);
    checks c = {.bench = b};
    /* The machine is opened only for the head. */
    bool good = duo_bench_open(b, &small, 1);
    if (good) duo_bench_head(b);
    const bool gpu = good && b->queue != NULL;
    duo_bench_close(b);
    const duo_place usually = gpu ? DUO_PLACE_DEVICE : DUO_PLACE_PAGEABLE;
    const duo_place place = b->memory < 0 ? usually : (duo_place)b->memory;
    for (int way = 0; way < WAYS && good; way++)
        good = duo_create(&c.context[way]) == DUO_OK && duo_warm_up(c.context[way]) == DUO_OK &&
               duo_set_verify(c.context[way], rates[way], (uint64_t)b->seed) == DUO_OK;
    good = good && duo_arrays_open(&c.arrays, c.context[NONE],
                                   place == DUO_PLACE_DEVICE ? DUO_PLACE_PAGEABLE : place, problem,
                                   problems, b->seed);
    c.arrays.place = place;
    for (int i = 0; i < problems && good; i++) good = run(&c, &problem[i], i == 0);
    if (!good) fprintf(stderr, "duoblas: no memory, or duo_sgemm failed\n");
    if (good && duo_get_verified(&checked, &wrong) == DUO_OK)
        printf("%s%lld results were checked, %lld were wrong\n", b->csv ? "# " : "",
               (long long)checked, (long long)wrong);
    if (place == DUO_PLACE_DEVICE) c.arrays.place = DUO_PLACE_PAGEABLE;
    duo_arrays_close(&c.arrays);
    for (int way = 0; way < WAYS; way++)
        if (c.context[way] != NULL) (void)duo_destroy(c.context[way]);
    return good ? EXIT_SUCCESS : DUO_EXIT_FAILURE;
}
