/*
 * test_profile_in_use.c - which profile serves, and which of its parts: in children, since it is
 * decided once.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choice/algorithm.h"
#include "choice/profile_file.h"
#include "choice/profile_in_use.h"
#include "choice/profile_paths.h"
#include "cpu/blas_library.h"
#include "host/machine.h"
#include "support/child.h"
#include "support/folder.h"
#include "support/harness.h"
#include "support/profiles.h"

/* Whole: nothing is left that a prediction would miss. */
static bool whole(const duo_profile *p)
{
    bool ok = p->cpu_bandwidth > 0.0 && p->sgemm_efficiency > 0.0 && p->upload_pageable > 0.0;
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        const bool float64 =
            strstr(duo_algorithm_name((duo_algorithm_id)id), "cpu_float64") != NULL;
        ok = ok && (p->curve[id].count > 0 || float64);
    }
    return ok;
}

static int report_profile(void)
{
    const duo_profile *const p = duo_profile_in_use();
    const duo_profile *const measured = duo_profile_measured();
    const bool ok = p != NULL && duo_profile_in_use() == p && sane(p) && whole(p);
    printf("%s|%s|", p == NULL ? "" : p->origin, duo_profile_why());
    /* Curves of the file begin at a size of 1, built-in ones do not. */
    static const duo_algorithm_id ids[] = {DUO_sgemm_cpu_openblas, DUO_sgemm_cpu_plain,
                                           DUO_ssum_cpu_lanes, DUO_sgemm_gpu_tiled};
    for (int i = 0; i < 4 && p != NULL; i++)
        printf("%s=%s ", duo_algorithm_name(ids[i]) + strlen("sgemm_") - (i == 2),
               p->curve[ids[i]].size[0] == 1.0 ? "own" : "other");
    if (p != NULL) printf("corrected=%s ", p->blas_one.measured ? "own" : "not");
    if (p != NULL) printf("link=%s ", p->upload_pageable == 5e9 ? "own" : "other");
    printf("measured=%d|", measured == NULL ? 0 : measured->curve[ids[0]].count > 0 ? 2 : 1);
    /* It must serve a call, whatever it is. */
    float x[100], sum = 0.0f;
    for (int i = 0; i < 100; i++) x[i] = 1.0f;
    return ok && duo_ssum(NULL, 100, x, 1, &sum) == DUO_OK && sum == 100.0f ? 0 : 1;
}

/* Does the child with these settings use what is expected, for a reason that contains `why`? */
static void check_in_use(const char *const *settings, const char *origin, const char *why)
{
    test_child child;
    test_child_run("in_use", settings, 30, &child);
    CHECK(child.exit_status == 0, "exit %d, \"%.300s\"", child.exit_status, child.err);
    CHECK(strncmp(child.out, origin, strlen(origin)) == 0, "in use: \"%.300s\", not \"%s\"",
          child.out, origin);
    const char *const reason = strchr(child.out, '|');
    CHECK(reason != NULL && strstr(reason, why) != NULL, "\"%.300s\" without \"%s\"", child.out,
          why);
    CHECK(child.err[0] == '\0', "it printed \"%.300s\"", child.err);
}

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
        {"older-format", "format = 4", "format = 1", "older version"},
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
    p.upload_pageable = p.cpu_bandwidth = p.sgemm_efficiency = 0.0;
    for (int i = 0; i < DUO_ALGORITHMS; i++)
        if (i != (int)id) p.curve[i].count = 0;
    CHECK(duo_profile_write(&p, path, why, sizeof why), "%s", why);
}

/* Of a file that fits in part the other parts come from elsewhere, and that is told. */
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
                 "|cpu_openblas=own cpu_plain=own cpu_lanes=own gpu_tiled=own corrected=own "
                 "link=own measured=2");

    test_case("profile/parts/another-blas");
    p = *good_profile();
    snprintf(p.blas, sizeof p.blas, "OpenBLAS 0.3.99 Abacus");
    CHECK(duo_profile_write(&p, path, why, sizeof why), "%s", why);
    check_in_use(
        settings, path,
        "|cpu_openblas=other cpu_plain=own cpu_lanes=own gpu_tiled=own corrected=not link=own "
        "measured=1");
    check_in_use(settings, path,
                 "; sgemm on the CPU from built-in generic, as it was measured with "
                 "OpenBLAS 0.3.99 Abacus and this is ");

    test_case("profile/parts/other-threads");
    p = *good_profile();
    p.threads = duo_machine_threads() + 96;
    CHECK(duo_profile_write(&p, path, why, sizeof why), "%s", why);
    char scaled[100];
    snprintf(scaled, sizeof scaled, "; what several threads take is scaled, from %d to ",
             p.threads);
    check_in_use(settings, path, scaled);
    check_in_use(settings, path, "|cpu_openblas=own cpu_plain=own");

    test_case("profile/parts/one-operation");
    write_only(DUO_ssum_cpu_lanes, path);
    check_in_use(settings, path, "; sgemm, sasum, sdot on the CPU from built-in generic");
    check_in_use(settings, path, "; GPU part: built-in h100");
    check_in_use(settings, path,
                 "|cpu_openblas=other cpu_plain=other cpu_lanes=own gpu_tiled=other corrected=not "
                 "link=other measured=1");

    test_case("profile/parts/built-in");
    const char *const nothing[] = {"XDG_CONFIG_HOME", "HOME", NULL};
    check_in_use(nothing, "built-in", "built-in h100 is used for its GPU part only: measured ");
    check_in_use(nothing, "built-in", " measured=0|");
    test_folder_end();
}

