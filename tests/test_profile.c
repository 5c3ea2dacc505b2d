/*
 * test_profile.c - profile files: written and read back, every kind of damage refused with a
 * reason, random damage never read as nonsense; the built-in profiles; which one serves.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "choice/algorithm.h"
#include "choice/curve.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "host/machine.h"
#include "support/calls.h"
#include "support/child.h"
#include "support/data.h"
#include "support/folder.h"
#include "support/harness.h"

/* ---- In a folder of our own ---- */

/* The path of a file in it; the string lives until the next but three. */
static const char *in_folder(const char *name)
{
    static char paths[64][512]; /* more than any test uses at once */
    static int next;
    char *const path = paths[next++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

static int entries(void)
{
    int count = 0;
    DIR *const directory = opendir(test_folder());
    if (directory == NULL) return -1;
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count - 2; /* . and .. */
}

static void write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *const file = fopen(path, "w");
    CHECK(file != NULL && fwrite(bytes, 1, count, file) == count, "%s", path);
    if (file != NULL) fclose(file);
    chmod(path, 0600);
}

static char *read_text(const char *path)
{
    enum { MOST = 1 << 16 };
    char *const text = calloc(MOST, 1);
    FILE *const file = fopen(path, "r");
    if (CHECK(text != NULL && file != NULL, "%s", path)) (void)!fread(text, 1, MOST - 1, file);
    if (file != NULL) fclose(file);
    return text;
}

/* ---- A good profile ---- */

static const duo_profile *good_profile(void)
{
    static duo_profile p;
    memset(&p, 0, sizeof p);
    snprintf(p.version, sizeof p.version, "%d.%d.%d", DUO_VERSION_MAJOR, DUO_VERSION_MINOR,
             DUO_VERSION_PATCH);
    snprintf(p.cpu, sizeof p.cpu, "%s", duo_machine_cpu());
    snprintf(p.cpu_id, sizeof p.cpu_id, "%s", duo_machine_cpu_id());
    snprintf(p.blas, sizeof p.blas, "%s", duo_blas_library_name());
    snprintf(p.gpu, sizeof p.gpu, "some GPU");
    snprintf(p.driver, sizeof p.driver, "580.00");
    snprintf(p.date, sizeof p.date, "2026-01-02");
    snprintf(p.commit, sizeof p.commit, "0123456789abcdef");
    p.threads = 12;
    p.fork_seconds = 1.5e-6;
    p.fork_seconds_per_thread = 2.5e-7;
    p.cpu_bandwidth = 123456789012.0;
    p.sgemm_efficiency = 0.875;
    p.upload_pageable = 5e9;
    p.upload_pinned = 5.5e10;
    p.download_pageable = 4e9;
    p.download_pinned = 5.25e10;
    p.copy_seconds = 7e-6;
    p.round_trip_seconds = 9e-6;
    p.query_seconds = 2e-7;
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        duo_curve *const curve = &p.curve[id];
        curve->count = id == 0 ? DUO_CURVE_POINTS : 3 + id;
        for (int i = 0; i < curve->count; i++) {
            curve->size[i] = 1 + 10.0 * i * (i + id);
            curve->seconds[i] = 1e-9 * (1 + i) * (2 + id);
        }
    }
    return &p;
}

static char *good_text(void)
{
    char why[200] = "";
    const char *const path = in_folder("good.ini");
    CHECK(duo_profile_write(good_profile(), path, why, sizeof why), "%s", why);
    return read_text(path);
}

static bool close_to(double x, double y) { return fabs(x - y) <= 1e-9 * fabs(y); }

