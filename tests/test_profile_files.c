/*
 * test_profile_files.c - one profile for each CPU and GPU: its name, the folders in which it is
 * sought, and the one that serves once a GPU was opened.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/tool/profile_write.h"
#include "choice/profile_files.h"
#include "choice/profile_in_use.h"
#include "support/child.h"
#include "support/folder.h"
#include "support/harness.h"
#include "support/profile_reports.h"
#include "support/profiles.h"

/* In a child: prints the profile in use, before and after a GPU is opened. */
static int report_gpu(const char *gpu)
{
    printf("%s|%s|", duo_profile_in_use()->origin, duo_profile_why());
    duo_profile_check_gpu(gpu);
    const duo_profile *const measured = duo_profile_measured();
    printf("then %s|%s|%s|measured %s", duo_profile_in_use()->origin, duo_profile_in_use()->gpu,
           duo_profile_why(), measured == NULL ? "nothing" : measured->gpu);
    return sane(duo_profile_in_use()) ? 0 : 1;
}

/* Writes a profile of this CPU and a GPU to a folder's file for that GPU. Returns its path. */
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
    duo_profile_name(" (R)  GPU\xe9 A-- ", name);
    CHECK(strcmp(strchr(name, '_'), "_r-gpu-a.ini") == 0, "%s", name);
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

    /* A profile that was taken before any GPU was looked at gives way to the file of the GPU. */
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

static const test_entry tests[] = {
    {"names", names},
    {"one_for_each_gpu", one_for_each_gpu},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL && strncmp(task, "gpu ", 4) == 0) return report_gpu(task + 4);
    if (task != NULL) return report_profile();
    return test_main(argc, argv, "profile_files", tests);
}
