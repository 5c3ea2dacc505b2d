/* profile_text.c - the format of a profile file, and its text, read (profile_text.h). */
#include "choice/profile_text.h"

#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Fields ---- */

#define FIELD(section, name, kind, need, member)                                                   \
    {                                                                                              \
        section, name, DUO_FIELD_##kind, DUO_FIELD_##need, offsetof(duo_profile, member),          \
            sizeof(((duo_profile *)0)->member)                                                     \
    }
#define MEASURED(name, operation)                                                                  \
    FIELD("measured " name, "date", TEXT, WITH_SECTION, measured[operation].date),                 \
        FIELD("measured " name, "commit", TEXT, WITH_SECTION, measured[operation].commit),         \
        FIELD("measured " name, "effort", EFFORT, WITH_SECTION, measured[operation].effort),       \
        FIELD("measured " name, "noise_millionths", NOISE, IF_MEASURED, measured[operation].noise)

const duo_field duo_profile_fields[DUO_FIELDS] = {
    FIELD("machine", "version", TEXT, ALWAYS, version),
    FIELD("machine", "cpu", TEXT, ALWAYS, cpu),
    FIELD("machine", "cpu_id", TEXT, ALWAYS, cpu_id),
    FIELD("machine", "threads", COUNT, ALWAYS, threads),
    FIELD("machine", "blas", TEXT, ALWAYS, blas),
    FIELD("machine", "gpu", TEXT, ALWAYS, gpu),
    FIELD("machine", "driver", TEXT, ALWAYS, driver),
    FIELD("machine", "date", TEXT, ALWAYS, date),
    FIELD("machine", "commit", TEXT, ALWAYS, commit),
    MEASURED("sgemm", DUO_SGEMM),
    MEASURED("sasum", DUO_SASUM),
    MEASURED("ssum", DUO_SSUM),
    MEASURED("sdot", DUO_SDOT),
    FIELD("cpu", "fork_ps", PICOSECONDS, ALWAYS, fork_seconds),
    FIELD("cpu", "fork_per_thread_ps", PICOSECONDS, ALWAYS, fork_seconds_per_thread),
    FIELD("cpu", "bandwidth", BYTES_PER_SECOND, IF_MEASURED, cpu_bandwidth),
    FIELD("cpu", "sgemm_efficiency_millionths", SHARE, IF_MEASURED, sgemm_efficiency),
    FIELD("link", "upload_pageable", BYTES_PER_SECOND, WITH_SECTION, upload_pageable),
    FIELD("link", "upload_pinned", BYTES_PER_SECOND, WITH_SECTION, upload_pinned),
    FIELD("link", "download_pageable", BYTES_PER_SECOND, WITH_SECTION, download_pageable),
    FIELD("link", "download_pinned", BYTES_PER_SECOND, WITH_SECTION, download_pinned),
    FIELD("link", "copy_ps", PICOSECONDS, WITH_SECTION, copy_seconds),
    FIELD("link", "round_trip_ps", PICOSECONDS, WITH_SECTION, round_trip_seconds),
    FIELD("link", "query_ps", PICOSECONDS, WITH_SECTION, query_seconds),
    FIELD("link", "open_ps", PICOSECONDS, IF_MEASURED, open_seconds),
};

/* At most 1000 seconds: beyond some 2000 a double no longer holds every picosecond, and a file that
 * is read and written again would change. */
const duo_field_range duo_field_ranges[] = {
    [DUO_FIELD_TEXT] = {0, 0, 0.0},
    [DUO_FIELD_EFFORT] = {0, 0, 0.0},
    [DUO_FIELD_COUNT] = {1, 1 << 20, 1.0},
    [DUO_FIELD_PICOSECONDS] = {0, 1000000000000000, 1e-12},
    [DUO_FIELD_BYTES_PER_SECOND] = {1000, 1000000000000000, 1.0},
    [DUO_FIELD_SHARE] = {1, 1000000, 1e-6},
    [DUO_FIELD_NOISE] = {1, 9000000, 1e-6},
};

