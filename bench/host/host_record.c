/* host_record.c - when the steps of duo_sgemm ran (host.h). */
#include <stdio.h>
#include <stdlib.h>

#include "bench/experiments/experiments.h"
#include "bench/host/host.h"
#include "bench/tool/steps.h"
#include "call/context.h"
#include "data/recording.h"

static bool write_records(const duo_recording *recording, const duo_plan *plan, const char *path)
{
    static const char *const lane_of[DUO_ROWS] = {"up", "multiply", "down", "peer", "host"};
    FILE *const file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "duoblas: cannot write %s\n", path);
        return false;
    }
    duo_steps_head(file);
    for (int i = 0; i < recording->count; i++) {
        const duo_record *const r = &recording->record[i];
        duo_steps_line(file, &plan->step[r->step], lane_of[r->row], r->begin, r->end);
    }
    const bool good = !ferror(file);
    return (fclose(file) == 0) & good;
}

bool duo_host_record(const duo_host *h, duo_host_group *g)
{
    const duo_bench *const b = h->bench;
    duo_resources *const res = &duo_context_of(h->context)->resources;
    duo_recording recording = {.count = 0};
    res->recording = &recording;
    const bool called = duo_host_run(&g->line[DUO_OURS_LINE], 2); /* the first makes the stamps */
    res->recording = NULL;
    bool good = called && recording.complete && recording.count > 0;
    if (!good)
        fprintf(stderr, "duoblas: no timeline: duo_sgemm %s\n",
                called ? "did not work in steps on a GPU" : "failed");
    good = good && write_records(&recording, &res->plan, b->timeline);
    free(recording.record);
    return good && (b->plot == NULL || duo_timeline_draw(b->timeline, b->plot));
}
