/*
 * test_sgemm_accuracy.c - the error of every algorithm of sgemm that does not work in float64, and
 * of duo_sgemm, against the bounds of the public header, on the data of sgemm_data.h; and the
 * Frobenius norm of the error against that of a plain fp32 FMA chain.
 *
 * DUOBLAS_TEST_LONG=1 makes twenty times the cases, and larger ones; with 0, as for sanitizers, a
 * twentieth.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/problem.h"
#include "support/harness.h"
#include "support/problems.h"
#include "support/run_algorithm.h"

static int cases_of(int usual) { return test_amount(usual / 40, usual, 20 * usual); }

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- Problems ---- */

/* Small sizes are as likely as large ones, and m n k <= work. */
static int64_t log_uniform(test_rng *rng, int64_t most)
{
    return (int64_t)exp2(test_unit(rng) * log2((double)most + 0.999));
}

static float scalar(test_rng *rng)
{
    static const float simple[] = {0.0f, 1.0f, -1.0f};
    const int64_t which = test_between(rng, 0, 3);
    return which < 3 ? simple[which] : (float)(4.0 * test_unit(rng) - 2.0);
}

/* Some algorithms are only for k >= 64: half of the problems are for them. */
static test_problem random_problem(test_rng *rng, const duo_sgemm_data *data, int64_t work)
{
    test_problem p = test_problem_random(rng);
    const bool deep = test_between(rng, 0, 1) != 0;
    const int64_t least = deep ? 64 : 1;
    const int64_t first = deep ? 2 : test_between(rng, 0, 2);
    int64_t size[3];
    for (int i = 0; i < 3; i++) {
        const int64_t most = i == 0 ? 4096 / least : 512;
        int64_t *const s = &size[(first + i) % 3];
        *s = log_uniform(rng, smaller(work, most));
        if (i == 0) *s = least * *s + (deep ? test_between(rng, 0, 63) : 0);
        work = work > *s ? work / *s : 1;
    }
    p.m = size[0];
    p.n = size[1];
    p.k = size[2];
    p.kind = data;
    p.alpha = scalar(rng);
    p.beta = scalar(rng);
    /* The old C would outweigh most of these products, and hide their errors. */
    if (data->apart > 0) p.beta = 0.0f;
    return p;
}

/* ---- Algorithms ---- */

/* The algorithms of this mode's side that serve a math. All that serve the default one serve
 * TF32. */
static int algorithms_for(duo_math math, const duo_algorithm *algorithm[DUO_SGEMM_ALGORITHMS])
{
    const duo_side side = test_gpu_side() ? DUO_SIDE_GPU : DUO_SIDE_CPU;
    int count = 0;
    for (int i = 0; i < DUO_SGEMM_ALGORITHMS; i++) {
        const duo_algorithm *const r = &duo_algorithm_tables[DUO_SGEMM].algorithm[i];
        if (r->side == side && duo_algorithm_serves(r, math)) algorithm[count++] = r;
    }
    return count;
}

/* The largest error / bound; 0: the algorithm does not take the call. */
static double run_on(const duo_algorithm *algorithm, const test_problem *p, const test_operands *o,
                     int *done)
{
    test_problem_name(p, "sgemm_accuracy", algorithm->name);
    const int status = test_problem_run(algorithm, p, o);
    if (status == DUO_DECLINED) return 0.0;
    if (done != NULL) ++*done;
    return test_operands_check(p, o, test_operands_bound(o, algorithm), status);
}

static void print_worst(const char *name, int cases, const double worst[DUO_SGEMM_KINDS])
{
    printf("    %s: %d cases, largest error / bound:", name, cases);
    for (int kind = 0; kind < DUO_SGEMM_KINDS; kind++)
        if (worst[kind] > 0.0)
            printf("%s %s %.3f", kind == 0 ? "" : ",", duo_sgemm_kinds[kind].name, worst[kind]);
    printf("\n");
}

static void algorithm_bounds(void)
{
    /* A GPU has many algorithms, each of which may take two problems of three. */
    const int cases = cases_of(test_mode_now() == MODE_GPU ? 7800 : 100 * DUO_SGEMM_KINDS);
    const int64_t work = INT64_C(1) << test_amount(20, 20, 23);
    static double worst[DUO_SGEMM_ALGORITHMS][DUO_SGEMM_KINDS];
    int done[DUO_SGEMM_ALGORITHMS] = {0};
    test_rng rng = test_rng_for("sgemm accuracy rows");
    const duo_algorithm *algorithms[DUO_SGEMM_ALGORITHMS];
    const int count = algorithms_for(DUO_MATH_TF32, algorithms);
    for (int i = 0; i < cases; i++) {
        const int kind = i % DUO_SGEMM_KINDS;
        const test_problem p = random_problem(&rng, &duo_sgemm_kinds[kind], work);
        test_operands o = test_operands_make(&p, &rng);
        for (int r = 0; r < count; r++)
            worst[r][kind] = fmax(worst[r][kind], run_on(algorithms[r], &p, &o, &done[r]));
        test_operands_free(&o);
    }
    for (int r = 0; r < count; r++) print_worst(algorithms[r]->name, done[r], worst[r]);
}

