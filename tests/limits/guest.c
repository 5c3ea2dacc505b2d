/*
 * guest.c - first calls of a program that has little: of address space, of stack, of descriptors.
 * Compiled for the library, with -DDROP_IN for the BLAS names, or into test_first_calls. Exit
 * status 1 and a line on whatever is open: a result is wrong.
 *
 *     guest TASK [SIZE [STACK]]
 *
 *   sums      ssum and sdot of SIZE elements
 *   product   C := A B of SIZE^3, exactly
 *   callers   the same in four threads at once, ten times
 *   unopened  sums of up to a million elements and products of up to 64^3 open no BLAS
 *   starved   a product on a thread that gets no memory (other_malloc.c), after a call that did
 *
 * With STACK the task runs on a thread that has STACK bytes for its calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef DROP_IN
float sdot_(const int *n, const float *x, const int *incx, const float *y, const int *incy);
float sasum_(const int *n, const float *x, const int *incx);
void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

static float sum(int n, const float *x) { return sasum_(&n, x, &(int){1}); }

static float dot(int n, const float *x) { return sdot_(&n, x, &(int){1}, x, &(int){1}); }

static void multiply(int n, const float *a, const float *b, float *c)
{
    cblas_sgemm(102, 111, 111, n, n, n, 1.0f, a, n, b, n, 0.0f, c, n);
}
#else
#include <duoblas.h>

static float sum(int n, const float *x)
{
    float result = -1.0f;
    (void)duo_ssum(NULL, n, x, 1, &result);
    return result;
}

static float dot(int n, const float *x)
{
    float result = -1.0f;
    (void)duo_sdot(NULL, n, x, 1, x, 1, &result);
    return result;
}

static void multiply(int n, const float *a, const float *b, float *c)
{
    (void)duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, n, n, n, 1.0f, a, n, b, n,
                    0.0f, c, n);
}
#endif

static void fail(const char *what, int size)
{
    printf("%s of size %d is wrong\n", what, size);
    exit(1);
}

static float *ones(size_t count)
{
    float *const x = malloc(count * sizeof *x);
    if (x == NULL) exit(2);
    for (size_t i = 0; i < count; i++) x[i] = 1.0f;
    return x;
}

static void sums(int n)
{
    float *const x = ones((size_t)n);
    if (!(sum(n, x) == (float)n)) fail("a sum", n);
    if (!(dot(n, x) == (float)n)) fail("a dot product", n);
    free(x);
}

/* A has i % 5 in row i, and B j % 7 in column j: each element is a small integer. */
static void product_starved(int n, void (*starve)(int))
{
    float *const a = ones((size_t)n * (size_t)n), *const b = ones((size_t)n * (size_t)n),
                 *const c = ones((size_t)n * (size_t)n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            a[i + j * n] = (float)(i % 5);
            b[i + j * n] = (float)(j % 7);
        }
    if (starve != NULL) starve(1);
    multiply(n, a, b, c);
    if (starve != NULL) starve(0);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (!(c[i + j * n] == (float)(n * (i % 5) * (j % 7)))) fail("a product", n);
    free(a);
    free(b);
    free(c);
}

static void product(int n) { product_starved(n, NULL); }

static void *starved_thread(void *size)
{
    void (*starve)(int);
    void *const address = dlsym(RTLD_DEFAULT, "other_malloc_starve");
    if (address == NULL) exit(2);
    memcpy(&starve, &address, sizeof starve);
    product(2); /* makes its context */
    product_starved(*(int *)size, starve);
    return NULL;
}

static void starved(int n)
{
    pthread_t thread;
    product(40); /* opens the BLAS */
    if (pthread_create(&thread, NULL, starved_thread, &n) != 0) exit(2);
    (void)pthread_join(thread, NULL);
}

static void *caller(void *size)
{
    for (int i = 0; i < 10; i++) product(*(int *)size);
    return NULL;
}

static void callers(int n)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, caller, &n) != 0) exit(2);
    for (int i = 0; i < 4; i++) (void)pthread_join(thread[i], NULL);
}

/* Is anything of an OpenBLAS mapped? */
static void unopened(int size)
{
    char line[1024];
    for (int n = 1; n <= 1000000; n *= 10) sums(n);
    for (int n = 1; n <= 64; n *= 2) product(n);
    FILE *const maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) exit(2);
    while (fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "openblas") != NULL) {
            fputs(line, stdout);
            fail("what was opened for calls", size);
        }
    (void)fclose(maps);
}

static const struct task {
    const char *name;
    void (*run)(int size);
} tasks[] = {{"sums", sums},
             {"product", product},
             {"callers", callers},
             {"starved", starved},
             {"unopened", unopened}};

typedef struct job {
    const struct task *task;
    int size;
} job;

static void *on_thread(void *user)
{
    const job *const j = user;
    j->task->run(j->size);
    return NULL;
}

/* Adds the whole pages that a library's thread-local data take, and one for their alignment. */
static int add_pages(struct dl_phdr_info *info, size_t size, void *sum)
{
    enum { PAGE = 4096 };
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *(size_t *)sum +=
                (info->dlpi_phdr[i].p_memsz / PAGE + (info->dlpi_phdr[i].p_align >= PAGE)) * PAGE;
    return 0;
}

/* The C library puts thread-local data on each thread's stack. The CUDA runtime has a page of them,
 * so the stack is made larger by that. */
static int with_stack(size_t bytes, job *j)
{
    pthread_attr_t attributes;
    pthread_t thread;
    (void)dl_iterate_phdr(add_pages, &bytes);
    return pthread_attr_init(&attributes) != 0 ||
                   pthread_attr_setstacksize(&attributes, bytes) != 0 ||
                   pthread_create(&thread, &attributes, on_thread, j) != 0 ||
                   pthread_join(thread, NULL) != 0
               ? 2
               : 0;
}

#ifdef PART_OF_A_TEST
int guest(int argc, char **argv);
int guest(int argc, char **argv)
#else
int main(int argc, char **argv)
#endif
{
    job j = {NULL, argc > 2 ? atoi(argv[2]) : 2};
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0] && argc > 1; i++)
        if (strcmp(argv[1], tasks[i].name) == 0) j.task = &tasks[i];
    if (j.task == NULL) return 2;
    if (argc <= 3) {
        j.task->run(j.size);
        return 0;
    }
    return with_stack((size_t)atol(argv[3]), &j);
}
