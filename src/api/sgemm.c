/* sgemm.c - duo_sgemm: check arguments, take the quick returns, hand over. */
#include "api/describe.h"
#include "call/capture.h"
#include "call/execute.h"
#include "cpu/ffma.h"
#include "cpu/kernels.h"
#include "data/residency.h"
#include "host/stack.h"

static bool valid_transpose(duo_transpose t)
{
    return t == DUO_NO_TRANS || t == DUO_TRANS || t == DUO_CONJ_TRANS;
}

/* Does a matrix of `columns` runs of `rows` floats, ld apart, fit the address space? */
static bool addressable(int64_t rows, int64_t columns, int64_t ld)
{
    int64_t floats;
    if (rows == 0 || columns == 0) return true;
    return !__builtin_mul_overflow(columns - 1, ld, &floats) &&
           !__builtin_add_overflow(floats, rows, &floats) && floats <= PTRDIFF_MAX / 4;
}

static int64_t at_least_1(int64_t size) { return size > 1 ? size : 1; }

/* Fills in the caller's arguments for an operand. `address` loses its const: `written` says whether
 * anything is written there. Fields that duo_locate sets stay as they are. */
static void set_operand(duo_operand *o, const float *address, int64_t rows, int64_t columns,
                        int64_t ld, bool read, bool written)
{
    o->address = (float *)(uintptr_t)address;
    o->rows = rows;
    o->columns = columns;
    o->ld = ld;
    o->read = read;
    o->written = written;
}

/* The caller's arguments, checked. Row-major storage of a matrix is column-major storage of its
 * transpose: there C' = op(B)' op(A)'. */
typedef struct product {
    bool swapped, transa, transb, reads; /* reads: are A and B read at all? */
    int64_t m, n, k, lda, ldb, ldc, a_rows, a_columns, b_rows, b_columns;
    float alpha, beta;
    const float *a, *b;
    float *c;
} product;

/* Sets all that a tiny product needs: filling in a whole duo_call takes as long as multiplying.
 * duo_explain_last finds out the rest (call/explain.c). */
static void set_problem(duo_call *call, const product *p)
{
    call->operation = DUO_SGEMM;
    call->batch = NULL;
    call->swapped = p->swapped;
    call->transa = p->transa;
    call->transb = p->transb;
    call->m = p->m;
    call->n = p->n;
    call->k = p->k;
    call->alpha = p->alpha;
    call->beta = p->beta;
}

static void set_call(duo_call *call, const product *p, const duo_blas_library *program)
{
    set_problem(call, p);
    call->program = program;
    call->threads = 1;
    set_operand(&call->operand[DUO_A], p->a, p->a_rows, p->a_columns, p->lda, p->reads, false);
    set_operand(&call->operand[DUO_B], p->b, p->b_rows, p->b_columns, p->ldb, p->reads, false);
    set_operand(&call->operand[DUO_C], p->c, p->m, p->n, p->ldc, p->beta != 0.0f, true);
}

static bool near(const float *x, int64_t rows, int64_t columns, int64_t ld)
{
    const uintptr_t low = (uintptr_t)x;
    return duo_residency_near(low, low + sizeof(float) * (size_t)((columns - 1) * ld + rows));
}

/* May the product touch a registered region? */
static bool near_registered(const product *p)
{
    if (!duo_residency_near(0, UINTPTR_MAX)) return false; /* mostly nothing is registered */
    return near(p->c, p->m, p->n, p->ldc) ||
           (p->reads && (near(p->a, p->a_rows, p->a_columns, p->lda) ||
                         near(p->b, p->b_rows, p->b_columns, p->ldb)));
}

/* Multiplies without a duo_call. */
static void run_ffma(duo_context *ctx, const product *p)
{
    /* Every member is named: the compiler would clear a structure of this size in 10 ns. */
    duo_product tiny = {.transa = p->transa,
                        .transb = p->transb,
                        .vector = false,
                        .m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .alpha = p->alpha,
                        .beta = p->beta,
                        .a = p->a,
                        .b = p->b,
                        .c = p->c,
                        .lda = p->lda,
                        .ldb = p->ldb,
                        .ldc = p->ldc,
                        .packed = NULL,
                        .row = 0,
                        .column = 0,
                        .step = 0};
    ctx->last.tiny = true;
    ctx->last.algorithm = duo_algorithm_of(DUO_sgemm_cpu_ffma);
    set_problem(&ctx->last.call, p);
    duo_ffma_multiply(&tiny);
}

/* The largest size that needs no more stack than any thread has. */
enum { TINIEST = 8 };

/* False: the algorithm declined, and nothing was written. */
static bool run_tiny(duo_context *ctx, const product *p, int64_t size)
{
    if (size > TINIEST && duo_stack_is_small()) return false;
    const bool ffma =
        size <= TINIEST || ctx->policy.tiny_algorithm[DUO_SGEMM]->id == DUO_sgemm_cpu_ffma;
    if (p->reads && ffma) {
        run_ffma(ctx, p);
        return true;
    }
    ctx->last.tiny = true;
    ctx->last.algorithm = ctx->policy.tiny_algorithm[DUO_SGEMM];
    set_call(&ctx->last.call, p, duo_policy_program(&ctx->policy));
    if (ctx->last.algorithm->run(&ctx->last.call) == DUO_OK) return true;
    duo_policy_changed(&ctx->policy, &ctx->resources); /* the library turned out to decline */
    return false;
}

static int64_t largest_size(const product *p)
{
    const int64_t side = p->m > p->n ? p->m : p->n;
    return side > p->k ? side : p->k;
}