static const duo_sgemm_data *exact_data(void)
{
    const duo_sgemm_data *data = duo_sgemm_kinds;
    while (!data->exact) data++;
    return data;
}

/* Data of exponents too far apart for fp16x3 in every tile. */
static const duo_sgemm_data *wide_data(void)
{
    const duo_sgemm_data *data = duo_sgemm_kinds;
    while (data->spread == 0) data++;
    return data;
}

/* More tiles than a GPU has multiprocessors, and sums longer than any pipeline or split. */
static void algorithm_large(void)
{
    static const struct {
        int64_t m, n, k;
        bool transa, transb;
        bool patches; /* also with a workspace of 8 MB, in patches if operands are split */
        bool gpu;     /* only on a GPU: for large tiles of C */
    } shapes[] = {
        /* m    n     k       trans A, B    patches gpu */
        {2051, 2305, 65, false, true, false, false},  {4099, 1283, 64, true, true, false, false},
        {131, 4101, 513, false, false, true, false},  {515, 517, 1027, true, false, true, false},
        {67, 35, 131073, false, false, false, false}, {2305, 2311, 301, false, false, false, true},
        {2305, 2311, 301, false, true, false, true},  {2304, 2308, 301, false, true, false, true},
        {2304, 2308, 301, true, true, false, true},   {2305, 2311, 301, true, false, true, true},
    };
    const bool small_workspace = getenv("DUOBLAS_WORKSPACE") != NULL;
    test_rng rng = test_rng_for("sgemm accuracy large");
    const duo_algorithm *algorithms[DUO_SGEMM_ALGORITHMS];
    const int count = algorithms_for(DUO_MATH_TF32, algorithms);
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
        /* With the last shape the guard refuses fp16x3 for all tiles; one block computes several of
         * these. */
        const bool last = i / 2 == sizeof shapes / sizeof shapes[0] - 1;
        if (shapes[i / 2].gpu && test_mode_now() != MODE_GPU) continue;
        if (small_workspace && !shapes[i / 2].patches) continue;
        const bool aligned = shapes[i / 2].m % 4 == 0; /* every column, to 16 bytes */
        const duo_sgemm_data *const data = i % 2 == 0 ? &duo_sgemm_kinds[0]
                                           : last     ? wide_data()
                                                      : exact_data();
        test_problem p = {.layout = DUO_COL_MAJOR,
                          .transa = duo_transpose_if(shapes[i / 2].transa),
                          .transb = duo_transpose_if(shapes[i / 2].transb),
                          .m = shapes[i / 2].m,
                          .n = shapes[i / 2].n,
                          .k = shapes[i / 2].k,
                          .alpha = i % 2 == 0 ? 1.5f : 1.0f,
                          .beta = i % 4 < 2 ? -1.0f : 0.0f,
                          .extra_a = aligned ? 0 : test_between(&rng, 0, 9),
                          .extra_b = aligned ? 0 : test_between(&rng, 0, 9),
                          .extra_c = aligned ? 0 : test_between(&rng, 0, 9),
                          .offset = aligned ? 0 : (int64_t)i % 4,
                          .kind = data};
        if (data->exact && p.k > DUO_SGEMM_LONGEST_EXACT) continue;
        test_operands o = test_operands_make(&p, &rng);
        for (int r = 0; r < count; r++) (void)run_on(algorithms[r], &p, &o, NULL);
        test_operands_free(&o);
    }
}

/* ---- Few columns that are not like the others ---- */

enum { BLOCK = 64 }; /* rows, and columns, of C that are computed one way */

/* Row BLOCK * b + BLOCK / 2 of C for all b: its right values and bounds. */
typedef struct sample {
    int64_t count;
    double *want, *bound, *tf32_bound; /* [b][j] */
} sample;

static int64_t sampled_row(int64_t b) { return BLOCK * b + BLOCK / 2; }

