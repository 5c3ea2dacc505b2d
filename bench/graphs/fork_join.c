/*
 * fork_join.c - an operation, three that depend on it, and one that depends on all three: one
 * launch of their graph, beside five launches, one after the other, of graphs of one operation
 * each. The same for functions of the program; no library can share those among threads.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/graphs/graphs.h"
#include "bench/graphs/works.h"

enum { OPERATIONS = 5, LAST = OPERATIONS - 1, MIDDLE = 3, X = OPERATIONS, Y, ARRAYS };

typedef struct fork_join {
    bool whole_arrays;   /* each operation writes all of its array, not one element */
    duo_buffers buffers; /* one output for each operation, and two inputs */
    duo_work work[OPERATIONS];
    duo_works whole, part[OPERATIONS];
    struct function {
        const float *x;
        int n;
        float *result;
    } function[OPERATIONS];
    float *expected;
} fork_join;

typedef enum kind { PRODUCTS, DOTS, FUNCTIONS } kind;

static void make_products(fork_join *f, int n)
{
    float *const *const at = f->buffers.at;
    const float *const factors[OPERATIONS][2] = {
        {at[X], at[Y]}, {at[0], at[X]}, {at[0], at[Y]}, {at[Y], at[0]}, {at[1], at[MIDDLE]}};
    for (int i = 0; i < OPERATIONS; i++)
        f->work[i] =
            duo_work_product(n, n, n, 1.0f / (float)n, factors[i][0], factors[i][1], at[i]);
}

/* Makes the operations sdots: each writes one float. */
static void make_dots(fork_join *f, int n)
{
    float *const *const at = f->buffers.at;
    for (int i = 0; i < OPERATIONS; i++)
        f->work[i] = duo_work_reduction(DUO_WORK_SDOT, n, at[X], at[Y], at[i]);
}

static void add_up(void *user)
{
    const struct function *const f = user;
    float sum = 0.0f;
    for (int i = 0; i < f->n; i++) sum += f->x[i];
    *f->result = sum;
}

static void make_functions(fork_join *f, int n)
{
    for (int i = 0; i < OPERATIONS; i++) {
        f->function[i] = (struct function){f->buffers.at[X], n, f->buffers.at[i]};
        f->work[i] = (duo_work){.size = sizeof(duo_work),
                                .kind = DUO_WORK_HOST,
                                .function = add_up,
                                .user = &f->function[i]};
    }
}

static bool open(fork_join *f, const duo_graphs *g, duo_side side, int n, kind of)
{
    const size_t floats = of == PRODUCTS ? (size_t)n * (size_t)n : (size_t)n;
    if (!duo_buffers_open(&f->buffers, g->bench, side, ARRAYS, floats)) return false;
    duo_context *const context = f->buffers.context;
    f->whole_arrays = of == PRODUCTS;
    if (of == PRODUCTS) make_products(f, n);
    if (of == DOTS) make_dots(f, n);
    if (of == FUNCTIONS) make_functions(f, n);
    duo_works serial = {.context = context};
    f->whole = serial;
    f->whole.graph = duo_works_graph(context, f->work, OPERATIONS, DUO_FORK_JOIN);
    serial.graph = duo_works_graph(context, f->work, OPERATIONS, DUO_CHAIN);
    bool good = f->whole.graph != NULL && serial.graph != NULL && duo_works_run(&serial, 1);
    (void)duo_graph_destroy(serial.graph);
    for (int i = 0; i < OPERATIONS && good; i++) {
        f->part[i] = (duo_works){.context = context};
        f->part[i].graph = duo_works_graph(context, &f->work[i], 1, DUO_CHAIN);
        good = f->part[i].graph != NULL;
    }
    f->expected = good ? duo_buffers_read(&f->buffers, LAST) : NULL;
    return f->expected != NULL;
}

static void close(fork_join *f)
{
    free(f->expected);
    (void)duo_graph_destroy(f->whole.graph);
    for (int i = 0; i < OPERATIONS; i++) (void)duo_graph_destroy(f->part[i].graph);
    duo_buffers_close(&f->buffers);
}

static bool run_parts(void *user, int64_t times)
{
    const fork_join *const f = user;
    bool good = true;
    for (int64_t t = 0; t < times && good; t++)
        for (int i = 0; i < OPERATIONS && good; i++)
            good = duo_graph_launch(f->part[i].graph, f->part[i].context) == DUO_OK;
    return (duo_synchronize(f->buffers.context) == DUO_OK) & good;
}

static bool measure(duo_graphs *g, fork_join *f, duo_side side, const char *what)
{
    duo_benchmark benchmark[] = {{.run = duo_works_run, .user = &f->whole},
                                 {.run = run_parts, .user = f}};
    for (int i = 0; i < 2; i++)
        if ((f->whole_arrays && !duo_buffers_spoil(&f->buffers, LAST)) ||
            !benchmark[i].run(benchmark[i].user, 1) ||
            !duo_buffers_agree(&f->buffers, LAST, f->expected))
            return false;
    duo_measure(benchmark, 2, &g->effort);
    if (benchmark[0].failed || benchmark[1].failed) return false;
    duo_graphs_row whole = duo_graphs_row_of(side, what, "graph", &benchmark[0], 1.0);
    duo_graphs_row parts = duo_graphs_row_of(side, what, "its parts", &benchmark[1], 1.0);
    whole.ratio = whole.median / parts.median;
    duo_graphs_print(g, &whole);
    duo_graphs_print(g, &parts);
    return true;
}

static bool fork_and_join(duo_graphs *g, duo_side side, int n, kind of)
{
    char what[48];
    fork_join f = {0};
    if (of == FUNCTIONS)
        snprintf(what, sizeof what, "5 functions");
    else
        snprintf(what, sizeof what, of == PRODUCTS ? "5 sgemm %d^3" : "5 sdot %d", n);
    const bool good = open(&f, g, side, n, of) && measure(g, &f, side, what);
    if (!good) fprintf(stderr, "duoblas: fork-join: an operation failed, or is wrong\n");
    close(&f);
    return good;
}

bool duo_graphs_fork_join(duo_graphs *g, duo_side side)
{
    static const int edges[] = {64, 128, 256};
    bool good = true;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        good = fork_and_join(g, side, edges[i], PRODUCTS) && good;
    if (side == DUO_SIDE_GPU) return good;
    good = fork_and_join(g, side, 100000, DOTS) && good;
    return fork_and_join(g, side, 100000, FUNCTIONS) && good;
}
