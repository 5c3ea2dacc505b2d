/*
 * groups.c - batches of different shapes that one call names: which of them go together, in one
 * launch or by one job of the team, and which are calls of their own (groups.h).
 *
 * Groups on the device go together unless their products are large enough to fill it. Groups in
 * plain host memory go together if the CPU would do each of their products on one thread.
 */
#include "call/groups.h"

#include "call/execute.h"
#include "call/route.h"
#include "data/locate.h"

typedef enum way { IN_ONE_LAUNCH, BY_THE_TEAM, ALONE, WAYS } way;

/* Locates a group. DUO_ERR_FOREIGN: it is in device memory that nobody has adopted. */
static duo_status locate(duo_context *ctx, duo_call *call)
{
    const int device = ctx->resources.device;
    duo_status status = duo_locate(device, call);
    if (status == DUO_OK) status = duo_batch_locate(call, device);
    return status == DUO_OK ? duo_locate_ask(&ctx->resources.report, call) : status;
}

/* The cheapest candidate for a located group alone. */
static duo_choice best_alone(const duo_conditions *conditions, const duo_call *call)
{
    duo_choice choice[DUO_CANDIDATES];
    bool short_list;
    const int count = duo_route_predict(call, conditions, false, choice, &short_list);
    const int best = duo_select(choice, count, conditions);
    return best >= 0 ? choice[best] : (duo_choice){.accepts = false, .route = DUO_ROUTES};
}

/* Would the CPU do each product on one thread? */
static bool is_for_team(const duo_conditions *conditions, const duo_call *call)
{
    const duo_choice best = best_alone(conditions, call);
    return best.accepts && best.algorithm->side == DUO_SIDE_CPU &&
           (best.route == DUO_ROUTE_TEAM || best.threads <= 1);
}

/* May products of the group take less one by one than in one launch? */
static bool may_fill_device(const duo_conditions *conditions, const duo_call *call)
{
    static const double kLaunch = 2e-6; /* seconds; a launch takes no less */
    return duo_batch_kernel_seconds(call, conditions) >= kLaunch * (double)call->batch->count;
}

/* A list that was not read says nothing about single products. */
static duo_status find_way(duo_context *ctx, const duo_conditions *conditions, duo_call *call,
                           way *w)
{
    const bool gpu = conditions->gpu, plain = duo_batch_plain(call);
    const bool unread = duo_batch_unread(call->batch);
    call->ordered = conditions->math == DUO_MATH_IEEE;
    *w = gpu && !plain ? IN_ONE_LAUNCH : ALONE;
    if (duo_context_captured(ctx)) *w = ALONE;
    if (duo_context_captured(ctx) || unread) return DUO_OK;
    if (!plain && (!gpu || !may_fill_device(conditions, call))) return DUO_OK;
    const duo_status status = locate(ctx, call);
    if (status != DUO_OK) return status;
    if (plain)
        *w = is_for_team(conditions, call) ? BY_THE_TEAM : ALONE;
    else if (best_alone(conditions, call).route != DUO_ROUTE_BATCH)
        *w = ALONE;
    return DUO_OK;
}

static void swap(duo_group *x, duo_group *y)
{
    const duo_group was = *x;
    if (x == y) return;
    *x = *y;
    *y = was;
    x->call.batch = &x->batch;
    y->call.batch = &y->batch;
}

/* A call that stands for groups. */
static duo_outcome together(duo_context *ctx, duo_group *group, int64_t groups)
{
    duo_call call = group->call;
    duo_batch all = {.group = group, .groups = groups};
    for (int64_t g = 0; g < groups; g++) all.count += group[g].batch.count;
    for (int i = 0; i < DUO_OPERANDS; i++) all.unread[i] = group->batch.unread[i];
    call.batch = &all;
    return duo_execute_together(ctx, &call);
}

static duo_outcome each_alone(duo_context *ctx, duo_group *group, int64_t groups)
{
    duo_outcome outcome = DUO_OK;
    for (int64_t g = 0; g < groups && outcome == DUO_OK; g++) {
        duo_call one = group[g].call;
        if (group[g].batch.count == 1) duo_call_products(&group[g].call, 0, 1, &one, NULL);
        outcome = duo_execute_together(ctx, &one);
    }
    return outcome;
}

duo_outcome duo_execute_groups(duo_context *ctx, duo_group *group, int64_t groups)
{
    int64_t end[WAYS] = {0}, first = 0;
    const bool unread = duo_batch_unread(&group->batch);
    const duo_conditions conditions = duo_policy_conditions(&ctx->policy, &ctx->resources);
    /* Sorts the groups by way. */
    for (int64_t g = 0; g < groups; g++) {
        way w;
        const duo_status status = find_way(ctx, &conditions, &group[g].call, &w);
        if (status != DUO_OK) return status;
        int64_t at = g;
        for (int later = ALONE; later > (int)w; later--) {
            swap(&group[at], &group[end[later - 1]]);
            at = end[later - 1];
            end[later]++;
        }
        end[w]++;
    }
    duo_outcome outcome = DUO_OK;
    for (int w = 0; w < WAYS && outcome == DUO_OK; first = end[w++]) {
        const int64_t count = end[w] - first;
        if (count == 0) continue;
        const bool shared = w != ALONE && (count > 1 || unread);
        outcome = shared ? together(ctx, group + first, count) : DUO_DECLINED;
        if (outcome == DUO_DECLINED && !unread) outcome = each_alone(ctx, group + first, count);
    }
    return outcome;
}
