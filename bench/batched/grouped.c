/*
 * grouped.c - products of different shapes in `duoblas bench batched`: all groups in one call, by
 * lists in host memory and on the device; a batch for each group; and cuBLAS's grouped batch.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/batched/batched.h"
#include "bench/measure/problem.h"
#include "bench/peers/cublas.h"
#include "bench/tool/table.h"

enum { GROUPS = 50, PRODUCTS = 20, QUICK_GROUPS = 5, QUICK_PRODUCTS = 2, LEAST = 8, MOST = 512 };

typedef struct grouped {
    const duo_bench *bench;
    duo_buffers buffers;
    int64_t groups, count; /* count: of all products */
    duo_transpose plain[GROUPS];
    int64_t m[GROUPS], n[GROUPS], k[GROUPS], size[GROUPS];
    float alpha[GROUPS], beta[GROUPS];
    float *list[DUO_OPERANDS][GROUPS * PRODUCTS];
    void *device_list[DUO_OPERANDS];
} grouped;

/* ---- Ways ---- */

typedef struct way {
    const char *name;
    bool (*all)(grouped *x);
    bool (*finish)(grouped *x);
    grouped *of;
} way;

static bool by(grouped *x, float *const *const list[DUO_OPERANDS])
{
    return duo_sgemm_grouped(x->buffers.context, DUO_COL_MAJOR, x->groups, x->plain, x->plain, x->m,
                             x->n, x->k, x->alpha, (const float *const *)list[DUO_A], x->m,
                             (const float *const *)list[DUO_B], x->k, x->beta, list[DUO_C], x->m,
                             x->size) == DUO_OK;
}

static bool by_lists(grouped *x)
{
    float *const *const list[] = {x->list[DUO_A], x->list[DUO_B], x->list[DUO_C]};
    return by(x, list);
}

static bool by_device_lists(grouped *x)
{
    float *const *const list[] = {x->device_list[DUO_A], x->device_list[DUO_B],
                                  x->device_list[DUO_C]};
    return by(x, list);
}

static bool by_batches(grouped *x)
{
    bool good = true;
    int64_t first = 0;
    for (int64_t g = 0; g < x->groups && good; first += x->size[g++])
        good = duo_sgemm_batched(x->buffers.context, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS,
                                 x->m[g], x->n[g], x->k[g], 1.0f,
                                 (const float *const *)x->list[DUO_A] + first, x->m[g],
                                 (const float *const *)x->list[DUO_B] + first, x->k[g], 0.0f,
                                 x->list[DUO_C] + first, x->m[g], x->size[g]) == DUO_OK;
    return good;
}

static bool finish_ours(grouped *x) { return duo_synchronize(x->buffers.context) == DUO_OK; }

static bool by_cublas(grouped *x)
{
    float *const *const list[] = {x->device_list[DUO_A], x->device_list[DUO_B],
                                  x->device_list[DUO_C]};
    return duo_peer_cublas_grouped(x->groups, x->m, x->n, x->k, x->alpha, x->beta, list, x->size);
}

static bool finish_cublas(grouped *x)
{
    (void)x;
    return duo_peer_cublas_finish();
}

static bool run(void *user, int64_t times)
{
    const way *const w = user;
    bool good = true;
    for (int64_t t = 0; t < times && good; t++) good = w->all(w->of);
    return w->finish(w->of) && good;
}

/* ---- The products ---- */

/* Draws the shapes. The products of a group follow each other in each buffer, at unequal distances
 * if there are other groups between them: group g has the products g, g + groups, and so on. */
static void draw(grouped *x)
{
    uint64_t random = x->bench->seed;
    for (int64_t g = 0; g < x->groups; g++) {
        x->plain[g] = DUO_NO_TRANS;
        x->m[g] = duo_random_size(&random, LEAST, MOST);
        x->n[g] = duo_random_size(&random, LEAST, MOST);
        x->k[g] = duo_random_size(&random, LEAST, MOST);
        x->alpha[g] = 1.0f;
        x->beta[g] = 0.0f;
        x->size[g] = x->count / x->groups;
    }
}

static int64_t floats_of(const grouped *x, int64_t g, int i)
{
    const int64_t floats[DUO_OPERANDS] = {x->m[g] * x->k[g], x->k[g] * x->n[g], x->m[g] * x->n[g]};
    return (floats[i] + 3) / 4 * 4;
}

static size_t largest_floats(const grouped *x)
{
    int64_t largest = 0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        int64_t floats = 0;
        for (int64_t g = 0; g < x->groups; g++) floats += x->size[g] * floats_of(x, g, i);
        if (floats > largest) largest = floats;
    }
    return (size_t)largest;
}

static bool make_lists(grouped *x)
{
    const size_t bytes = (size_t)x->count * sizeof(float *);
    const int64_t each = x->count / x->groups;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        float *at = x->buffers.at[i];
        for (int64_t p = 0; p < each; p++)
            for (int64_t g = 0; g < x->groups; at += floats_of(x, g++, i))
                x->list[i][g * each + (p ^ 1) % each] = at; /* unequal distances */
        if (duo_malloc(x->buffers.context, bytes, &x->device_list[i]) != DUO_OK ||
            duo_copy(x->buffers.context, x->device_list[i], x->list[i], bytes) != DUO_OK)
            return false;
    }
    return duo_synchronize(x->buffers.context) == DUO_OK;
}

