/*
 * test_machine.c - the library's facts of the machine: a container's CPU quota from made-up trees,
 * the threads it may use by the environment, OpenMP and the affinity mask (in child processes), the
 * CPU's name, and forks.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "call/context.h"
#include "choice/algorithm.h"
#include "gpu/backend/devices.h"
#include "host/fork.h"
#include "host/machine.h"
#include "host/openmp.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/folder.h"
#include "support/harness.h"

/* ---- A root directory of our own ---- */

/* Makes the file below the root, and the folders on the way. */
static void put_file(const char *name, const char *content)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *const file = fopen(path, "w");
    if (!CHECK(file != NULL, "%s", path)) return;
    fputs(content, file);
    fclose(file);
}

/* ---- The quota ---- */

static void check_quota(int expected)
{
    const int got = duo_quota_cpus(test_folder());
    CHECK(got == expected, "quota %d, expected %d", got, expected);
}

static void quota_version2(void)
{
    static const struct {
        const char *line;
        int cpus;
    } cases[] = {
        {"max 100000\n", 0},
        {"150000 100000\n", 2},
        {"100000 100000\n", 1},
        {"100001 100000\n", 2},
        {"50000 100000\n", 1},
        {"1000 100000\n", 1},
        {"400000 100000\n", 4},
        {"1600000 50000", 32},
        {"", 0},
        {"\n", 0},
        {"max\n", 0},
        {"100000\n", 0},
        {"-1 100000\n", 0},
        {"100000 0\n", 0},
        {"100000 -5\n", 0},
        {"garbage of some kind\n", 0},
        {"9223372036854775807 100000\n", 0},
        {"99999999999999999999999999 1\n", 0},
        {"9223372036854775807 9223372036854775807\n", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_case("quota/v2/%.30s", cases[i].line);
        test_folder_begin();
        put_file("sys/fs/cgroup/cpu.max", cases[i].line);
        check_quota(cases[i].cpus);
        test_folder_end();
    }
}

static void quota_version1(void)
{
    static const struct {
        const char *quota, *period;
        int cpus;
    } cases[] = {
        {"-1\n", "100000\n", 0}, {"250000\n", "100000\n", 3}, {"100000\n", "100000\n", 1},
        {"1\n", "100000\n", 1},  {"0\n", "100000\n", 0},      {"100000\n", "0\n", 0},
        {"100000\n", "", 0},     {"", "100000\n", 0},         {"800000\n", "100000\n", 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_case("quota/v1/%s", cases[i].quota);
        test_folder_begin();
        put_file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", cases[i].quota);
        put_file("sys/fs/cgroup/cpu/cpu.cfs_period_us", cases[i].period);
        check_quota(cases[i].cpus);
        test_folder_end();
    }
    test_case("quota/v1/no-period-file");
    test_folder_begin();
    put_file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
    check_quota(0);
    test_folder_end();
}

/* The smallest limit on the path from the process's cgroup to the root holds. */
static void quota_of_parents(void)
{
    test_folder_begin();
    test_case("quota/no-files");
    check_quota(0);

    test_case("quota/v2/parent");
    put_file("proc/self/cgroup", "0::/slice/job/step\n");
    put_file("sys/fs/cgroup/slice/cpu.max", "600000 100000\n");
    put_file("sys/fs/cgroup/slice/job/cpu.max", "300000 100000\n");
    put_file("sys/fs/cgroup/slice/job/step/cpu.max", "max 100000\n");
    check_quota(3);

    test_case("quota/v2/child");
    put_file("sys/fs/cgroup/slice/job/step/cpu.max", "150000 100000\n");
    check_quota(2);

    test_case("quota/v2/root");
    put_file("sys/fs/cgroup/cpu.max", "100000 100000\n");
    check_quota(1);
    test_folder_end();

    test_folder_begin();
    test_case("quota/v1/parent");
    put_file("proc/self/cgroup",
             "12:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/\n");
    put_file("sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "500000\n");
    put_file("sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n");
    put_file("sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "-1\n");
    put_file("sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
    check_quota(5);
    test_folder_end();

    test_folder_begin();
    test_case("quota/strange-lines");
    put_file("proc/self/cgroup", "\n:\n::\n0::\n0::/\nno colon\n0::relative\n");
    check_quota(0);
    char line[4096] = "0::";
    while (strlen(line) < sizeof line - 20) strcat(line, "/quite-long");
    strcat(line, "\n");
    put_file("proc/self/cgroup", line);
    check_quota(0);
    put_file("sys/fs/cgroup/cpu.max", "200000 100000\n");
    check_quota(2);
    test_folder_end();
}

/* ---- Threads, in children ---- */

static int report_threads(void)
{
    printf("threads=%d", duo_machine_threads());
    /* A large reduction must not use more threads. */
    enum { N = 1 << 21 };
    float *const x = malloc(N * sizeof *x), result = 0.0f;
    if (x == NULL) return 1;
    for (int i = 0; i < N; i++) x[i] = 1.0f;
    float sum = result;
    duo_context *ctx;
    duo_decision decision = {.size = sizeof decision};
    const bool ok = duo_create(&ctx) == DUO_OK && duo_set_path(ctx, DUO_PATH_CPU) == DUO_OK &&
                    duo_ssum(ctx, N, x, 1, &sum) == DUO_OK && sum == (float)N &&
                    duo_explain_last(ctx, &decision) == DUO_OK && duo_destroy(ctx) == DUO_OK;
    free(x);
    printf(" used=%d", decision.threads);
    return ok ? 0 : 1;
}

static void check_threads(const char *setting, int expected)
{
    const int quota = duo_quota_cpus("");
    if (quota > 0 && quota < expected) expected = quota;
    test_child child;
    test_child_run("threads", (const char *const[]){setting, NULL}, 30, &child);
    int threads = -1, used = -1;
    const int read = sscanf(child.out, "threads=%d used=%d", &threads, &used);
    CHECK(child.exit_status == 0 && read == 2, "exit %d, said \"%.200s\" \"%.200s\"",
          child.exit_status, child.out, child.err);
    CHECK(threads == expected, "%d threads, expected %d", threads, expected);
    CHECK(used >= 1 && used <= threads, "%d of %d threads used", used, threads);
}

static void threads_of_environment(void)
{
    test_case("threads/OMP_NUM_THREADS=1");
    check_threads("OMP_NUM_THREADS=1", 1);
    test_case("threads/OMP_NUM_THREADS=3");
    check_threads("OMP_NUM_THREADS=3", 3);
    test_case("threads/OMP_NUM_THREADS=7,2");
    check_threads("OMP_NUM_THREADS=7,2", 7);
    static const char *const good[] = {" 5 ", "5 ,2", "\t5", "+5", "5, 2,9"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char setting[64];
        snprintf(setting, sizeof setting, "OMP_NUM_THREADS=%s", good[i]);
        test_case("threads/%s", setting);
        check_threads(setting, 5);
    }
    /* A value that OpenMP refuses counts as not set. */
    static const char *const bad[] = {"",   "1x", "1 2", "1;",  "1.0",  "1,",  ",1",  "1,x",
                                      "1,", "0",  "-1",  "0x1", "1,,2", "1,0", "abc", "1,2x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char setting[64];
        snprintf(setting, sizeof setting, "OMP_NUM_THREADS=%s", bad[i]);
        test_case("threads/%s", setting);
        check_threads(setting, omp_get_num_procs());
    }
    test_case("threads/OPENBLAS_NUM_THREADS=1");
    check_threads("OPENBLAS_NUM_THREADS=1", 1);
}

static void threads_of_affinity(void)
{
    cpu_set_t before, one;
    if (!CHECK(sched_getaffinity(0, sizeof before, &before) == 0, "affinity")) return;
    test_case("threads/affinity-all");
    check_threads("OMP_NUM_THREADS", CPU_COUNT(&before));

    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &before)) {
            CPU_SET(cpu, &one);
            break;
        }
    test_case("threads/affinity-1");
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        test_skip("the affinity mask cannot be set here");
        return;
    }
    check_threads("OMP_NUM_THREADS", 1);
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0, "affinity");
}

/* ---- Limits that change while the process lives, in children ---- */

static duo_conditions conditions_of(duo_context *ctx)
{
    return duo_policy_conditions(&duo_context_of(ctx)->policy, &duo_context_of(ctx)->resources);
}

/* The most threads that a call of this thread may have now. */
static int allowed(duo_context *ctx) { return conditions_of(ctx).threads; }

static void *limit_this_thread(void *argument)
{
    duo_context *const ctx = argument;
    static float x[1 << 16];
    float sum;
    omp_set_num_threads(1);
    const bool ok = duo_ssum(ctx, 1 << 16, x, 1, &sum) == DUO_OK && allowed(ctx) == 1;
    return ok ? argument : NULL;
}

/* Another thread calls first, and has told OpenMP to use one thread. */
static int report_limits(void)
{
    duo_context *ctx, *first;
    pthread_t thread;
    void *limited = NULL;
    if (duo_create(&ctx) != DUO_OK || duo_create(&first) != DUO_OK) return 1;
    if (pthread_create(&thread, NULL, limit_this_thread, first) != 0) return 1;
    pthread_join(thread, &limited);
    const int after = allowed(ctx);
    int least = 1 << 20, most = 0;
#pragma omp parallel num_threads(2) reduction(min : least) reduction(max : most)
    {
        duo_context *mine = NULL;
        least = most = duo_create(&mine) == DUO_OK ? allowed(mine) : -1;
        (void)duo_destroy(mine);
    }
    omp_set_num_threads(2);
    const int set = allowed(ctx);
    const int asked = duo_set_threads(ctx, 7) == DUO_OK ? allowed(ctx) : -1;
    printf("limited=%d after=%d region=%d..%d set=%d asked=%d", limited != NULL, after, least, most,
           set, asked);
    return 0;
}

static void limits_of_callers(void)
{
    test_case("limits/callers");
    test_child child;
    test_child_run("limits", (const char *const[]){"OMP_NUM_THREADS=3", NULL}, 30, &child);
    const int quota = duo_quota_cpus("");
    int limited = 0, after = 0, least = 0, most = 0, set = 0, asked = 0;
    const int read = sscanf(child.out, "limited=%d after=%d region=%d..%d set=%d asked=%d",
                            &limited, &after, &least, &most, &set, &asked);
    CHECK(child.exit_status == 0 && read == 6, "exit %d, said \"%.200s\" \"%.200s\"",
          child.exit_status, child.out, child.err);
    CHECK(limited == 1, "the limit of the first caller does not hold for itself");
    CHECK(after == (quota > 0 && quota < 3 ? quota : 3), "%d threads for the next caller", after);
    CHECK(least == 1 && most == 1, "%d to %d threads in a parallel region", least, most);
    CHECK(set == (quota > 0 && quota < 2 ? quota : 2), "%d threads, OpenMP has 2", set);
    CHECK(asked == 7, "%d threads, 7 were asked for", asked);
}

/* Affinity, narrowed and widened after the first call, within 0.1 s. */
static int report_affinity(void)
{
    cpu_set_t all, one;
    duo_context *ctx;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || duo_create(&ctx) != DUO_OK) return 1;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    const int before = allowed(ctx);
    if (sched_setaffinity(0, sizeof one, &one) != 0) return 1;
    usleep(100000);
    const int narrow = allowed(ctx);
    if (sched_setaffinity(0, sizeof all, &all) != 0) return 1;
    usleep(100000);
    printf("before=%d narrow=%d wide=%d", before, narrow, allowed(ctx));
    return 0;
}

