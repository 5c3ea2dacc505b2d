/*
 * test_profile_in_use.c - which profile serves, and which of its parts: in children, since a
 * process decides it once. The places of its files are in test_profile_files.c.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/tool/profile_write.h"
#include "choice/algorithm.h"
#include "choice/profile_files.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "host/machine.h"
#include "support/child.h"
#include "support/folder.h"
#include "support/harness.h"
#include "support/profile_reports.h"
#include "support/profiles.h"

static void in_use(void)
{
    test_folder_begin();
    char *const text = good_text();
    char named[600], config[600], home[600], missing[600], why[200] = "";
    snprintf(named, sizeof named, "DUOBLAS_PROFILE=%s/good.ini", test_folder());
    snprintf(config, sizeof config, "XDG_CONFIG_HOME=%s/config", test_folder());
    snprintf(home, sizeof home, "HOME=%s/home", test_folder());
    snprintf(missing, sizeof missing, "DUOBLAS_PROFILE=%s/none.ini", test_folder());

    test_case("profile/in-use/named");
    check_in_use((const char *const[]){named, config, home, NULL}, in_folder("good.ini"),
                 "DUOBLAS_PROFILE");
    test_case("profile/in-use/nothing");
    check_in_use((const char *const[]){config, home, NULL}, "built-in", "built in");
    test_case("profile/in-use/no-home");
    check_in_use((const char *const[]){"XDG_CONFIG_HOME", "HOME", NULL}, "built-in", "built in");
    test_case("profile/in-use/relative-home");
    check_in_use((const char *const[]){"XDG_CONFIG_HOME=.", "HOME=here", NULL}, "built-in",
                 "built in");
    test_case("profile/in-use/named-missing");
    check_in_use((const char *const[]){missing, config, home, NULL}, "built-in", "none.ini");
    test_case("profile/in-use/named-empty");
    check_in_use((const char *const[]){"DUOBLAS_PROFILE=", config, home, NULL}, "built-in",
                 "built in");

    test_case("profile/in-use/own");
    const char *const own = in_folder("config/duoblas/profile.ini");
    CHECK(duo_profile_write(good_profile(), own, why, sizeof why), "%s", why);
    check_in_use((const char *const[]){config, home, NULL}, own, "own");
    test_case("profile/in-use/own-in-home");
    const char *const at_home = in_folder("home/.config/duoblas/profile.ini");
    CHECK(duo_profile_write(good_profile(), at_home, why, sizeof why), "%s", why);
    check_in_use((const char *const[]){"XDG_CONFIG_HOME", home, NULL}, at_home, "own");
    test_case("profile/in-use/named-beats-own");
    check_in_use((const char *const[]){named, config, home, NULL}, in_folder("good.ini"),
                 "DUOBLAS_PROFILE");

    static const struct {
        const char *name, *from, *to, *why;
    } bad[] = {
        {"damaged", "fork_ps = 1500000", "fork_ps = -1", "refused"},
        {"cut", "complete = 1", "", "refused"},
        {"other-version", "version = ", "version = 9", "version 9"},
        {"other-cpu", "cpu = ", "cpu = Not ", "another CPU"},
        {"other-model", "cpu_id = ", "cpu_id = not ", "another CPU"},
        {"older-format", "format = 5", "format = 3", "older version"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        test_case("profile/in-use/named-%s", bad[i].name);
        char *const worse = replaced(text, bad[i].from, bad[i].to);
        write_bytes(in_folder("good.ini"), worse, strlen(worse));
        check_in_use((const char *const[]){named, config, home, NULL}, "built-in", bad[i].why);
        test_case("profile/in-use/own-%s", bad[i].name);
        write_bytes(own, worse, strlen(worse));
        check_in_use((const char *const[]){config, home, NULL}, "built-in", bad[i].why);
        free(worse);
    }
    test_case("profile/in-use/own-is-a-folder");
    CHECK(unlink(own) == 0 && mkdir(own, 0700) == 0, "mkdir");
    check_in_use((const char *const[]){config, home, NULL}, "built-in", "regular");
    free(text);
    test_folder_end();
}

/* The profile with every curve but this one left out. */
static void write_only(duo_algorithm_id id, const char *path)
{
    static duo_profile p;
    char why[200] = "";
    p = *good_profile();
    p.upload_pageable = p.open_seconds = p.cpu_bandwidth = p.sgemm_efficiency = 0.0;
    for (int i = 0; i < DUO_ALGORITHMS; i++)
        if (i != (int)id) p.curve[i].count = 0;
    CHECK(duo_profile_write(&p, path, why, sizeof why), "%s", why);
}

