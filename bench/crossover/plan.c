/* plan.c - the ladders of sizes. */
#include "bench/crossover/crossover.h"

#include <string.h>

enum { THIN = 16, LEAST_EXPONENT = 4, MOST_EXPONENT = 27 };

/* Powers of two and sizes between them. 1000 and 4092 fill no tile, like many real sizes. */
static const int64_t squares[] = {4,    8,    16,   24,   32,   48,   64,   96,
                                  128,  192,  256,  384,  512,  768,  1000, 1024,
                                  1536, 2048, 3072, 4092, 4096, 6144, 8192};
static const int64_t squares_quick[] = {4, 16, 32, 64, 128, 256, 512, 1000, 2048, 4092, 8192};
static const int64_t thin[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
static const int64_t thin_quick[] = {128, 512, 2048, 8192};

/* The shapes of the families; 0 stands for n. */
static const struct {
    const char *name;
    int64_t shape[3];
    bool square;
} families[] = {
    {"n x n x n", {0, 0, 0}, true},
    {"n x n x 16", {0, 0, THIN}, false},
    {"n x 16 x n", {0, THIN, 0}, false},
    {"16 x n x n", {THIN, 0, 0}, false},
};
enum { FAMILIES = sizeof families / sizeof families[0] };
static const char vectors[] = "n";

/* A family's rank in the order of the cases. Each reduction has one family, of vectors. */
static int rank(duo_operation operation, const char *family)
{
    for (int f = 0; operation == DUO_SGEMM && f < FAMILIES; f++)
        if (strcmp(family, families[f].name) == 0) return f;
    return operation != DUO_SGEMM && strcmp(family, vectors) == 0 ? FAMILIES + (int)operation : -1;
}

static duo_case new_case(duo_operation operation, int family, int64_t n)
{
    static const int64_t vector[3] = {0, 1, 1};
    const int64_t *const shape = operation == DUO_SGEMM ? families[family].shape : vector;
    duo_case c = {.problem.operation = operation,
                  .family = operation == DUO_SGEMM ? families[family].name : vectors,
                  .n = n,
                  .between = true};
    for (int i = 0; i < 3; i++) c.problem.shape[i] = shape[i] == 0 ? n : shape[i];
    return c;
}

duo_case *duo_crossover_add(duo_crossover *x, duo_operation operation, const char *family,
                            int64_t n)
{
    const int wanted = rank(operation, family);
    if (wanted < 0 || n < 1) return NULL;
    int at = 0, members = 0;
    for (int i = 0; i < x->cases; i++) {
        const duo_case *const c = &x->item[i];
        const int here = rank(c->problem.operation, c->family);
        members += here == wanted;
        if (here == wanted && c->n == n) return &x->item[i];
        if (here < wanted || (here == wanted && c->n < n)) at = i + 1;
    }
    if (x->cases == DUO_CASES || members == DUO_CURVE_POINTS) return NULL;
    memmove(&x->item[at + 1], &x->item[at], (size_t)(x->cases - at) * sizeof x->item[0]);
    x->item[at] = new_case(operation, wanted, n);
    x->cases++;
    return &x->item[at];
}

static void plan_sgemm(duo_crossover *x)
{
    for (int f = 0; f < FAMILIES; f++) {
        const bool square = families[f].square;
        const int64_t *const ladder =
            x->quick ? (square ? squares_quick : thin_quick) : (square ? squares : thin);
        const size_t bytes = x->quick ? (square ? sizeof squares_quick : sizeof thin_quick)
                                      : (square ? sizeof squares : sizeof thin);
        for (size_t i = 0; i < bytes / sizeof ladder[0]; i++)
            (void)duo_crossover_add(x, DUO_SGEMM, families[f].name, ladder[i]);
    }
}

void duo_crossover_plan(duo_crossover *x)
{
    x->cases = 0;
    if (x->wanted[DUO_SGEMM]) plan_sgemm(x);
    for (int operation = DUO_SGEMM + 1; operation < DUO_OPERATIONS; operation++) {
        if (!x->wanted[operation]) continue;
        for (int e = LEAST_EXPONENT; e <= MOST_EXPONENT; e++)
            if (!x->quick || e % 2 == 0 || e == MOST_EXPONENT)
                (void)duo_crossover_add(x, (duo_operation)operation, vectors, INT64_C(1) << e);
    }
    for (int i = 0; i < x->cases; i++) x->item[i].between = false;
}
