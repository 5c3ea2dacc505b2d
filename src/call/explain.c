/* explain.c - explains a call (explain.h): completes a tiny call, fills the decision in, splits
 * predictions into parts, and writes the reason: a sentence that compares the algorithm that ran
 * with the best of the other side. Also writes the line of DUOBLAS_VERBOSE and duo_set_log. */
#include "call/explain.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "call/execution.h"
#include "call/explain_gpu.h"
#include "call/route.h"
#include "choice/transfer_cost.h"
#include "choice/select.h"
#include "cpu/blas_library.h"
#include "host/environment.h"

/* ---- Text ---- */

/* Text that is put together piece by piece, and cut when there is no more room. */
typedef struct text_line {
    char *text;
    size_t size, used;
} text_line;

static void put(text_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text_line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int wrote =
        vsnprintf(line->text + line->used, line->size - line->used, format, arguments);
    va_end(arguments);
    if (wrote > 0) line->used += (size_t)wrote;
    if (line->used >= line->size) line->used = line->size - 1;
}

/* ---- The decision ---- */

static void predict(duo_last *last, const duo_conditions *conditions)
{
    bool short_list;
    last->candidates = duo_route_predict(&last->call, conditions, false, last->choice, &short_list);
    last->short_list = false;
}

/* Of a tiny batch only the number of products is known. This one has them one behind the other, in
 * memory of its own. */
static void complete_batch(duo_call *call, duo_batch *batch)
{
    *batch = (duo_batch){.count = batch->count};
    for (int i = 0; i < DUO_OPERANDS; i++)
        batch->stride[i] = call->operand[i].ld * call->operand[i].columns;
    call->batch = batch;
    (void)duo_batch_locate(call, 0);
}

/* A tiny call left only its operation, sizes and factors behind. */
static void complete_tiny(duo_last *last, const duo_conditions *conditions)
{
    duo_call *const call = &last->call;
    if (call->operation == DUO_SGEMM) {
        const bool swapped = call->swapped, batch = call->batch != NULL;
        *call = duo_call_sgemm(call->transa, call->transb, call->m, call->n, call->k, call->alpha,
                               call->beta);
        call->swapped = swapped;
        if (batch) complete_batch(call, &last->batch);
    } else {
        *call = duo_call_reduction(call->operation, call->n);
    }
    last->conditions = *conditions;
    last->why = DUO_WHY_TINY;
    predict(last, conditions);
    for (int i = 0; i < last->candidates; i++)
        if (last->choice[i].algorithm == last->algorithm)
            last->predicted_seconds = last->choice[i].seconds;
    last->threads = 1;
    last->seconds = -1.0;
    last->tiny = false;
}

void duo_explain_complete(duo_last *last, const duo_conditions *conditions)
{
    if (last->tiny) complete_tiny(last, conditions);
    if (last->short_list) predict(last, &last->conditions);
}

void duo_explain_decision(const duo_last *last, const char *note, duo_decision *decision)
{
    const duo_call *const call = &last->call;
    const size_t size = decision->size;
    memset(decision, 0, sizeof *decision);
    decision->size = size;
    decision->seconds = -1.0;
    decision->ran = -1;
    if (call->operation == DUO_OPERATIONS) return;
    decision->operation = duo_operation_name(call->operation);
    decision->m = call->swapped ? call->n : call->m;
    decision->n = call->swapped ? call->m : call->n;
    decision->k = call->k;
    decision->count = duo_call_count(call);
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const int from = call->swapped && i < 2 ? 1 - i : i;
        decision->residence[i] = call->operand[from].residence;
    }
    (void)snprintf(decision->note, sizeof decision->note, "%s", note);
    decision->candidates = last->candidates;
    for (int i = 0; i < last->candidates; i++) {
        const duo_choice *const choice = &last->choice[i];
        if (choice->algorithm == last->algorithm) decision->ran = i;
        decision->route[i] = choice->accepts ? duo_routes[choice->route].name : "";
        decision->candidate[i] = (duo_candidate){.algorithm = choice->algorithm->name,
                                                 .side = choice->algorithm->side,
                                                 .accepts = choice->accepts,
                                                 .threads = choice->threads,
                                                 .predicted_seconds = choice->seconds};
    }
    if (last->algorithm == NULL) return;
    decision->side = last->algorithm->side;
    decision->algorithm = last->algorithm->name;
    decision->threads = last->threads;
    decision->predicted_seconds = last->predicted_seconds;
    decision->seconds = last->seconds;
}

