/* route.c - the table of routes, and the cheapest of each candidate (route.h). */
#include "call/route.h"

#include <math.h>

const duo_route duo_routes[DUO_ROUTES] = {
    [DUO_ROUTE_CPU] = {"cpu", duo_run_cpu},
    [DUO_ROUTE_LAUNCH] = {"launch", duo_run_launch},
    [DUO_ROUTE_STREAMED] = {"streamed", duo_run_streamed},
    [DUO_ROUTE_PIECES] = {"pieces", duo_run_pieces},
    [DUO_ROUTE_TEAM] = {"team", duo_run_team},
    [DUO_ROUTE_BATCH] = {"batch", duo_run_batch},
    [DUO_ROUTE_ONE_BY_ONE] = {"one-by-one", duo_run_one_by_one},
    [DUO_ROUTE_RECORDED] = {"recorded", duo_run_recorded},
};

duo_route_id duo_route_alone(const duo_call *call, const duo_conditions *conditions, duo_side side)
{
    if (conditions->recorded)
        return side == DUO_SIDE_GPU && duo_recordable(call) ? DUO_ROUTE_RECORDED : DUO_ROUTES;
    if (side == DUO_SIDE_CPU) return DUO_ROUTE_CPU;
    return duo_streams(call) ? DUO_ROUTE_STREAMED : DUO_ROUTE_LAUNCH;
}

static void set_routes(const duo_call *call, const duo_conditions *conditions, duo_choice *choice,
                       int count)
{
    duo_route_id route[2];
    for (int side = 0; side < 2; side++)
        route[side] = duo_route_alone(call, conditions, (duo_side)side);
    for (int i = 0; i < count; i++) {
        choice[i].route = (unsigned char)route[choice[i].algorithm->side];
        choice[i].accepts = choice[i].accepts && choice[i].route != DUO_ROUTES;
        if (!choice[i].accepts) choice[i].seconds = (double)INFINITY;
    }
}

/* ---- Batches ---- */

typedef struct offer {
    duo_route_id route;
    double seconds;
    int threads;
} offer;

static void take_cheaper(offer *best, const duo_choice *choice, duo_route_id route, double seconds,
                         int threads)
{
    if ((choice->tried >> route & 1u) != 0 || !(seconds < best->seconds)) return;
    *best = (offer){route, seconds, threads};
}

/* Sets the cheapest route of a batch by this candidate's algorithm. product: seconds of the first
 * product as a call; infinite: the algorithm does not take it. */
static void set_batch_route(const duo_call *call, const duo_conditions *conditions,
                            duo_choice *choice, double product)
{
    const duo_algorithm *const algorithm = choice->algorithm;
    offer best = {DUO_ROUTES, (double)INFINITY, choice->threads};
    const bool recordable = !conditions->recorded || algorithm->side == DUO_SIDE_GPU;
    const bool together = duo_call_together(call);
    if (recordable && isfinite(product) && !together)
        take_cheaper(&best, choice, DUO_ROUTE_ONE_BY_ONE,
                     duo_one_by_one_seconds(call, conditions, algorithm, product), choice->threads);
    if (!conditions->recorded && duo_team_takes(call, conditions, algorithm))
        take_cheaper(&best, choice, DUO_ROUTE_TEAM, duo_team_seconds(call, conditions, algorithm),
                     conditions->threads);
    if (!conditions->recorded && duo_batch_takes(call, conditions, algorithm))
        take_cheaper(&best, choice, DUO_ROUTE_BATCH, duo_batch_seconds(call, conditions, algorithm),
                     0);
    choice->route = (unsigned char)best.route;
    choice->accepts = best.route != DUO_ROUTES;
    choice->seconds = best.seconds;
    choice->threads = best.threads;
}

/* ---- Candidates ---- */

int duo_route_predict(const duo_call *call, const duo_conditions *conditions, bool cpu_first,
                      duo_choice choice[DUO_CANDIDATES], bool *short_list)
{
    const bool alone = call->batch == NULL;
    int count =
        cpu_first && alone && !conditions->recorded ? duo_predict_cpu(call, conditions, choice) : 0;
    *short_list = count > 0;
    if (count == 0) count = duo_predict(call, conditions, choice);
    if (alone) set_routes(call, conditions, choice, count);
    for (int i = 0; i < count && !alone; i++)
        set_batch_route(call, conditions, &choice[i], choice[i].seconds);
    return count;
}

/* Seconds of the first product as a call; infinite: the algorithm does not take it. */
static double product_seconds(const duo_call *call, const duo_conditions *conditions,
                              const duo_algorithm *algorithm)
{
    return algorithm->accepts(call, conditions) ? duo_predict_one(call, conditions, algorithm)
                                                : (double)INFINITY;
}

void duo_route_declined(const duo_call *call, const duo_conditions *conditions, duo_choice *choice)
{
    choice->tried = (unsigned char)(choice->tried | 1u << choice->route);
    if (call->batch != NULL)
        set_batch_route(call, conditions, choice,
                        product_seconds(call, conditions, choice->algorithm));
    choice->declined = call->batch == NULL || !choice->accepts;
}

void duo_route_located(const duo_call *call, const duo_conditions *conditions, duo_choice *choice,
                       int count)
{
    if (call->batch == NULL) set_routes(call, conditions, choice, count);
    for (int i = 0; i < count && call->batch != NULL; i++)
        set_batch_route(call, conditions, &choice[i],
                        product_seconds(call, conditions, choice[i].algorithm));
}

double duo_route_seconds(const duo_call *call, const duo_conditions *conditions,
                         const duo_choice *choice)
{
    const duo_algorithm *const algorithm = choice->algorithm;
    if (choice->route == DUO_ROUTE_TEAM) return duo_team_seconds(call, conditions, algorithm);
    if (choice->route == DUO_ROUTE_BATCH) return duo_batch_seconds(call, conditions, algorithm);
    const double product = duo_predict_one(call, conditions, algorithm);
    return choice->route == DUO_ROUTE_ONE_BY_ONE
               ? duo_one_by_one_seconds(call, conditions, algorithm, product)
               : product;
}

double duo_route_work(const duo_call *call, const duo_conditions *conditions,
                      const duo_choice *choice)
{
    int threads;
    const duo_algorithm *const algorithm = choice->algorithm;
    if (choice->route == DUO_ROUTE_TEAM) return duo_team_work(call, conditions, algorithm);
    if (choice->route == DUO_ROUTE_BATCH) return duo_batch_work(call, conditions, algorithm);
    return duo_algorithm_seconds(algorithm, call, conditions, &threads);
}
