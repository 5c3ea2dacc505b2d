/*
 * blas_promises.c - promises of BLAS, each through every name and on every path; see
 * blas_promises.h.
 */
#define _GNU_SOURCE
#include "support/blas_promises.h"

#include "support/blas_abi.h"
#include "support/blas_report.h"
#include "support/harness.h"

#include <stdio.h>

/* The paths that calls without a context can be given in this mode. */
static int paths_of_mode(duo_path path[2])
{
    path[0] = test_path();
    path[1] = DUO_PATH_AUTO;
    return test_gpu_side() ? 2 : 1;
}

static const char *path_name(duo_path path)
{
    static const char *const names[] = {"auto", "cpu", "gpu"};
    return names[path];
}

const char *promise_name;
duo_path path_now;

void run_promises(const char *kind, const blas_promise *promises, int count)
{
    duo_path path[2];
    const int paths = paths_of_mode(path);
    int done = 0;
    for (int p = 0; p < paths; p++) {
        path_now = path[p];
        CHECK_STATUS(DUO_OK, duo_set_path(NULL, path_now));
        for (int r = 0; r < count; r++) {
            for (int abi = 0; abi < ABIS; abi++) {
                char name[128];
                snprintf(name, sizeof name, "%s/%s/%s/%s", kind, promises[r].name,
                         blas_abi_name((blas_abi)abi), path_name(path[p]));
                promise_name = name;
                test_case("%s", name);
                promises[r].body((blas_abi)abi, promises[r].facts);
                done++;
            }
        }
    }
    CHECK(blas_report.calls == 0, "a handler was called %d times", blas_report.calls);
    printf("    %s: %d promises x %d names x %d paths = %d\n", kind, count, (int)ABIS, paths, done);
}
