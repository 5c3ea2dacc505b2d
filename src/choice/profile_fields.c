/* profile_fields.c - the format of a profile file; see profile_fields.h. */
#include "choice/profile_fields.h"

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
    [DUO_CORRECTED_PLAIN] = {"correction plain one thread", "correction plain all threads"},
    [DUO_CORRECTED_FLOAT64] = {"correction float64 one thread", "correction float64 all threads"}};
