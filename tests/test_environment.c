/*
 * test_environment.c - the environment. A process reads it once, so each test is in a child: good
 * values count, bad ones are passed over, and requests in vain are told of.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/context.h"
#include "cpu/blas_library.h"
#include "gpu/backend/devices.h"
#include "sim/sim.h"
#include "support/child.h"
#include "support/harness.h"
#include "support/made_machine.h"

static int report_environment(void)
{
    sim_reset();
    sim_set_devices(2);
    duo_backend_install(sim_backend());
    make_vector();
    new_machine(1e-3, 2e-3);
    free_link();
    algorithm_takes(DUO_sdot_gpu_shuffle, 1e-9);
    float sum = 0.0f, dot = 0.0f;
    duo_context *ctx = NULL;
    duo_decision first = {.size = sizeof first}, second = first, third = first;
    bool ok = duo_create(&ctx) == DUO_OK;
    ok = ok && duo_ssum(ctx, VECTOR, vector, 1, &sum) == DUO_OK && sum == vector_sum;
    ok = ok && duo_explain_last(ctx, &first) == DUO_OK;
    ok = ok && duo_sdot(NULL, VECTOR, vector, 1, vector, 1, &dot) == DUO_OK && dot == vector_dot;
    ok = ok && duo_explain_last(NULL, &second) == DUO_OK;
    printf("ssum=%s sdot=%s device0=%d device1=%d ", first.side == DUO_SIDE_GPU ? "gpu" : "cpu",
           second.side == DUO_SIDE_GPU ? "gpu" : "cpu", sim_allocated_bytes(0) > 0,
           sim_allocated_bytes(1) > 0);
    int device[DUO_LANES] = {0}; /* also: the second device that a product may use; -1: none */
    const int devices = duo_resources_devices(&duo_context_of(NULL)->resources, device);
    printf("also=%d ", devices > 1 ? device[1] : -1);
    ok = ok && duo_ssum(ctx, 4, vector, 1, &sum) == DUO_OK && sum == 2.0f;
    for (int i = 0; i < EDGE * EDGE; i++) ones[i] = 1.0f;
    ok = ok && duo_set_path(ctx, DUO_PATH_CPU) == DUO_OK;
    ok = ok && duo_sgemm(ctx, DUO_COL_MAJOR, DUO_NO_TRANS, DUO_NO_TRANS, EDGE, EDGE, EDGE, 1.0f,
                         ones, EDGE, ones, EDGE, 0.0f, product, EDGE) == DUO_OK;
    ok = ok && product[0] == (float)EDGE && product[EDGE * EDGE - 1] == (float)EDGE;
    ok = ok && duo_explain_last(ctx, &third) == DUO_OK;
    printf("tf32=%d adapt=%d remember=%d open=%d verify=%.3f",
           candidate(&third, "sgemm_gpu_fp16x1") != NULL, duo_context_of(ctx)->policy.adapt,
           (int)duo_context_of(ctx)->resources.remember, (int)duo_context_of(ctx)->policy.open,
           duo_context_of(ctx)->policy.verify_rate);
    ok = ok && duo_destroy(ctx) == DUO_OK && sim_violations() == 0;
    free(vector);
    return ok ? 0 : 1;
}

