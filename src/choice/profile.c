/* profile.c - reading and writing profile files. */
#define _GNU_SOURCE
#include "choice/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/machine.h"

enum { FORMAT = 3, LARGEST_FILE_BYTES = 1 << 20, LONGEST_LINE = 190 };
_Static_assert(LONGEST_LINE + 2 <= INI_MAX_LINE, "inih cuts longer lines without telling");

/* ---- Fields: one table serves reading and writing ---- */

typedef enum field_kind { TEXT, COUNT, PICOSECONDS, BYTES_PER_SECOND, MILLIONTHS } field_kind;

typedef struct field {
    const char *section, *name;
    field_kind kind;
    size_t offset, size;
    bool optional; /* 0: not measured */
} field;

#define FIELD_IF(section, name, kind, member, optional)                                            \
    {                                                                                              \
        section, name, kind, offsetof(duo_profile, member), sizeof(((duo_profile *)0)->member),    \
            optional                                                                               \
    }
#define FIELD(section, name, kind, member) FIELD_IF(section, name, kind, member, false)

static const field fields[] = {
    FIELD("machine", "version", TEXT, version),
    FIELD("machine", "cpu", TEXT, cpu),
    FIELD("machine", "cpu_id", TEXT, cpu_id),
    FIELD("machine", "threads", COUNT, threads),
    FIELD("machine", "blas", TEXT, blas),
    FIELD("machine", "gpu", TEXT, gpu),
    FIELD("machine", "driver", TEXT, driver),
    FIELD("machine", "date", TEXT, date),
    FIELD("machine", "commit", TEXT, commit),
    FIELD("cpu", "fork_ps", PICOSECONDS, fork_seconds),
    FIELD("cpu", "fork_per_thread_ps", PICOSECONDS, fork_seconds_per_thread),
    FIELD_IF("cpu", "bandwidth", BYTES_PER_SECOND, cpu_bandwidth, true),
    FIELD_IF("cpu", "sgemm_efficiency_millionths", MILLIONTHS, sgemm_efficiency, true),
    FIELD("link", "upload_pageable", BYTES_PER_SECOND, upload_pageable),
    FIELD("link", "upload_pinned", BYTES_PER_SECOND, upload_pinned),
    FIELD("link", "download_pageable", BYTES_PER_SECOND, download_pageable),
    FIELD("link", "download_pinned", BYTES_PER_SECOND, download_pinned),
    FIELD("link", "copy_ps", PICOSECONDS, copy_seconds),
    FIELD("link", "round_trip_ps", PICOSECONDS, round_trip_seconds),
    FIELD("link", "query_ps", PICOSECONDS, query_seconds),
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

/* Whole numbers in the file are from low to high, in units. */
static const struct {
    long long low, high;
    double unit;
} kinds[] = {
    [TEXT] = {0, 0, 0.0},
    [COUNT] = {1, 1 << 20, 1.0},
    [PICOSECONDS] = {0, 1000000000000000000, 1e-12},
    [BYTES_PER_SECOND] = {1000, 1000000000000000, 1.0},
    [MILLIONTHS] = {1, 10000000, 1e-6},
};

/* ---- Reading ---- */

typedef struct reader {
    duo_profile *profile;
    bool seen[FIELDS], format, end;
    char problem[160];
} reader;

static bool whole_number(const char *text, long long low, long long high, long long *value)
{
    if (*text < '0' || *text > '9') return false;
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && *value >= low && *value <= high;
}

static int wrong(reader *r, const char *section, const char *name, const char *what)
{
    if (r->problem[0] == '\0')
        snprintf(r->problem, sizeof r->problem, "[%.40s] %.40s: %s", section, name, what);
    return 0;
}

static int read_point(reader *r, const char *section, const char *name, const char *value)
{
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        if (strcmp(section + 10, duo_algorithm_name((duo_algorithm_id)id)) != 0) continue;
        duo_curve *const curve = &r->profile->curve[id];
        long long size, picoseconds;
        if (!whole_number(name, 1, 1LL << 40, &size) ||
            !whole_number(value, 1, kinds[PICOSECONDS].high, &picoseconds))
            return wrong(r, section, name, "not a size and a time");
        if (curve->count == DUO_CURVE_POINTS) return wrong(r, section, name, "too many points");
        if (curve->count > 0 && !((double)size > curve->size[curve->count - 1]))
            return wrong(r, section, name, "sizes must grow");
        /* Seconds extrapolated from a falling curve may be negative: they would always win. */
        const double seconds = (double)picoseconds * 1e-12;
        if (curve->count > 0 && !(seconds >= curve->seconds[curve->count - 1]))
            return wrong(r, section, name, "more work takes less time");
        curve->size[curve->count] = (double)size;
        curve->seconds[curve->count] = seconds;
        curve->count++;
        return 1;
    }
    return wrong(r, section, name, "no such algorithm");
}