static void check_equal(const duo_profile *got, const duo_profile *want)
{
    const struct {
        const char *name, *got, *want;
    } texts[] = {
        {"version", got->version, want->version},
        {"cpu", got->cpu, want->cpu},
        {"cpu_id", got->cpu_id, want->cpu_id},
        {"blas", got->blas, want->blas},
        {"gpu", got->gpu, want->gpu},
        {"driver", got->driver, want->driver},
        {"date", got->date, want->date},
        {"commit", got->commit, want->commit},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(strcmp(texts[i].got, texts[i].want) == 0, "%s: \"%s\" became \"%s\"", texts[i].name,
              texts[i].want, texts[i].got);
    const struct {
        const char *name;
        double got, want;
    } numbers[] = {
        {"threads", got->threads, want->threads},
        {"fork_seconds", got->fork_seconds, want->fork_seconds},
        {"fork_seconds_per_thread", got->fork_seconds_per_thread, want->fork_seconds_per_thread},
        {"cpu_bandwidth", got->cpu_bandwidth, want->cpu_bandwidth},
        {"sgemm_efficiency", got->sgemm_efficiency, want->sgemm_efficiency},
        {"upload_pageable", got->upload_pageable, want->upload_pageable},
        {"upload_pinned", got->upload_pinned, want->upload_pinned},
        {"download_pageable", got->download_pageable, want->download_pageable},
        {"download_pinned", got->download_pinned, want->download_pinned},
        {"copy_seconds", got->copy_seconds, want->copy_seconds},
        {"round_trip_seconds", got->round_trip_seconds, want->round_trip_seconds},
        {"query_seconds", got->query_seconds, want->query_seconds},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        CHECK(close_to(numbers[i].got, numbers[i].want), "%s: %g became %g", numbers[i].name,
              numbers[i].want, numbers[i].got);
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        const duo_curve *const a = &got->curve[id], *const b = &want->curve[id];
        if (!CHECK(a->count == b->count, "%s: %d points became %d",
                   duo_algorithm_name((duo_algorithm_id)id), b->count, a->count))
            continue;
        for (int i = 0; i < b->count; i++)
            CHECK(close_to(a->size[i], b->size[i]) && close_to(a->seconds[i], b->seconds[i]),
                  "%s point %d", duo_algorithm_name((duo_algorithm_id)id), i);
    }
}

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
    for (int id = 1; id < DUO_ALGORITHMS; id++) other.curve[id].count = 0;
    CHECK(duo_profile_write(&other, path, why, sizeof why), "%s", why);
    CHECK(duo_profile_read(path, &got, why, sizeof why), "%s", why);
    check_equal(&got, &other);

    /* What was not measured is not in the file. */
    test_case("profile/without-a-gpu");
    other.upload_pageable = other.cpu_bandwidth = other.sgemm_efficiency = 0.0;
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
    CHECK(!duo_profile_write(good_profile(), in_folder("file/profile.ini"), why, sizeof why) &&
              why[0] != '\0',
          "why \"%s\"", why);
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

/* ---- Refusals ---- */

static void check_refused(const char *text)
{
    static duo_profile got;
    char why[200] = "";
    CHECK(!duo_profile_parse(text, &got, why, sizeof why), "it was taken");
    CHECK(why[0] != '\0' && strchr(why, '\n') == NULL, "why \"%s\"", why);
}

/* The text with the first `from` replaced; to be freed. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *const at = strstr(text, from);
    if (!CHECK(at != NULL, "no \"%s\" in the file", from)) return strdup(text);
    char *result;
    if (asprintf(&result, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) < 0) abort();
    return result;
}

static void refused_text(void)
{
    static const struct {
        const char *name, *from, *to;
    } cases[] = {
        {"format-2", "format = 3", "format = 2"},
        {"format-4", "format = 3", "format = 4"},
        {"format-0", "format = 3", "format = 0"},
        {"format-negative", "format = 3", "format = -1"},
        {"format-fraction", "format = 3", "format = 3.0"},
        {"format-word", "format = 3", "format = one"},
        {"format-missing", "format = 3\n", ""},
        {"format-twice", "format = 3\n", "format = 3\nformat = 3\n"},
        {"unknown-key", "[cpu]\n", "[cpu]\nfrobnicate = 1\n"},
        {"unknown-section", "[cpu]\n", "[spoon]\nsize = 1\n[cpu]\n"},
        {"unknown-row", "[algorithm ssum_cpu_lanes]", "[algorithm ssum_cpu_magic]"},
        {"row-without-name", "[algorithm ssum_cpu_lanes]", "[algorithm ]"},
        {"section-not-closed", "[algorithm ssum_cpu_lanes]", "[algorithm ssum_cpu_lanes"},
        {"no-equals", "fork_ps = 1500000", "fork_ps 1500000"},
        {"empty-value", "fork_ps = 1500000", "fork_ps ="},
        {"negative", "fork_ps = 1500000", "fork_ps = -1500000"},
        {"plus", "fork_ps = 1500000", "fork_ps = +1500000"},
        {"fraction", "fork_ps = 1500000", "fork_ps = 1500000.5"},
        {"decimal-comma", "fork_ps = 1500000", "fork_ps = 1500000,5"},
        {"exponent", "fork_ps = 1500000", "fork_ps = 15e5"},
        {"hexadecimal", "fork_ps = 1500000", "fork_ps = 0x16e360"},
        {"nan", "fork_ps = 1500000", "fork_ps = nan"},
        {"inf", "fork_ps = 1500000", "fork_ps = inf"},
        {"two-numbers", "fork_ps = 1500000", "fork_ps = 1500000 1"},
        {"overflow", "fork_ps = 1500000", "fork_ps = 99999999999999999999"},
        {"too-large", "fork_ps = 1500000", "fork_ps = 1000000000000000001"},
        {"missing-key", "fork_ps = 1500000\n", ""},
        {"twice", "fork_ps = 1500000\n", "fork_ps = 1500000\nfork_ps = 1500000\n"},
        {"bandwidth-0", "bandwidth = 123456789012", "bandwidth = 0"},
        {"bandwidth-large", "bandwidth = 123456789012", "bandwidth = 1000000000000001"},
        {"threads-0", "threads = 12", "threads = 0"},
        {"threads-negative", "threads = 12", "threads = -12"},
        {"threads-many", "threads = 12", "threads = 2000000"},
        {"threads-missing", "threads = 12\n", ""},
        {"efficiency-0", "sgemm_efficiency_millionths = 875000", "sgemm_efficiency_millionths = 0"},
        {"efficiency-large", "sgemm_efficiency_millionths = 875000",
         "sgemm_efficiency_millionths = 10000001"},
        {"upload-0", "upload_pinned = 55000000000", "upload_pinned = 0"},
        {"link-missing-key", "upload_pinned = 55000000000\n", ""},
        {"version-missing", "version = ", "; version = "},
        {"point-size-0", "[algorithm ssum_cpu_lanes]\n", "[algorithm ssum_cpu_lanes]\n0 = 5\n"},
        {"point-size-negative", "[algorithm ssum_cpu_lanes]\n",
         "[algorithm ssum_cpu_lanes]\n-1 = 5\n"},
        {"point-size-fraction", "[algorithm ssum_cpu_lanes]\n",
         "[algorithm ssum_cpu_lanes]\n0.5 = 5\n"},
        {"point-size-large", "[end]", "[algorithm ssum_cpu_lanes]\n2000000000000 = 5\n[end]"},
        {"point-size-overflow", "[end]",
         "[algorithm ssum_cpu_lanes]\n99999999999999999999 = 5\n[end]"},
        {"point-twice",
         "[algorithm ssum_cpu_lanes]\n1 = ", "[algorithm ssum_cpu_lanes]\n1 = 3\n1 = "},
        {"point-unsorted", "[algorithm ssum_cpu_lanes]\n", "[algorithm ssum_cpu_lanes]\n900 = 5\n"},
        {"point-time-0",
         "[algorithm ssum_cpu_lanes]\n1 = ", "[algorithm ssum_cpu_lanes]\n1 = 0\n2 = "},
        {"point-time-negative",
         "[algorithm ssum_cpu_lanes]\n1 = ", "[algorithm ssum_cpu_lanes]\n1 = -"},
        {"point-time-nan",
         "[algorithm ssum_cpu_lanes]\n1 = ", "[algorithm ssum_cpu_lanes]\n1 = nan\n2 = "},
        {"point-falls",
         "[algorithm ssum_cpu_lanes]\n1 = ", "[algorithm ssum_cpu_lanes]\n1 = 9999999\n2 = "},
        {"too-many-points", "[end]", "[algorithm sgemm_cpu_openblas]\n1000000 = 5\n[end]"},
        {"end-missing", "[end]\ncomplete = 1\n", ""},
        {"end-incomplete", "complete = 1", "complete = 0"},
        {"after-the-end", "complete = 1\n", "complete = 1\n[cpu]\nbandwidth = 5000\n"},
        {"binary", "[cpu]", "\001\002\377\376"},
    };
    test_folder_begin();
    char *const text = good_text();
    static duo_profile got;
    char why[200] = "";
    test_case("profile/refused/not-at-all");
    CHECK(duo_profile_parse(text, &got, why, sizeof why), "%s", why);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_case("profile/refused/%s", cases[i].name);
        char *const bad = replaced(text, cases[i].from, cases[i].to);
        check_refused(bad);
        free(bad);
    }

    test_case("profile/refused/empty");
    check_refused("");
    check_refused("\n\n\n");
    check_refused("; nothing but a comment\n");

    test_case("profile/refused/long-text");
    char line[600];
    memset(line, 'z', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    char *longer;
    if (asprintf(&longer, "gpu = %.120s", line) < 0) abort();
    char *bad = replaced(text, "gpu = some GPU", longer);
    check_refused(bad);
    free(bad);
    free(longer);

    test_case("profile/refused/long-line");
    if (asprintf(&longer, "; %s\n[cpu]", line) < 0) abort();
    bad = replaced(text, "[cpu]", longer);
    check_refused(bad);
    free(bad);
    free(longer);

    /* Cut anywhere: only the last newline may be missing. */
    const size_t length = strlen(text);
    for (size_t cut = 0; cut + 1 < length; cut++) {
        char *const start = strndup(text, cut);
        if (cut % 97 == 0) test_case("profile/refused/cut-at-%zu", cut);
        check_refused(start);
        free(start);
    }
    free(text);
    test_folder_end();
}