/* ---- The reason ---- */

static void put_seconds(text_line *l, double seconds)
{
    static const struct {
        double one;
        const char *name;
    } units[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    int i = 0;
    while (i < 3 && seconds < 0.9995 * units[i].one) i++;
    const double value = seconds / units[i].one;
    put(l, value < 999.5 ? "%.3g %s" : "%.0f %s", value, units[i].name);
}

/* Puts a text such as "0.35 ms on the GPU, of which 0.3 ms are transfers". */
static void put_candidate(text_line *l, const duo_candidate *c, const duo_parts *parts,
                          int64_t count)
{
    put_seconds(l, c->predicted_seconds);
    if (count > 1) put(l, " for %lld products", (long long)count);
    if (c->side == DUO_SIDE_GPU)
        put(l, " on the GPU");
    else
        put(l, " on %d thread%s of the CPU", c->threads, c->threads == 1 ? "" : "s");
    if (!(parts->transfer_seconds > 0.0)) return;
    put(l, ", of which ");
    put_seconds(l, parts->transfer_seconds);
    put(l, " are transfers");
}

/* The cheapest candidate that accepts, leaving out `without`; side < 0: of both sides. -1: none. */
static int cheapest(const duo_decision *d, int side, int without)
{
    int best = -1;
    for (int i = 0; i < d->candidates; i++) {
        const duo_candidate *const c = &d->candidate[i];
        if (!c->accepts || i == without || (side >= 0 && (int)c->side != side)) continue;
        if (best < 0 || c->predicted_seconds < d->candidate[best].predicted_seconds) best = i;
    }
    return best;
}

static void put_other(text_line *l, const duo_decision *d, int other)
{
    if (other < 0) return;
    put(l, ", against ");
    put_candidate(l, &d->candidate[other], &d->parts[other], 1);
    if (d->candidate[other].side == d->side) put(l, " by %s", d->candidate[other].algorithm);
}

/* Adds how long the other side would take, or why it was out of the question. */
static void put_other_side(text_line *l, const duo_last *last, const char *no_gpu,
                           const duo_decision *d)
{
    static const char *const names[] = {[DUO_SIDE_CPU] = "CPU", [DUO_SIDE_GPU] = "GPU"};
    const duo_side side = d->side == DUO_SIDE_CPU ? DUO_SIDE_GPU : DUO_SIDE_CPU;
    const int other = cheapest(d, (int)side, -1);
    if (last->conditions.path != DUO_PATH_AUTO &&
        (last->conditions.path == DUO_PATH_GPU) == (d->side == DUO_SIDE_GPU))
        put(l, "; the path allows the %s alone", names[d->side]);
    else if (other >= 0)
        put_other(l, d, other);
    else if (side == DUO_SIDE_GPU && !last->conditions.gpu && last->conditions.gpu_unseen &&
             *no_gpu == '\0')
        put(l, "; the GPU is not open yet");
    else if (side == DUO_SIDE_GPU && !last->conditions.gpu)
        put(l, "; there is no usable GPU%s%s", *no_gpu != '\0' ? ": " : "", no_gpu);
    else
        put(l, "; no algorithm of the %s can do this call", names[side]);
    if (side == DUO_SIDE_GPU && last->conditions.gpu && last->conditions.gpu_unseen)
        put(l, "; whether there is a GPU was not asked yet");
}

/* Adds how a kept array that has to be sent changes the choice. */
static void put_credit(text_line *l, const duo_last *last, const duo_decision *d)
{
    const duo_call *const whole = duo_call_whole(&last->call);
    double credit = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const duo_operand *const o = &whole->operand[i];
        if (o->read && o->residence == DUO_AT_STALE) credit += o->credit_seconds;
    }
    if (!duo_call_stale(whole) || !last->conditions.gpu) return;
    if (isinf(credit))
        put(l, "; the first sending of a kept array counts as free");
    else if (d->side == DUO_SIDE_CPU)
        put(l, "; a kept array is sent again once that pays");
    else if (credit > 0.0)
        put(l, "; that a kept array is sent again pays by now");
}