static void affinity_changes(void)
{
    test_case("limits/affinity");
    test_child child;
    test_child_run("affinity", (const char *const[]){NULL}, 30, &child);
    int before = 0, narrow = 0, wide = 0;
    const int read = sscanf(child.out, "before=%d narrow=%d wide=%d", &before, &narrow, &wide);
    CHECK(child.exit_status == 0 && read == 3, "exit %d, said \"%.200s\" \"%.200s\"",
          child.exit_status, child.out, child.err);
    CHECK(narrow == 1, "%d threads on one processor", narrow);
    CHECK(wide == before, "%d threads again, before %d", wide, before);
}

/* Helpers of a thread that OpenMP has bound to a place may run on all processors of the process. */
static cpu_set_t places;
static bool is_bound;

static void *affinity_here(void *count)
{
    cpu_set_t mask;
    if (is_bound) (void)sched_setaffinity(0, sizeof places, &places);
    *(int *)count = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : -1;
    return count;
}

static int report_bound(void)
{
    cpu_set_t here;
    pthread_t thread;
    int count = 0;
    if (sched_getaffinity(0, sizeof here, &here) != 0) return 1;
    is_bound = duo_openmp_binds(&places);
    if (pthread_create(&thread, NULL, affinity_here, &count) != 0) return 1;
    pthread_join(thread, NULL);
    printf("bound=%d helper=%d", CPU_COUNT(&here), count);
    return 0;
}