static bool fits(const product *p, int64_t edge)
{
    return duo_fits_cube(p->m, p->n, p->k, 1, edge);
}

/* Runs the product if it is tiny. The limit may be settled only now. */
static bool ran_tiny(duo_context *ctx, const product *p)
{
    const int64_t size = largest_size(p);
    int64_t edge;
    do {
        edge = ctx->policy.tiny[DUO_SGEMM];
        if (size <= edge || (edge > 0 && fits(p, edge)))
            return !near_registered(p) && run_tiny(ctx, p, size);
    } while (duo_policy_settle(&ctx->policy, &ctx->resources, DUO_SGEMM,
                               fits(p, DUO_TINY_EDGE) ? DUO_TINY_EDGE : size));
    return false;
}

/* Checks the arguments. *empty: C stays as it is. Inline, since a tiny product takes no longer than
 * this. */
static inline duo_status check(product *p, bool *empty, duo_layout layout, duo_transpose transa,
                               duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                               const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                               float *c, int64_t ldc)
{
    if ((layout != DUO_COL_MAJOR && layout != DUO_ROW_MAJOR) || !valid_transpose(transa) ||
        !valid_transpose(transb))
        return DUO_ERR_ENUM;
    if (m < 0 || n < 0 || k < 0) return DUO_ERR_SIZE;

    const bool swapped = layout == DUO_ROW_MAJOR;
    *p = (product){.swapped = swapped,
                   .transa = (swapped ? transb : transa) != DUO_NO_TRANS,
                   .transb = (swapped ? transa : transb) != DUO_NO_TRANS,
                   .reads = k > 0 && alpha != 0.0f,
                   .m = swapped ? n : m,
                   .n = swapped ? m : n,
                   .k = k,
                   .lda = swapped ? ldb : lda,
                   .ldb = swapped ? lda : ldb,
                   .ldc = ldc,
                   .alpha = alpha,
                   .beta = beta,
                   .a = swapped ? b : a,
                   .b = swapped ? a : b,
                   .c = c};
    p->a_rows = p->transa ? k : p->m;
    p->a_columns = p->transa ? p->m : k;
    p->b_rows = p->transb ? p->n : k;
    p->b_columns = p->transb ? k : p->n;
    if (p->lda < at_least_1(p->a_rows) || p->ldb < at_least_1(p->b_rows) || ldc < at_least_1(p->m))
        return DUO_ERR_LD;
    if (!addressable(p->a_rows, p->a_columns, p->lda) ||
        !addressable(p->b_rows, p->b_columns, p->ldb) || !addressable(p->m, p->n, ldc))
        return DUO_ERR_SIZE;
    const bool nothing = m == 0 || n == 0;
    if (!nothing && (c == NULL || (p->reads && (a == NULL || b == NULL)))) return DUO_ERR_NULL;
    *empty = nothing || (!p->reads && beta == 1.0f);
    return DUO_OK;
}

duo_status duo_sgemm(duo_context *given, duo_layout layout, duo_transpose transa,
                     duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                     const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                     int64_t ldc)
{
    duo_context *const ctx = duo_context_of(given);
    product p;
    bool empty;
    if (ctx == NULL) return given == NULL ? DUO_ERR_MEMORY : DUO_ERR_CONTEXT;
    const duo_status checked =
        check(&p, &empty, layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (checked != DUO_OK) return checked;
    if (!empty && ran_tiny(ctx, &p)) return DUO_OK;
    duo_call call = {0};
    set_call(&call, &p, duo_policy_program(&ctx->policy));
    if (ctx->policy.capture != NULL) { /* then no call is tiny */
        const duo_work work = duo_sgemm_work(&call, ctx->policy.math);
        return empty ? DUO_OK : ctx->policy.capture->add(ctx, &work);
    }
    if (empty) {
        duo_execute_nothing(ctx, &call);
        return DUO_OK;
    }
    return duo_execute(ctx, &call);
}

duo_work duo_sgemm_work(const duo_call *call, duo_math math)
{
    const bool rows = call->swapped;
    const duo_operand *const a = &call->operand[rows ? DUO_B : DUO_A],
                             *const b = &call->operand[rows ? DUO_A : DUO_B],
                             *const c = &call->operand[DUO_C];
    return (duo_work){.size = sizeof(duo_work),
                      .kind = DUO_WORK_SGEMM,
                      .math = math,
                      .layout = rows ? DUO_ROW_MAJOR : DUO_COL_MAJOR,
                      .transa = (rows ? call->transb : call->transa) ? DUO_TRANS : DUO_NO_TRANS,
                      .transb = (rows ? call->transa : call->transb) ? DUO_TRANS : DUO_NO_TRANS,
                      .m = rows ? call->n : call->m,
                      .n = rows ? call->m : call->n,
                      .k = call->k,
                      .alpha = call->alpha,
                      .beta = call->beta,
                      .a = a->address,
                      .b = b->address,
                      .c = c->address,
                      .lda = a->ld,
                      .ldb = b->ld,
                      .ldc = c->ld};
}

duo_status duo_sgemm_describe(duo_call *call, duo_layout layout, duo_transpose transa,
                              duo_transpose transb, int64_t m, int64_t n, int64_t k, float alpha,
                              const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                              float *c, int64_t ldc)
{
    product p;
    bool empty;
    const duo_status checked =
        check(&p, &empty, layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (checked != DUO_OK) return checked;
    *call = (duo_call){.operation = DUO_SGEMM};
    set_call(call, &p, NULL);
    if (empty) call->operand[DUO_C].read = call->operand[DUO_C].written = false;
    return DUO_OK;
}
