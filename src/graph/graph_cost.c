/* graph_cost.c - predicted times of nodes that the host does (graph_cost.h). */
#include "graph/graph_cost.h"

#include <math.h>

#include "choice/select.h"
#include "graph/graph_check.h"

/* Bytes/s of copies and settings, and presumed seconds of a function of the program: enough to be
 * worth a thread of its own. */
static const double kBytesRate = 1e10, kFunction = 1e-4;

/* Seconds to give nodes to several threads; and how much longer operations of several threads take
 * side by side than alone. On 16 threads of an H100's host three products of 192^3 took 1.2 times
 * as long side by side as one after the other (predicted: 0.5), three of 96^3 0.75 times
 * (predicted: 0.44). */
static const double kShare = 1.2e-6, kBeside = 2.0;

static double operation_seconds(const duo_graph *graph, const duo_work *work, int at_once)
{
    duo_context *const ctx = graph->host;
    const int threads = duo_graph_threads(graph, at_once);
    duo_call call;
    duo_choice choice[DUO_CANDIDATES];
    if (duo_graph_describe(work, &call) != DUO_OK) return 0.0;
    const int needed = work->kind == DUO_WORK_SGEMM ? DUO_C : DUO_X;
    if (!duo_operand_touched(&call.operand[needed])) return 0.0; /* a quick return */
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &call.operand[i];
        o->on_host = duo_operand_touched(o);
        o->residence = o->on_host ? DUO_AT_PAGEABLE : DUO_AT_UNUSED;
    }
    duo_policy policy = ctx->policy;
    policy.math = work->math;
    duo_conditions conditions = duo_policy_conditions(&policy, &ctx->resources);
    if (conditions.threads > threads) conditions.threads = threads;
    const int count = duo_predict(&call, &conditions, choice);
    const int best = duo_select(choice, count, &conditions);
    if (best < 0) return 0.0;
    return choice[best].seconds * (at_once > 1 && choice[best].threads > 1 ? kBeside : 1.0);
}

/* Seconds of one node, if `at_once` are done side by side. */
static double seconds_of(const duo_graph *graph, const duo_work *work, int at_once)
{
    switch (work->kind) {
    case DUO_WORK_EMPTY:
        return 0.0;
    case DUO_WORK_HOST:
        return kFunction;
    case DUO_WORK_COPY:
    case DUO_WORK_SET:
        return (double)work->width * (double)work->height / kBytesRate;
    default:
        return operation_seconds(graph, work, at_once);
    }
}

int duo_graph_at_once(const duo_graph *graph, const int *node, int nodes, int most)
{
    double alone = 0.0, together = 0.0, longest = 0.0;
    for (int i = 0; i < nodes; i++) {
        const duo_work *const work = &graph->node[node[i]].work;
        const double seconds = seconds_of(graph, work, most);
        alone += seconds_of(graph, work, 1);
        together += seconds;
        longest = fmax(longest, seconds);
    }
    /* If nodes are alike, the last round may not be full. */
    const double rounds = ceil((double)nodes / most) * together / nodes;
    return fmax(longest, rounds) + kShare < alone ? most : 1;
}