static void bound_by_openmp(void)
{
    cpu_set_t all;
    if (!CHECK(sched_getaffinity(0, sizeof all, &all) == 0, "affinity")) return;
    static const char *const settings[] = {"OMP_PROC_BIND=true", "OMP_PLACES=cores",
                                           "OMP_PLACES={0}"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        test_case("limits/%s", settings[i]);
        test_child child;
        int bound = 0, helper = 0;
        test_child_run("bound", (const char *const[]){settings[i], NULL}, 30, &child);
        const int read = sscanf(child.out, "bound=%d helper=%d", &bound, &helper);
        CHECK(child.exit_status == 0 && read == 2, "exit %d, said \"%.200s\" \"%.200s\"",
              child.exit_status, child.out, child.err);
        const int may = i == 2 ? 1 : CPU_COUNT(&all);
        CHECK(helper == may, "a helper has %d processors, of %d; its maker %d", helper, may, bound);
    }
}

/* ---- Ranks of an MPI program, in children with three simulated devices ---- */

static int report_device(void)
{
    static float x[1 << 16];
    float sum;
    duo_context *ctx, *second;
    sim_reset();
    duo_backend_install(sim_backend());
    sim_set_devices(3);
    /* A context that is created before another call counts the devices. */
    int count;
    const bool ok = duo_create(&ctx) == DUO_OK && duo_device_count(&count) == DUO_OK &&
                    conditions_of(ctx).gpu && duo_set_path(ctx, DUO_PATH_GPU) == DUO_OK &&
                    duo_ssum(ctx, 1 << 16, x, 1, &sum) == DUO_OK && duo_create(&second) == DUO_OK;
    printf("first=%d later=%d", ok ? duo_context_of(ctx)->resources.queue_device : -1,
           ok ? duo_context_of(second)->resources.device : -1);
    return ok ? 0 : 1;
}