bool duo_field_forbids(char c)
{
    return c == ';' || c == '#' || (unsigned char)c < ' ' || c == 0x7f;
}

const char *const duo_curve_sections[DUO_CURVE_SECTIONS] = {
    [DUO_SECTION_CURVE] = "algorithm ", [DUO_SECTION_TEAM_CURVE] = "all threads "};

const char *const duo_correction_sections[DUO_CORRECTED][DUO_CORRECTED_THREADS] = {
    [DUO_CORRECTED_OPENBLAS] = {"correction one thread", "correction all threads"},
    [DUO_CORRECTED_FFMA] = {"correction ffma one thread", "correction ffma all threads"},
    [DUO_CORRECTED_FLOAT64] = {"correction float64 one thread", "correction float64 all threads"}};

/* ---- Corrections ---- */

enum { SIZES = DUO_CORRECTION_SIZES };

static const char *const layouts[DUO_CORRECTION_LAYOUTS] = {"nn", "nt", "tn", "tt"};

const double duo_correction_unit = 1e-4;
static const long long kMost = (long long)(DUO_CORRECTION_MOST * 1e4),
                       kLeast = (long long)(1e4 / DUO_CORRECTION_MOST);

void duo_correction_name(int line, char name[DUO_CORRECTION_NAME])
{
    (void)snprintf(name, DUO_CORRECTION_NAME, "%s %lld %lld", layouts[line / (SIZES * SIZES)],
                   (long long)duo_correction_sizes[line / SIZES % SIZES],
                   (long long)duo_correction_sizes[line % SIZES]);
}

/* Reads a whole number in the range of factors, and steps behind it. */
static bool read_factor(const char **text, float *factor)
{
    if (**text < '0' || **text > '9') return false;
    char *end;
    errno = 0;
    const long long number = strtoll(*text, &end, 10);
    if (errno != 0 || number < kLeast || number > kMost) return false;
    *text = end;
    *factor = (float)((double)number * duo_correction_unit);
    return true;
}

bool duo_correction_read(duo_correction *correction, int lines, const char *name, const char *value)
{
    char expected[DUO_CORRECTION_NAME];
    if (lines >= DUO_CORRECTION_LINES) return false;
    duo_correction_name(lines, expected);
    if (strcmp(name, expected) != 0) return false;
    float *const factor = &correction->factor[0][0][0][0] + SIZES * lines;
    for (int i = 0; i < SIZES; i++) {
        if (i > 0 && *value++ != ' ') return false;
        if (!read_factor(&value, &factor[i])) return false;
    }
    correction->measured = lines == DUO_CORRECTION_LINES - 1;
    return *value == '\0';
}

enum { OLDEST_FORMAT = DUO_PROFILE_FORMAT - 1, LONGEST_LINE = 190 };
_Static_assert(LONGEST_LINE + 2 <= INI_MAX_LINE, "inih cuts longer lines without telling");

/* ---- Reading a line ---- */

