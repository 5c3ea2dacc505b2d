/*
 * two_openmps.c - a program with OpenMP of its own for test_openmp.sh: with LLVM's, while the inner
 * BLAS has GNU's.
 *
 *   two_openmps alone      calls from one thread, and in a child; one thread makes no others
 *   two_openmps region     calls from all threads of a parallel region; no more threads than these
 *   two_openmps runtimes   prints which runtimes are in the process
 *   two_openmps processors=N   does OpenMP know of N processors?
 *
 * Compiled with -DNATIVE it calls duo_sgemm and sets threads by duo_set_threads, else sgemm_.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EDGE = 600,
    THREADS = 8
}; /* large enough for OpenBLAS to share out parts of it, if it may */

static float a[EDGE * EDGE], want[EDGE * EDGE];

static int threads_here(void)
{
    int count = 0;
    DIR *const folder = opendir("/proc/self/task");
    for (const struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;)
        count += e->d_name[0] != '.';
    if (folder != NULL) closedir(folder);
    return count;
}

#ifdef NATIVE

#include <duoblas.h>

static bool multiply(float *c)
{
    return duo_sgemm(NULL, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f, a,
                     EDGE, a, EDGE, 0.0f, c, EDGE) == DUO_OK;
}

static void use_one_thread(bool one) { (void)duo_set_threads(NULL, one ? 1 : 0); }

#else

void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *,
            const float *, const int *, const float *, const int *, const float *, float *,
            const int *);

static bool multiply(float *c)
{
    const int n = EDGE;
    const float one = 1.0f, zero = 0.0f;
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    return true;
}

/* What a program of BLAS can do about it */
static void use_one_thread(bool one) { omp_set_num_threads(one ? 1 : THREADS); }

#endif

static bool is_right(void)
{
    float *const c = malloc(sizeof want);
    if (c == NULL) abort();
    memset(c, 0xFF, sizeof want);
    const bool right = multiply(c) && memcmp(c, want, sizeof want) == 0;
    free(c);
    return right;
}

static bool is_right_in_child(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(30); /* one that hangs is killed */
        _exit(is_right() && is_right() ? 0 : 1);
    }
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int fail(const char *what)
{
    printf("%s\n", what);
    return 1;
}

static int alone(void)
{
    const int before = threads_here();
    use_one_thread(true);
    for (int i = 0; i < 5; i++)
        if (!is_right()) return fail("wrong on one thread");
    printf("one thread: %d, before %d\n", threads_here(), before);
    if (threads_here() != before) return 1;
    if (!is_right_in_child()) return fail("the child is wrong, or hung");
    use_one_thread(false);
    for (int i = 0; i < 5; i++)
        if (!is_right()) return fail("wrong on several threads");
    if (!is_right_in_child()) return fail("the child is wrong, or hung, after several threads");
    return is_right() ? 0 : fail("wrong afterwards");
}

static int region(void)
{
    int wrong = 0;
    use_one_thread(true); /* no thread that is there already may serve in the region */
    if (!is_right()) return fail("wrong before the region");
    use_one_thread(false);
#pragma omp parallel num_threads(THREADS)
    if (omp_get_num_threads() != THREADS) abort();
    const int before = threads_here();
#pragma omp parallel for num_threads(THREADS) reduction(+ : wrong) schedule(static)
    for (int i = 0; i < 10 * THREADS; i++) wrong += !is_right();
    printf("in a region: %d threads, before %d, %d products are wrong\n", threads_here(), before,
           wrong);
    if (threads_here() != before || wrong > 0) return 1;
    return is_right_in_child() ? 0 : fail("the child is wrong, or hung, after a region");
}

static int runtimes(void)
{
    static const char *const names[] = {"libomp", "libgomp"};
    char line[4096];
    bool there[2] = {false, false};
    if (!is_right()) return fail("wrong");
    FILE *const maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return 1;
    while (fgets(line, sizeof line, maps) != NULL)
        for (int i = 0; i < 2; i++) there[i] |= strstr(line, names[i]) != NULL;
    fclose(maps);
    for (int i = 0; i < 2; i++)
        if (there[i]) printf("%s\n", names[i]);
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 0; i < EDGE * EDGE; i++) a[i] = (float)(i * 3 % 7 - 3);
    for (int j = 0; j < EDGE; j++)
        for (int p = 0; p < EDGE; p++)
            for (int i = 0; i < EDGE; i++) want[i + j * EDGE] += a[i + p * EDGE] * a[p + j * EDGE];
    const char *const task = argc == 2 ? argv[1] : "";
    if (strcmp(task, "alone") == 0) return alone();
    if (strcmp(task, "region") == 0) return region();
    if (strcmp(task, "runtimes") == 0) return runtimes();
    if (strncmp(task, "processors=", 11) == 0) return omp_get_num_procs() != atoi(task + 11);
    return 2;
}