/* Adds which factors were sent before, and what it takes to see that they are the same. */
static void put_remembered(text_line *l, const duo_last *last, const duo_decision *d)
{
    static const char *const names[2][2] = {{"A", "B"}, {"B", "A"}};
    for (int i = DUO_A; i <= DUO_B && last->call.operation == DUO_SGEMM; i++) {
        const duo_operand *const o = &last->call.operand[i];
        if (o->residence != DUO_AT_REMEMBERED || d->side == DUO_SIDE_CPU) continue;
        put(l, "; %s was sent before, and seeing that it is the same takes ",
            names[last->call.swapped][i]);
        put_seconds(l, duo_check_seconds(o, &last->conditions));
    }
}

static void put_correction(text_line *l, const duo_decision *d)
{
    if (!(fabs(d->profile_seconds - d->predicted_seconds) > 0.01 * d->profile_seconds)) return;
    put(l, "; that counts what was learned: the profile alone says ");
    put_seconds(l, d->profile_seconds);
}

static void put_reason(text_line *l, const duo_last *last, const char *no_gpu,
                       const duo_decision *d)
{
    if (d->ran < 0) {
        put(l, "there was nothing to compute");
        return;
    }
    if (last->why == DUO_WHY_TINY) {
        put(l, "so small a call in plain host memory runs on the CPU unpredicted");
        return;
    }
    if (last->why == DUO_WHY_ASKED) put(l, "chosen by the program: ");
    if (last->why == DUO_WHY_TRIED) put(l, "tried, to learn how long it takes: ");
    put_candidate(l, &d->candidate[d->ran], &d->parts[d->ran], d->count);
    if (last->why == DUO_WHY_CHEAPEST)
        put_other_side(l, last, no_gpu, d);
    else
        put_other(l, d, cheapest(d, -1, d->ran));
    for (int i = 0; i < last->candidates; i++)
        if (last->choice[i].declined)
            put(l, "; %s could not go on", last->choice[i].algorithm->name);
    put_credit(l, last, d);
    put_remembered(l, last, d);
    put_correction(l, d);
}

/* ---- Parts ---- */

static double predicted_with(const duo_last *last, const duo_ratios *ratios,
                             const duo_choice *choice)
{
    duo_conditions conditions = last->conditions;
    conditions.ratios = ratios;
    return duo_route_seconds(&last->call, &conditions, choice);
}

/* The profile's prediction, without learned ratios, for the algorithm that ran. */
static double by_the_profile(const duo_last *last, int ran)
{
    if (last->conditions.ratios == NULL || ran < 0) return last->predicted_seconds;
    return predicted_with(last, NULL, &last->choice[ran]);
}

static duo_parts parts_of(const duo_last *last, const duo_choice *choice)
{
    duo_ratios ratios = duo_ratios_of(&last->conditions);
    const bool each = choice->route == DUO_ROUTE_ONE_BY_ONE;
    for (int i = 0; i < DUO_LINKS; i++) ratios.link[i] = 0.0f;
    if (!choice->accepts) return (duo_parts){.compute_seconds = (double)INFINITY};
    return duo_parts_of(&last->call, &last->conditions, choice,
                        predicted_with(last, &ratios, choice),
                        each ? (double)duo_call_count(&last->call) : 1.0);
}

