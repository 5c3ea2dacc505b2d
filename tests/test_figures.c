/*
 * test_figures.c - figures that are kept beside the profile: good ones come back, stale and damaged
 * ones do not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/crossover/figures.h"
#include "bench/crossover/files.h"
#include "bench/tool/profile_write.h"
#include "choice/profile.h"
#include "choice/profile_files.h"
#include "support/data.h"
#include "support/folder.h"
#include "support/harness.h"
#include "support/profiles.h"

static duo_crossover *new_crossover(bool quick)
{
    duo_crossover *const x = calloc(1, sizeof *x);
    if (x == NULL) abort();
    x->quick = quick;
    x->threads = 2;
    x->gpu = true;
    snprintf(x->gpu_name, sizeof x->gpu_name, "some GPU");
    snprintf(x->driver, sizeof x->driver, "13.0");
    for (int i = 0; i < DUO_OPERATIONS; i++) x->wanted[i] = true;
    x->session[0] = (duo_session){.date = "2026-01-02", .commit = "abc", .quick = quick};
    x->sessions = 1;
    duo_crossover_plan(x);
    return x;
}

static void end(duo_crossover *x)
{
    free(x->unwanted);
    free(x);
}

static duo_figure figure(double seconds, const char *algorithm)
{
    return (duo_figure){.median_seconds = seconds,
                        .minimum_seconds = 0.9 * seconds,
                        .low_seconds = 0.95 * seconds,
                        .high_seconds = 1.05 * seconds,
                        .threads = 1,
                        .algorithm = algorithm};
}

/* One figure of each kind, of two operations, on and beside the ladder. */
static duo_crossover *measured(bool quick)
{
    duo_crossover *const x = new_crossover(quick);
    duo_case *c = duo_crossover_add(x, DUO_SGEMM, "n x n x n", 777);
    c->figure[DUO_SERIES_ONE + DUO_sgemm_cpu_openblas] = figure(1e-3, "sgemm_cpu_openblas");
    c->figure[DUO_SERIES_ALL + DUO_sgemm_cpu_ffma] = figure(2e-3, "sgemm_cpu_ffma");
    c->figure[DUO_SERIES_ONE + DUO_sgemm_gpu_tiled] = figure(3e-3, "sgemm_gpu_tiled");
    c->figure[DUO_SERIES_GPU + DUO_PLACE_PINNED] = figure(4e-3, "sgemm_gpu_ffma");
    c->figure[DUO_SERIES_ONE + DUO_sgemm_cpu_float64] = figure(5e-3, "sgemm_cpu_float64");
    c->figure[DUO_SERIES_ONE + DUO_sgemm_cpu_float64].predicted = true; /* is not kept */
    c = duo_crossover_add(x, DUO_SSUM, "n", 1024);
    c->figure[DUO_SERIES_ONE + DUO_ssum_cpu_lanes] = figure(1e-7, "ssum_cpu_lanes");
    return x;
}

static void write_measured(const char *path, bool quick)
{
    duo_crossover *const x = measured(quick);
    CHECK(duo_figures_write(x, path), "%s", path);
    end(x);
}

/* The number of figures that a run with one difference takes over. */
static int taken(duo_crossover *x, const char *path)
{
    char why[200] = "";
    CHECK(duo_figures_read(x, true, path, why, sizeof why), "%s", why);
    const int kept = x->kept;
    end(x);
    return kept;
}

