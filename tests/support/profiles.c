/*
 * profiles.c - profile files of the tests; see profiles.h.
 */
#define _GNU_SOURCE
#include "bench/tool/profile_write.h"
#include "support/profiles.h"

#include "choice/algorithm.h"
#include "choice/curve.h"
#include "choice/profile_files.h"
#include "choice/profile_text.h"
#include "cpu/blas_library.h"
#include "host/machine.h"
#include "support/data.h"
#include "support/folder.h"
#include "support/harness.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *in_folder(const char *name)
{
    static char paths[64][512]; /* more than any test uses at once */
    static int next;
    char *const path = paths[next++ % 64];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
    return path;
}

int entries(void)
{
    int count = 0;
    DIR *const directory = opendir(test_folder());
    if (directory == NULL) return -1;
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    return count - 2; /* . and .. */
}

void write_bytes(const char *path, const void *bytes, size_t count)
{
    FILE *const file = fopen(path, "w");
    CHECK(file != NULL && fwrite(bytes, 1, count, file) == count, "%s", path);
    if (file != NULL) fclose(file);
    chmod(path, 0600);
}

char *read_text(const char *path)
{
    enum { MOST = 1 << 17 };
    char *const text = calloc(MOST, 1);
    FILE *const file = fopen(path, "r");
    if (CHECK(text != NULL && file != NULL, "%s", path)) (void)!fread(text, 1, MOST - 1, file);
    if (file != NULL) fclose(file);
    return text;
}

/* A correction from 1/16 to 16 times `scale`, within the limits of a file. */
static void good_correction(duo_correction *correction, double scale)
{
    float *const factor = &correction->factor[0][0][0][0];
    const int count = (int)(sizeof correction->factor / sizeof *factor);
    correction->measured = true;
    for (int i = 0; i < count; i++)
        factor[i] = (float)fmin(16.0, scale * exp2(8.0 * (i + 0.5) / count - 4.0));
}

const duo_profile *good_profile(void)
{
    static duo_profile p;
    memset(&p, 0, sizeof p);
    snprintf(p.version, sizeof p.version, "%s", DUO_VERSION_STRING);
    snprintf(p.cpu, sizeof p.cpu, "%s", duo_machine_cpu());
    snprintf(p.cpu_id, sizeof p.cpu_id, "%s", duo_machine_cpu_id());
    snprintf(p.blas, sizeof p.blas, "%s", duo_blas_library_name());
    snprintf(p.gpu, sizeof p.gpu, "some GPU");
    snprintf(p.driver, sizeof p.driver, "580.00");
    snprintf(p.date, sizeof p.date, "2026-01-02");
    snprintf(p.commit, sizeof p.commit, "0123456789abcdef");
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        snprintf(p.measured[i].date, sizeof p.measured[i].date, "2026-01-%02d", 10 + i);
        snprintf(p.measured[i].commit, sizeof p.measured[i].commit, "commit%d", i);
        snprintf(p.measured[i].effort, sizeof p.measured[i].effort, i % 2 ? "full" : "quick");
        p.measured[i].noise = i == DUO_SDOT ? 0.0 : 0.02 * (i + 1);
    }
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
    p.open_seconds = 0.25;
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        duo_curve *const curve = &p.curve[id];
        curve->count = id == 0 ? DUO_CURVE_POINTS : 3 + id;
        for (int i = 0; i < curve->count; i++) {
            curve->size[i] = 1 + 10.0 * i * (i + id);
            curve->seconds[i] = 1e-9 * (1 + i) * (2 + id);
        }
        p.team[id] = (duo_curve){.count = id % 3, .size = {1.0, 7.0}, .seconds = {2e-6, 3e-6}};
    }
    for (int i = 0; i < DUO_CORRECTED; i++)
        for (int t = 0; t < DUO_CORRECTED_THREADS; t++)
            good_correction(&p.correction[i][t], 1.0 + i + 3.0 * t);
    return &p;
}

char *good_text(void)
{
    char why[200] = "";
    const char *const path = in_folder("good.ini");
    CHECK(duo_profile_write(good_profile(), path, why, sizeof why), "%s", why);
    return read_text(path);
}

static void check_correction(const duo_correction *got, const duo_correction *want,
                             const char *whose)
{
    CHECK(got->measured == want->measured, "correction of %s: lost, or found", whose);
    const float *const a = &got->factor[0][0][0][0], *const b = &want->factor[0][0][0][0];
    for (size_t i = 0; want->measured && i < sizeof got->factor / sizeof *a; i++)
        CHECK(test_close((double)a[i], (double)b[i], 1e-3), "correction of %s: %g became %g", whose,
              (double)b[i], (double)a[i]);
}