static void check_file_refused(const char *path)
{
    static duo_profile got;
    char why[200] = "";
    CHECK(!duo_profile_read(path, &got, why, sizeof why), "it was taken");
    CHECK(why[0] != '\0', "without a reason");
}

static void refused_files(void)
{
    test_folder_begin();
    char *const text = good_text();
    const char *const good = in_folder("good.ini");
    static duo_profile got;
    char why[200] = "";

    test_case("profile/file/missing");
    check_file_refused(in_folder("missing.ini"));
    check_file_refused("");
    test_case("profile/file/folder");
    check_file_refused(test_folder());
    test_case("profile/file/link");
    CHECK(symlink(good, in_folder("link.ini")) == 0, "symlink");
    check_file_refused(in_folder("link.ini"));
    test_case("profile/file/fifo");
    CHECK(mkfifo(in_folder("fifo.ini"), 0600) == 0, "mkfifo");
    check_file_refused(in_folder("fifo.ini"));
    test_case("profile/file/device");
    check_file_refused("/dev/zero");
    check_file_refused("/dev/null");

    test_case("profile/file/mode");
    static const struct {
        unsigned mode;
        bool taken;
    } modes[] = {{0600, true},  {0644, true},  {0400, true},
                 {0660, false}, {0602, false}, {0666, false}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CHECK(chmod(good, modes[i].mode) == 0, "chmod");
        CHECK(duo_profile_read(good, &got, why, sizeof why) == modes[i].taken, "mode %o: %s",
              modes[i].mode, why);
    }
    chmod(good, 0600);
    if (geteuid() != 0) {
        test_case("profile/file/not-readable");
        chmod(good, 0200);
        check_file_refused(good);
        chmod(good, 0600);
    } else {
        test_case("profile/file/owner");
        CHECK(chown(good, 12345, (gid_t)-1) == 0, "chown");
        check_file_refused(good);
        CHECK(chown(good, 0, (gid_t)-1) == 0, "chown");
    }

    test_case("profile/file/empty");
    write_bytes(in_folder("empty.ini"), "", 0);
    check_file_refused(in_folder("empty.ini"));
    test_case("profile/file/huge");
    write_bytes(in_folder("huge.ini"), text, strlen(text));
    CHECK(truncate(in_folder("huge.ini"), 2 << 20) == 0, "truncate");
    check_file_refused(in_folder("huge.ini"));
    test_case("profile/file/zero-byte");
    char *const spoiled = strdup(text);
    spoiled[strlen(text) / 2] = '\0';
    write_bytes(in_folder("zero.ini"), spoiled, strlen(text));
    check_file_refused(in_folder("zero.ini"));
    free(spoiled);
    free(text);
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
    /* The inner BLAS and the number of threads do not refuse the whole. */
    p = *good_profile();
    snprintf(p.blas, sizeof p.blas, "another BLAS");
    p.threads = 77;
    CHECK(duo_profile_fits(&p, why, sizeof why), "%s", why);
}

