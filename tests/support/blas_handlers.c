/* blas_handlers.c - acts as a BLAS library that a program has loaded. It has dgemm_, and handlers
 * of wrong arguments that end the program, like the reference CBLAS's. */
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void dgemm_(void);
EXPORT void handlers_sgemm(void);
EXPORT void xerbla_(const char *name, const int32_t *argument, size_t length);
EXPORT void xerbla_64_(const char *name, const int64_t *argument, size_t length);
EXPORT void cblas_xerbla(int argument, const char *name, const char *format, ...);
EXPORT void cblas_xerbla64_(int64_t argument, const char *name, const char *format, ...);

void dgemm_(void) {}
void handlers_sgemm(void) {} /* a name that is not served */

void xerbla_(const char *name, const int32_t *argument, size_t length)
{
    (void)name, (void)argument, (void)length;
    exit(EXIT_FAILURE);
}

void xerbla_64_(const char *name, const int64_t *argument, size_t length)
{
    (void)name, (void)argument, (void)length;
    exit(EXIT_FAILURE);
}

void cblas_xerbla(int argument, const char *name, const char *format, ...)
{
    (void)argument, (void)name, (void)format;
    exit(EXIT_FAILURE);
}

void cblas_xerbla64_(int64_t argument, const char *name, const char *format, ...)
{
    (void)argument, (void)name, (void)format;
    exit(EXIT_FAILURE);
}
