/* policy.c - conditions of calls, and the limits of tiny ones (policy.h). */
#include "call/policy.h"

#include <math.h>
#include <string.h>

#include "call/opening.h"
#include "choice/profile_in_use.h"
#include "cpu/blas_library.h"
#include "cpu/kernels.h"
#include "gpu/backend/devices.h"
#include "host/fork.h"
#include "host/machine.h"
#include "host/stack.h"

void duo_policy_devices(duo_conditions *conditions, const duo_resources *res)
{
    int device[DUO_LANES];
    conditions->devices = 1;
    conditions->linked = !res->unlinked;
    if (res->others == 0) return;
    conditions->devices = duo_resources_devices(res, device);
    for (int i = 0; i < conditions->devices && conditions->devices > 1; i++)
        conditions->speed[i] = duo_device_look(device[i]).speed;
}

duo_conditions duo_policy_conditions(const duo_policy *policy, duo_resources *res)
{
    if (res->rank_device) duo_resources_settle_device(res);
    duo_conditions conditions = {.profile = duo_profile_in_use(),
                                 .path = policy->path,
                                 .math = policy->math,
                                 .threads = duo_resources_threads(res)};
    const bool opens = duo_opening_goes_on();
    const bool looked = duo_devices_looked() && !opens;
    conditions.gpu = policy->path != DUO_PATH_CPU && !duo_forked() &&
                     (!looked || duo_device_usable(res->device));
    conditions.gpu_unseen = conditions.gpu && !looked;
    if (!conditions.gpu) return conditions;
    conditions.devices = 1;
    conditions.device_memory_bytes = (double)INFINITY;
    if (opens) return conditions; /* asking a device would wait for it */
    const duo_device_facts facts = duo_device_look(res->device);
    conditions.capability = facts.capability;
    conditions.multiprocessors = facts.multiprocessors;
    conditions.memory_rate = facts.memory_rate;
    conditions.device_memory_bytes = facts.room_bytes;
    for (int i = 0; i < DUO_OPERANDS; i++)
        conditions.device_memory_bytes += (double)res->workspace[i].bytes;
    duo_policy_devices(&conditions, res);
    return conditions;
}

/* The CPU's algorithm that a call of this edge (sgemm) or length would take if all its operands
 * were in plain host memory; NULL: it would take several threads, or the GPU. */
static const duo_algorithm *algorithm_for(const duo_policy *policy,
                                          const duo_conditions *conditions, duo_operation operation,
                                          int64_t size)
{
    duo_call call = operation == DUO_SGEMM
                        ? duo_call_sgemm(false, false, size, size, size, 1.0f, 0.0f)
                        : duo_call_reduction(operation, size);
    call.program = duo_policy_program(policy);
    duo_choice choice[DUO_CANDIDATES];
    const int count = duo_predict(&call, conditions, choice);
    const int best = duo_select(choice, count, conditions);
    return best >= 0 && choice[best].threads == 1 ? choice[best].algorithm : NULL;
}

/* The largest limits of tiny calls. Beyond them a prediction takes a small part of the call's time.
 */
enum { LARGEST_LENGTH = 32768 };
static const int64_t kMost[DUO_OPERATIONS] = {DUO_TINY_EDGE, LARGEST_LENGTH, LARGEST_LENGTH,
                                              LARGEST_LENGTH};

/*
 * The limits before anything was predicted: a product of a few hundred multiplications, and one
 * block of a sum. A CPU takes tenths of a microsecond for these; a GPU takes microseconds to begin.
 */
static const int64_t kFirstEdge = 8, kFirstLength = 1024;

static int64_t first_limit(duo_operation operation)
{
    return operation == DUO_SGEMM ? kFirstEdge : kFirstLength;
}

/* The CPU's algorithm that does what is below the first limit. */
static const duo_algorithm *first_algorithm(duo_operation operation)
{
    static const duo_algorithm_id id[DUO_OPERATIONS] = {[DUO_SGEMM] = DUO_sgemm_cpu_ffma,
                                                        [DUO_SASUM] = DUO_sasum_cpu_lanes,
                                                        [DUO_SSUM] = DUO_ssum_cpu_lanes,
                                                        [DUO_SDOT] = DUO_sdot_cpu_lanes};
    return duo_algorithm_of(id[operation]);
}

static void find_limit(duo_policy *policy, const duo_conditions *conditions,
                       duo_operation operation)
{
    int64_t size = 2 * first_limit(operation);
    const duo_algorithm *const algorithm = algorithm_for(policy, conditions, operation, size);
    if (algorithm == NULL) return;
    while (2 * size <= kMost[operation] &&
           algorithm_for(policy, conditions, operation, 2 * size) == algorithm)
        size *= 2;
    const int64_t between = size + size / 2;
    if (between <= kMost[operation] &&
        algorithm_for(policy, conditions, operation, between) == algorithm)
        size = between;
    policy->tiny[operation] = size;
    policy->tiny_algorithm[operation] = algorithm;
}

void duo_policy_changed(duo_policy *policy, const duo_resources *res)
{
    const bool possible = policy->verify_rate == 0.0 && res->stream == NULL &&
                          !duo_report_wanted(&res->report) && policy->decide == NULL &&
                          policy->capture == NULL && policy->path != DUO_PATH_GPU &&
                          policy->math != DUO_MATH_FLOAT64; /* tiny calls use float32 kernels */
    for (int i = 0; i < DUO_OPERATIONS; i++) {
        const duo_operation operation = (duo_operation)i;
        policy->tiny[i] = possible ? first_limit(operation) : -1;
        policy->tiny_algorithm[i] = possible ? first_algorithm(operation) : NULL;
        policy->unsettled[i] = possible;
    }
}

typedef struct limit {
    duo_policy *policy;
    const duo_resources *res;
    duo_operation operation;
} limit;

static void settle(void *user)
{
    const limit *const l = user;
    duo_policy *const policy = l->policy;
    const int asked = l->res->threads;
    /* A call that is worth several threads is not tiny: OpenMP would have to be asked for their
     * number. The GPU counts as usable and as fast as its profile says. Costs grow with every size,
     * so the limit for cubes holds for all shapes that fit in the cube. */
    const duo_conditions conditions = {.profile = duo_profile_in_use(),
                                       .path = policy->path,
                                       .math = policy->math,
                                       .threads = asked > 0 ? asked : duo_machine_threads(),
                                       .gpu = policy->path != DUO_PATH_CPU,
                                       .device_memory_bytes = 1e18};
    find_limit(policy, &conditions, l->operation);
}

bool duo_policy_settle(duo_policy *policy, duo_resources *res, duo_operation operation,
                       int64_t size)
{
    const int64_t before = policy->tiny[operation];
    if (!policy->unsettled[operation]) return false;
    if (size <= before || size > kMost[operation]) return false;
    policy->unsettled[operation] = false;
    duo_stack_run(settle, &(limit){policy, res, operation});
    return policy->tiny[operation] > before;
}

const duo_blas_library *duo_policy_program(const duo_policy *policy)
{
    const duo_blas_library *const program = policy->program;
    if (program == NULL || duo_forked()) return NULL;
    if (duo_ffma_is_slow()) return program;
    return strcmp(program->name, duo_profile_in_use()->blas) == 0 ? program : NULL;
}
