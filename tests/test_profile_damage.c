/*
 * test_profile_damage.c - profile files with damage: every kind is refused with a reason, and
 * random damage is never read as nonsense.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "choice/profile_files.h"
#include "choice/profile_text.h"
#include "support/data.h"
#include "support/failing_memory.h"
#include "support/folder.h"
#include "support/harness.h"
#include "support/profiles.h"

/* ---- Refusals ---- */

static void check_refused(const char *text)
{
    static duo_profile got;
    char why[200] = "";
    CHECK(!duo_profile_parse(text, &got, why, sizeof why), "it was taken");
    CHECK(why[0] != '\0' && strchr(why, '\n') == NULL, "why \"%s\"", why);
}

static void refused_text(void)
{
    static const struct {
        const char *name, *from, *to;
    } cases[] = {
        {"format-3", "format = 5", "format = 3"},
        {"format-6", "format = 5", "format = 6"},
        {"format-0", "format = 5", "format = 0"},
        {"format-negative", "format = 5", "format = -1"},
        {"format-fraction", "format = 5", "format = 5.0"},
        {"format-word", "format = 5", "format = one"},
        {"format-missing", "format = 5\n", ""},
        {"head-unknown-key", "format = 5\n", "format = 5\ncolour = 5\n"},
        {"format-twice", "format = 5\n", "format = 5\nformat = 5\n"},
        {"unknown-key", "[cpu]\n", "[cpu]\nfrobnicate = 1\n"},
        {"unknown-section", "[cpu]\n", "[spoon]\nsize = 1\n[cpu]\n"},
        {"unknown-algorithm", "[algorithm ssum_cpu_lanes]", "[algorithm ssum_cpu_magic]"},
        {"algorithm-without-name", "[algorithm ssum_cpu_lanes]", "[algorithm ]"},
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
        {"too-large", "fork_ps = 1500000", "fork_ps = 1000000000000001"},
        {"missing-key", "fork_ps = 1500000\n", ""},
        {"twice", "fork_ps = 1500000\n", "fork_ps = 1500000\nfork_ps = 1500000\n"},
        {"bandwidth-0", "bandwidth = 123456789012", "bandwidth = 0"},
        {"bandwidth-large", "bandwidth = 123456789012", "bandwidth = 1000000000000001"},
        {"threads-0", "threads = 12", "threads = 0"},
        {"threads-negative", "threads = 12", "threads = -12"},
        {"threads-many", "threads = 12", "threads = 2000000"},
        {"threads-missing", "threads = 12\n", ""},
        {"efficiency-0", "sgemm_efficiency_millionths = 875000", "sgemm_efficiency_millionths = 0"},
        {"efficiency-above-1", "sgemm_efficiency_millionths = 875000",
         "sgemm_efficiency_millionths = 1000001"},
        {"noise-0", "noise_millionths = 20000", "noise_millionths = 0"},
        {"noise-large", "noise_millionths = 20000", "noise_millionths = 9000001"},
        {"noise-alone", "[measured ssum]\ndate = 2026-01-12\ncommit = commit2\neffort = quick\n",
         "[measured ssum]\n"},
        {"upload-0", "upload_pinned = 55000000000", "upload_pinned = 0"},
        {"link-missing-key", "upload_pinned = 55000000000\n", ""},
        {"version-missing", "version = ", "; version = "},
        {"blas-missing", "blas = ", "; blas = "},
        {"gpu-missing", "gpu = ", "; gpu = "},
        {"text-with-control", "gpu = some GPU", "gpu = some\tGPU"},
        {"text-with-delete", "gpu = some GPU", "gpu = some\x7fGPU"},
        {"text-with-semicolon", "gpu = some GPU", "gpu = some;GPU"},
        {"measured-missing",
         "[measured ssum]\ndate = 2026-01-12\ncommit = commit2\neffort = quick\n"
         "noise_millionths = 60000\n",
         ""},
        {"measured-half", "commit = commit2\n", ""},
        {"measured-empty", "date = 2026-01-12", "date ="},
        {"measured-effort", "effort = quick", "effort = enough"},
        {"measured-unknown", "[measured ssum]", "[measured sger]"},
        {"point-time-large", "[end]",
         "[algorithm ssum_cpu_lanes]\n1000000 = 1000000000000001\n[end]"},
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
        {"too-many-points", "[end]", "[algorithm sgemm_gpu_naive]\n1000000 = 5\n[end]"},
        {"correction-short", "tt 300000 300000 =", "; tt 300000 300000 ="},
        {"correction-other-size", "nn 1 9 =", "nn 1 10 ="},
        {"correction-other-layout", "nn 1 9 =", "tn 1 9 ="},
        {"correction-after-the-last", "tt 300000 300000 =",
         "tt 300000 300000 = 10000 10000 10000 10000 10000 10000 10000\ntt 300000 300000 ="},
        {"correction-small", "nn 1 1 = ", "nn 1 1 = 624 10000 10000 10000 10000 10000 10000\n; "},
        {"correction-large",
         "nn 1 1 = ", "nn 1 1 = 160001 10000 10000 10000 10000 10000 10000\n; "},
        {"correction-six", "nn 1 1 = ", "nn 1 1 = 10000 10000 10000 10000 10000 10000\n; "},
        {"correction-eight", "nn 1 1 = ", "nn 1 1 = 10000 "},
        {"correction-fraction",
         "nn 1 1 = ", "nn 1 1 = 1.5 10000 10000 10000 10000 10000 10000\n; "},
        {"correction-unknown", "[correction one thread]", "[correction two threads]"},
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

    /* Cut anywhere in the first lines and the last, where only the last newline may be missing. The
     * lines between are alike: there the cuts are further apart. */
    const size_t length = strlen(text), alike = (size_t)(strstr(text, "\nnn 9 1 =") - text);
    for (size_t cut = 0; cut + 1 < length;) {
        char *const start = strndup(text, cut);
        test_case("profile/refused/cut-at-%zu", cut);
        check_refused(start);
        free(start);
        const bool ends = cut < 2000 || cut + 500 > length;
        cut += (size_t)test_amount(16, 1, 1) * (ends ? 1 : cut < alike ? 13 : 97);
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

/* A user who is not root owns the file. */
static void check_own_file(const char *path)
{
    static duo_profile got;
    char why[200] = "";
    CHECK(chmod(test_folder(), 0755) == 0 && seteuid(12345) == 0, "seteuid");
    const bool reached = access(path, F_OK) == 0; /* or else a folder above is closed to others */
    const bool taken = duo_profile_read(path, &got, why, sizeof why);
    CHECK(seteuid(0) == 0, "seteuid");
    CHECK(taken || !reached, "%s", why);
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
        check_own_file(good);
        CHECK(chown(good, 0, (gid_t)-1) == 0, "chown");
    }

    test_case("profile/file/empty");
    write_bytes(in_folder("empty.ini"), "", 0);
    check_file_refused(in_folder("empty.ini"));
    test_case("profile/file/huge");
    write_bytes(in_folder("huge.ini"), text, strlen(text));
    CHECK(truncate(in_folder("huge.ini"), 2 << 20) == 0, "truncate");
    check_file_refused(in_folder("huge.ini"));
    test_case("profile/file/shorter-than-it-says"); /* 4096 bytes, by its status */
    check_file_refused("/sys/devices/system/cpu/online");
    test_case("profile/file/no-memory");
    if (fail_memory_at(1)) {
        const bool taken = duo_profile_read(good, &got, why, sizeof why);
        (void)fail_memory_at(0);
        CHECK(!taken && strcmp(why, "out of memory") == 0, "%s", why);
    }
    test_case("profile/file/zero-byte");
    char *const spoiled = strdup(text);
    spoiled[strlen(text) / 2] = '\0';
    write_bytes(in_folder("zero.ini"), spoiled, strlen(text));
    check_file_refused(in_folder("zero.ini"));
    free(spoiled);
    free(text);
    test_folder_end();
}

/* ---- Random damage ---- */

static void mutate(char *text, size_t *length, size_t size, test_rng *rng)
{
    static const char *const words[] = {
        "-",     "nan",         "inf",        "1e400", "99999999999999999999",
        "0",     "[",           "]",          "=",     "\n",
        ";",     ":",           " ",          "\t",    "1.5",
        "[end]", "[algorithm ", "format = 5", "\r\n",  "\xef\xbb\xbf"};
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
    enum { ROOM = 1 << 17 };
    const int trials = test_amount(200, 4000, 4000);
    static duo_profile got;
    test_folder_begin();
    char *const text = good_text();
    char *const damaged = malloc(ROOM);
    test_rng rng = test_rng_for("profile/fuzz");
    int taken = 0;
    test_case("profile/fuzz");
    for (int trial = 0; trial < trials && damaged != NULL; trial++) {
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
    CHECK(taken > 0 && taken < trials, "%d of %d taken", taken, trials);
    free(damaged);
    free(text);
    test_folder_end();
}

static const test_entry tests[] = {
    {"refused_text", refused_text},
    {"refused_files", refused_files},
    {"fuzz", fuzz},
    {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "profile_damage", tests); }
