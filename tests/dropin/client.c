/*
 * client.c - a program of BLAS for test_dropin.sh; says its task, and fails if a result is wrong.
 *
 *   client calls [TIMES]   sgemm and sdot and sasum, by their Fortran and C names, TIMES times
 *   client large           one product that is worth threads
 *   client fork            uses BLAS, and again in a child
 *   client threads COUNT   a product in each of COUNT threads, all at once
 *   client batch           a batch of products; the drop-in has a name for that
 *   client wrong           an argument that is wrong, through both names
 *   client status N        one call, and then exit status N
 *   client echo ARG...     prints its arguments
 *   client nothing
 *
 * Compiled with -DINTEGER=int64_t for libblas64, -DHANDLERS to have its own xerbla_ and
 * cblas_xerbla, -DDOUBLES to call dgemm_ as well.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef INTEGER
#define INTEGER int
#endif
typedef INTEGER integer;

void sgemm_(const char *, const char *, const integer *, const integer *, const integer *,
            const float *, const float *, const integer *, const float *, const integer *,
            const float *, float *, const integer *);
float sdot_(const integer *, const float *, const integer *, const float *, const integer *);
float sasum_(const integer *, const float *, const integer *);
void cblas_sgemm(int, int, int, integer, integer, integer, float, const float *, integer,
                 const float *, integer, float, float *, integer);
float cblas_sdot(integer, const float *, integer, const float *, integer);
float cblas_sasum(integer, const float *, integer);

#ifdef DOUBLES
void dgemm_(const char *, const char *, const integer *, const integer *, const integer *,
            const double *, const double *, const integer *, const double *, const integer *,
            const double *, double *, const integer *);
#endif

#ifdef HANDLERS
void xerbla_(const char *name, const integer *argument, size_t length);
void cblas_xerbla(int argument, const char *name, const char *format, ...);

void xerbla_(const char *name, const integer *argument, size_t length)
{
    printf("xerbla_ %.*s %d\n", (int)length, name, (int)*argument);
}

void cblas_xerbla(int argument, const char *name, const char *format, ...)
{
    printf("cblas_xerbla %s %d%s\n", name, argument, format);
}
#endif

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

static void wrong(const char *what)
{
    fprintf(stderr, "client: %s is wrong\n", what);
    exit(EXIT_FAILURE);
}

/* C = A B^T of n x n, by both names; A is 2 throughout and B(i,j) = i, so C(i,j) = 2 n j. */
static int product_is_right(integer n)
{
    const float one = 1.0f, zero = 0.0f;
    float *const a = malloc((size_t)(n * n) * sizeof *a), *const b =
                                                              malloc((size_t)(n * n) * sizeof *b);
    float *const c = malloc((size_t)(n * n) * sizeof *c), *const d =
                                                              malloc((size_t)(n * n) * sizeof *d);
    for (integer i = 0; i < n * n; i++) {
        a[i] = 2.0f;
        b[i] = (float)(i % n);
    }
    sgemm_("N", "t", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    cblas_sgemm(ROW_MAJOR, TRANSPOSE, NO_TRANSPOSE, n, n, n, 1.0f, a, n, b, n, 0.0f, d, n);
    int right = 1;
    for (integer j = 0; j < n; j++)
        for (integer i = 0; i < n; i++)
            right =
                right && c[i + j * n] == (float)(2 * n * j) && d[i * n + j] == (float)(2 * n * j);
    free(a);
    free(b);
    free(c);
    free(d);
    return right;
}

static void all_calls(void)
{
    const float x[] = {1, -2, 3, -4}, y[] = {1, 10, 100, 1000};
    const integer four = 4, one = 1, back = -1;
    if (!product_is_right(5)) wrong("sgemm");
    if (sdot_(&four, x, &back, y, &one) != 1.0f * 1000 - 2 * 100 + 3 * 10 - 4) wrong("sdot_");
    if (cblas_sdot(4, x, 1, y, -1) != 1.0f * 1000 - 2 * 100 + 3 * 10 - 4) wrong("cblas_sdot");
    if (sasum_(&four, x, &one) != 10.0f) wrong("sasum_");
    if (cblas_sasum(2, x, 2) != 4.0f) wrong("cblas_sasum");
#ifdef DOUBLES
    const double a = 3.0, b = 5.0;
    double c = 7.0;
    dgemm_("N", "N", &one, &one, &one, &a, &b, &one, &a, &one, &b, &c, &one);
    if (c != 80.0) wrong("dgemm_");
#endif
}

static void fork_after_use(void)
{
    if (!product_is_right(100)) wrong("the parent's product");
    const pid_t child = fork();
    if (child == 0) _exit(product_is_right(100) && product_is_right(300) ? 0 : 1);
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) wrong("the child");
    if (!product_is_right(100)) wrong("the parent's product after the fork");
}