static void take_sample(const test_problem *p, const test_operands *o, sample *s)
{
    double *const a = malloc((size_t)p->k * sizeof *a);
    if (a == NULL) exit(EXIT_FAILURE);
    for (int64_t b = 0; b < s->count; b++) {
        for (int64_t l = 0; l < p->k; l++) a[l] = (double)o->a.data[sampled_row(b) + l * o->a.ld];
#pragma omp parallel for
        for (int64_t j = 0; j < p->n; j++) {
            double sum = 0.0, magnitude = 0.0;
            for (int64_t l = 0; l < p->k; l++) {
                const double term = a[l] * (double)o->b.data[l + j * o->b.ld];
                sum += term;
                magnitude += fabs(term);
            }
            const float c = o->c.data[sampled_row(b) + j * o->c.ld];
            const double of_c = p->beta == 0.0f ? 0.0 : (double)p->beta * (double)c;
            const int64_t at = b * p->n + j;
            s->want[at] = sum + of_c;
            s->bound[at] = 0x1p-24 * ((double)(p->k + 3) * magnitude + 2.0 * fabs(of_c));
            s->tf32_bound[at] = s->bound[at] + 0x1p-10 * magnitude;
        }
    }
    free(a);
}

static void check_sample(const duo_algorithm *algorithm, const test_problem *p, const sample *s,
                         const test_array *c, int status)
{
    const double *const bounds = test_algorithm_rounds(algorithm) ? s->tf32_bound : s->bound;
    int64_t wrong = 0, first = 0;
    for (int64_t at = s->count * p->n - 1; at >= 0; at--) {
        const float got = c->data[sampled_row(at / p->n) + at % p->n * c->ld];
        if (oracle_close(s->want[at], bounds[at], got)) continue;
        wrong++;
        first = at;
    }
    CHECK(status == DUO_OK && wrong == 0,
          "status %d, %jd wrong, the first in algorithm %jd, column %jd", status, (intmax_t)wrong,
          (intmax_t)sampled_row(first / p->n), (intmax_t)(first % p->n));
    CHECK(test_array_intact(c), "written outside C");
}

/* Columns 0 and 64 of op(B) hold NaN, or exponents farther apart than fp16 has. */
static void nan_columns(const test_problem *p, test_operands *o, test_rng *rng)
{
    (void)rng;
    for (int64_t j = 0; j <= BLOCK; j += BLOCK) o->b.data[p->k / 3 + j * o->b.ld] = NAN;
}
/* NaN in both tiles that a cluster of blocks multiplies at once. */
static void nan_neighbours(const test_problem *p, test_operands *o, test_rng *rng)
{
    (void)rng;
    for (int64_t j = 0; j < 4 * BLOCK; j += BLOCK) o->b.data[p->k / 3 + j * o->b.ld] = NAN;
}
static void wide_columns(const test_problem *p, test_operands *o, test_rng *rng)
{
    for (int64_t j = 0; j <= BLOCK; j += BLOCK)
        for (int64_t l = 0; l < p->k; l++) {
            float *const b = &o->b.data[l + j * o->b.ld];
            *b = ldexpf(*b, (int)test_between(rng, -20, 20));
        }
}

/* In every second BLOCK of rows of op(A), one row that is not sampled holds NaN, or all rows are
 * smaller from the second BLOCK of k on. */
static void nan_rows(const test_problem *p, test_operands *o, test_rng *rng)
{
    (void)rng;
    for (int64_t i = BLOCK; i < p->m; i += 2 * BLOCK) o->a.data[i + p->k / 3 * o->a.ld] = NAN;
}
static void shrinking_rows(const test_problem *p, test_operands *o, test_rng *rng)
{
    (void)rng;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t l = BLOCK; l < p->k && i / BLOCK % 2 != 0; l++)
            o->a.data[i + l * o->a.ld] *= 0x1p-12f;
}

/* One block of a kernel computes several tiles of C in turn. Some of these, or some BLOCK x BLOCK
 * parts of a tile, are computed in another way, or with another scale, than their neighbours. The
 * last mix has partial tiles at the edges and columns that do not begin at multiples of 16 bytes,
 * in matrices large enough to be packed ahead. */