static bool open_products(grouped *x, const duo_bench *bench)
{
    x->bench = bench;
    x->groups = bench->quick ? QUICK_GROUPS : GROUPS;
    x->count = x->groups * (bench->quick ? QUICK_PRODUCTS : PRODUCTS);
    draw(x);
    return duo_buffers_open(&x->buffers, bench, DUO_SIDE_GPU, DUO_BATCHED_BUFFERS,
                            largest_floats(x)) &&
           duo_buffers_spoil(&x->buffers, DUO_BATCHED_NANS) && make_lists(x);
}

static void close_products(grouped *x)
{
    for (int i = 0; i < DUO_OPERANDS; i++)
        if (x->device_list[i] != NULL) (void)duo_free(x->buffers.context, x->device_list[i]);
    duo_buffers_close(&x->buffers);
}

/* ---- The check ---- */

/* Runs once, and checks the last product of each group. */
static bool check(grouped *x, way *w, double *error)
{
    const size_t bytes = x->buffers.floats * sizeof(float);
    float *array[DUO_OPERANDS] = {NULL};
    bool good = duo_copy(x->buffers.context, x->buffers.at[DUO_C], x->buffers.at[DUO_BATCHED_NANS],
                         bytes) == DUO_OK &&
                duo_synchronize(x->buffers.context) == DUO_OK && run(w, 1);
    for (int i = 0; i < DUO_OPERANDS && good; i++) {
        array[i] = duo_buffers_read(&x->buffers, i);
        good = array[i] != NULL;
    }
    *error = 0.0;
    for (int64_t g = 0, last = -1; g < x->groups && good; g++) {
        last += x->size[g];
        duo_call call =
            duo_call_sgemm(false, false, x->m[g], x->n[g], x->k[g], x->alpha[g], x->beta[g]);
        const float *of[DUO_OPERANDS];
        for (int i = 0; i < DUO_OPERANDS; i++)
            of[i] = array[i] + (x->list[i][last] - x->buffers.at[i]);
        good = duo_batched_check_product(&call, of, NULL, error);
    }
    for (int i = 0; i < DUO_OPERANDS; i++) free(array[i]);
    if (!good) fprintf(stderr, "duoblas: batched: groups, %s: it failed, or is wrong\n", w->name);
    return good;
}

/* ---- The table ---- */

static double flops_of(const grouped *x)
{
    double flops = 0.0;
    for (int64_t g = 0; g < x->groups; g++)
        flops += 2.0 * (double)x->m[g] * (double)x->n[g] * (double)x->k[g] * (double)x->size[g];
    return flops;
}

static void print_row(duo_table *t, const grouped *x, const char *name, const duo_benchmark *m,
                      double peer, double error)
{
    char products[DUO_TEXT];
    const double seconds = m->median_seconds;
    snprintf(products, sizeof products, "%" PRId64 " of %" PRId64 " shapes", x->count, x->groups);
    duo_cell_word(t, "groups", "groups", -20, products);
    duo_cell_word(t, "way", "way", -20, name);
    duo_cell_count(t, "rounds", NULL, 0, m->rounds);
    duo_cell_seconds(t, "seconds_median", "median", seconds);
    duo_cell_seconds(t, "seconds_min", NULL, m->minimum_seconds);
    duo_cell_number(t, NULL, "GFLOP/s", 9, 1, flops_of(x) / seconds * 1e-9);
    duo_cell_number(t, "x_peer", "x peer", 6, 2, peer > 0.0 ? peer / seconds : (double)NAN);
    duo_cell_number(t, "error_u", "error/u", 7, -1, error);
    duo_row_end(t);
}

static bool measure(grouped *x)
{
    way ways[] = {{"grouped", by_lists, finish_ours, x},
                  {"grouped, lists there", by_device_lists, finish_ours, x},
                  {"batch by batch", by_batches, finish_ours, x},
                  {"cuBLAS grouped", by_cublas, finish_cublas, x}};
    enum { WAYS = sizeof ways / sizeof ways[0] };
    duo_benchmark benchmark[WAYS];
    double error[WAYS];
    const bool peer = x->bench->cublas_why == NULL && duo_peer_cublas_has_groups();
    const int count = peer ? WAYS : WAYS - 1;
    const duo_effort effort = duo_bench_effort(x->bench);
    duo_table table = duo_table_open(x->bench->csv);
    for (int i = 0; i < count; i++) {
        benchmark[i] = (duo_benchmark){.run = run, .user = &ways[i]};
        if (!check(x, &ways[i], &error[i])) return false;
    }
    duo_measure(benchmark, count, &effort);
    printf("\n");
    print_row(&table, x, "", &(duo_benchmark){.rounds = 0}, 0.0, 0.0);
    table.titles = false;
    for (int i = 0; i < count; i++) {
        if (benchmark[i].failed) return false;
        print_row(&table, x, ways[i].name, &benchmark[i],
                  peer ? benchmark[WAYS - 1].median_seconds : 0.0, error[i]);
    }
    return true;
}

bool duo_batched_groups(const duo_bench *bench)
{
    grouped *const x = calloc(1, sizeof *x);
    const bool good = x != NULL && open_products(x, bench) && measure(x);
    if (x != NULL) close_products(x);
    free(x);
    return good;
}