void check_equal(const duo_profile *got, const duo_profile *want)
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
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        const duo_measured *const a = &got->measured[i], *const b = &want->measured[i];
        CHECK(strcmp(a->date, b->date) == 0 && strcmp(a->commit, b->commit) == 0 &&
                  strcmp(a->effort, b->effort) == 0 && test_close(a->noise, b->noise, 1e-9),
              "measured %s: %s %s %s %g became %s %s %s %g", duo_operation_name((duo_operation)i),
              b->date, b->commit, b->effort, b->noise, a->date, a->commit, a->effort, a->noise);
    }
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
        {"open_seconds", got->open_seconds, want->open_seconds},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        CHECK(test_close(numbers[i].got, numbers[i].want, 1e-9), "%s: %g became %g",
              numbers[i].name, numbers[i].want, numbers[i].got);
    for (int i = 0; i < 2 * DUO_ALGORITHMS; i++) {
        const int id = i / 2;
        const duo_curve *const a = i % 2 == 0 ? &got->curve[id] : &got->team[id];
        const duo_curve *const b = i % 2 == 0 ? &want->curve[id] : &want->team[id];
        if (!CHECK(a->count == b->count, "%s: %d points became %d",
                   duo_algorithm_name((duo_algorithm_id)id), b->count, a->count))
            continue;
        for (int j = 0; j < b->count; j++)
            CHECK(test_close(a->size[j], b->size[j], 1e-9) &&
                      test_close(a->seconds[j], b->seconds[j], 1e-9),
                  "%s point %d", duo_algorithm_name((duo_algorithm_id)id), j);
    }
    for (int i = 0; i < DUO_CORRECTED; i++)
        for (int t = 0; t < DUO_CORRECTED_THREADS; t++)
            check_correction(&got->correction[i][t], &want->correction[i][t],
                             duo_correction_sections[i][t]);
}

char *replaced(const char *text, const char *from, const char *to)
{
    const char *const at = strstr(text, from);
    if (!CHECK(at != NULL, "no \"%s\" in the file", from)) return strdup(text);
    char *result;
    if (asprintf(&result, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) < 0) abort();
    return result;
}

/* ---- Sane numbers ---- */

static bool sane_text(const char *text, size_t size) { return memchr(text, '\0', size) != NULL; }

static bool sane_time(double x) { return x >= 0.0 && x <= 1e7; }
static bool sane_rate(double x) { return x >= 1.0 && x <= 1e16; }

static bool sane_correction(const duo_correction *correction)
{
    const float *const factor = &correction->factor[0][0][0][0];
    bool ok = true;
    for (size_t i = 0; correction->measured && i < sizeof correction->factor / sizeof *factor; i++)
        ok = ok && factor[i] >= 0.0625F && factor[i] <= 16.0F;
    return ok;
}

bool sane(const duo_profile *p)
{
    bool ok = sane_text(p->version, sizeof p->version) && sane_text(p->cpu, sizeof p->cpu) &&
              sane_text(p->cpu_id, sizeof p->cpu_id) && sane_text(p->blas, sizeof p->blas) &&
              sane_text(p->gpu, sizeof p->gpu) && sane_text(p->driver, sizeof p->driver) &&
              sane_text(p->date, sizeof p->date) && sane_text(p->commit, sizeof p->commit);
    ok = ok && p->threads >= 1 && sane_time(p->fork_seconds) &&
         sane_time(p->fork_seconds_per_thread) &&
         (p->cpu_bandwidth == 0.0 || sane_rate(p->cpu_bandwidth)) && p->sgemm_efficiency >= 0.0 &&
         p->sgemm_efficiency <= 1.0;
    ok = ok && sane_rate(p->upload_pageable) && sane_rate(p->upload_pinned) &&
         sane_rate(p->download_pageable) && sane_rate(p->download_pinned) &&
         sane_time(p->copy_seconds) && sane_time(p->round_trip_seconds) &&
         sane_time(p->query_seconds) && sane_time(p->open_seconds);
    for (int id = 0; id < 2 * DUO_ALGORITHMS && ok; id++) {
        const duo_curve *const curve = id % 2 == 0 ? &p->curve[id / 2] : &p->team[id / 2];
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
    for (int i = 0; i < DUO_CORRECTED; i++)
        for (int t = 0; t < DUO_CORRECTED_THREADS; t++)
            ok = ok && sane_correction(&p->correction[i][t]);
    return ok;
}