static void algorithm_mixed(void)
{
    static const struct {
        const char *name;
        void (*change)(const test_problem *p, test_operands *o, test_rng *rng); /* or NULL */
        int64_t edge, k; /* on a GPU: large tiles and several waves, or medium ones and one */
        int64_t extra;   /* of the leading dimensions */
    } mixes[] = {
        {"NaN columns", nan_columns, .edge = 6144, .k = 512},
        {"NaN neighbours", nan_neighbours, .edge = 6144, .k = 512},
        {"wide columns", wide_columns, .edge = 6144, .k = 512},
        {"NaN rows", nan_rows, .edge = 1408, .k = 200},
        {"shrinking rows", shrinking_rows, .edge = 1408, .k = 200},
        {"odd columns", NULL, .edge = 6147, .k = 515, .extra = 2},
    };
    const bool large = test_mode_now() == MODE_GPU;
    test_rng rng = test_rng_for("sgemm accuracy mixed");
    const duo_algorithm *algorithms[DUO_SGEMM_ALGORITHMS];
    const int count = algorithms_for(DUO_MATH_TF32, algorithms);
    for (size_t i = 0; i < 2 * sizeof mixes / sizeof mixes[0]; i++) {
        const int64_t more = mixes[i / 2].extra;
        test_problem p = {.layout = DUO_COL_MAJOR,
                          .transa = DUO_NO_TRANS,
                          .transb = DUO_NO_TRANS,
                          .m = large ? mixes[i / 2].edge : 4 * BLOCK,
                          .n = large ? mixes[i / 2].edge : 4 * BLOCK,
                          .k = large ? mixes[i / 2].k : 70,
                          .alpha = 1.0f,
                          .beta = (float)(i % 2),
                          .extra_a = more,
                          .extra_b = more,
                          .extra_c = more,
                          .kind = &(duo_sgemm_data){.name = mixes[i / 2].name}};
        if (large &&
            p.m > test_amount(4096, INT_MAX, INT_MAX)) { /* still several waves of blocks */
            p.m = p.n = 4096 + p.m % 4;
            p.k = 128 + p.k % 4;
        }
        test_operands o = test_operands_new(&p);
        test_array_fill(&o.a, &rng, DATA_NORMAL);
        test_array_fill(&o.b, &rng, DATA_NORMAL);
        if (p.beta != 0.0f) test_array_fill(&o.c, &rng, DATA_NORMAL);
        if (mixes[i / 2].change != NULL) mixes[i / 2].change(&p, &o, &rng);
        o.c_before = test_array_copy(&o.c);
        sample s = {.count = p.m / BLOCK};
        const size_t size = (size_t)(s.count * p.n) * sizeof(double);
        s.want = malloc(size);
        s.bound = malloc(size);
        s.tf32_bound = malloc(size);
        if (s.want == NULL || s.bound == NULL || s.tf32_bound == NULL) exit(EXIT_FAILURE);
        take_sample(&p, &o, &s);
        for (int r = 0; r < count; r++) {
            test_problem_name(&p, "sgemm_accuracy", algorithms[r]->name);
            const int status = test_problem_run(algorithms[r], &p, &o);
            if (status != DUO_DECLINED) check_sample(algorithms[r], &p, &s, &o.c, status);
        }
        free(s.want);
        free(s.bound);
        free(s.tf32_bound);
        test_operands_free(&o);
    }
}

/* ---- The public function ---- */

static void public_bounds(void)
{
    static const duo_math maths[] = {DUO_MATH_ACCURATE, DUO_MATH_IEEE, DUO_MATH_TF32};
    static double worst[DUO_SGEMM_KINDS];
    const int cases = cases_of(900);
    test_rng rng = test_rng_for("sgemm accuracy public");
    duo_context *ctx = test_context();
    for (int i = 0; i < cases; i++) {
        const int kind = i % DUO_SGEMM_KINDS;
        const test_problem p = random_problem(&rng, &duo_sgemm_kinds[kind], INT64_C(1) << 20);
        test_operands o = test_operands_make(&p, &rng);
        const duo_math math = maths[i / DUO_SGEMM_KINDS % 3];
        test_problem_name(&p, "sgemm_accuracy", "public");
        CHECK_STATUS(DUO_OK, duo_set_math(ctx, math));
        const duo_status status = test_problem_multiply(ctx, &p, &o, NULL);
        const double *const bounds = math == DUO_MATH_TF32 ? o.tf32_bound : o.bound;
        worst[kind] = fmax(worst[kind], test_operands_check(&p, &o, bounds, status));
        test_operands_free(&o);
    }
    print_worst("duo_sgemm", cases, worst);
    test_context_end(ctx);
}

/* ---- The norm of the error ---- */

/*
 * One fp32 FMA chain over k for each element, by columns so that it vectorizes. Rounded by way of
 * float64, which differs from a fused multiply-add in about one of 2^29 steps, by one more
 * rounding.
 */