/* ---- Random damage ---- */

static bool sane_text(const char *text, size_t size) { return memchr(text, '\0', size) != NULL; }

static bool sane_time(double x) { return x >= 0.0 && x <= 1e7; }
static bool sane_rate(double x) { return x >= 1.0 && x <= 1e16; }

/* Taken: then every number in it is one that the cost model can live with. */
static bool sane(const duo_profile *p)
{
    bool ok = sane_text(p->version, sizeof p->version) && sane_text(p->cpu, sizeof p->cpu) &&
              sane_text(p->cpu_id, sizeof p->cpu_id) && sane_text(p->blas, sizeof p->blas) &&
              sane_text(p->gpu, sizeof p->gpu) && sane_text(p->driver, sizeof p->driver) &&
              sane_text(p->date, sizeof p->date) && sane_text(p->commit, sizeof p->commit);
    ok = ok && p->threads >= 1 && sane_time(p->fork_seconds) &&
         sane_time(p->fork_seconds_per_thread) &&
         (p->cpu_bandwidth == 0.0 || sane_rate(p->cpu_bandwidth)) && p->sgemm_efficiency >= 0.0 &&
         p->sgemm_efficiency <= 10.0;
    ok = ok && sane_rate(p->upload_pageable) && sane_rate(p->upload_pinned) &&
         sane_rate(p->download_pageable) && sane_rate(p->download_pinned) &&
         sane_time(p->copy_seconds) && sane_time(p->round_trip_seconds) &&
         sane_time(p->query_seconds);
    for (int id = 0; id < DUO_ALGORITHMS && ok; id++) {
        const duo_curve *const curve = &p->curve[id];
        ok = curve->count >= 0 && curve->count <= DUO_CURVE_POINTS;
        for (int i = 0; i < curve->count && ok; i++)
            ok = curve->size[i] >= 1.0 && curve->seconds[i] > 0.0 && sane_time(curve->seconds[i]) &&
                 (i == 0 || (curve->size[i] > curve->size[i - 1] &&
                             curve->seconds[i] >= curve->seconds[i - 1]));
        for (double size = 1.0; size < 1e12 && ok && curve->count > 0; size *= 9.7) {
            const double seconds = duo_curve_seconds(curve, size, 1);
            ok = seconds > 0.0 && isfinite(seconds);
        }
    }
    return ok;
}