/* ---- One profile for each CPU and GPU ---- */

/* In a child: what is in use, and what once a GPU was opened. */
static int report_gpu(const char *gpu)
{
    printf("%s|%s|", duo_profile_in_use()->origin, duo_profile_why());
    duo_profile_check_gpu(gpu);
    const duo_profile *const measured = duo_profile_measured();
    printf("then %s|%s|%s|measured %s", duo_profile_in_use()->origin, duo_profile_in_use()->gpu,
           duo_profile_why(), measured == NULL ? "nothing" : measured->gpu);
    return sane(duo_profile_in_use()) ? 0 : 1;
}

/* Writes a profile of this CPU and a GPU to a folder's file for that GPU; its path. */
static const char *write_for(const char *folder, const char *gpu, int threads)
{
    static duo_profile p;
    char name[DUO_PROFILE_NAME], path[900], why[200] = "";
    p = *good_profile();
    p.threads = threads;
    snprintf(p.gpu, sizeof p.gpu, "%s", gpu);
    snprintf(path, sizeof path, "%s/duoblas/profiles/%s", folder, duo_profile_name(gpu, name));
    const char *const full = in_folder(path);
    CHECK(duo_profile_write(&p, full, why, sizeof why), "%s", why);
    return full;
}

static void set_age(const char *path, int seconds)
{
    const struct timespec times[2] = {{.tv_sec = 1700000000 - seconds},
                                      {.tv_sec = 1700000000 - seconds}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0, "%s", path);
}

/* Does the child of a task say it? */
static void check_says(const char *task, const char *const *settings, const char *said)
{
    test_child child;
    test_child_run(task, settings, 30, &child);
    CHECK(child.exit_status == 0, "exit %d, \"%.300s\"", child.exit_status, child.err);
    CHECK(strstr(child.out, said) != NULL, "\"%.900s\" without \"%s\"", child.out, said);
}

