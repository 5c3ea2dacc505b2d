/* profile_reports.c - which profile is in use in a child; see profile_reports.h. */
#include "support/profile_reports.h"

#include "choice/profile_in_use.h"
#include "support/child.h"
#include "support/harness.h"
#include "support/profiles.h"

#include <stdio.h>
#include <string.h>

/* Has it all that predictions need? */
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

int report_profile(void)
{
    const duo_profile *const p = duo_profile_in_use();
    const duo_profile *const measured = duo_profile_measured();
    const bool ok = p != NULL && duo_profile_in_use() == p && sane(p) && whole(p);
    printf("%s|%s|", p == NULL ? "" : p->origin, duo_profile_why());
    /* Curves of the file begin at a size of 1, built-in ones do not. */
    static const duo_algorithm_id ids[] = {DUO_sgemm_cpu_openblas, DUO_sgemm_cpu_ffma,
                                           DUO_ssum_cpu_lanes, DUO_sgemm_gpu_tiled};
    for (int i = 0; i < 4 && p != NULL; i++)
        printf("%s=%s ", duo_algorithm_name(ids[i]) + strlen("sgemm_") - (i == 2),
               p->curve[ids[i]].size[0] == 1.0 ? "own" : "other");
    if (p != NULL)
        printf("corrected=%s ",
               p->correction[DUO_CORRECTED_OPENBLAS][DUO_CORRECTED_ONE_THREAD].measured ? "own"
                                                                                        : "not");
    if (p != NULL) printf("link=%s ", p->upload_pageable == 5e9 ? "own" : "other");
    printf("measured=%d|", measured == NULL ? 0 : measured->curve[ids[0]].count > 0 ? 2 : 1);
    /* Any profile must serve a call. */
    float x[100], sum = 0.0f;
    for (int i = 0; i < 100; i++) x[i] = 1.0f;
    return ok && duo_ssum(NULL, 100, x, 1, &sum) == DUO_OK && sum == 100.0f ? 0 : 1;
}

void check_in_use(const char *const *settings, const char *origin, const char *why)
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