/* If a file fits in part, the other parts come from elsewhere, and that is told. */
static void parts(void)
{
    static duo_profile p;
    char named[600], why[200] = "";
    test_folder_begin();
    const char *const path = in_folder("own.ini");
    snprintf(named, sizeof named, "DUOBLAS_PROFILE=%s", path);
    const char *const settings[] = {named, NULL};

    test_case("profile/parts/all");
    CHECK(duo_profile_write(good_profile(), path, why, sizeof why), "%s", why);
    check_in_use(settings, path,
                 "|cpu_openblas=own cpu_ffma=own cpu_lanes=own gpu_tiled=own corrected=own "
                 "link=own measured=2");

    test_case("profile/parts/another-blas");
    p = *good_profile();
    snprintf(p.blas, sizeof p.blas, "OpenBLAS 0.3.99 Abacus");
    CHECK(duo_profile_write(&p, path, why, sizeof why), "%s", why);
    check_in_use(settings, path, "|cpu_openblas=own cpu_ffma=own");

    test_case("profile/parts/other-threads");
    p = *good_profile();
    p.threads = duo_machine_threads() + 96;
    CHECK(duo_profile_write(&p, path, why, sizeof why), "%s", why);
    char scaled[100];
    snprintf(scaled, sizeof scaled, "; what several threads take is scaled, from %d to ",
             p.threads);
    check_in_use(settings, path, scaled);
    check_in_use(settings, path, "|cpu_openblas=own cpu_ffma=own");

    check_in_use(settings, path, "named by DUOBLAS_PROFILE; what several threads"); /* quiet */

    test_case("profile/parts/noisy");
    p = *good_profile();
    p.measured[DUO_SSUM].noise = 0.3;
    CHECK(duo_profile_write(&p, path, why, sizeof why), "%s", why);
    check_in_use(settings, path, "named by DUOBLAS_PROFILE, NOISY: ");

    test_case("profile/parts/one-operation");
    write_only(DUO_ssum_cpu_lanes, path);
    check_in_use(settings, path, "; sgemm, sasum, sdot on the CPU from built-in generic");
    check_in_use(settings, path, "; GPU part: built-in h100");
    check_in_use(settings, path,
                 "|cpu_openblas=other cpu_ffma=other cpu_lanes=own gpu_tiled=other corrected=not "
                 "link=other measured=1");

    test_case("profile/parts/built-in");
    const char *const nothing[] = {"XDG_CONFIG_HOME", "HOME", NULL};
    check_in_use(nothing, "built-in", "built-in h100 is used for its GPU part only: measured ");
    check_in_use(nothing, "built-in", " measured=0|");
    test_folder_end();
}

/* ---- GPUs ---- */

/* In a child: a GPU of this name is opened while a profile is in use that the task names, if it
 * does. */
static int report_opened(const char *task)
{
    static duo_profile own;
    const char *const gpu = strchr(task, ' ') + 1;
    own = *good_profile();
    if (strncmp(task, "h100 ", 5) == 0) duo_profile_use(duo_profile_built_in("h100"));
    if (strncmp(task, "h200 ", 5) == 0) duo_profile_use(duo_profile_built_in("h200"));
    if (strncmp(task, "own ", 4) == 0) duo_profile_use(&own);
    if (strncmp(task, "after ", 6) == 0) { /* the file was in use before */
        (void)duo_profile_in_use();
        duo_profile_use(&own);
    }
    duo_profile_check_gpu(gpu);
    const duo_profile *const p = duo_profile_in_use();
    printf("gpu=%s,%s,%s,%s|%s", p->gpu, p == &own ? "the same" : p->origin,
           duo_profile_measured() != NULL ? "measured" : "not measured",
           p->upload_pageable == duo_profile_built_in("h200")->upload_pageable ? "as an H200"
                                                                               : "else",
           duo_profile_why());
    return sane(p) ? 0 : 1;
}

