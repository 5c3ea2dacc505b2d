/* learner.c - a context that learns from calls; see learner.h. */
#include "support/learner.h"

#include "call/adapt.h"
#include "choice/learned.h"
#include "choice/profile_in_use.h"
#include "sim/sim.h"
#include "support/harness.h"

#include <stdlib.h>

double real_seconds[2];
int clock_reads;

static double now;
static uint64_t launches; /* when the call began */

/* The clock is read before and after a call. The second reading is later by the time that the call
 * is said to take. */
static double made_clock(void)
{
    if (clock_reads++ % 2 == 0)
        launches = sim_count(SIM_LAUNCH);
    else
        now += real_seconds[sim_count(SIM_LAUNCH) > launches ? DUO_SIDE_GPU : DUO_SIDE_CPU];
    return now;
}

duo_context *machine_that_takes(double cpu, double gpu, double real_cpu, double real_gpu)
{
    new_machine(cpu, gpu);
    free_link();
    make_vector();
    duo_learned_forget();
    real_seconds[DUO_SIDE_CPU] = real_cpu;
    real_seconds[DUO_SIDE_GPU] = real_gpu;
    duo_context *const ctx = context_on(DUO_PATH_AUTO);
    CHECK_STATUS(DUO_OK, duo_warm_up(ctx));
    CHECK_STATUS(DUO_OK, duo_set_adapt(ctx, 1));
    duo_adapt_clock = made_clock;
    clock_reads = 0;
    return ctx;
}

void learner_end(duo_context *ctx)
{
    test_context_end(ctx);
    free(vector);
    duo_learned_forget();
    duo_profile_reset();
}

int sums_on(duo_context *ctx, duo_side side, int calls)
{
    int count = 0;
    for (int i = 0; i < calls; i++) {
        sum_all(ctx, vector);
        count += last_decision(ctx).side == side;
    }
    return count;
}
