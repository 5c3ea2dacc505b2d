/*
 * test_blas_guard.c - random calls of the drop-in. Their operands end, or begin, exactly at the
 * end, or the beginning, of memory that may be touched.
 *
 * All values are small integers, so every result is exact and is compared too. A stray access ends
 * the program with a line that names the call.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/blas_abi.h"
#include "support/child.h"
#include "support/data.h"
#include "support/fence.h"
#include "support/harness.h"

enum { PAGES = 48, FLOATS = PAGES * FENCE_PAGE / (int)sizeof(float), STRAY = 3 };

/* ---- Stray accesses ---- */

static char call_text[256];      /* read by the handler, on any thread */
static char handler_stack[8192]; /* only for the main thread: the others have room */

static void say(const char *text) { (void)!write(STDERR_FILENO, text, strlen(text)); }

static void on_stray_access(int number)
{
    (void)number;
    say("FAILED: access outside the operands of ");
    say(call_text);
    say("\n");
    _exit(STRAY);
}

static void catch_stray_accesses(void)
{
    struct sigaction action = {.sa_handler = on_stray_access, .sa_flags = SA_ONSTACK};
    const stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* ---- Operands at an end of a fence ---- */

/* `count` floats at the end or at the beginning of a fence, all integers -3 .. 3 but 0, and their
 * neighbours where there is room for any. */
typedef struct operand {
    float *x;
    int64_t count;
    bool at_end;
    float *around; /* with the neighbours */
    int64_t around_count;
} operand;

enum { NEIGHBOURS = 32 };

static operand place(const fence *f, test_rng *rng, int64_t count)
{
    static float pool[2 * FLOATS];
    if (pool[0] == 0.0f)
        for (int i = 0; i < 2 * FLOATS; i++)
            pool[i] = (float)test_between(rng, 1, 3) * (test_random(rng) % 2 == 0 ? 1.0f : -1.0f);
    operand o = {.count = count, .at_end = test_random(rng) % 2 == 0 || count == 0};
    o.around_count = count + NEIGHBOURS < FLOATS ? count + NEIGHBOURS : FLOATS;
    o.around = o.at_end ? f->high - o.around_count : f->low;
    o.x = o.at_end ? f->high - count : f->low;
    memcpy(o.around, pool + test_between(rng, 0, FLOATS), (size_t)o.around_count * sizeof(float));
    return o;
}

static const char *place_name(const operand *o) { return o->at_end ? "end" : "begin"; }

/* ---- Products ---- */

static int64_t random_size(test_rng *rng)
{
    static const int64_t largest[] = {4, 16, 40, 40, 100};
    if (test_random(rng) % 64 == 0) return test_between(rng, 100, 200);
    return test_between(rng, test_random(rng) % 32 == 0 ? 0 : 1, largest[test_random(rng) % 5]);
}

static int64_t random_ld(test_rng *rng, int64_t length)
{
    const int64_t gap = test_random(rng) % 2 == 0 ? test_between(rng, 1, 5) : 0;
    return (length > 1 ? length : 1) + gap;
}

/* Floats from the first to the last of a matrix. */
static int64_t span(int64_t length, int64_t runs, int64_t ld)
{
    return length > 0 && runs > 0 ? (runs - 1) * ld + length : 0;
}

/* c: before, its content before the call; afterwards, the expected result. by_row: do the runs of
 * C, op(A) and op(B) hold rows? */
static void multiply(const blas_product *p, float *c, const bool by_row[3])
{
    const bool product = p->alpha != 0.0f;
    const int64_t a_i = by_row[0] ? p->lda : 1, a_q = by_row[0] ? 1 : p->lda;
    const int64_t b_q = by_row[1] ? p->ldb : 1, b_j = by_row[1] ? 1 : p->ldb;
    const int64_t c_i = by_row[2] ? p->ldc : 1, c_j = by_row[2] ? 1 : p->ldc;
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t i = 0; i < p->m; i++) {
            float sum = 0.0f;
            for (int64_t q = 0; product && q < p->k; q++)
                sum += p->a[i * a_i + q * a_q] * p->b[q * b_q + j * b_j];
            float *const at = &c[i * c_i + j * c_j];
            *at = p->alpha * sum + p->beta * *at;
        }
    }
}