static void mutate(char *text, size_t *length, size_t size, test_rng *rng)
{
    static const char *const words[] = {
        "-",     "nan",         "inf",        "1e400", "99999999999999999999",
        "0",     "[",           "]",          "=",     "\n",
        ";",     ":",           " ",          "\t",    "1.5",
        "[end]", "[algorithm ", "format = 3", "\r\n",  "\xef\xbb\xbf"};
    const size_t at = (size_t)test_between(rng, 0, (int64_t)*length - 1);
    const size_t most = *length - at;
    size_t span = (size_t)test_between(rng, 1, 40);
    if (span > most) span = most;
    switch (test_between(rng, 0, 4)) {
    case 0: /* change a character */
        text[at] = (char)test_between(rng, 1, 255);
        break;
    case 1: /* change a digit, to stay close to a good file */
        for (size_t i = at; i < *length; i++)
            if (text[i] >= '0' && text[i] <= '9') {
                text[i] = (char)test_between(rng, '0', '9');
                break;
            }
        break;
    case 2: /* drop some */
        memmove(text + at, text + at + span, *length - at - span);
        *length -= span;
        break;
    case 3: /* repeat some */
        if (*length + span >= size) break;
        memmove(text + at + span, text + at, *length - at);
        *length += span;
        break;
    default: { /* put a word in */
        const char *const word = words[test_between(rng, 0, sizeof words / sizeof *words - 1)];
        if (*length + strlen(word) >= size) break;
        memmove(text + at + strlen(word), text + at, *length - at);
        memcpy(text + at, word, strlen(word));
        *length += strlen(word);
        break;
    }
    }
    text[*length] = '\0';
}

