/*
 * test_profile_files.c - one profile for each CPU and GPU: its name, the folders in which it is
 * sought, and the one that serves once a GPU was opened.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void set_time(const char *path, int seconds, int nanoseconds)
{
    const struct timespec time = {.tv_sec = 1700000000 + seconds, .tv_nsec = nanoseconds},
                          times[2] = {time, time};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0, "%s", path);
}

static void set_age(const char *path, int seconds) { set_time(path, -seconds, 0); }

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

/* Where the user's file would be; false if there is no such place. */
static void user_paths(void)
{
    char path[5000], small[20], longest[4200];
    const char *const was[2] = {getenv("XDG_CONFIG_HOME"), getenv("HOME")};
    char *const kept[2] = {was[0] != NULL ? strdup(was[0]) : NULL,
                           was[1] != NULL ? strdup(was[1]) : NULL};
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    test_case("profile/user-path");
    setenv("XDG_CONFIG_HOME", "/somewhere", 1);
    CHECK(duo_profile_user_path("GPU A", path, sizeof path), "no path");
    CHECK(strncmp(path, "/somewhere/duoblas/profiles/", 28) == 0, "%s", path);
    CHECK(!duo_profile_user_path("GPU A", small, sizeof small), "it fits into 20 characters");
    test_case("profile/user-path/long");
    setenv("XDG_CONFIG_HOME", longest, 1);
    CHECK(!duo_profile_user_path("GPU A", path, sizeof path), "%s", path);
    test_case("profile/user-path/none");
    setenv("XDG_CONFIG_HOME", "relative", 1);
    unsetenv("HOME");
    CHECK(!duo_profile_user_path("GPU A", path, sizeof path), "%s", path);
    for (int i = 0; i < 2; i++) {
        const char *const name = i == 0 ? "XDG_CONFIG_HOME" : "HOME";
        (void)(kept[i] != NULL ? setenv(name, kept[i], 1) : unsetenv(name));
        free(kept[i]);
    }
}

/* Files that are no profiles, and the profile of one GPU under the name of another. */
static void odd_entries(const char *const *settings, const char *good)
{
    char name[DUO_PROFILE_NAME], path[900], why[200] = "";
    static duo_profile p;
    test_case("profile/places/odd-entries");
    write_bytes(in_folder("config/duoblas/profiles/ini"), "x", 1);
    duo_profile_name("dangling", name);
    snprintf(path, sizeof path, "config/duoblas/profiles/%s", name);
    CHECK(symlink("nowhere", in_folder(path)) == 0, "symlink");
    check_in_use(settings, good, "|the user's own");
    test_case("profile/places/of-another-gpu");
    p = *good_profile();
    snprintf(p.gpu, sizeof p.gpu, "GPU A");
    snprintf(path, sizeof path, "config/duoblas/profiles/%s", duo_profile_name("GPU E", name));
    CHECK(duo_profile_write(&p, in_folder(path), why, sizeof why), "%s", why);
    set_age(in_folder(path), 100000);
    check_says("gpu GPU E", settings, "; for this GPU, the GPU part of built-in h100|");
}

static void one_for_each_gpu(void)
{
    char config[600], system_wide[600], why[200] = "";
    test_folder_begin();
    snprintf(config, sizeof config, "XDG_CONFIG_HOME=%s/config", test_folder());
    snprintf(system_wide, sizeof system_wide, "XDG_CONFIG_DIRS=relative:%s/one:%s/two",
             test_folder(), test_folder());
    const char *const settings[] = {config, system_wide, "HOME", NULL};
    static char long_one[4400];
    memset(long_one, 'x', sizeof long_one - 1);
    memcpy(long_one, "XDG_CONFIG_DIRS=/", 17);
    test_case("profile/places/long-system-folder");
    check_in_use((const char *const[]){config, long_one, "HOME", NULL}, "built-in", "built in");
    test_case("profile/places/empty-system-folders");
    check_in_use((const char *const[]){config, "XDG_CONFIG_DIRS=", "HOME", NULL}, "built-in",
                 "built in");

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
    test_case("profile/places/newer-by-less-than-a-second");
    set_time(b, 0, 2);
    set_time(a, 0, 1);
    check_in_use(settings, b, "own");
    set_time(a, 0, 3);
    check_in_use(settings, a, "own");
    set_age(a, 20);
    odd_entries(settings, b);
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
    {"user_paths", user_paths},
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