static int count_lines(const char *text, const char *beginning)
{
    int lines = 0;
    for (const char *at = text; *at != '\0';) {
        lines += strncmp(at, beginning, strlen(beginning)) == 0;
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return lines;
}

/* Runs the child; its report must contain `expected`, and it must print `lines` lines. */
static void check_environment(const char *setting, const char *expected, int lines)
{
    test_child child;
    test_case("environment/%s", setting);
    test_child_run("environment", (const char *const[]){setting, NULL}, 60, &child);
    CHECK(child.exit_status == 0, "exit %d: %.200s %.200s", child.exit_status, child.out,
          child.err);
    test_contains(child.out, expected);
    const int warnings = count_lines(child.err, "duoblas: event: the CPU's BLAS: ");
    CHECK(count_lines(child.err, "") - warnings == lines &&
              count_lines(child.err, "duoblas: s") == lines,
          "%d lines: %.400s", count_lines(child.err, ""), child.err);
}

/* If the requested inner BLAS is not there, this is told once, before the line of the first
 * product, which looks for it. */
static void warnings(void)
{
    static const char *const verbose[] = {"DUOBLAS_VERBOSE=0", "DUOBLAS_VERBOSE=1",
                                          "DUOBLAS_VERBOSE=2"};
    if (duo_blas_library_get() == NULL) {
        test_skip("there is no inner BLAS");
        return;
    }
    for (int i = 0; i < 3; i++) {
        test_child child;
        test_case("warnings/%s", verbose[i]);
        const char *const settings[] = {verbose[i], "DUOBLAS_CPU_BLAS=/nonexistent/libblas.so",
                                        NULL};
        test_child_run("environment", settings, 60, &child);
        static const char warning[] =
            "duoblas: event: the CPU's BLAS: WARNING: DUOBLAS_CPU_BLAS is ignored: /nonexistent";
        CHECK(child.exit_status == 0, "exit %d", child.exit_status);
        CHECK(count_lines(child.err, warning) == (i > 0), "%.400s", child.err);
        const char *const told = strstr(child.err, warning);
        const char *const next = told != NULL ? strchr(told, '\n') : NULL;
        const char first[] = "\nduoblas: sgemm";
        if (i > 0)
            CHECK(next != NULL && strncmp(next, first, strlen(first)) == 0 &&
                      strstr(child.err, first + 1) == next + 1,
                  "%.400s", child.err);
    }
}

/* Every value that is not understood is told, with its variable. */
static void complaints(void)
{
    static const char *const settings[] = {"DUOBLAS_VERBOSE=2", "DUOBLAS_PATH=left",
                                           "DUOBLAS_DEVICES=0,0", "DUOBLAS_WORKSPACE=lots", NULL};
    test_child child;
    test_case("complaints");
    test_child_run("environment", settings, 60, &child);
    CHECK(child.exit_status == 0, "exit %d", child.exit_status);
    for (int i = 1; settings[i] != NULL; i++) {
        char line[96];
        snprintf(line, sizeof line, "event: %s is not understood and ignored\n", settings[i]);
        test_contains(child.err, line);
    }
}

static void environment(void)
{
    check_environment("DUOBLAS_PATH", "ssum=cpu sdot=gpu device0=1 device1=0", 0);
    check_environment("DUOBLAS_PATH=auto", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_PATH=cpu", "ssum=cpu sdot=cpu device0=0", 0);
    check_environment("DUOBLAS_PATH=gpu", "ssum=gpu sdot=gpu", 0);
    check_environment("DUOBLAS_PATH=GPU", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_PATH=banana", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_PATH=", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_VERBOSE=0", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_VERBOSE=1", "ssum=cpu sdot=gpu", 4);
    check_environment("DUOBLAS_VERBOSE=2", "ssum=cpu sdot=gpu", 4);
    check_environment("DUOBLAS_VERBOSE=9", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_VERBOSE=yes", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE=1", "ssum=cpu sdot=gpu device0=0 device1=1", 0);
    check_environment("DUOBLAS_DEVICE=0x1", "device0=1 device1=0", 0);
    check_environment("DUOBLAS_DEVICE=7", "ssum=cpu sdot=cpu device0=0 device1=0", 0);
    check_environment("DUOBLAS_DEVICE=-1", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICES=1,0", "ssum=cpu sdot=gpu device0=0 device1=1 also=0", 0);
    check_environment("DUOBLAS_DEVICES=all", "ssum=cpu sdot=gpu device0=1 device1=0 also=1", 0);
    check_environment("DUOBLAS_DEVICES=1", "device0=0 device1=1 also=-1", 0);
    check_environment("DUOBLAS_DEVICES=7,1", "sdot=gpu device0=0 device1=1 also=-1", 0);
    check_environment("DUOBLAS_DEVICES=1,1", "device0=1 device1=0 also=-1", 0);
    check_environment("DUOBLAS_DEVICES=1,", "device0=1 device1=0 also=-1", 0);
    check_environment("DUOBLAS_DEVICES=1 0", "device0=1 device1=0 also=-1", 0);
    check_environment("DUOBLAS_DEVICES=0,1,2,3,4,5,6,7,8", "device0=1 device1=0 also=-1", 0);
    check_environment("DUOBLAS_DEVICES=ALL", "device0=1 device1=0 also=-1", 0);
    check_environment("DUOBLAS_MATH=ieee", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_ADAPT=0", "tf32=0 adapt=0", 0);
    check_environment("DUOBLAS_ADAPT=1", "tf32=0 adapt=1", 0);
    check_environment("DUOBLAS_ADAPT=yes", "tf32=0 adapt=0", 0);
    check_environment("DUOBLAS_OPEN=background", "remember=0 open=1", 0);
    check_environment("DUOBLAS_OPEN=first", "remember=0 open=0", 0);
    check_environment("DUOBLAS_VERIFY=1", "open=0 verify=1.000", 0);
    check_environment("DUOBLAS_VERIFY=0.125", "open=0 verify=0.125", 0);
    check_environment("DUOBLAS_VERIFY=1.", "open=0 verify=1.000", 0);
    check_environment("DUOBLAS_VERIFY=1.5", "open=0 verify=0.000", 0);
    check_environment("DUOBLAS_VERIFY=-1", "open=0 verify=0.000", 0);
    check_environment("DUOBLAS_VERIFY=0,5", "open=0 verify=0.000", 0);
    check_environment("DUOBLAS_VERIFY=nan", "open=0 verify=0.000", 0);
    check_environment("DUOBLAS_REMEMBER=0", "remember=0", 0);
    check_environment("DUOBLAS_REMEMBER=bytes", "remember=1", 0);
    check_environment("DUOBLAS_REMEMBER=pages", "remember=2", 0);
    check_environment("DUOBLAS_REMEMBER=1", "remember=0", 0);
    check_environment("DUOBLAS_MATH=tf32", "ssum=cpu sdot=gpu device0=1 device1=0 also=-1 tf32=1",
                      0);
    check_environment("DUOBLAS_MATH=exact", "ssum=cpu sdot=gpu device0=1 device1=0 also=-1 tf32=0",
                      0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1000", "ssum=cpu sdot=cpu device0=0", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1K", "ssum=cpu sdot=cpu device0=0", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1G", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1KB", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=1T", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=18446744073709551615G", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE=0K", "ssum=cpu sdot=gpu device0=1 device1=0", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=much", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_DEVICE_MEMORY=99999999999999999999999", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_CPU_BLAS=/nonexistent/libblas.so", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_CPU_BLAS=libc.so.6", "ssum=cpu sdot=gpu", 0);
    check_environment("DUOBLAS_PROFILE=/dev/null", "ssum=cpu sdot=gpu", 0);
}

static const test_entry tests[] = {
    {"environment", environment},
    {"warnings", warnings},
    {"complaints", complaints},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_child_task(argc, argv) != NULL) return report_environment();
    return test_main(argc, argv, "environment", tests);
}