static void one_product(test_rng *rng, const fence f[3])
{
    static const char letters[] = "NnTtCc";
    static const float alphas[] = {1.0f, -1.0f, 2.0f, 0.0f}, betas[] = {0.0f, 1.0f, -2.0f};
    const blas_abi abi = (blas_abi)(test_random(rng) % ABIS);
    blas_product p = {.layout = test_random(rng) % 2 == 0 ? DUO_COL_MAJOR : DUO_ROW_MAJOR,
                      .transa = letters[test_random(rng) % 6],
                      .transb = letters[test_random(rng) % 6],
                      .m = random_size(rng),
                      .n = random_size(rng),
                      .k = random_size(rng),
                      .alpha = alphas[test_random(rng) % 16 / 5],
                      .beta = betas[test_random(rng) % 3]};
    const bool rows = p.layout == DUO_ROW_MAJOR;
    const bool by_row[3] = {blas_is_transposed(p.transa) != rows,
                            blas_is_transposed(p.transb) != rows, rows};
    const int64_t height[3] = {p.m, p.k, p.m}, width[3] = {p.k, p.n, p.n};
    int64_t ld[3];
    operand o[3];
    for (int i = 0; i < 3; i++) {
        const int64_t length = by_row[i] ? width[i] : height[i];
        const int64_t runs = by_row[i] ? height[i] : width[i];
        const bool touched = i == 2 || p.alpha != 0.0f;
        ld[i] = random_ld(rng, length);
        o[i] = place(&f[i], rng, touched ? span(length, runs, ld[i]) : 0);
    }
    p.a = o[0].x;
    p.lda = ld[0];
    p.b = o[1].x;
    p.ldb = ld[1];
    p.c = o[2].x;
    p.ldc = ld[2];
    snprintf(call_text, sizeof call_text,
             "sgemm/%s/%s/%c%c/%dx%dx%d/ld=%d,%d,%d/alpha=%g,beta=%g/%s,%s,%s", blas_abi_name(abi),
             rows ? "rows" : "columns", p.transa, p.transb, (int)p.m, (int)p.n, (int)p.k,
             (int)p.lda, (int)p.ldb, (int)p.ldc, (double)p.alpha, (double)p.beta, place_name(&o[0]),
             place_name(&o[1]), place_name(&o[2]));
    test_case("%s", call_text);

    static float want[FLOATS];
    memcpy(want, o[2].around, (size_t)o[2].around_count * sizeof(float));
    if (o[2].count > 0) multiply(&p, want + (o[2].x - o[2].around), by_row);
    const duo_status status = blas_sgemm(abi, &p);
    bool right = status == DUO_OK;
    for (int64_t i = 0; i < o[2].around_count; i++) right = right && o[2].around[i] == want[i];
    CHECK(right, "status %d", (int)status);
}

/* ---- Reductions ---- */

/* The value of element i of a vector that is passed by its first address. */
static float value(const operand *o, int64_t i, int64_t n, int64_t inc)
{
    return o->x[inc < 0 ? (i - (n - 1)) * inc : i * inc];
}

