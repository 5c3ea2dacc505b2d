/* blas_abi_scipy.c - blas_abi.c through the names that begin with scipy_. */
#define sgemm_         scipy_sgemm_
#define sdot_          scipy_sdot_
#define sasum_         scipy_sasum_
#define ssum_          scipy_ssum_
#define cblas_sgemm    scipy_cblas_sgemm
#define cblas_sdot     scipy_cblas_sdot
#define cblas_sasum    scipy_cblas_sasum
#define cblas_ssum     scipy_cblas_ssum
#define sgemm_64_      scipy_sgemm_64_
#define sdot_64_       scipy_sdot_64_
#define sasum_64_      scipy_sasum_64_
#define ssum_64_       scipy_ssum_64_
#define cblas_sgemm64_ scipy_cblas_sgemm64_
#define cblas_sdot64_  scipy_cblas_sdot64_
#define cblas_sasum64_ scipy_cblas_sasum64_
#define cblas_ssum64_  scipy_cblas_ssum64_
#include "support/blas_abi.c"
