/*
 * test_profile.c - profile files: written and read back, whole or not at all; whether one fits this
 * machine; the built-in ones; locales.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/tool/profile_write.h"
#include "choice/algorithm.h"
#include "choice/profile.h"
#include "choice/profile_files.h"
#include "choice/profile_in_use.h"
#include "choice/profile_text.h"
#include "host/machine.h"
#include "support/calls.h"
#include "support/folder.h"
#include "support/harness.h"
#include "support/profiles.h"

/* ---- Round trip ---- */

static void round_trip(void)
{
    static duo_profile got;
    char why[200] = "";
    test_folder_begin();
    test_case("profile/round-trip");
    const char *const path = in_folder("deeper/and/deeper/profile.ini");
    CHECK(duo_profile_write(good_profile(), path, why, sizeof why), "%s", why);
    CHECK(duo_profile_read(path, &got, why, sizeof why), "%s", why);
    check_equal(&got, good_profile());
    CHECK(strcmp(got.origin, path) == 0, "origin \"%s\"", got.origin);
    CHECK(duo_profile_fits(&got, why, sizeof why), "%s", why);

    test_case("profile/overwrite");
    duo_profile other = *good_profile();
    other.threads = 99;
    CHECK(duo_profile_write(&other, path, why, sizeof why), "%s", why);
    CHECK(duo_profile_read(path, &got, why, sizeof why) && got.threads == 99, "%s", why);

    test_case("profile/odd-text");
    other = *good_profile();
    snprintf(other.gpu, sizeof other.gpu, "A; B # C = D : [E]\nF\tG \"H\"");
    memset(other.blas, 'x', sizeof other.blas - 1);
    memset(other.cpu, 'y', sizeof other.cpu - 1);
    other.driver[0] = '\0';
    CHECK(duo_profile_write(&other, path, why, sizeof why), "%s", why);
    CHECK(duo_profile_read(path, &got, why, sizeof why), "%s", why);
    CHECK(strcmp(got.blas, other.blas) == 0 && strcmp(got.cpu, other.cpu) == 0, "long texts");
    CHECK(got.threads == other.threads, "threads");

    test_case("profile/few-curves");
    other = *good_profile();
    other.correction[DUO_CORRECTED_OPENBLAS][DUO_CORRECTED_ONE_THREAD].measured = false;
    for (int id = 1; id < DUO_ALGORITHMS; id++) other.curve[id].count = 0;
    CHECK(duo_profile_write(&other, path, why, sizeof why), "%s", why);
    CHECK(duo_profile_read(path, &got, why, sizeof why), "%s", why);
    check_equal(&got, &other);

    /* Figures that were not measured are not in the file. */
    test_case("profile/without-a-gpu");
    other.upload_pageable = other.open_seconds = 0.0;
    other.cpu_bandwidth = other.sgemm_efficiency = 0.0;
    CHECK(duo_profile_write(&other, path, why, sizeof why), "%s", why);
    char *const text = read_text(path);
    CHECK(strstr(text, "[link]") == NULL && strstr(text, "bandwidth") == NULL &&
              strstr(text, "efficiency") == NULL,
          "%.500s", text);
    free(text);
    CHECK(duo_profile_read(path, &got, why, sizeof why), "%s", why);
    CHECK(got.upload_pageable == 0.0 && got.cpu_bandwidth == 0.0 && got.sgemm_efficiency == 0.0,
          "%g %g %g", got.upload_pageable, got.cpu_bandwidth, got.sgemm_efficiency);
    test_folder_end();
}

/* The format before this one knows of no noise. */
static void older_format(void)
{
    static duo_profile got;
    char why[200] = "";
    test_folder_begin();
    duo_profile without = *good_profile();
    test_case("profile/older-format");
    for (int i = 0; i < DUO_OPERATIONS; i++) without.measured[i].noise = 0.0;
    CHECK(duo_profile_write(&without, in_folder("new.ini"), why, sizeof why), "%s", why);
    char *const text = read_text(in_folder("new.ini"));
    char *const older = replaced(text, "format = 5", "format = 4");
    CHECK(strstr(text, "noise") == NULL, "noise that nobody knows");
    CHECK(duo_profile_parse(older, &got, why, sizeof why), "%s", why);
    check_equal(&got, &without);
    CHECK(duo_profile_noise(&got) == 0.0, "noise %g", duo_profile_noise(&got));
    free(older);
    free(text);
    test_folder_end();
}