static void round_trip(void)
{
    char why[200] = "";
    test_folder_begin();
    const char *const path = in_folder("deeper/figures.csv");
    test_case("figures/round-trip");
    write_measured(path, false);
    duo_crossover *const x = new_crossover(false), *const want = measured(false);
    CHECK(duo_figures_read(x, true, path, why, sizeof why) && x->kept == 5, "%d kept, %s", x->kept,
          why);
    CHECK(x->cases == want->cases && x->sessions == 2 && x->full_before == 5, "%d cases", x->cases);
    for (int i = 0; i < x->cases && i < want->cases; i++)
        for (int series = 0; series < DUO_SERIES; series++) {
            const duo_figure *const a = &x->item[i].figure[series], *const b = &want->item[i]
                                                                                    .figure[series];
            if (b->predicted) {
                CHECK(a->algorithm == NULL, "a prediction was kept");
                continue;
            }
            CHECK(test_close(a->median_seconds, b->median_seconds, 1e-8) &&
                      test_close(a->minimum_seconds, b->minimum_seconds, 1e-8) &&
                      test_close(a->low_seconds, b->low_seconds, 1e-8) &&
                      test_close(a->high_seconds, b->high_seconds, 1e-8) &&
                      a->threads == b->threads,
                  "case %d series %d", i, series);
            CHECK((a->algorithm == NULL) == (b->algorithm == NULL) &&
                      (a->algorithm == NULL || strcmp(a->algorithm, b->algorithm) == 0),
                  "case %d series %d", i, series);
        }
    CHECK(strcmp(x->session[1].date, "2026-01-02") == 0 && !x->session[1].quick, "%s",
          x->session[1].date);
    end(x);
    end(want);
    test_case("figures/no-file");
    CHECK(taken(new_crossover(false), in_folder("none.csv")) == 0, "from no file");
    test_folder_end();
}

/* A file beside a profile never has its name. */
static void beside(void)
{
    static const struct {
        const char *profile, *path;
    } cases[] = {
        {"a/b.ini", "a/b.csv"}, {"b", "b.csv"}, {"b.csv", "b.csv.csv"}, {".ini", ".ini.csv"}};
    char path[64];
    test_case("figures/beside");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK(duo_files_beside(cases[i].profile, ".csv", path, sizeof path) &&
                  strcmp(path, cases[i].path) == 0,
              "%s beside %s", path, cases[i].profile);
    CHECK(!duo_files_beside("a/b.ini", ".csv", path, 7), "it does not fit");
    CHECK(duo_files_beside("a/b.ini", ".csv", path, 8), "it fits");
}

/* On a noisy machine the profile and the file beside it replace nothing. */
static void noisy(void)
{
    static duo_profile was, got;
    char why[200] = "";
    test_folder_begin();
    const char *const path = in_folder("mine.ini");
    duo_crossover *const x = measured(true);
    duo_files files = {.profile = path, .named = true, .json_alone = true};
    snprintf(files.figures, sizeof files.figures, "%s", in_folder("mine.figures.csv"));
    x->noise = (duo_noise){.looks = 5, .noisy = true, .error = 0.5};
    was = *good_profile();
    was.measured[DUO_SSUM].noise = 0.5;

    test_case("figures/noisy/beside");
    CHECK(duo_profile_write(good_profile(), path, why, sizeof why), "%s", why);
    CHECK(duo_files_write(x, &files, &was), "it was not written beside");
    CHECK(duo_profile_read(path, &got, why, sizeof why) && duo_profile_noise(&got) < 0.1,
          "a noisy profile took the place of a quiet one");
    CHECK(duo_profile_read(in_folder("mine.noisy"), &got, why, sizeof why) &&
              test_close(duo_profile_noise(&got), 0.5, 1e-9),
          "%s", why);
    CHECK(access(in_folder("mine.noisy.csv"), R_OK) == 0 &&
              access(in_folder("mine.noisy.svg"), R_OK) == 0 &&
              access(in_folder("mine.csv"), F_OK) != 0 && access(in_folder("mine.svg"), F_OK) != 0,
          "CSV and plot");
    CHECK(access(files.figures, R_OK) == 0, "what was measured is not kept");
    test_case("figures/noisy/ignored");
    x->ignore_noise = true;
    CHECK(duo_files_write(x, &files, &was), "it was not written");
    CHECK(duo_profile_read(path, &got, why, sizeof why) && duo_profile_noise(&got) > 0.1, "%s",
          why);
    test_case("figures/noisy/quiet");
    x->ignore_noise = x->noise.noisy = false;
    CHECK(duo_files_write(x, &files, good_profile()), "it was not written");
    CHECK(duo_profile_read(path, &got, why, sizeof why) && duo_profile_noise(&got) < 0.1, "%s",
          why);
    test_case("figures/noisy/nothing-measured"); /* all was kept from before */
    x->noise = (duo_noise){.noisy = true, .error = DUO_NOISE_MOST};
    CHECK(duo_files_write(x, &files, good_profile()), "it was not written");
    end(x);
    test_folder_end();
}

