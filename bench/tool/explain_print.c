/* explain_print.c - see explain_print.h */
#include "bench/tool/explain_print.h"

#include <math.h>
#include <stdio.h>

#include "bench/tool/text.h"
#include "choice/select.h"
#include "choice/stream_cost.h"

const char *const *duo_explain_operands(duo_operation operation)
{
    static const char *const names[2][DUO_OPERANDS] = {{"a", "b", "c"}, {"x", "y", "result"}};
    return names[operation != DUO_SGEMM];
}

static void print_operands(const duo_call *call)
{
    static const char *const where[] = {
        [DUO_AT_UNUSED] = "not used",         [DUO_AT_PAGEABLE] = "host, pageable",
        [DUO_AT_PINNED] = "host, pinned",     [DUO_AT_KEPT] = "host, kept, current on the GPU",
        [DUO_AT_STALE] = "host, kept, stale", [DUO_AT_DEVICE] = "GPU",
    };
    const char *const *const names = duo_explain_operands(call->operation);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        char size[DUO_TEXT];
        const duo_operand *const o = &call->operand[i];
        if (!o->read && !o->written) continue;
        printf("  %-7s %10s   %s%s\n", names[i], duo_text_bytes(duo_operand_bytes(o), size),
               where[o->residence],
               o->written    ? " (written)"
               : o->prepared ? " (prepared)"
                             : "");
    }
}

/* What the operands' place costs. Of a streamed product, what it takes longer than with all of them
 * on the GPU: they are sent and fetched while it works. */
static double moving_seconds(const duo_call *call, const duo_conditions *conditions,
                             const duo_choice *choice)
{
    int threads;
    const duo_algorithm *const algorithm = choice->algorithm;
    if (algorithm->side == DUO_SIDE_CPU || !duo_streams(call) || !choice->accepts)
        return duo_transfer_seconds(call, algorithm->side, conditions->profile);
    duo_call there = *call;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        duo_operand *const o = &there.operand[i];
        if (!duo_operand_touched(o)) continue;
        o->residence = DUO_AT_DEVICE;
        o->on_device = true;
        o->on_host = false;
    }
    return choice->seconds - algorithm->cost(&there, conditions, &threads);
}

static void print_candidates(const duo_call *call, const duo_conditions *conditions,
                             const duo_choice *choice, int count, int best)
{
    printf("\n  %-20s %-4s %7s %10s   %10s   %10s\n", "candidate", "side", "threads", "transfers",
           "work", "total");
    for (int i = 0; i < count; i++) {
        char transfers[DUO_TEXT], work[DUO_TEXT], total[DUO_TEXT], threads[16] = "-";
        const duo_algorithm *const algorithm = choice[i].algorithm;
        const double moved = moving_seconds(call, conditions, &choice[i]);
        if (algorithm->side == DUO_SIDE_CPU)
            snprintf(threads, sizeof threads, "%d", choice[i].threads);
        printf("  %-20s %-4s %7s  %s    %s    %s  %s\n", algorithm->name,
               duo_text_side(algorithm->side), threads, duo_text_seconds(moved, transfers),
               duo_text_seconds(choice[i].seconds - moved, work),
               duo_text_seconds(choice[i].seconds, total),
               !choice[i].accepts ? "cannot do this call"
               : i == best        ? "<- would run"
                                  : "");
    }
}

/* One sentence: the winner against the best of the other side. */
static void print_reason(const duo_call *call, const duo_conditions *conditions,
                         const duo_choice *choice, int count, int best)
{
    const duo_side side = choice[best].algorithm->side;
    int other = -1;
    for (int i = 0; i < count; i++)
        if (choice[i].algorithm->side != side && choice[i].accepts &&
            (other < 0 || choice[i].seconds < choice[other].seconds))
            other = i;
    const char *const name = side == DUO_SIDE_CPU ? "CPU" : "GPU";
    if (conditions->path != DUO_PATH_AUTO) {
        printf("\nThe %s serves because the path is %s.\n", name, duo_text_path(conditions->path));
        return;
    }
    if (other < 0 || isinf(choice[other].seconds)) {
        printf("\nThe %s serves: the other side has no candidate.\n", name);
        return;
    }
    const double gpu_moves = moving_seconds(call, conditions, &choice[other]);
    printf("\nThe %s wins by a factor of %.3g.", name,
           choice[other].seconds / choice[best].seconds);
    if (side == DUO_SIDE_CPU && choice[other].seconds - gpu_moves < choice[best].seconds)
        printf(" With its operands resident the GPU would win: the transfers decide.");
    printf("\n");
}

void duo_explain_print(const duo_call *call, const duo_conditions *conditions)
{
    duo_choice choice[DUO_CANDIDATES];
    const int count = duo_predict(call, conditions, choice);
    const int best = duo_select(choice, count, conditions);
    print_operands(call);
    print_candidates(call, conditions, choice, count, best);
    if (best >= 0)
        print_reason(call, conditions, choice, count, best);
    else
        printf("\nNothing does %s in the math of DUOBLAS_MATH.\n",
               duo_operation_name(call->operation));
}
