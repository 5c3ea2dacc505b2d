/* explain_print.c - prints operands, candidates, and the reason (explain.h) */
#include "bench/tool/explain.h"

#include <stdio.h>
#include <string.h>

#include "bench/tool/text.h"
#include "call/explain.h"

const char *const *duo_explain_operands(duo_operation operation)
{
    static const char *const names[2][DUO_OPERANDS] = {{"a", "b", "c"}, {"x", "y", "result"}};
    return names[operation != DUO_SGEMM];
}

static void print_operands(const duo_call *call)
{
    const char *const *const names = duo_explain_operands(call->operation);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        char size[DUO_TEXT];
        const duo_operand *const o = &call->operand[i];
        if (!o->read && !o->written) continue;
        printf("  %-7s %10s   %s%s\n", names[i], duo_text_bytes(duo_operand_bytes(o), size),
               duo_text_residence(o->residence),
               o->written    ? " (written)"
               : o->prepared ? " (prepared)"
                             : "");
    }
}

/* The index of the CPU's best candidate; -1: there is none. */
static int cpu_best(const duo_decision *d)
{
    int best = -1;
    for (int i = 0; i < d->candidates; i++) {
        const duo_candidate *const c = &d->candidate[i];
        if (c->accepts && c->side == DUO_SIDE_CPU &&
            (best < 0 || c->predicted_seconds < d->candidate[best].predicted_seconds))
            best = i;
    }
    return best;
}

/* An arrow marks the candidate that runs here. An arrow in brackets marks the one that would run
 * with the missing GPU. */
static void print_candidates(const duo_decision *d, bool gpu, const char *gpu_name)
{
    const bool elsewhere = !gpu && d->side == DUO_SIDE_GPU;
    const int here = elsewhere ? cpu_best(d) : d->ran;
    printf("\n  %-18s %-4s %7s %10s %10s %10s %10s\n", "candidate", "side", "threads", "transfers",
           "launch", "compute", "total");
    for (int i = 0; i < d->candidates; i++) {
        char transfer[DUO_TEXT], launch[DUO_TEXT], compute[DUO_TEXT], total[DUO_TEXT];
        char threads[16] = "-";
        const duo_candidate *const c = &d->candidate[i];
        const duo_parts *const parts = &d->parts[i];
        if (c->side == DUO_SIDE_CPU) snprintf(threads, sizeof threads, "%d", c->threads);
        printf("  %-18s %-4s", c->algorithm, duo_text_side(c->side));
        if (c->accepts)
            printf(" %7s %s %s %s %s%s\n", threads,
                   duo_text_seconds(parts->transfer_seconds, transfer),
                   duo_text_seconds(parts->launch_seconds, launch),
                   duo_text_seconds(parts->compute_seconds, compute),
                   duo_text_seconds(c->predicted_seconds, total),
                   i == here     ? " <-"
                   : i == d->ran ? " (<-)"
                                 : "");
        else
            printf(" %7s %s\n", "-", "cannot do this call");
    }
    if (elsewhere) printf("  <- runs here, (<-) on a machine with an %s.\n", gpu_name);
}

/* The decision that duo_explain_last would give if the best candidate ran. */
static duo_decision decision_of(const duo_call *call, const duo_conditions *conditions,
                                const duo_choice *choice, int count, int best)
{
    duo_last last;
    duo_decision decision = {.size = sizeof decision};
    duo_last_begin(&last, call);
    last.conditions = *conditions;
    last.candidates = count;
    memcpy(last.choice, choice, sizeof *choice * (size_t)count);
    duo_last_ran(&last, &choice[best]);
    duo_explain_decision(&last, "", &decision);
    duo_explain_reason(&last, "", &decision);
    return decision;
}

/* Prints the reason in lines of at most 79 characters, and whether only the transfers decide. */
static void print_reason(const duo_decision *d)
{
    int column = printf("\n%s:", d->candidate[d->ran].algorithm) - 1;
    const double won = d->predicted_seconds;
    for (const char *at = d->reason; *at != '\0';) {
        const int length = (int)strcspn(at, " ");
        if (column + 1 + length > 79) column = printf("\n") - 2;
        column += printf(column < 0 ? "%.*s" : " %.*s", length, at) + (column < 0);
        at += length + strspn(at + length, " ");
    }
    printf(".\n");
    for (int i = 0; i < d->candidates && d->side == DUO_SIDE_CPU; i++)
        if (d->candidate[i].accepts && d->candidate[i].side == DUO_SIDE_GPU &&
            d->candidate[i].predicted_seconds - d->parts[i].transfer_seconds < won) {
            printf("With its operands on the GPU it would win: the transfers decide.\n");
            return;
        }
}

void duo_explain_print(const duo_call *call, const duo_conditions *conditions, bool gpu)
{
    duo_choice choice[DUO_CANDIDATES];
    const int count = duo_predict(call, conditions, choice);
    const int best = duo_select(choice, count, conditions);
    print_operands(call);
    if (best < 0) {
        printf("\nNothing does %s in the math of DUOBLAS_MATH.\n",
               duo_operation_name(call->operation));
        return;
    }
    const duo_decision decision = decision_of(call, conditions, choice, count, best);
    print_candidates(&decision, gpu, conditions->profile->gpu);
    print_reason(&decision);
}