static void stale(void)
{
    test_folder_begin();
    const char *const path = in_folder("figures.csv");
    write_measured(path, false);
    duo_crossover *x = new_crossover(false);
    test_case("figures/stale/threads");
    x->threads = 3; /* stale: the series with all threads, and the API's */
    CHECK(taken(x, path) == 3, "kept");
    test_case("figures/stale/gpu");
    x = new_crossover(false);
    snprintf(x->gpu_name, sizeof x->gpu_name, "another GPU");
    CHECK(taken(x, path) == 3, "kept");
    test_case("figures/stale/no-gpu");
    x = new_crossover(false);
    x->gpu = false;
    CHECK(taken(x, path) == 3, "kept");
    test_case("figures/stale/cache");
    x = new_crossover(false);
    x->cold = true;
    CHECK(taken(x, path) == 0, "kept");

    static const struct {
        const char *name, *from, *to;
        int kept;
    } heads[] = {
        {"version", "# version: ", "# version: 9", 0},
        {"cpu", "# cpu: ", "# cpu: Not ", 0},
        {"cpu-id", "# cpu_id: ", "# cpu_id: not ", 0},
        {"format", "# format: 2", "# format: 1", 0},
        {"blas", "# blas: ", "# blas: another ", 4},
        {"driver", "# driver: 13.0", "# driver: 14.0", 3},
    };
    char *const text = read_text(path);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        test_case("figures/stale/%s", heads[i].name);
        char *const other = replaced(text, heads[i].from, heads[i].to);
        write_bytes(path, other, strlen(other));
        const int kept = taken(new_crossover(false), path);
        CHECK(kept == heads[i].kept, "%d kept", kept);
        free(other);
    }
    free(text);

    test_case("figures/stale/quick");
    write_measured(path, true);
    CHECK(taken(new_crossover(false), path) == 0, "a full run keeps quick figures");
    CHECK(taken(new_crossover(true), path) == 5, "a quick run keeps them");
    write_measured(path, false);
    CHECK(taken(new_crossover(true), path) == 5, "and those of a full one");

    test_case("figures/stale/noisy");
    x = measured(false);
    x->session[0].noise = 0.25;
    CHECK(duo_figures_write(x, path), "%s", path);
    end(x);
    CHECK(taken(new_crossover(false), path) == 0, "a noisy machine's figures are kept");
    x = new_crossover(false);
    x->ignore_noise = true;
    CHECK(taken(x, path) == 5, "unless that is to be ignored");
    test_folder_end();
}

/* Operations that are not measured keep their lines, with their dates; measuring anew drops the
 * others. */
