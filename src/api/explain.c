/* explain.c - what the last call chose and why: duo_explain_last and the verbose line. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call/context.h"
#include "cpu/blas_library.h"

static void predict_last(duo_context *ctx, const duo_conditions *conditions)
{
    ctx->last_candidates = duo_predict(&ctx->last_call, conditions, ctx->last_choice);
    ctx->last_short = false;
}

/* An operand in plain host memory, or none that is touched. */
static duo_operand plain_operand(int64_t rows, int64_t columns, bool read, bool written)
{
    duo_operand o = {
        .rows = rows, .columns = columns, .ld = rows, .read = read, .written = written};
    o.on_host = read || written;
    o.residence = o.on_host ? DUO_AT_PAGEABLE : DUO_AT_UNUSED;
    return o;
}

/* A tiny call left only its operation, sizes and factors behind: find again what was predicted for it. */
static void recompute_tiny(duo_context *ctx)
{
    duo_call *const call = &ctx->last_call;
    duo_operand *const o = call->operand;
    if (call->operation == DUO_SGEMM) {
        const bool reads = call->k > 0 && call->alpha != 0.0f;
        const int64_t m = call->m, n = call->n, k = call->k;
        o[DUO_A] = plain_operand(call->transa ? k : m, call->transa ? m : k, reads, false);
        o[DUO_B] = plain_operand(call->transb ? n : k, call->transb ? k : n, reads, false);
        o[DUO_C] = plain_operand(m, n, call->beta != 0.0f, true);
    } else {
        *call = (duo_call){.operation = call->operation, .m = 1, .n = call->n, .threads = 1};
        o[DUO_X] = plain_operand(1, call->n, true, false);
        o[DUO_Y] = plain_operand(1, call->n, call->operation == DUO_SDOT, false);
        o[DUO_RESULT] = plain_operand(1, 1, false, true);
    }
    const duo_conditions conditions = duo_context_conditions(ctx);
    predict_last(ctx, &conditions);
    for (int i = 0; i < ctx->last_candidates; i++)
        if (ctx->last_choice[i].algorithm == ctx->last_algorithm)
            ctx->last_predicted_seconds = ctx->last_choice[i].seconds;
    ctx->last_threads = 1;
    ctx->last_seconds = -1.0;
    ctx->note[0] = '\0';
    ctx->last_tiny = false;
}

duo_status duo_explain_last(duo_context *given, duo_decision *decision)
{
    duo_context *const ctx = duo_context_of(given);
    if (ctx == NULL) return DUO_ERR_CONTEXT;
    if (decision == NULL) return DUO_ERR_NULL;
    if (decision->size < sizeof *decision) return DUO_ERR_SIZE;
    if (ctx->last_tiny) recompute_tiny(ctx);
    if (ctx->last_short) predict_last(ctx, &ctx->last_conditions);
    const duo_call *const call = &ctx->last_call;
    const size_t size = decision->size;
    memset(decision, 0, sizeof *decision);
    decision->size = size;
    decision->seconds = -1.0;
    if (call->operation == DUO_OPERATIONS) return DUO_OK;
    decision->operation = duo_operation_name(call->operation);
    decision->m = call->swapped ? call->n : call->m;
    decision->n = call->swapped ? call->m : call->n;
    decision->k = call->k;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        const int from = call->swapped && i < 2 ? 1 - i : i;
        decision->residence[i] = call->operand[from].residence;
    }
    snprintf(decision->note, sizeof decision->note, "%s", ctx->note);
    decision->candidates = ctx->last_candidates;
    for (int i = 0; i < ctx->last_candidates; i++) {
        const duo_choice *const choice = &ctx->last_choice[i];
        decision->candidate[i] = (duo_candidate){.algorithm = choice->algorithm->name,
                                                 .side = choice->algorithm->side,
                                                 .accepts = choice->accepts,
                                                 .threads = choice->threads,
                                                 .predicted_seconds = choice->seconds};
    }
    if (ctx->last_algorithm == NULL) return DUO_OK;
    decision->side = ctx->last_algorithm->side;
    decision->algorithm = ctx->last_algorithm->name;
    decision->threads = ctx->last_threads;
    decision->predicted_seconds = ctx->last_predicted_seconds;
    decision->seconds = ctx->last_seconds;
    return DUO_OK;
}