static void one_reduction(test_rng *rng, const fence f[2])
{
    static const int64_t longest[] = {9, 40, 300, 300, 9000};
    const blas_abi abi = (blas_abi)(test_random(rng) % ABIS);
    const duo_operation operation = (duo_operation)(DUO_SASUM + test_random(rng) % 4 % 3);
    const bool dot = operation == DUO_SDOT;
    const int64_t n =
        test_between(rng, test_random(rng) % 32 == 0 ? -1 : 1, longest[test_random(rng) % 5]);
    int64_t inc[2];
    operand o[2];
    for (int i = 0; i < 2; i++) {
        inc[i] = test_random(rng) % 3 == 0 ? 1 : test_between(rng, -5, 5);
        const int64_t step = inc[i] < 0 ? -inc[i] : inc[i];
        const bool touched = n > 0 && (dot || (i == 0 && inc[i] > 0));
        o[i] = place(&f[i], rng, touched ? (n - 1) * step + 1 : 0);
    }
    snprintf(call_text, sizeof call_text, "%s/%s/n=%d/inc=%d,%d/%s,%s",
             dot                      ? "sdot"
             : operation == DUO_SASUM ? "sasum"
                                      : "ssum",
             blas_abi_name(abi), (int)n, (int)inc[0], (int)inc[1], place_name(&o[0]),
             place_name(&o[1]));
    test_case("%s", call_text);
    float want = 0.0f;
    for (int64_t i = 0; i < (o[0].count > 0 ? n : 0); i++) {
        const float x = value(&o[0], i, n, inc[0]);
        want += dot ? x * value(&o[1], i, n, inc[1]) : operation == DUO_SASUM && x < 0.0f ? -x : x;
    }
    const float got = blas_reduce(abi, operation, n, o[0].x, inc[0], o[1].x, inc[1]);
    CHECK(got == want, "%g, expected %g", (double)got, (double)want);
}

/* ---- Tests ---- */

/* Calls on a device take longer. */
static int calls_of_mode(void) { return test_gpu_side() ? 20000 : 200000; }

static void use_the_path_of_the_mode(void)
{
    CHECK_STATUS(DUO_OK, duo_set_path(NULL, test_path()));
}

static void products_stay_inside_their_operands(void)
{
    test_rng rng = test_rng_for("guarded products");
    fence f[3] = {fence_new(PAGES), fence_new(PAGES), fence_new(PAGES)};
    use_the_path_of_the_mode();
    for (int i = 0; i < calls_of_mode(); i++) one_product(&rng, f);
    for (int i = 0; i < 3; i++) fence_free(&f[i]);
    printf("    %d random shapes\n", calls_of_mode());
}

static void reductions_stay_inside_their_operands(void)
{
    test_rng rng = test_rng_for("guarded reductions");
    fence f[2] = {fence_new(PAGES), fence_new(PAGES)};
    use_the_path_of_the_mode();
    for (int i = 0; i < calls_of_mode(); i++) one_reduction(&rng, f);
    for (int i = 0; i < 2; i++) fence_free(&f[i]);
    printf("    %d random shapes\n", calls_of_mode());
}

/* An access to one float too many is caught, at either end. */
static void stray_accesses_are_told(void)
{
    for (int side = 0; side < 2; side++) {
        fence f = fence_new(PAGES);
        const float *const x = side == 0 ? f.high - 7 : f.low - 1;
        snprintf(call_text, sizeof call_text, "a call made to fail");
        test_case("stray/%s", side == 0 ? "end" : "begin");
        char text[256];
        test_capture_begin();
        const int pid = fork();
        if (pid == 0) _exit((int)blas_reduce(ABI_CBLAS, DUO_SASUM, 8, x, 1, NULL, 0) + STRAY + 1);
        const int status = test_child_wait(pid, 60);
        (void)test_capture_end(text, sizeof text);
        CHECK(status == STRAY && strstr(text, "of a call made to fail") != NULL, "status %d: %s",
              status, text);
        fence_free(&f);
    }
}

int main(int argc, char **argv)
{
    static const test_entry tests[] = {
        {"stray_accesses_are_told", stray_accesses_are_told},
        {"products_stay_inside_their_operands", products_stay_inside_their_operands},
        {"reductions_stay_inside_their_operands", reductions_stay_inside_their_operands},
        {NULL, NULL},
    };
    catch_stray_accesses();
    return test_main(argc, argv, "blas_guard", tests);
}