/* A profile stays if it is for the opened GPU, or if a test has set it. */
static void opened_gpus(void)
{
    static const char h100[] = "NVIDIA H100 80GB HBM3", h200[] = "NVIDIA H200";
    char named[600], task[100], said[200];
    test_folder_begin();
    const char *const path = in_folder("sums.ini");
    snprintf(named, sizeof named, "DUOBLAS_PROFILE=%s", path);
    write_only(DUO_ssum_cpu_lanes, path);
    const char *const file[] = {named, NULL}, *const none[] = {"XDG_CONFIG_HOME", "HOME", NULL};
    const struct {
        const char *before, *gpu;
        const char *const *settings;
        const char *said;
    } cases[] = {
        {"any", h100, none, "gpu=NVIDIA H100 80GB HBM3,built-in"},
        {"any", h200, none, "gpu=NVIDIA H200,built-in"},
        {"any", h200, none, "not measured,as an H200|"},
        {"h200", h200, none, "gpu=NVIDIA H200,built-in h200,not measured,as an H200|set by"},
        {"h200", "GPU A", none, "; for this GPU, the GPU part of built-in h100"},
        {"h100", "GPU A", none, "gpu=NVIDIA H100 80GB HBM3,built-in h100,not measured,else|set by"},
        {"own", "GPU A", none, "gpu=some GPU,the same,not measured"},
        {"after", "GPU A", file, "gpu=some GPU,the same,not measured"},
        {"any", h100, file, ",measured,else|named by DUOBLAS_PROFILE"},
        {"any", h200, file, ",measured,as an H200|named by DUOBLAS_PROFILE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_child child;
        test_case("profile/opened/%s/%s/%zu", cases[i].before, cases[i].gpu, i);
        snprintf(task, sizeof task, "%s %s", cases[i].before, cases[i].gpu);
        snprintf(said, sizeof said, "%s", cases[i].said);
        test_child_run(task, cases[i].settings, 30, &child);
        CHECK(child.exit_status == 0, "exit %d, \"%.300s\"", child.exit_status, child.err);
        test_contains(child.out, said);
    }
    test_folder_end();
}

/* ---- Corrections without a curve ---- */

/* In a child. */
static int report_corrections(void)
{
    for (int i = 0; i < DUO_CORRECTED; i++)
        printf("%d", duo_profile_measured()->correction[i][DUO_CORRECTED_ONE_THREAD].measured);
    return 0;
}

/* The correction of a curve that the file lacks is forgotten. float64 may use ffma's. */
static void corrections(void)
{
    static const struct {
        duo_algorithm_id id;
        bool kept[DUO_CORRECTED];
    } cases[] = {
        {DUO_sgemm_cpu_openblas, {[DUO_CORRECTED_OPENBLAS] = true}},
        {DUO_sgemm_cpu_ffma, {[DUO_CORRECTED_FFMA] = true, [DUO_CORRECTED_FLOAT64] = true}},
        {DUO_sgemm_cpu_float64, {[DUO_CORRECTED_FLOAT64] = true}},
        {DUO_ssum_cpu_lanes, {false}},
    };
    char named[600];
    test_folder_begin();
    const char *const path = in_folder("one.ini");
    snprintf(named, sizeof named, "DUOBLAS_PROFILE=%s", path);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        test_child child;
        char want[DUO_CORRECTED + 1] = "";
        test_case("profile/corrections/%s", duo_algorithm_name(cases[c].id));
        write_only(cases[c].id, path);
        for (int i = 0; i < DUO_CORRECTED; i++) want[i] = (char)('0' + cases[c].kept[i]);
        test_child_run("corrections", (const char *const[]){named, NULL}, 30, &child);
        CHECK(child.exit_status == 0, "exit %d, \"%.300s\"", child.exit_status, child.err);
        CHECK(strcmp(child.out, want) == 0, "\"%.100s\", not \"%s\"", child.out, want);
    }
    test_folder_end();
}