static void chain(const test_problem *p, const test_operands *o, float *sum)
{
    memset(sum, 0, (size_t)(p->m * p->n) * sizeof *sum);
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t l = 0; l < p->k; l++) {
            const double b =
                o->b.data[p->transb != DUO_NO_TRANS ? j + l * o->b.ld : l + j * o->b.ld];
            float *const column = sum + j * p->m;
            for (int64_t i = 0; i < p->m; i++) {
                const double a =
                    o->a.data[p->transa != DUO_NO_TRANS ? l + i * o->a.ld : i + l * o->a.ld];
                column[i] = (float)((double)column[i] + a * b);
            }
        }
}

/* The sum of squares of the errors of a column-major result, beta = 0, alpha = 1. */
static double squares(const test_problem *p, const test_operands *o, const float *c, int64_t ldc)
{
    double sum = 0.0;
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++) {
            const double error = (double)c[i + j * ldc] - o->want[i * p->n + j];
            sum += error * error;
        }
    return sum;
}

/* Two norms of as many roundings differ by some percent. On a CPU without fused multiply-add the
 * product is rounded, too: 1.06 times a chain's norm, measured where few terms count. Products that
 * underflow are outside of the error bound: tensor cores truncate their sums to multiples of
 * 2^-149, which took sgemm_gpu_mma to 1.17 (H100). */
static double allowed_ratio(const duo_algorithm *algorithm, const duo_sgemm_data *data)
{
    if (data->scale_a + data->scale_b < -126 && algorithm->id == DUO_sgemm_gpu_mma) return 1.25;
    return algorithm->side == DUO_SIDE_CPU ? 1.1 : 1.05;
}

/* If few elements outweigh all others, a norm compares single roundings, which says nothing. */
static bool has_norm(const duo_sgemm_data *data)
{
    return data->spread <= 20 && data->apart == 0 && data->planted == 0 && !data->exact;
}

static void norms(void)
{
    static const int64_t shapes[][3] = {
        {192, 160, 64}, {128, 96, 100}, {96, 128, 257}, {64, 96, 1000}, {96, 64, 4096}};
    test_rng rng = test_rng_for("sgemm accuracy norms");
    const duo_algorithm *algorithms[DUO_SGEMM_ALGORITHMS];
    double largest[DUO_SGEMM_ALGORITHMS] = {0.0};
    const int count = algorithms_for(DUO_MATH_ACCURATE, algorithms);
    const int step = test_mode_now() == MODE_GPU ? 1 : 4; /* 4: each shape once */
    for (int kind = 0; kind < DUO_SGEMM_KINDS; kind++) {
        for (int s = 0; s < 5 * 4; s += step) {
            if (!has_norm(&duo_sgemm_kinds[kind])) continue;
            const test_problem p = {.layout = DUO_COL_MAJOR,
                                    .transa = duo_transpose_if(s / 5 % 2 != 0),
                                    .transb = duo_transpose_if(s / 10 != 0),
                                    .m = shapes[s % 5][0],
                                    .n = shapes[s % 5][1],
                                    .k = shapes[s % 5][2],
                                    .alpha = 1.0f,
                                    .kind = &duo_sgemm_kinds[kind]};
            test_operands o = test_operands_make(&p, &rng);
            float *const plain = malloc((size_t)(p.m * p.n) * sizeof *plain);
            if (plain == NULL) exit(EXIT_FAILURE);
            chain(&p, &o, plain);
            const double allowed = sqrt(squares(&p, &o, plain, p.m));
            for (int r = 0; r < count; r++) {
                test_problem_name(&p, "sgemm_accuracy", algorithms[r]->name);
                const int status = test_problem_run(algorithms[r], &p, &o);
                if (status == DUO_DECLINED) continue;
                const double ratio = sqrt(squares(&p, &o, o.c.data, o.c.ld)) / allowed;
                CHECK(status == DUO_OK && ratio <= allowed_ratio(algorithms[r], p.kind),
                      "status %d, norm of the error %.3f times a chain's", status, ratio);
                largest[r] = fmax(largest[r], ratio);
            }
            free(plain);
            test_operands_free(&o);
        }
    }
    for (int r = 0; r < count; r++)
        printf("    %s: norm of the error / a chain's: at most %.3f\n", algorithms[r]->name,
               largest[r]);
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"algorithm_bounds", algorithm_bounds},
        {"algorithm_large", algorithm_large},
        {"algorithm_mixed", algorithm_mixed},
        {"public_bounds", public_bounds},
        {"norms", norms},
        {NULL, NULL},
    };
    return test_main(argc, argv, "sgemm_accuracy", tests);
}
