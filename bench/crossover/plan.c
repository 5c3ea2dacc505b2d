/* plan.c - the ladders of sizes. */
#include "bench/crossover/crossover.h"

enum { THIN = 16, LEAST_EXPONENT = 4, MOST_EXPONENT = 27 };

/* Powers of two and what lies between; 1000 and 4092 fill no tile, as sizes of real data don't. */
static const int64_t squares[] = {16,  24,   32,   48,   64,   96,   128,  192,  256,  384, 512,
                                  768, 1000, 1024, 1536, 2048, 3072, 4092, 4096, 6144, 8192};
static const int64_t squares_quick[] = {16, 32, 64, 128, 256, 512, 1000, 2048, 4092, 8192};
static const int64_t thin[] = {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
static const int64_t thin_quick[] = {128, 512, 2048, 8192};

/* Where n stands; 0 means n. */
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

static void add(duo_crossover *x, duo_operation operation, const char *family, int64_t n,
                const int64_t shape[3])
{
    if (x->cases == DUO_CASES) return;
    duo_case *const c = &x->item[x->cases++];
    *c = (duo_case){.problem.operation = operation, .family = family, .n = n};
    for (int i = 0; i < 3; i++) c->problem.shape[i] = shape[i] == 0 ? n : shape[i];
}

static void plan_sgemm(duo_crossover *x)
{
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        const bool square = families[f].square;
        const int64_t *const ladder =
            x->quick ? (square ? squares_quick : thin_quick) : (square ? squares : thin);
        const size_t bytes = x->quick ? (square ? sizeof squares_quick : sizeof thin_quick)
                                      : (square ? sizeof squares : sizeof thin);
        for (size_t i = 0; i < bytes / sizeof ladder[0]; i++)
            add(x, DUO_SGEMM, families[f].name, ladder[i], families[f].shape);
    }
}

void duo_crossover_plan(duo_crossover *x)
{
    static const int64_t vector[3] = {0, 1, 1};
    x->cases = 0;
    if (x->wanted[DUO_SGEMM]) plan_sgemm(x);
    for (int operation = DUO_SGEMM + 1; operation < DUO_OPERATIONS; operation++) {
        if (!x->wanted[operation]) continue;
        for (int e = LEAST_EXPONENT; e <= MOST_EXPONENT; e++)
            if (!x->quick || e % 2 == 0 || e == MOST_EXPONENT)
                add(x, (duo_operation)operation, "n", INT64_C(1) << e, vector);
    }
}