static void check_device(const char *rank, const char *asked, int expected)
{
    test_child child;
    test_case("ranks/%s %s", rank, asked);
    test_child_run("device", (const char *const[]){rank, asked, NULL}, 30, &child);
    int first = -1, later = -1;
    const int read = sscanf(child.out, "first=%d later=%d", &first, &later);
    CHECK(child.exit_status == 0 && read == 2, "exit %d, said \"%.200s\" \"%.200s\"",
          child.exit_status, child.out, child.err);
    CHECK(first == expected && later == expected, "devices %d and %d, expected %d", first, later,
          expected);
}

static void devices_of_ranks(void)
{
    check_device("OMPI_COMM_WORLD_LOCAL_RANK", "DUOBLAS_DEVICE", 0); /* neither is set */
    check_device("OMPI_COMM_WORLD_LOCAL_RANK=2", "DUOBLAS_DEVICE", 2);
    check_device("OMPI_COMM_WORLD_LOCAL_RANK=7", "DUOBLAS_DEVICE", 1);
    check_device("SLURM_LOCALID=5", "DUOBLAS_DEVICE", 2);
    check_device("OMPI_COMM_WORLD_LOCAL_RANK=7", "DUOBLAS_DEVICE=0", 0);
    check_device("OMPI_COMM_WORLD_LOCAL_RANK=7", "DUOBLAS_DEVICE=", 1);
    check_device("OMPI_COMM_WORLD_LOCAL_RANK=x", "DUOBLAS_DEVICE", 0);
}

/* ---- The rest ---- */

static void facts(void)
{
    test_case("machine/facts");
    CHECK(duo_machine_cpu()[0] != '\0', "no CPU name");
    CHECK(strchr(duo_machine_cpu(), '\n') == NULL, "a newline in the CPU's name");
    CHECK(duo_machine_threads() >= 1, "%d", duo_machine_threads());
    CHECK(duo_machine_threads() == duo_machine_threads(), "threads change");
    CHECK(duo_machine_cache_bytes() < (size_t)1 << 40, "%zu", duo_machine_cache_bytes());
}

static void forks(void)
{
    test_case("machine/fork");
    CHECK(!duo_forked(), "this process is no fork");
    const pid_t pid = fork();
    if (pid == 0) _exit(duo_forked() ? 0 : 1);
    CHECK(test_child_wait((int)pid, 10) == 0, "the child does not know it is one");
    CHECK(!duo_forked(), "the parent thinks it is a fork");
}

static const test_entry tests[] = {
    {"quota_version2", quota_version2},
    {"quota_version1", quota_version1},
    {"quota_of_parents", quota_of_parents},
    {"threads_of_environment", threads_of_environment},
    {"threads_of_affinity", threads_of_affinity},
    {"limits_of_callers", limits_of_callers},
    {"affinity_changes", affinity_changes},
    {"bound_by_openmp", bound_by_openmp},
    {"devices_of_ranks", devices_of_ranks},
    {"facts", facts},
    {"forks", forks},
    {NULL, NULL},
};

static int run_task(const char *task)
{
    if (strcmp(task, "device") == 0) return report_device();
    if (strcmp(task, "limits") == 0) return report_limits();
    if (strcmp(task, "affinity") == 0) return report_affinity();
    if (strcmp(task, "bound") == 0) return report_bound();
    return report_threads();
}

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL) return run_task(task);
    return test_main(argc, argv, "machine", tests);
}
