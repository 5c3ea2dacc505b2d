/*
 * leap.c - a BLAS for test_dropin.sh. Its sgemm_ hands its work to cblas_sgemm by name, so to the
 * owner of that name in the process.
 */
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float,
                 float *, int);
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *,
            const float *, const int *, const float *, const int *, const float *, float *,
            const int *);

static int transpose(const char *letter) { return *letter == 'N' ? 111 : 112; }

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc)
{
    cblas_sgemm(102, transpose(transa), transpose(transb), *m, *n, *k, *alpha, a, *lda, b, *ldb,
                *beta, c, *ldc);
}