/* ---- Without the inner BLAS ---- */

/* In a child. */
static int report_unopened(void)
{
    static float x[100000];
    float sum;
    const bool right = duo_ssum(NULL, 100000, x, 1, &sum) == DUO_OK;
    printf("looked=%d why=%s", duo_blas_library_looked(), duo_profile_why());
    return right && !duo_blas_library_looked() ? 0 : 1;
}

/* Sums, and what tells of the profile, do not open it. */
static void unopened(void)
{
    char named[600], why[200] = "";
    test_child child;
    test_folder_begin();
    const char *const path = in_folder("own.ini");
    snprintf(named, sizeof named, "DUOBLAS_PROFILE=%s", path);
    test_case("profile/unopened");
    CHECK(duo_profile_write(good_profile(), path, why, sizeof why), "%s", why);
    test_child_run("unopened", (const char *const[]){named, NULL}, 30, &child);
    CHECK(child.exit_status == 0, "exit %d, \"%.300s\"", child.exit_status, child.err);
    test_contains(child.out, "looked=0 why=named by DUOBLAS_PROFILE");
    test_folder_end();
}

/* ---- Built-in profiles ---- */

/* Is this the host of a built-in profile? In a child, which can make it one. */
static int report_host(void)
{
    char origin[64], reason[1024];
    duo_profile *const p = (duo_profile *)(uintptr_t)duo_profile_built_in("h100");
    snprintf(p->cpu, sizeof p->cpu, "%s", duo_machine_cpu());
    snprintf(p->cpu_id, sizeof p->cpu_id, "%s", duo_machine_cpu_id());
    p->threads = duo_machine_threads();
    const duo_profile was = *p;
    for (int i = 0; i < 3; i++) {
        *p = was;
        if (i == 1) p->threads++;
        if (i == 2) snprintf(p->cpu_id, sizeof p->cpu_id, "family 6 model 143 stepping unknown");
        duo_profile_reset();
        snprintf(origin, sizeof origin, "%.60s", duo_profile_in_use()->origin);
        snprintf(reason, sizeof reason, "%.1000s", duo_profile_why());
        printf("%d %s: %s\n", i, origin, reason);
    }
    return 0;
}

static void built_in_host(void)
{
    test_child child;
    test_case("profile/built-in-host");
    test_child_run("host", (const char *const[]){"XDG_CONFIG_HOME", "HOME", NULL}, 30, &child);
    static const char *const lines[] = {
        "0 built-in h100: built in, measured on this model of CPU\n",
        "built-in h100 is used for its GPU part only: measured with ",
        "2 built-in generic: ",
        "built-in h100 is used for its GPU part only: measured on another CPU (",
    };
    CHECK(child.exit_status == 0, "exit %d, \"%.300s\"", child.exit_status, child.err);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CHECK(strstr(child.out, lines[i]) != NULL, "no \"%s\" in \"%.1000s\"", lines[i], child.out);
}

static const test_entry tests[] = {
    {"in_use", in_use},
    {"parts", parts},
    {"opened_gpus", opened_gpus},
    {"corrections", corrections},
    {"unopened", unopened},
    {"built_in_host", built_in_host},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL && strcmp(task, "unopened") == 0) return report_unopened();
    if (task != NULL && strcmp(task, "host") == 0) return report_host();
    if (task != NULL && strcmp(task, "corrections") == 0) return report_corrections();
    if (task != NULL && strchr(task, ' ') != NULL) return report_opened(task);
    if (task != NULL) return report_profile();
    return test_main(argc, argv, "profile_in_use", tests);
}
