/* verify_head.c - the machine and the profile that a verification is of. */
#include <inttypes.h>

#include "bench/crossover/verify.h"
#include "bench/tool/text.h"
#include "bench/tool/tool.h"
#include "choice/profile_in_use.h"
#include "gpu/backend/devices.h"
#include "host/environment.h"
#include "host/machine.h"

static void print_gpu(const char *mark, FILE *file)
{
    const char *why = "";
    duo_device_info device = {.size = sizeof device};
    if (duo_devices(&why) > 0 &&
        duo_device_describe(duo_environment_get()->device, &device) == DUO_OK)
        fprintf(file, "%sGPU      %s, driver for CUDA %d.%d\n", mark, device.name,
                device.driver_version / 1000, device.driver_version % 1000 / 10);
    else
        fprintf(file, "%sGPU      none: %s\n", mark, why);
}

void duo_verification_head(const duo_verify_options *options, const char *mark, FILE *file)
{
    char blas[384], date[DUO_TEXT];
    const int threads = duo_machine_threads();
    fprintf(file, "%sDuoBLAS  " DUO_VERSION_STRING ", commit %s, %s, %s\n", mark, duo_tool_commit,
            DUO_COMPILER, duo_text_date(date));
    fprintf(file, "%sCPU      %s, %d thread%s\n%sBLAS     %s\n", mark, duo_machine_cpu(), threads,
            threads == 1 ? "" : "s", mark, duo_text_blas(blas, sizeof blas));
    print_gpu(mark, file);
    fprintf(file, "%sProfile  %s\n%sSeed     %" PRIu64 "\n", mark, duo_profile_in_use()->origin,
            mark, options->seed);
}