typedef struct reader {
    duo_profile *profile;
    bool seen[DUO_FIELDS], end;
    int correction_lines[DUO_CORRECTED][DUO_CORRECTED_THREADS];
    long long format; /* 0: not seen yet */
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

static bool plain(const char *text)
{
    while (*text != '\0' && !duo_field_forbids(*text)) text++;
    return *text == '\0';
}

static duo_curve *curve_named(duo_curve all[DUO_ALGORITHMS], const char *name)
{
    for (int id = 0; id < DUO_ALGORITHMS; id++)
        if (strcmp(name, duo_algorithm_name((duo_algorithm_id)id)) == 0) return &all[id];
    return NULL;
}

static int read_point(reader *r, int which, const char *section, const char *name,
                      const char *value)
{
    duo_curve *const all = which == DUO_SECTION_CURVE ? r->profile->curve : r->profile->team;
    duo_curve *const curve = curve_named(all, section + strlen(duo_curve_sections[which]));
    if (curve == NULL) return wrong(r, section, name, "no such algorithm");
    const duo_field_range range = duo_field_ranges[DUO_FIELD_PICOSECONDS];
    long long size, picoseconds;
    if (!whole_number(name, 1, 1LL << 40, &size) ||
        !whole_number(value, 1, range.high, &picoseconds))
        return wrong(r, section, name, "not a size and a time");
    if (curve->count == DUO_CURVE_POINTS) return wrong(r, section, name, "too many points");
    if (curve->count > 0 && !((double)size > curve->size[curve->count - 1]))
        return wrong(r, section, name, "sizes must grow");
    /* Seconds extrapolated from a falling curve may be negative: they would always win. */
    const double seconds = (double)picoseconds * range.unit;
    if (curve->count > 0 && !(seconds >= curve->seconds[curve->count - 1]))
        return wrong(r, section, name, "more work takes less time");
    curve->size[curve->count] = (double)size;
    curve->seconds[curve->count++] = seconds;
    return 1;
}

static int read_correction(reader *r, int which, int threads, const char *name, const char *value)
{
    return duo_correction_read(&r->profile->correction[which][threads],
                               r->correction_lines[which][threads]++, name, value)
               ? 1
               : wrong(r, duo_correction_sections[which][threads], name,
                       "not the next line, or not factors");
}

static int read_format(reader *r, const char *value)
{
    long long number;
    if (r->format != 0) return wrong(r, "profile", "format", "given twice");
    if (whole_number(value, 1, OLDEST_FORMAT - 1, &number))
        return wrong(r, "profile", "format",
                     "made by an older version; `duoblas crossover' makes a new one");
    if (!whole_number(value, OLDEST_FORMAT, DUO_PROFILE_FORMAT, &r->format))
        return wrong(r, "profile", "format", "not a format of this version");
    return 1;
}

static int read_text(reader *r, const duo_field *f, const char *value)
{
    if (strlen(value) >= f->size) return wrong(r, f->section, f->name, "too long");
    if (!plain(value)) return wrong(r, f->section, f->name, "not a plain text");
    if (f->kind == DUO_FIELD_EFFORT && strcmp(value, "full") != 0 && strcmp(value, "quick") != 0)
        return wrong(r, f->section, f->name, "neither full nor quick");
    memcpy((char *)r->profile + f->offset, value, strlen(value) + 1);
    return 1;
}

static int read_number(reader *r, const duo_field *f, const char *value)
{
    const duo_field_range range = duo_field_ranges[f->kind];
    void *const member = (char *)r->profile + f->offset;
    long long number;
    if (!whole_number(value, range.low, range.high, &number))
        return wrong(r, f->section, f->name, "not a number in its range");
    if (f->kind == DUO_FIELD_COUNT)
        *(int *)member = (int)number;
    else
        *(double *)member = (double)number * range.unit;
    return 1;
}

static int read_field(reader *r, const char *section, const char *name, const char *value)
{
    for (int i = 0; i < DUO_FIELDS; i++) {
        const duo_field *const f = &duo_profile_fields[i];
        if (strcmp(section, f->section) != 0 || strcmp(name, f->name) != 0) continue;
        if (r->seen[i]) return wrong(r, section, name, "given twice");
        r->seen[i] = true;
        return f->kind <= DUO_FIELD_EFFORT ? read_text(r, f, value) : read_number(r, f, value);
    }
    return wrong(r, section, name, "not known");
}

static int read_entry(void *user, const char *section, const char *name, const char *value)
{
    reader *const r = user;
    if (r->end) return wrong(r, section, name, "after the end");
    for (int i = 0; i < DUO_CURVE_SECTIONS; i++)
        if (strncmp(section, duo_curve_sections[i], strlen(duo_curve_sections[i])) == 0)
            return read_point(r, i, section, name, value);
    for (int i = 0; i < DUO_CORRECTED; i++)
        for (int t = 0; t < DUO_CORRECTED_THREADS; t++)
            if (strcmp(section, duo_correction_sections[i][t]) == 0)
                return read_correction(r, i, t, name, value);
    if (strcmp(section, "profile") == 0 && strcmp(name, "format") == 0)
        return read_format(r, value);
    r->end =
        strcmp(section, "end") == 0 && strcmp(name, "complete") == 0 && strcmp(value, "1") == 0;
    return r->end ? 1 : read_field(r, section, name, value);
}

/* ---- Reading the whole ---- */

static bool section_seen(const reader *r, const char *section)
{
    for (int i = 0; i < DUO_FIELDS; i++)
        if (r->seen[i] && strcmp(duo_profile_fields[i].section, section) == 0) return true;
    return false;
}

static const duo_field *missing(const reader *r)
{
    for (int i = 0; i < DUO_FIELDS; i++) {
        const duo_field *const f = &duo_profile_fields[i];
        if (!r->seen[i] && (f->need == DUO_FIELD_ALWAYS ||
                            (f->need == DUO_FIELD_WITH_SECTION && section_seen(r, f->section))))
            return f;
    }
    return NULL;
}

/* The name of an operation with curves, or with facts of their measurement, but without a date;
 * NULL: there is none. */
static const char *undated(const duo_profile *profile)
{
    bool measured[DUO_OPERATIONS];
    for (int i = 0; i < DUO_OPERATIONS; i++) measured[i] = profile->measured[i].effort[0] != '\0';
    for (int id = 0; id < DUO_ALGORITHMS; id++)
        measured[duo_algorithm_operation((duo_algorithm_id)id)] |= profile->curve[id].count > 0;
    for (int i = 0; i < DUO_OPERATIONS; i++)
        if (measured[i] && profile->measured[i].date[0] == '\0')
            return duo_operation_name((duo_operation)i);
    return NULL;
}

/* A correction that begins but does not end. */
static const char *cut_short(const reader *r)
{
    for (int i = 0; i < DUO_CORRECTED; i++)
        for (int t = 0; t < DUO_CORRECTED_THREADS; t++)
            if (r->correction_lines[i][t] % DUO_CORRECTION_LINES != 0)
                return duo_correction_sections[i][t];
    return NULL;
}

static bool lines_fit(const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        if (length > LONGEST_LINE) return false;
        text += length + (text[length] == '\n');
    }
    return true;
}

