/* openblas_batched.c - see openblas.h */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/peers/openblas.h"

typedef void (*gemm_strided)(int layout, int transa, int transb, int m, int n, int k, float alpha,
                             const float *a, int lda, int stride_a, const float *b, int ldb,
                             int stride_b, float beta, float *c, int ldc, int stride_c, int count);
typedef void (*gemm_lists)(int layout, const int *transa, const int *transb, const int *m,
                           const int *n, const int *k, const float *alpha, float *const *a,
                           const int *lda, float *const *b, const int *ldb, const float *beta,
                           float *const *c, const int *ldc, int groups, const int *group_size);

/* The batch functions, looked for once; NULL: none is right. */
static struct {
    bool looked;
    gemm_strided strided;
    gemm_lists lists;
} blas;

static void call_strided(const duo_call *c, const duo_batch *batch)
{
    const duo_operand *const o = c->operand;
    const int64_t *const stride = batch->stride;
    blas.strided(DUO_COL_MAJOR, duo_transpose_if(c->transa), duo_transpose_if(c->transb), (int)c->m,
                 (int)c->n, (int)c->k, c->alpha, o[DUO_A].address, (int)o[DUO_A].ld,
                 (int)stride[DUO_A], o[DUO_B].address, (int)o[DUO_B].ld, (int)stride[DUO_B],
                 c->beta, o[DUO_C].address, (int)o[DUO_C].ld, (int)stride[DUO_C],
                 (int)batch->count);
}

/* All products are one group. Arguments with a value for each group are passed by address. */
static void call_lists(const duo_call *c, const duo_batch *batch)
{
    const duo_operand *const o = c->operand;
    const int transa = duo_transpose_if(c->transa), transb = duo_transpose_if(c->transb);
    const int m = (int)c->m, n = (int)c->n, k = (int)c->k, count = (int)batch->count;
    const int lda = (int)o[DUO_A].ld, ldb = (int)o[DUO_B].ld, ldc = (int)o[DUO_C].ld;
    blas.lists(DUO_COL_MAJOR, &transa, &transb, &m, &n, &k, &c->alpha, batch->pointer[DUO_A], &lda,
               batch->pointer[DUO_B], &ldb, &c->beta, batch->pointer[DUO_C], &ldc, 1, &count);
}

/*
 * Does it compute two products of 2 x 2 right? A child process tries. OpenBLAS up to 0.3.34 crashes
 * on small ones if it has kernels for several processors
 * (github.com/OpenMathLib/OpenBLAS/pull/5980), or refuses all arguments.
 */
static bool is_right(duo_blas_instance *instance, void (*all)(const duo_call *, const duo_batch *))
{
    enum { EDGE = 2, COUNT = 2, AREA = EDGE * EDGE, FLOATS = COUNT * AREA, MOST_SECONDS = 10 };
    float x[DUO_OPERANDS][FLOATS], *list[DUO_OPERANDS][COUNT];
    duo_call call = duo_call_sgemm(false, false, EDGE, EDGE, EDGE, 1.0f, 1.0f);
    duo_batch batch = {.count = COUNT};
    for (int i = 0; i < DUO_OPERANDS; i++) {
        for (int f = 0; f < FLOATS; f++) x[i][f] = 1.0f;
        for (int p = 0; p < COUNT; p++) list[i][p] = x[i] + p * AREA;
        call.operand[i].address = x[i];
        batch.stride[i] = AREA;
        batch.pointer[i] = list[i];
    }
    const pid_t child = fork();
    if (child == 0) {
        int wrong = 0;
        (void)alarm(MOST_SECONDS);
        (void)close(STDOUT_FILENO); /* against its messages */
        (void)close(STDERR_FILENO);
        (void)duo_blas_instance_begin(instance, 1);
        all(&call, &batch);
        for (int f = 0; f < FLOATS; f++) wrong += x[DUO_C][f] != (float)EDGE + 1.0f;
        _exit(wrong);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void look(void)
{
    duo_blas_instance *const instance = duo_blas_instance_get();
    if (blas.looked) return;
    void *const strided = duo_peer_cblas_function(instance, "cblas_sgemm_batch_strided");
    void *const lists = duo_peer_cblas_function(instance, "cblas_sgemm_batch");
    memcpy(&blas.strided, &strided, sizeof strided);
    memcpy(&blas.lists, &lists, sizeof lists);
    if (blas.strided != NULL && !is_right(instance, call_strided)) blas.strided = NULL;
    if (blas.lists != NULL && !is_right(instance, call_lists)) blas.lists = NULL;
    if ((strided != NULL || lists != NULL) && blas.strided == NULL && blas.lists == NULL)
        fprintf(stderr, "duoblas: %s's batches are left out: small products crash, or are wrong\n",
                instance->brand);
    blas.looked = true;
}

static bool has_lists(const duo_batch *batch) { return batch->pointer[DUO_A] != NULL; }

bool duo_peer_openblas_batches(const duo_batch *batch)
{
    look();
    return has_lists(batch) ? blas.lists != NULL : blas.strided != NULL;
}

bool duo_peer_openblas_batch(const duo_call *call, const duo_batch *batch, int threads)
{
    if (!duo_peer_openblas_batches(batch)) return false;
    duo_blas_instance *const instance = duo_blas_instance_get();
    const int before = duo_blas_instance_begin(instance, threads);
    (has_lists(batch) ? call_lists : call_strided)(call, batch);
    duo_blas_instance_end(instance, before);
    return true;
}

bool duo_peer_openblas_each(const duo_call *c, const duo_batch *batch, int threads)
{
    const duo_cblas_gemm gemm = duo_peer_cblas_gemm();
    const int transa = (int)duo_transpose_if(c->transa), transb = (int)duo_transpose_if(c->transb);
    const int m = (int)c->m, n = (int)c->n, k = (int)c->k;
    const duo_operand *const o = c->operand;
    duo_blas_instance *const instance = duo_blas_instance_get();
    if (gemm == NULL) return false;
    const int before = duo_blas_instance_begin(instance, threads);
    for (int64_t p = 0; p < batch->count; p++)
        gemm(DUO_COL_MAJOR, transa, transb, m, n, k, c->alpha,
             duo_batch_address(batch, c, DUO_A, p), (int)o[DUO_A].ld,
             duo_batch_address(batch, c, DUO_B, p), (int)o[DUO_B].ld, c->beta,
             duo_batch_address(batch, c, DUO_C, p), (int)o[DUO_C].ld);
    duo_blas_instance_end(instance, before);
    return true;
}