static void names(void)
{
    char name[DUO_PROFILE_NAME], other[DUO_PROFILE_NAME];
    test_case("profile/name");
    duo_profile_name("NVIDIA H100 80GB HBM3", name);
    const char *const gpu = strchr(name, '_');
    CHECK(gpu != NULL && strcmp(gpu, "_nvidia-h100-80gb-hbm3.ini") == 0, "%s", name);
    CHECK(name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.")] == '\0', "%s", name);
    CHECK(strcmp(duo_profile_name("none", other), name) != 0, "%s", name);
    char longest[400];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    duo_profile_name(longest, name);
    CHECK(strlen(name) < sizeof name && strcmp(name + strlen(name) - 4, ".ini") == 0, "%s", name);
    duo_profile_name("../../etc", name);
    CHECK(strchr(name, '/') == NULL && strstr(name, "..") == NULL, "%s", name);
}

static void one_for_each_gpu(void)
{
    char config[600], system_wide[600], why[200] = "";
    test_folder_begin();
    snprintf(config, sizeof config, "XDG_CONFIG_HOME=%s/config", test_folder());
    snprintf(system_wide, sizeof system_wide, "XDG_CONFIG_DIRS=relative:%s/one:%s/two",
             test_folder(), test_folder());
    const char *const settings[] = {config, system_wide, "HOME", NULL};

    test_case("profile/places/second-system-folder");
    const char *const two = write_for("two", "GPU A", 2);
    check_in_use(settings, two, "the system's");
    test_case("profile/places/first-system-folder");
    const char *const one = write_for("one", "GPU A", 1);
    check_in_use(settings, one, "the system's");
    test_case("profile/places/legacy");
    const char *const legacy = in_folder("config/duoblas/profile.ini");
    CHECK(duo_profile_write(good_profile(), legacy, why, sizeof why), "%s", why);
    check_in_use(settings, legacy, "the user's own");
    test_case("profile/places/own");
    const char *const a = write_for("config", "GPU A", 3);
    check_in_use(settings, a, "the user's own");

    test_case("profile/places/newest");
    const char *const b = write_for("config", "GPU B", 4);
    set_age(a, 0);
    set_age(b, 10);
    check_in_use(settings, a, "own");
    set_age(a, 20);
    check_in_use(settings, b, "own");
    test_case("profile/places/another-cpu");
    write_bytes(in_folder("config/duoblas/profiles/abacus_gpu-a.ini"), "x", 1);
    check_in_use(settings, b, "|the user's own");
    test_case("profile/places/newest-is-damaged");
    set_age(a, 0);
    set_age(b, 10);
    write_bytes(a, "x", 1);
    check_in_use(settings, b, "gpu-a.ini refused: ");

    /* What was taken when no GPU had been looked at gives way to the file of the GPU. */
    test_case("profile/places/gpu-is-opened");
    const char *said;
    (void)write_for("config", "GPU A", 3);
    set_age(b, -10000000);
    check_says("gpu GPU B", settings, "gpu-b.ini|GPU B|the user's own");
    set_age(a, -20000000);
    check_says("gpu GPU B", settings, "gpu-b.ini|GPU B|the user's own, measured here; what");
    check_says("gpu GPU B", settings, "|measured GPU B");
    test_case("profile/places/gpu-of-the-system");
    (void)write_for("two", "GPU C", 5);
    check_says("gpu GPU C", settings, "gpu-c.ini|GPU C|the system's");
    test_case("profile/places/no-file-of-the-gpu");
    said = "; for this GPU, the GPU part of built-in h100|measured GPU A";
    check_says("gpu GPU D", settings, said);
    test_case("profile/places/named-stays");
    char named[700];
    snprintf(named, sizeof named, "DUOBLAS_PROFILE=%s", a);
    check_says("gpu GPU B", (const char *const[]){config, named, NULL},
               "GPU part of built-in h100");
    test_folder_end();
}

/* Is this the host of a built-in profile? In a child, which can make it one. */
static int report_host(void)
{
    char origin[64], reason[1024];
    duo_profile *const p = (duo_profile *)(uintptr_t)duo_profile_built_in("h100");
    snprintf(p->cpu, sizeof p->cpu, "%s", duo_machine_cpu());
    snprintf(p->cpu_id, sizeof p->cpu_id, "%s", duo_machine_cpu_id());
    snprintf(p->blas, sizeof p->blas, "%s", duo_blas_library_name());
    p->threads = duo_machine_threads();
    const duo_profile was = *p;
    for (int i = 0; i < 4; i++) {
        *p = was;
        if (i == 1) p->threads++;
        if (i == 2) snprintf(p->blas, sizeof p->blas, "OpenBLAS 0.3.99 Abacus");
        if (i == 3) snprintf(p->cpu_id, sizeof p->cpu_id, "family 6 model 143 stepping unknown");
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
        "built-in h100 is used for its GPU part only: measured with OpenBLAS 0.3.99 Abacus, not ",
        "built-in h100 is used for its GPU part only: measured on another CPU (",
    };
    CHECK(child.exit_status == 0, "exit %d, \"%.300s\"", child.exit_status, child.err);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CHECK(strstr(child.out, lines[i]) != NULL, "no \"%s\" in \"%.1000s\"", lines[i], child.out);
}

/* With narrower kernels the generic sgemm takes longer. */
static int report_kernels(void)
{
    const duo_algorithm_id id = DUO_sgemm_cpu_openblas;
    const duo_blas_library *const library = duo_blas_library_get();
    const double ratio = duo_profile_in_use()->curve[id].seconds[0] /
                         duo_profile_built_in("generic")->curve[id].seconds[0];
    printf("%s %.2f", library != NULL ? library->core : "none", ratio);
    return 0;
}

static void narrow_kernels(void)
{
    static const struct {
        const char *core, *said;
    } cases[] = {
        {"Prescott", "Prescott 5.00"}, {"Haswell", "Haswell 1.35"}, {"SkylakeX", "SkylakeX 1.00"}};
    int tried = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_child child;
        char core[64];
        test_case("profile/kernels/%s", cases[i].core);
        snprintf(core, sizeof core, "OPENBLAS_CORETYPE=%s", cases[i].core);
        const char *const settings[] = {core, "XDG_CONFIG_HOME", "HOME", NULL};
        test_child_run("kernels", settings, 30, &child);
        CHECK(child.exit_status == 0, "exit %d, \"%.300s\"", child.exit_status, child.err);
        if (strncmp(child.out, cases[i].core, strlen(cases[i].core)) != 0) continue;
        CHECK(strcmp(child.out, cases[i].said) == 0, "\"%.100s\"", child.out);
        tried++;
    }
    if (tried == 0) test_skip("the inner BLAS has no other kernels");
}

static const test_entry tests[] = {
    {"in_use", in_use},
    {"parts", parts},
    {"built_in_host", built_in_host},
    {"narrow_kernels", narrow_kernels},
    {"names", names},
    {"one_for_each_gpu", one_for_each_gpu},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL && strcmp(task, "host") == 0) return report_host();
    if (task != NULL && strcmp(task, "kernels") == 0) return report_kernels();
    if (task != NULL && strncmp(task, "gpu ", 4) == 0) return report_gpu(task + 4);
    if (task != NULL) return report_profile();
    return test_main(argc, argv, "profile_in_use", tests);
}