const char *duo_error_detail(duo_context *given)
{
    const duo_context *const ctx = duo_context_of(given);
    return ctx != NULL ? ctx->detail : "";
}

/* ---- The verbose line ---- */

typedef struct line {
    char text[1024];
    size_t used;
} line;

static void put(line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(line *l, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int wrote = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, arguments);
    va_end(arguments);
    if (wrote > 0) l->used += (size_t)wrote;
    if (l->used >= sizeof l->text) l->used = sizeof l->text - 1;
}

/* A time with a unit that keeps three figures readable. */
static void put_seconds(line *l, double seconds)
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

static void send_line(const duo_context *ctx, line *l)
{
    if (ctx->log != NULL) {
        ctx->log(ctx->log_user, l->text);
        return;
    }
    if (l->used > sizeof l->text - 2) l->used = sizeof l->text - 2;
    l->text[l->used++] = '\n';
    /* One write, so that lines of several threads do not mix. Nobody can be told if it fails. */
    const ssize_t wrote = write(STDERR_FILENO, l->text, l->used);
    (void)wrote;
}

/* Once a process, to whoever first wants lines: what makes every sgemm slower than it could be. */
static void warn_once(const duo_context *ctx)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *const warning = duo_blas_library_warning();
    if (warning == NULL || atomic_flag_test_and_set(&told)) return;
    line l = {.used = 0};
    put(&l, "duoblas: event: inner BLAS: %s", warning);
    send_line(ctx, &l);
}

void duo_explain_call(duo_context *ctx)
{
    static const char *const residences[] = {"-", "pageable", "pinned", "kept", "stale", "device"};
    duo_decision d = {.size = sizeof d};
    if (ctx->verbose == 0 && ctx->log == NULL) return;
    if (duo_explain_last(ctx, &d) != DUO_OK) return;
    warn_once(ctx);
    const duo_call *const call = &ctx->last_call;
    line l = {.used = 0};
    put(&l, "duoblas: %s", d.operation);
    if (call->operation == DUO_SGEMM) {
        const bool ta = call->swapped ? call->transb : call->transa;
        const bool tb = call->swapped ? call->transa : call->transb;
        put(&l, " %c%c m=%lld n=%lld k=%lld a=%s b=%s c=%s", ta ? 't' : 'n', tb ? 't' : 'n',
            (long long)d.m, (long long)d.n, (long long)d.k, residences[d.residence[0]],
            residences[d.residence[1]], residences[d.residence[2]]);
    } else {
        put(&l, " n=%lld x=%s", (long long)d.n, residences[d.residence[0]]);
        if (call->operation == DUO_SDOT) put(&l, " y=%s", residences[d.residence[1]]);
        put(&l, " result=%s", residences[d.residence[2]]);
    }
    if (d.algorithm == NULL) {
        put(&l, " | nothing to do");
        send_line(ctx, &l);
        return;
    }
    put(&l, " |");
    for (int i = 0; i < d.candidates; i++) {
        put(&l, " %s=", d.candidate[i].algorithm);
        if (d.candidate[i].accepts)
            put_seconds(&l, d.candidate[i].predicted_seconds);
        else
            put(&l, "no");
    }
    put(&l, " | side=%s algorithm=%s threads=%d predicted=", d.side == DUO_SIDE_GPU ? "gpu" : "cpu",
        d.algorithm, d.threads);
    put_seconds(&l, d.predicted_seconds);
    put(&l, " took=");
    put_seconds(&l, d.seconds);
    if (d.note[0] != '\0') put(&l, " note=\"%s\"", d.note);
    send_line(ctx, &l);
}

void duo_explain_event(const duo_context *ctx, const char *text)
{
    if (ctx->verbose < 2 && ctx->log == NULL) return;
    line l = {.used = 0};
    put(&l, "duoblas: event: %s", text);
    send_line(ctx, &l);
}