static int read_entry(void *user, const char *section, const char *name, const char *value)
{
    reader *const r = user;
    long long number;
    if (r->end) return wrong(r, section, name, "after the end");
    if (strncmp(section, "algorithm ", 10) == 0) return read_point(r, section, name, value);
    if (strcmp(section, "profile") == 0 && strcmp(name, "format") == 0) {
        if (!r->format && whole_number(value, 1, FORMAT - 1, &number))
            return wrong(r, section, name,
                         "made by an older version; `duoblas crossover' makes a new one");
        if (r->format || !whole_number(value, FORMAT, FORMAT, &number))
            return wrong(r, section, name, "not a format of this version");
        r->format = true;
        return 1;
    }
    if (strcmp(section, "end") == 0 && strcmp(name, "complete") == 0 && strcmp(value, "1") == 0) {
        r->end = true;
        return 1;
    }
    for (int i = 0; i < FIELDS; i++) {
        const field *const f = &fields[i];
        if (strcmp(section, f->section) != 0 || strcmp(name, f->name) != 0) continue;
        if (r->seen[i]) return wrong(r, section, name, "given twice");
        r->seen[i] = true;
        char *const member = (char *)r->profile + f->offset;
        if (f->kind == TEXT) {
            if (strlen(value) >= f->size) return wrong(r, section, name, "too long");
            memcpy(member, value, strlen(value) + 1);
            return 1;
        }
        if (!whole_number(value, kinds[f->kind].low, kinds[f->kind].high, &number))
            return wrong(r, section, name, "not a number in its range");
        if (f->kind == COUNT)
            *(int *)(void *)member = (int)number;
        else
            *(double *)(void *)member = (double)number * kinds[f->kind].unit;
        return 1;
    }
    return wrong(r, section, name, "not known");
}

bool duo_profile_parse(const char *text, duo_profile *profile, char *why, size_t why_size)
{
    reader r = {.profile = profile};
    memset(profile, 0, sizeof *profile);
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        if (length > LONGEST_LINE) {
            snprintf(why, why_size, "a line is too long");
            return false;
        }
        line += length + (line[length] == '\n');
    }
    const int line = ini_parse_string(text, read_entry, &r);
    if (line != 0) {
        snprintf(why, why_size, "line %d: %s", line,
                 r.problem[0] != '\0' ? r.problem : "not understood");
        return false;
    }
    /* A profile without a GPU has no [link]; but one with half of it is damaged. */
    bool linked = false;
    for (int i = 0; i < FIELDS; i++) linked |= r.seen[i] && strcmp(fields[i].section, "link") == 0;
    for (int i = 0; i < FIELDS; i++)
        if (!r.seen[i] && !fields[i].optional && strcmp(fields[i].section, "machine") != 0 &&
            (linked || strcmp(fields[i].section, "link") != 0)) {
            snprintf(why, why_size, "[%s] %s is missing", fields[i].section, fields[i].name);
            return false;
        }
    if (!r.format || !r.end || profile->version[0] == '\0' || profile->threads < 1) {
        snprintf(why, why_size, "incomplete: cut short, or its head is missing");
        return false;
    }
    return true;
}

bool duo_profile_read(const char *path, duo_profile *profile, char *why, size_t why_size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        snprintf(why, why_size, "%s", strerror(errno));
        return false;
    }
    struct stat status;
    const char *problem = NULL;
    if (fstat(file, &status) != 0)
        problem = strerror(errno);
    else if (!S_ISREG(status.st_mode))
        problem = "not a regular file";
    else if (status.st_size > LARGEST_FILE_BYTES)
        problem = "too large";
    else if (status.st_uid != 0 && status.st_uid != geteuid())
        problem = "owned by somebody else";
    else if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        problem = "others may write to it";
    char *const text = problem == NULL ? malloc((size_t)status.st_size + 1) : NULL;
    if (problem == NULL && text == NULL) problem = "out of memory";
    if (problem == NULL) {
        size_t length = 0;
        for (ssize_t got; length < (size_t)status.st_size; length += (size_t)got) {
            got = read(file, text + length, (size_t)status.st_size - length);
            if (got <= 0) break;
        }
        text[length] = '\0';
        if (length != (size_t)status.st_size || strlen(text) != length) problem = "not a text file";
    }
    bool good = false;
    if (problem != NULL)
        snprintf(why, why_size, "%s", problem);
    else
        good = duo_profile_parse(text, profile, why, why_size);
    if (good) snprintf(profile->origin, sizeof profile->origin, "%s", path);
    free(text);
    close(file);
    return good;
}

