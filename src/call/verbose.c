/* verbose.c - the line of a call: operands, candidates with their predictions, choice
 * (verbose.h). */
#include "call/verbose.h"

#include <stdatomic.h>
#include <stdio.h>

#include "call/explain.h"
#include "call/line.h"

#include "cpu/blas_library.h"

enum { LONGEST = 1024 };

/* A time with a unit that keeps three figures readable. */
static void put_seconds(duo_line *l, double seconds)
{
    if (!(seconds < 1e30))
        duo_line_put(l, "never");
    else if (seconds < 1e-6)
        duo_line_put(l, "%.0fns", seconds * 1e9);
    else if (seconds < 1e-3)
        duo_line_put(l, "%.2fus", seconds * 1e6);
    else if (seconds < 1.0)
        duo_line_put(l, "%.2fms", seconds * 1e3);
    else
        duo_line_put(l, "%.3fs", seconds);
}

/* Tells once in a process, to whoever first wants lines, what makes every sgemm slow. */
static void warn_once(const duo_report *report)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *const warning = duo_blas_library_warning();
    if (warning == NULL || atomic_flag_test_and_set(&told)) return;
    char text[LONGEST];
    duo_line l = {.text = text, .size = sizeof text};
    duo_line_put(&l, "duoblas: event: the CPU's BLAS: %s", warning);
    duo_report_line(report, text);
}

/* The operation, its sizes, and where its operands were. */
static void put_call(duo_line *l, const duo_call *call, const duo_decision *d)
{
    static const char *const residences[] = {
        [DUO_AT_UNUSED] = "-",  [DUO_AT_PAGEABLE] = "pageable", [DUO_AT_PINNED] = "pinned",
        [DUO_AT_KEPT] = "kept", [DUO_AT_STALE] = "stale",       [DUO_AT_DEVICE] = "device"};
    const char *const first = residences[d->residence[0]],
                      *const second = residences[d->residence[1]],
                      *const third = residences[d->residence[2]];
    duo_line_put(l, "duoblas: %s", d->operation);
    if (call->operation == DUO_SGEMM) {
        const bool transa = call->swapped ? call->transb : call->transa;
        const bool transb = call->swapped ? call->transa : call->transb;
        duo_line_put(l, " %c%c m=%lld n=%lld k=%lld", transa ? 't' : 'n', transb ? 't' : 'n',
                     (long long)d->m, (long long)d->n, (long long)d->k);
        if (d->count > 1) duo_line_put(l, " count=%lld", (long long)d->count);
        duo_line_put(l, " a=%s b=%s c=%s", first, second, third);
    } else {
        duo_line_put(l, " n=%lld x=%s", (long long)d->n, first);
        if (call->operation == DUO_SDOT) duo_line_put(l, " y=%s", second);
        duo_line_put(l, " result=%s", third);
    }
}

/* Every candidate that can do the call, with its prediction; what was chosen, and why. */
static void put_choice(duo_line *l, const duo_decision *d)
{
    duo_line_put(l, " |");
    for (int i = 0; i < d->candidates; i++) {
        if (!d->candidate[i].accepts) continue;
        duo_line_put(l, " %s=", d->candidate[i].algorithm);
        put_seconds(l, d->candidate[i].predicted_seconds);
    }
    duo_line_put(l, " | side=%s algorithm=%s", d->side == DUO_SIDE_GPU ? "gpu" : "cpu",
                 d->algorithm);
    if (d->count > 1 && d->ran >= 0) duo_line_put(l, " route=%s", d->route[d->ran]);
    duo_line_put(l, " threads=%d predicted=", d->threads);
    put_seconds(l, d->predicted_seconds);
    duo_line_put(l, " took=");
    put_seconds(l, d->seconds);
    if (d->note[0] != '\0') duo_line_put(l, " note=\"%s\"", d->note);
    duo_line_put(l, " reason=\"%s\"", d->reason);
}

void duo_verbose_call(duo_context *ctx)
{
    const duo_report *const report = &ctx->resources.report;
    if (!duo_report_wanted(report)) return;
    const duo_conditions conditions = duo_policy_conditions(&ctx->policy, &ctx->resources);
    duo_decision d = {.size = sizeof d};
    duo_explain_complete(&ctx->last, &conditions);
    duo_explain_decision(&ctx->last, report->note, &d);
    duo_explain_reason(&ctx->last, duo_resources_no_gpu(&ctx->resources), &d);
    warn_once(report);
    char text[LONGEST];
    duo_line l = {.text = text, .size = sizeof text};
    put_call(&l, &ctx->last.call, &d);
    if (d.algorithm != NULL)
        put_choice(&l, &d);
    else
        duo_line_put(&l, " | nothing to do");
    duo_report_line(report, text);
}