static void fuzz(void)
{
    enum { TRIALS = 10000, ROOM = 1 << 15 };
    static duo_profile got;
    test_folder_begin();
    char *const text = good_text();
    char *const damaged = malloc(ROOM);
    test_rng rng = test_rng_for("profile/fuzz");
    int taken = 0;
    test_case("profile/fuzz");
    for (int trial = 0; trial < TRIALS && damaged != NULL; trial++) {
        size_t length = strlen(text);
        memcpy(damaged, text, length + 1);
        for (int64_t i = test_between(&rng, 1, 4); i > 0 && length > 1; i--)
            mutate(damaged, &length, ROOM, &rng);
        char why[200] = "";
        if (duo_profile_parse(damaged, &got, why, sizeof why)) {
            taken++;
            if (!CHECK(sane(&got), "trial %d gives numbers that cannot be", trial)) break;
        } else if (!CHECK(why[0] != '\0' && strlen(why) < sizeof why, "trial %d", trial))
            break;
    }
    CHECK(taken > 0 && taken < TRIALS, "%d of %d taken", taken, TRIALS);
    free(damaged);
    free(text);
    test_folder_end();
}

/* ---- The built-in ones ---- */

/* Every row of the operation has a cost. */
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

/* ---- Which one serves: in children, since it is decided once ---- */

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
    static const duo_algorithm_id rows[] = {DUO_sgemm_cpu_openblas, DUO_sgemm_cpu_plain,
                                            DUO_ssum_cpu_lanes, DUO_sgemm_gpu_tiled};
    for (int i = 0; i < 4 && p != NULL; i++)
        printf("%s=%s ", duo_algorithm_name(rows[i]) + strlen("sgemm_") - (i == 2),
               p->curve[rows[i]].size[0] == 1.0 ? "own" : "other");
    if (p != NULL) printf("link=%s ", p->upload_pageable == 5e9 ? "own" : "other");
    printf("measured=%d|", measured == NULL ? 0 : measured->curve[rows[0]].count > 0 ? 2 : 1);
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
        {"older-format", "format = 3", "format = 1", "older version"},
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
                 "|cpu_openblas=own cpu_plain=own cpu_lanes=own gpu_tiled=own link=own measured=2");

    test_case("profile/parts/another-blas");
    p = *good_profile();
    snprintf(p.blas, sizeof p.blas, "OpenBLAS 0.3.99 Abacus");
    CHECK(duo_profile_write(&p, path, why, sizeof why), "%s", why);
    check_in_use(
        settings, path,
        "|cpu_openblas=other cpu_plain=own cpu_lanes=own gpu_tiled=own link=own measured=1");
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
    check_in_use(
        settings, path,
        "|cpu_openblas=other cpu_plain=other cpu_lanes=own gpu_tiled=other link=other measured=1");

    test_case("profile/parts/built-in");
    const char *const nothing[] = {"XDG_CONFIG_HOME", "HOME", NULL};
    check_in_use(nothing, "built-in", "built-in h100 is used for its GPU part only: measured ");
    check_in_use(nothing, "built-in", " measured=0|");
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
    const char *found = NULL; /* of ours: what setlocale returns lasts until its next call */
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
    {"round_trip", round_trip},
    {"write_failures", write_failures},
    {"refused_text", refused_text},
    {"refused_files", refused_files},
    {"signature", signature},
    {"fuzz", fuzz},
    {"built_ins", built_ins},
    {"in_use", in_use},
    {"parts", parts},
    {"built_in_host", built_in_host},
    {"narrow_kernels", narrow_kernels},
    {"use_and_reset", use_and_reset},
    {"locales", locales},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const char *const task = test_child_task(argc, argv);
    if (task != NULL && strcmp(task, "host") == 0) return report_host();
    if (task != NULL && strcmp(task, "kernels") == 0) return report_kernels();
    if (task != NULL) return report_profile();
    return test_main(argc, argv, "profile", tests);
}
