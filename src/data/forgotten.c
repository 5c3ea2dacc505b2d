/* forgotten.c - forgotten calls of duo_changed (forgotten.h). */
#include "data/forgotten.h"

#include <stdio.h>

#include "data/coherence.h"
#include "data/residency.h"

static void tell(const duo_resources *res, const duo_region *region, duo_range line)
{
    char text[240];
    (void)snprintf(text, sizeof text,
                   "duoblas: check: the kept array at %p (%zu bytes) was written to without "
                   "duo_changed, in bytes %zu to %zu or elsewhere: it is sent again",
                   (void *)region->low, duo_region_bytes(region), line.from, line.to - 1);
    duo_report_line(&res->report, text);
}

duo_status duo_forgotten_look(duo_resources *res, duo_region *region, duo_range part)
{
    duo_samples *const samples = region->samples;
    /* A call of another thread that computes on the host notes its writes when it is done. */
    if (duo_residency_host_written(region)) return DUO_OK;
    const duo_range line = duo_samples_changed(samples, (const void *)region->low, part,
                                               region->host_stale, region->device_stale);
    if (duo_range_empty(line)) return DUO_OK;
    if (!samples->told) tell(res, region, line);
    samples->told = true;
    duo_range newer = region->host_stale; /* or will be */
    if (!duo_range_empty(region->writing))
        newer = duo_range_join(newer, region->writing.from, region->writing.to);
    const size_t bytes = duo_region_bytes(region);
    if (duo_range_empty(newer)) return duo_coherence_written(res, region, 0, bytes);
    duo_status status = DUO_OK;
    if (newer.from > 0) status = duo_coherence_written(res, region, 0, newer.from);
    if (newer.to < bytes && status == DUO_OK)
        status = duo_coherence_written(res, region, newer.to, bytes);
    return status;
}
