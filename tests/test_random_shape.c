/*
 * test_random_shape.c - shapes drawn at random: in their range, and the whole of it.
 */
#include "bench/measure/problem.h"
#include "bench/measure/stock.h"
#include "support/harness.h"

enum { DRAWS = 20000 };

/* Every size of a small range comes, and nothing outside. */
static void sizes(void)
{
    static const int64_t ranges[][2] = {{1, 1}, {1, 8}, {9, 128}, {5, 11}, {64, 65}};
    uint64_t random = test_seed();
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        const int64_t low = ranges[r][0], high = ranges[r][1];
        int seen[129] = {0}, missing = 0;
        test_case("random_shape/%d..%d", (int)low, (int)high);
        for (int i = 0; i < DRAWS; i++) {
            const int64_t size = duo_random_size(&random, low, high);
            if (!CHECK(size >= low && size <= high, "%d", (int)size)) return;
            seen[size]++;
        }
        for (int64_t size = low; size <= high; size++) missing += seen[size] == 0;
        CHECK(missing == 0, "%d sizes never came", missing);
    }
}

/* Small sizes come as often as large ones. */
static void doublings(void)
{
    uint64_t random = test_seed();
    int small = 0;
    test_case("random_shape/doublings");
    for (int i = 0; i < DRAWS; i++) small += duo_random_size(&random, 1, (1 << 20) - 1) < 1 << 10;
    CHECK(small > DRAWS * 0.48 && small < DRAWS * 0.52, "%d of %d below the middle", small, DRAWS);
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Does the shape have the property that the class is named for? */
static bool belongs(duo_shape_class shape_class, const int64_t s[3])
{
    const int64_t least = smaller(s[0], s[1]);
    switch (shape_class) {
    case DUO_SHAPE_SQUARE:
        return least >= 33 && smaller(least, s[2]) >= 33;
    case DUO_SHAPE_FLAT:
        return s[2] <= 63 && least >= 64;
    case DUO_SHAPE_THIN:
        return least >= 9 && least <= 128 && s[2] >= 64;
    case DUO_SHAPE_DEEP:
        return s[0] <= 256 && s[1] <= 256 && s[2] >= 1024;
    case DUO_SHAPE_GEMV:
        return least <= 8;
    case DUO_SHAPE_TINY:
        return s[0] <= 48 && s[1] <= 48 && s[2] <= 48;
    default:
        return s[1] == 1 && s[2] == 1;
    }
}

static void classes(void)
{
    uint64_t random = test_seed();
    for (int c = 0; c < DUO_SHAPE_CLASSES; c++) {
        test_case("random_shape/%s", duo_shape_class_names[c]);
        for (int i = 0; i < 1000; i++) {
            int64_t s[3];
            duo_random_shape(&random, (duo_shape_class)c, s);
            CHECK(belongs((duo_shape_class)c, s), "%jd x %jd x %jd", (intmax_t)s[0], (intmax_t)s[1],
                  (intmax_t)s[2]);
            CHECK(s[0] > 0 && s[1] > 0 && s[2] > 0 && s[0] * s[1] <= DUO_RANDOM_MOST_ELEMENTS &&
                      s[0] * s[2] <= DUO_RANDOM_MOST_ELEMENTS &&
                      s[1] * s[2] <= DUO_RANDOM_MOST_ELEMENTS,
                  "an operand is too large");
        }
    }
}

/* Floats from an operand's first to behind its last. */
static int64_t extent(const duo_operand *o) { return (o->columns - 1) * o->ld + o->rows; }

/* Products with gaps lie in a stock side by side, and have the layout that was drawn. */
static void layout(void)
{
    enum { FLOATS = 1 << 16 };
    static float input[FLOATS], output[FLOATS];
    const duo_stock stock = {.input = input,
                             .output = output,
                             .input_floats = FLOATS,
                             .output_floats = FLOATS,
                             .rotate_bytes = 1 << 16};
    uint64_t random = test_seed();
    int gaps = 0;
    for (int i = 0; i < 500; i++) {
        const duo_problem p = duo_random_product(&random, DUO_SHAPE_TINY);
        const duo_call call = duo_problem_call(&p, &stock, 0),
                       next = duo_problem_call(&p, &stock, 1);
        const duo_operand *const o = call.operand;
        test_case("random_shape/layout/%d", i);
        CHECK(duo_stock_slots(&stock, &p) >= 2, "one slot alone");
        CHECK(o[DUO_A].address == input && o[DUO_B].address >= input + extent(&o[DUO_A]) &&
                  next.operand[DUO_A].address >= o[DUO_B].address + extent(&o[DUO_B]) &&
                  next.operand[DUO_C].address >= o[DUO_C].address + extent(&o[DUO_C]),
              "operands overlap");
        for (int operand = 0; operand < DUO_OPERANDS; operand++)
            CHECK(o[operand].ld == o[operand].rows + p.gap[operand], "ld of operand %d", operand);
        CHECK(o[DUO_A].rows == (p.transa ? p.shape[2] : p.shape[0]) &&
                  o[DUO_B].columns == (p.transb ? p.shape[2] : p.shape[1]),
              "transposed otherwise");
        CHECK(o[DUO_C].read == (p.beta != 0.0f) && call.beta == p.beta, "beta");
        gaps += p.gap[0] > 0;
    }
    CHECK(gaps > 100 && gaps < 400, "%d of 500 with gaps", gaps);
}

/* Batches keep their limits, and come up to them. */
static void batches(void)
{
    enum { BATCHES = 4000 };
    static const int absent[] = {[DUO_A] = 1, [DUO_B] = 0, [DUO_C] = 2}; /* of m, n and k */
    uint64_t random = test_seed();
    int dense = 0, most = 0, full = 0, light = 0, heavy = 0;
    for (int i = 0; i < BATCHES; i++) {
        const duo_batch_problem b = duo_random_batch(&random);
        const int64_t *const s = b.product.shape, each = s[0] * s[1] * s[2];
        bool gaps = false;
        test_case("random_shape/batches/%d", i);
        CHECK(b.count >= 2 && b.count <= 100000 && (b.count * each <= 5000000000 || b.count == 2),
              "%jd products of %jd", (intmax_t)b.count, (intmax_t)each);
        for (int operand = 0; operand < DUO_OPERANDS; operand++) {
            const int64_t stride = duo_batch_problem_stride(&b, operand);
            CHECK(s[operand] >= 1 && s[operand] <= 600 && b.count * stride <= 1 << 26, "too large");
            CHECK(stride >= each / s[absent[operand]], "products overlap");
            gaps |= b.product.gap[operand] > 0 || b.gap[operand] > 0;
            full += b.count * stride > (1 << 26) - stride;
        }
        dense += !gaps;
        most += b.count == 100000;
        light += b.count * each < 2000000;
        heavy += b.count * each > 2500000000;
    }
    test_case("random_shape/batches");
    CHECK(dense > BATCHES * 0.45 && dense < BATCHES * 0.55, "%d dense", dense);
    CHECK(most > 0 && full > 0, "no limit was reached");
    CHECK(light > BATCHES / 20 && heavy > 10, "%d light, %d heavy", light, heavy);
}

/* The same seed, the same shapes: these, on every machine. */
static void reproducible(void)
{
    uint64_t random = 18;
    int64_t s[3];
    test_case("random_shape/reproducible");
    duo_random_shape(&random, DUO_SHAPE_SQUARE, s);
    CHECK(s[0] == 281 && s[1] == 381 && s[2] == 365, "%jd x %jd x %jd", (intmax_t)s[0],
          (intmax_t)s[1], (intmax_t)s[2]);
    random = 20;
    const duo_batch_problem b = duo_random_batch(&random);
    const duo_problem *const p = &b.product;
    CHECK(p->shape[0] == 21 && p->shape[1] == 2 && p->shape[2] == 50 && b.count == 55645,
          "%jd x %jd x %jd, %jd", (intmax_t)p->shape[0], (intmax_t)p->shape[1],
          (intmax_t)p->shape[2], (intmax_t)b.count);
    CHECK(!p->transa && !p->transb && p->beta == 0.0f && p->gap[0] == 3 && p->gap[1] == 1 &&
              p->gap[2] == 5 && b.gap[0] == 6 && b.gap[1] == 0 && b.gap[2] == 2,
          "%d %d %g +%jd,%jd,%jd +%jd,%jd,%jd", p->transa, p->transb, (double)p->beta,
          (intmax_t)p->gap[0], (intmax_t)p->gap[1], (intmax_t)p->gap[2], (intmax_t)b.gap[0],
          (intmax_t)b.gap[1], (intmax_t)b.gap[2]);
}

static const test_entry tests[] = {
    {"sizes", sizes},     {"doublings", doublings},       {"classes", classes}, {"layout", layout},
    {"batches", batches}, {"reproducible", reproducible}, {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "random_shape", tests); }