bool duo_profile_fits(const duo_profile *profile, char *why, size_t why_size)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", DUO_VERSION_MAJOR, DUO_VERSION_MINOR,
             DUO_VERSION_PATCH);
    if (strcmp(profile->version, version) != 0) {
        snprintf(why, why_size, "made by version %s", profile->version);
        return false;
    }
    if (strcmp(profile->cpu, duo_machine_cpu()) != 0 ||
        strcmp(profile->cpu_id, duo_machine_cpu_id()) != 0) {
        snprintf(why, why_size, "measured on another CPU (%s, %s)", profile->cpu, profile->cpu_id);
        return false;
    }
    return true;
}

/* ---- Writing ---- */

/* Characters of a text that have a meaning in the format become commas. */
static void write_text(FILE *file, const char *name, const char *text)
{
    fprintf(file, "%s = ", name);
    for (; *text != '\0'; text++)
        fputc(*text == ';' || *text == '#' || (unsigned char)*text < ' ' ? ',' : *text, file);
    fputc('\n', file);
}

static void write_profile(FILE *file, const duo_profile *profile)
{
    fprintf(file,
            "; DuoBLAS profile: sizes in elements, times in picoseconds, rates in bytes per "
            "second.\n[profile]\nformat = %d\n",
            FORMAT);
    const char *section = "";
    for (int i = 0; i < FIELDS; i++) {
        const field *const f = &fields[i];
        const char *const member = (const char *)profile + f->offset;
        if (strcmp(f->section, "link") == 0 && !(profile->upload_pageable > 0.0)) continue;
        if (f->optional && !(*(const double *)(const void *)member > 0.0)) continue;
        if (strcmp(section, f->section) != 0) fprintf(file, "\n[%s]\n", section = f->section);
        if (f->kind == TEXT)
            write_text(file, f->name, member);
        else if (f->kind == COUNT)
            fprintf(file, "%s = %d\n", f->name, *(const int *)(const void *)member);
        else
            fprintf(file, "%s = %lld\n", f->name,
                    llround(*(const double *)(const void *)member / kinds[f->kind].unit));
    }
    for (int id = 0; id < DUO_ALGORITHMS; id++) {
        const duo_curve *const curve = &profile->curve[id];
        if (curve->count == 0) continue;
        fprintf(file, "\n[algorithm %s]\n", duo_algorithm_name((duo_algorithm_id)id));
        for (int i = 0; i < curve->count; i++)
            fprintf(file, "%lld = %lld\n", llround(curve->size[i]),
                    llround(curve->seconds[i] * 1e12));
    }
    fprintf(file, "\n[end]\ncomplete = 1\n");
}

/* Makes the folders on the way to path. */
static void make_folders(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = folder + strspn(folder, "/");
    while ((slash = strchr(slash, '/')) != NULL) {
        *slash = '\0';
        (void)mkdir(folder, 0700);
        *slash++ = '/';
    }
}

bool duo_profile_write(const duo_profile *profile, const char *path, char *why, size_t why_size)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >=
        sizeof temporary) {
        snprintf(why, why_size, "the path is too long");
        return false;
    }
    make_folders(path);
    const int number = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    FILE *const file = number < 0 ? NULL : fdopen(number, "w");
    if (file == NULL) {
        snprintf(why, why_size, "%s", strerror(errno));
        if (number >= 0) close(number);
        return false;
    }
    write_profile(file, profile);
    bool good =
        fflush(file) == 0 && ferror(file) == 0 && fchmod(number, 0644) == 0 && fsync(number) == 0;
    good = fclose(file) == 0 && good;
    good = good && rename(temporary, path) == 0;
    if (!good) {
        snprintf(why, why_size, "%s", strerror(errno));
        (void)unlink(temporary);
    }
    return good;
}