void duo_explain_reason(const duo_last *last, const char *no_gpu, duo_decision *decision)
{
    text_line line = {.text = decision->reason, .size = sizeof decision->reason};
    if (decision->operation == NULL) return;
    if (last->algorithm != NULL) {
        decision->profile_seconds = by_the_profile(last, decision->ran);
        duo_explain_gpu(last, no_gpu, decision);
    }
    if (decision->size <= offsetof(duo_decision, parts)) return; /* no room for the rest */
    for (int i = 0; i < last->candidates; i++)
        decision->parts[i] = parts_of(last, &last->choice[i]);
    put_reason(&line, last, no_gpu, decision);
}

/* ---- The line ---- */

enum { LONGEST = 1024 };

/* A time with a unit that keeps three figures readable. */
static void put_time(text_line *l, double seconds)
{
    if (!(seconds < 1e30))
        put(l, "never");
    else if (seconds < 1e-6)
        put(l, "%.0fns", seconds * 1e9);
    else if (seconds < 1e-3)
        put(l, "%.2fus", seconds * 1e6);
    else if (seconds < 1.0)
        put(l, "%.2fms", seconds * 1e3);
    else
        put(l, "%.3fs", seconds);
}

/* Warns once in a process, in the first log, of a BLAS that makes every sgemm slow. */
static void warn_once(const duo_report *report)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *const warning = duo_blas_library_warning();
    if (warning == NULL || atomic_flag_test_and_set(&told)) return;
    char text[LONGEST];
    text_line l = {.text = text, .size = sizeof text};
    put(&l, "duoblas: event: the CPU's BLAS: %s", warning);
    duo_report_line(report, text);
}

/* The operation, its sizes, and where its operands were. */
static void put_call(text_line *l, const duo_call *call, const duo_decision *d)
{
    const char *const first = duo_residence_names[d->residence[0]],
                      *const second = duo_residence_names[d->residence[1]],
                      *const third = duo_residence_names[d->residence[2]];
    put(l, "duoblas: %s", d->operation);
    if (call->operation == DUO_SGEMM) {
        const bool transa = call->swapped ? call->transb : call->transa;
        const bool transb = call->swapped ? call->transa : call->transb;
        put(l, " %c%c m=%lld n=%lld k=%lld", transa ? 't' : 'n', transb ? 't' : 'n',
            (long long)d->m, (long long)d->n, (long long)d->k);
        if (d->count > 1) put(l, " count=%lld", (long long)d->count);
        put(l, " a=%s b=%s c=%s", first, second, third);
    } else {
        put(l, " n=%lld x=%s", (long long)d->n, first);
        if (call->operation == DUO_SDOT) put(l, " y=%s", second);
        put(l, " result=%s", third);
    }
}

/* Every candidate that accepts, with its prediction; then the chosen one, and why. The math and the
 * device are named if they are not the usual ones. */
static void put_choice(text_line *l, const duo_decision *d, const duo_context *ctx)
{
    const duo_math math = ctx->policy.math;
    const int device = ctx->resources.queue_device;
    put(l, " |");
    for (int i = 0; i < d->candidates; i++) {
        if (!d->candidate[i].accepts) continue;
        put(l, " %s=", d->candidate[i].algorithm);
        put_time(l, d->candidate[i].predicted_seconds);
    }
    put(l, " | side=%s algorithm=%s", d->side == DUO_SIDE_GPU ? "gpu" : "cpu", d->algorithm);
    if (d->count > 1 && d->ran >= 0) put(l, " route=%s", d->route[d->ran]);
    if (d->side == DUO_SIDE_GPU && device > 0) put(l, " device=%d", device);
    if (math != DUO_MATH_ACCURATE) put(l, " math=%s", duo_math_name(math));
    put(l, " threads=%d predicted=", d->threads);
    put_time(l, d->predicted_seconds);
    put(l, " took=");
    put_time(l, d->seconds);
    if (d->note[0] != '\0') put(l, " note=\"%s\"", d->note);
    put(l, " reason=\"%s\"", d->reason);
}

void duo_explain_line(duo_context *ctx)
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
    text_line l = {.text = text, .size = sizeof text};
    put_call(&l, &ctx->last.call, &d);
    if (d.algorithm != NULL)
        put_choice(&l, &d, ctx);
    else
        put(&l, " | nothing to do");
    duo_report_line(report, text);
}