static pthread_barrier_t all_there;

static void *one_thread(void *failed)
{
    pthread_barrier_wait(&all_there);
    if (!product_is_right(33)) *(int *)failed = 1;
    return NULL;
}

static void many_threads(int count)
{
    pthread_t *const thread = malloc((size_t)count * sizeof *thread);
    int *const failed = calloc((size_t)count, sizeof *failed);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&all_there, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        if (pthread_create(&thread[i], &small, one_thread, &failed[i]) != 0)
            wrong("pthread_create");
    for (int i = 0; i < count; i++) {
        pthread_join(thread[i], NULL);
        if (failed[i]) wrong("a thread's product");
    }
    free(thread);
    free(failed);
}

static void batch_is_right(void)
{
    enum { N = 20, COUNT = 30 };
    void (*multiply)(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t,
                     int64_t, const float *, int64_t, int64_t, float, float *, int64_t, int64_t,
                     int64_t);
    static float a[N * N * COUNT], b[N * N * COUNT], c[N * N * COUNT];
    void *const address = dlsym(RTLD_DEFAULT, "cblas_sgemm_batch_strided");
    if (address == NULL) wrong("a name");
    memcpy(&multiply, &address, sizeof multiply);
    for (int i = 0; i < N * N * COUNT; i++) {
        a[i] = (float)(i / (N * N));
        b[i] = 1.0f;
    }
    multiply(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, N, N, N, 1.0f, a, N, N * N, b, N, N * N, 0.0f,
             c, N, N * N, COUNT);
    for (int i = 0; i < N * N * COUNT; i++)
        if (c[i] != (float)N * a[i]) wrong("a product of the batch");
}

/* Through both names. C must stay as it is. */
static void wrong_arguments(void)
{
    const float one = 1.0f, x[16] = {0};
    const integer four = 4, three = 3;
    float c[16];
    memset(c, 0x7f, sizeof c);
    sgemm_("N", "N", &four, &four, &four, &one, x, &four, x, &four, &one, c, &three);
    cblas_sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, 4, 4, 4, 1.0f, x, 3, x, 4, 1.0f, c, 4);
    for (size_t i = 0; i < sizeof c; i++)
        if (((const unsigned char *)c)[i] != 0x7f) wrong("C, which should be untouched,");
}

int main(int argc, char **argv)
{
    const char *const task = argc > 1 ? argv[1] : "nothing";
    const int number = argc > 2 ? atoi(argv[2]) : 1;
    if (strcmp(task, "calls") == 0)
        for (int i = 0; i < number; i++) all_calls();
    else if (strcmp(task, "large") == 0)
        product_is_right(400) ? (void)0 : wrong("the large product");
    else if (strcmp(task, "fork") == 0)
        fork_after_use();
    else if (strcmp(task, "threads") == 0)
        many_threads(number);
    else if (strcmp(task, "batch") == 0)
        batch_is_right();
    else if (strcmp(task, "wrong") == 0)
        wrong_arguments();
    else if (strcmp(task, "status") == 0)
        return product_is_right(2) ? number : 99;
    else if (strcmp(task, "echo") == 0)
        for (int i = 2; i < argc; i++) puts(argv[i]);
    else if (strcmp(task, "nothing") != 0)
        return 2;
    printf("%s: done\n", task);
    return 0;
}