bool duo_profile_parse(const char *text, duo_profile *profile, char *why, size_t why_size)
{
    reader r = {.profile = profile};
    memset(profile, 0, sizeof *profile);
    const bool fit = lines_fit(text);
    const int line = fit ? ini_parse_string(text, read_entry, &r) : 0;
    const duo_field *const lacks = missing(&r);
    if (!fit)
        snprintf(why, why_size, "a line is too long");
    else if (line != 0)
        snprintf(why, why_size, "line %d: %s", line,
                 r.problem[0] != '\0' ? r.problem : "not understood");
    else if (r.format == 0 || !r.end || profile->version[0] == '\0')
        snprintf(why, why_size, "incomplete: cut short, or its head is missing");
    else if (lacks != NULL)
        snprintf(why, why_size, "[%s] %s is missing", lacks->section, lacks->name);
    else if (cut_short(&r) != NULL)
        snprintf(why, why_size, "[%s] is incomplete", cut_short(&r));
    else if (undated(profile) != NULL)
        snprintf(why, why_size, "[measured %s] date is missing", undated(profile));
    else
        return true;
    return false;
}

void duo_profile_fill(duo_profile *profile, const duo_entry *entry, size_t entries)
{
    reader r = {.profile = profile};
    for (size_t i = 0; i < entries; i++)
        (void)read_entry(&r, entry[i].section, entry[i].name, entry[i].value);
}