static void unwanted(void)
{
    char why[200] = "";
    test_folder_begin();
    const char *const path = in_folder("figures.csv");
    test_case("figures/unwanted");
    write_measured(path, false);
    duo_crossover *const x = new_crossover(false);
    memset(x->wanted, 0, sizeof x->wanted);
    x->wanted[DUO_SSUM] = true;
    duo_crossover_plan(x);
    CHECK(duo_figures_read(x, false, path, why, sizeof why) && x->kept == 0, "%s", why);
    CHECK(x->full_before == 1, "%d", x->full_before);
    snprintf(x->session[0].date, sizeof x->session[0].date, "2027-09-09");
    duo_crossover_add(x, DUO_SSUM, "n", 16)->figure[DUO_SERIES_ONE + DUO_ssum_cpu_lanes] =
        figure(1e-8, "ssum_cpu_lanes");
    CHECK(duo_figures_write(x, path), "%s", path);
    end(x);
    char *const text = read_text(path);
    CHECK(strstr(text, "sgemm,n x n x n,777,one:sgemm_cpu_openblas,") != NULL, "%s", text);
    CHECK(strstr(text, "ssum,n,1024") == NULL && strstr(text, "ssum,n,16,") != NULL, "%s", text);
    int old = 0, new = 0;
    for (const char *at = text; (at = strstr(at, "2026-01-02")) != NULL; at++) old++;
    for (const char *at = text; (at = strstr(at, "2027-09-09")) != NULL; at++) new ++;
    CHECK(old == 4 && new == 1, "%d old dates, %d new ones", old, new);
    free(text);
    test_folder_end();
}

static void damage(void)
{
    static const struct {
        const char *name, *from, *to;
    } cases[] = {
        {"operation", "\nssum,", "\nsger,"},
        {"family", "ssum,n,", "ssum,n x n x n,"},
        {"series", "one:ssum_cpu_lanes", "two:ssum_cpu_lanes"},
        {"algorithm", ",ssum_cpu_lanes,", ",ssum_cpu_magic,"},
        {"size-0", "ssum,n,1024", "ssum,n,0"},
        {"size", "ssum,n,1024", "ssum,n,1024x"},
        {"nan", "1e-07", "nan"},
        {"inf", "1e-07", "inf"},
        {"negative", "1e-07", "-1e-07"},
        {"empty", "1e-07", ""},
        {"unordered", "1.05e-07", "1.05e-09"},
        {"effort", "full,2026", "fully,2026"},
        {"no-date", "full,2026-01-02,abc,0\nssum", "full,,abc,0\nssum"},
        {"noise", ",abc,0\nssum", ",abc,much\nssum"},
        {"noise-negative", ",abc,0\nssum", ",abc,-1\nssum"},
        {"noise-nan", ",abc,0\nssum", ",abc,nan\nssum"},
        {"column-missing", ",full,2026", ",2026"},
        {"column-more", ",full,2026", ",full,full,2026"},
    };
    test_folder_begin();
    const char *const path = in_folder("figures.csv");
    write_measured(path, false);
    char *const text = read_text(path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[200] = "";
        test_case("figures/damage/%s", cases[i].name);
        char *const bad = replaced(text, cases[i].from, cases[i].to);
        write_bytes(path, bad, strlen(bad));
        duo_crossover *const x = new_crossover(false);
        const bool good = duo_figures_read(x, true, path, why, sizeof why);
        if (strcmp(cases[i].name, "family") == 0) /* a size of no family is left out */
            CHECK(good && x->kept == 4, "%d kept", x->kept);
        else
            CHECK(!good && x->kept == 0 && x->sessions == 1 && why[0] != '\0', "%d kept, %s",
                  x->kept, why);
        end(x);
        free(bad);
    }
    /* A file cut at any place is refused, or some lines are missing. */
    const size_t length = strlen(text);
    for (size_t cut = 0; cut < length; cut += 7) {
        char why[200] = "";
        if (cut % 70 == 0) test_case("figures/damage/cut-at-%zu", cut);
        write_bytes(path, text, cut);
        duo_crossover *const x = new_crossover(false);
        const bool good = duo_figures_read(x, true, path, why, sizeof why);
        CHECK(good ? x->kept < 5 : x->kept == 0, "%d kept", x->kept);
        CHECK(good || text[cut - 1] != '\n', "cut after a line: %s", why);
        end(x);
    }
    free(text);
    test_folder_end();
}

static const test_entry tests[] = {
    {"round_trip", round_trip}, {"stale", stale},   {"unwanted", unwanted}, {"damage", damage},
    {"noisy", noisy},           {"beside", beside}, {NULL, NULL},
};

int main(int argc, char **argv) { return test_main(argc, argv, "figures", tests); }