/* The longest times and the largest rates survive, to the last digit. */
static void extremes(void)
{
    static duo_profile got;
    char why[200] = "";
    test_folder_begin();
    char *const text = good_text();
    char *const larger = replaced(text, "fork_ps = 1500000", "fork_ps = 999999999999999");
    char *const largest =
        replaced(larger, "bandwidth = 123456789012", "bandwidth = 999999999999999");
    test_case("profile/extremes");
    CHECK(duo_profile_parse(largest, &got, why, sizeof why), "%s", why);
    CHECK(duo_profile_write(&got, in_folder("again.ini"), why, sizeof why), "%s", why);
    char *const again = read_text(in_folder("again.ini"));
    CHECK(strcmp(again, largest) == 0, "the text is another one");
    free(again);
    free(largest);
    free(larger);
    free(text);
    test_folder_end();
}

/* Whole or not at all, and nothing left beside it. */
static void write_failures(void)
{
    char why[200] = "";
    test_folder_begin();
    test_case("profile/write/no-such-place");
    CHECK(!duo_profile_write(good_profile(), "/proc/nowhere/profile.ini", why, sizeof why) &&
              why[0] != '\0',
          "why \"%s\"", why);
    test_case("profile/write/onto-a-folder");
    why[0] = '\0';
    CHECK(mkdir(in_folder("taken"), 0700) == 0 && mkdir(in_folder("taken/inside"), 0700) == 0,
          "mkdir");
    CHECK(!duo_profile_write(good_profile(), in_folder("taken"), why, sizeof why) && why[0] != '\0',
          "why \"%s\"", why);
    CHECK(entries() == 1, "%d entries are left", entries());
    test_case("profile/write/below-a-file");
    why[0] = '\0';
    write_bytes(in_folder("file"), "x", 1);
    for (int folders = 0; folders < 2; folders++) {
        const char *const path = in_folder(folders ? "file/a/b/profile.ini" : "file/profile.ini");
        CHECK(!duo_profile_write(good_profile(), path, why, sizeof why) &&
                  strcmp(why, strerror(ENOTDIR)) == 0,
              "why \"%s\"", why);
    }
    CHECK(entries() == 2, "%d entries are left", entries());
    test_case("profile/write/long-path");
    char path[5000];
    memset(path, 'p', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    why[0] = '\0';
    CHECK(!duo_profile_write(good_profile(), path, why, sizeof why) && why[0] != '\0', "why \"%s\"",
          why);
    test_case("profile/write/no-path");
    why[0] = '\0';
    CHECK(!duo_profile_write(good_profile(), "", why, sizeof why) && why[0] != '\0', "why \"%s\"",
          why);
    test_case("profile/write/nothing-left-beside");
    CHECK(duo_profile_write(good_profile(), in_folder("profile.ini"), why, sizeof why), "%s", why);
    CHECK(entries() == 3, "%d entries", entries());
    test_folder_end();
}

static void signature(void)
{
    char why[200] = "";
    test_case("profile/signature");
    duo_profile p = *good_profile();
    CHECK(duo_profile_fits(&p, why, sizeof why), "%s", why);
    snprintf(p.version, sizeof p.version, "9.9.9");
    CHECK(!duo_profile_fits(&p, why, sizeof why) && strstr(why, "9.9.9") != NULL, "why \"%s\"",
          why);
    p = *good_profile();
    snprintf(p.cpu, sizeof p.cpu, "Some Other CPU");
    why[0] = '\0';
    CHECK(!duo_profile_fits(&p, why, sizeof why) && strstr(why, "Some Other CPU") != NULL,
          "why \"%s\"", why);
    test_case("profile/signature/same-name");
    p = *good_profile();
    snprintf(p.cpu_id, sizeof p.cpu_id, "family 6 model 143 stepping unknown");
    why[0] = '\0';
    CHECK(!duo_profile_fits(&p, why, sizeof why) && strstr(why, "stepping unknown") != NULL,
          "why \"%s\"", why);
    CHECK(duo_machine_cpu_id()[0] != '\0' && strcmp(duo_machine_cpu_id(), p.cpu_id) != 0, "\"%s\"",
          duo_machine_cpu_id());
    /* Another inner BLAS or number of threads does not refuse the whole file. */
    p = *good_profile();
    snprintf(p.blas, sizeof p.blas, "another BLAS");
    p.threads = 77;
    CHECK(duo_profile_fits(&p, why, sizeof why), "%s", why);
}

/* ---- The built-in ones ---- */

/* Every algorithm of the operation has a cost. */
static void check_predictable(const duo_profile *p, duo_operation operation)
{
    enum { N = 1000 };
    const duo_call call =
        operation == DUO_SGEMM
            ? test_sgemm_call(false, false, N, N, N, 1.0f, NULL, N, NULL, N, 0.0f, NULL, N)
            : test_reduce_call(operation, N, NULL, 1, NULL, 1, NULL);
    const duo_conditions conditions = {.profile = p, .threads = 1};
    const duo_algorithm_table table = duo_algorithm_tables[operation];
    for (int i = 0; i < table.count; i++) {
        int threads;
        const double seconds = table.algorithm[i].cost(&call, &conditions, &threads);
        CHECK(seconds > 0.0 && seconds < 10.0, "%s: %g s", table.algorithm[i].name, seconds);
    }
}

static void built_ins(void)
{
    static const char *const names[] = {"h100", "h200", "generic"};
    char why[200] = "";
    static duo_profile again;
    test_folder_begin();
    for (int i = 0; i < 3; i++) {
        test_case("profile/built-in/%s", names[i]);
        const duo_profile *const p = duo_profile_built_in(names[i]);
        if (!CHECK(p != NULL, "missing")) continue;
        CHECK(sane(p), "numbers that cannot be");
        CHECK(strstr(p->origin, names[i]) != NULL, "origin \"%s\"", p->origin);
        for (int operation = 0; operation < DUO_OPERATIONS; operation++)
            check_predictable(p, (duo_operation)operation);
        const char *const path = in_folder("built-in.ini");
        CHECK(duo_profile_write(p, path, why, sizeof why), "%s", why);
        CHECK(duo_profile_read(path, &again, why, sizeof why), "%s", why);
        check_equal(&again, p);
    }
    test_case("profile/built-in/unknown");
    CHECK(duo_profile_built_in("abacus") == NULL, "there is one");
    CHECK(duo_profile_built_in("") == NULL, "there is one");
    test_folder_end();
}

static void use_and_reset(void)
{
    test_case("profile/use-and-reset");
    const duo_profile *const before = duo_profile_in_use();
    CHECK(before != NULL, "NULL");
    duo_profile_use(good_profile());
    CHECK(duo_profile_in_use() == good_profile() || duo_profile_in_use()->threads == 12,
          "another one is in use");
    duo_profile_reset();
    CHECK(duo_profile_in_use() != NULL && strcmp(duo_profile_in_use()->origin, before->origin) == 0,
          "the one before is not back");
}

/* ---- Locales ---- */

static void locales(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8", "fr_FR.utf8",
                                        "nl_NL.UTF-8", "ru_RU.UTF-8", "es_ES.UTF-8"};
    test_case("profile/locale");
    const char *found = NULL; /* ours: setlocale's string lasts until its next call */
    for (size_t i = 0; i < sizeof names / sizeof *names && found == NULL; i++)
        if (setlocale(LC_ALL, names[i]) != NULL) found = names[i];
    if (found == NULL) {
        test_skip("no locale with a decimal comma is installed");
        return;
    }
    char why[200] = "";
    static duo_profile got;
    test_folder_begin();
    CHECK(localeconv()->decimal_point[0] == ',', "%s has no comma", found);
    CHECK(duo_profile_write(good_profile(), in_folder("a.ini"), why, sizeof why), "%s", why);
    setlocale(LC_ALL, "C");
    CHECK(duo_profile_read(in_folder("a.ini"), &got, why, sizeof why), "%s", why);
    check_equal(&got, good_profile());
    CHECK(duo_profile_write(good_profile(), in_folder("b.ini"), why, sizeof why), "%s", why);
    char *const a = read_text(in_folder("a.ini")), *const b = read_text(in_folder("b.ini"));
    CHECK(strcmp(a, b) == 0, "the files differ");
    setlocale(LC_ALL, found);
    CHECK(duo_profile_read(in_folder("b.ini"), &got, why, sizeof why), "%s", why);
    check_equal(&got, good_profile());
    setlocale(LC_ALL, "C");
    free(a);
    free(b);
    test_folder_end();
}

static const test_entry tests[] = {
    {"round_trip", round_trip},         {"older_format", older_format}, {"extremes", extremes},
    {"write_failures", write_failures}, {"signature", signature},       {"built_ins", built_ins},
    {"use_and_reset", use_and_reset},   {"locales", locales},           {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "profile", tests); }
