/* explain_plan.c - prints the plan of a streamed product, and its steps (explain.h). */
#include "bench/tool/explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/tool/text.h"
#include "data/plan_clock.h"
#include "data/plan_make.h"
#include "data/plan_steps.h"

bool duo_explain_plan_open(duo_explained_plan *e, const duo_call *call,
                           const duo_algorithm *algorithm, const duo_conditions *conditions,
                           int devices, double free_bytes)
{
    double packed[2];
    for (int i = DUO_A; i <= DUO_B; i++)
        packed[i] = call->operand[i].prepared ? 0.0 : duo_stream_packed_bytes(algorithm->id);
    e->plan = (duo_plan){.step = NULL};
    e->free_bytes = free_bytes;
    const duo_plan_problem of = duo_stream_problem(&e->model, call, algorithm, conditions, devices,
                                                   duo_stream_memory(free_bytes), packed);
    if (duo_plan_make(&e->plan, &of)) return true;
    fprintf(stderr, "duoblas: no plan: not even a tile of the product fits the device memory\n");
    duo_plan_free(&e->plan);
    return false;
}

void duo_explain_plan_close(duo_explained_plan *e) { duo_plan_free(&e->plan); }

/* ---- Totals of the steps ---- */

/* Totals of the steps of one kind on one operand, on one device or on all. */
typedef struct total {
    int steps;
    double bytes, seconds;
    int64_t rows, columns; /* of the largest step */
} total;

enum { EVERY_DEVICE = -1 };

static bool works_on(const duo_step *s, int operand)
{
    const bool product = s->kind == DUO_STEP_MULTIPLY || s->kind == DUO_STEP_FETCH;
    return product ? operand == DUO_C : s->operand == operand;
}

static total total_of(const duo_plan *plan, duo_step_kind kind, int operand, int device)
{
    total t = {.steps = 0};
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        if (s->kind != kind || !works_on(s, operand)) continue;
        if (device != EVERY_DEVICE && s->device != device) continue;
        const int64_t rows = operand == DUO_B ? s->k : s->m;
        const int64_t columns = operand == DUO_A ? s->k : s->n;
        t.steps++;
        t.bytes += 4.0 * (double)rows * (double)columns;
        t.seconds += s->end - s->begin;
        if ((double)rows * (double)columns <= (double)t.rows * (double)t.columns) continue;
        t.rows = rows;
        t.columns = columns;
    }
    return t;
}

static double end_of(const duo_plan *plan, int device)
{
    double end = 0.0;
    for (int i = 0; i < plan->count; i++)
        if (plan->step[i].device == device) end = fmax(end, plan->step[i].end);
    return end;
}

/* The number of slabs of k: the first tile has a product for each, in their order. */
static int slabs_of(const duo_plan *plan)
{
    int slabs = 0;
    int64_t last = -1;
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        if (s->kind != DUO_STEP_MULTIPLY || s->p <= last) continue;
        last = s->p;
        slabs++;
    }
    return slabs;
}

/* ---- Printing ---- */

/* Prints the parts in which an operand is sent, or C is multiplied or fetched. */
static void print_parts(const duo_plan *plan, const char *name, duo_step_kind kind, int operand)
{
    char size[DUO_TEXT], shape[DUO_TEXT];
    const total all = total_of(plan, kind, operand, EVERY_DEVICE);
    if (all.steps == 0) return;
    snprintf(shape, sizeof shape, "%" PRId64 " x %" PRId64, all.rows, all.columns);
    printf("  %-15s %7d   %-17s %8s   %5d\n", name, all.steps, shape,
           duo_text_bytes(all.bytes, size), plan->space[operand].slots);
}

static void print_devices(const duo_plan *plan)
{
    printf("\n  %-4s %10s %10s   %10s  %10s\n", "GPU", "up", "down", "works for", "done after");
    for (int d = 0; d < plan->of.devices; d++) {
        char up[DUO_TEXT], down[DUO_TEXT], work[DUO_TEXT], end[DUO_TEXT];
        double sent = 0.0, seconds = total_of(plan, DUO_STEP_MULTIPLY, DUO_C, d).seconds;
        for (int i = 0; i < DUO_OPERANDS; i++) {
            sent += total_of(plan, DUO_STEP_SEND, i, d).bytes;
            seconds += total_of(plan, DUO_STEP_PACK, i, d).seconds;
        }
        printf("  %-4d %10s %10s    %s   %s\n", d, duo_text_bytes(sent, up),
               duo_text_bytes(total_of(plan, DUO_STEP_FETCH, DUO_C, d).bytes, down),
               duo_text_seconds(seconds, work), duo_text_seconds(end_of(plan, d), end));
    }
}

/* Prints the host's copies to and from pinned stages. They are for pageable memory, and for pinned
 * memory with columns too far apart for fast reading by a device. */
static void print_host(const duo_plan *plan)
{
    char up[DUO_TEXT], down[DUO_TEXT], work[DUO_TEXT], end[DUO_TEXT];
    double sent = 0.0, fetched = 0.0;
    for (int i = 0; i < DUO_OPERANDS; i++) {
        if (plan->of.pinned[i]) continue;
        sent += total_of(plan, DUO_STEP_SEND, i, EVERY_DEVICE).bytes;
        fetched += i == DUO_C ? total_of(plan, DUO_STEP_FETCH, i, EVERY_DEVICE).bytes : 0.0;
    }
    if (sent + fetched <= 0.0) return;
    printf("  %-4s %10s %10s    %s   %s\n", "host", duo_text_bytes(sent, up),
           duo_text_bytes(fetched, down),
           duo_text_seconds(sent / plan->of.host_up + fetched / plan->of.host_down, work),
           duo_text_seconds(plan->seconds, end));
}

void duo_explain_plan_print(const duo_explained_plan *e)
{
    const duo_plan *const plan = &e->plan;
    char text[300], held[DUO_TEXT], room[DUO_TEXT], seconds[DUO_TEXT], bound[DUO_TEXT];
    const int slabs = slabs_of(plan);
    printf("\nPlan of %s on %d GPU%s: %d steps, k in %d slab%s.\nIts slots take %s of %s%s.\n\n",
           e->model.algorithm->name, plan->of.devices, plan->of.devices == 1 ? "" : "s",
           plan->count, slabs, slabs == 1 ? "" : "s", duo_text_bytes(duo_plan_bytes(plan), held),
           isfinite(e->free_bytes) ? duo_text_bytes(e->free_bytes, room) : "device memory",
           plan->of.devices == 1 ? "" : " each");
    printf("  %-15s %7s   %-17s %8s   %5s\n", "part", "number", "largest", "bytes", "slots");
    print_parts(plan, "A, sent", DUO_STEP_SEND, DUO_A);
    print_parts(plan, "A, shared", DUO_STEP_SHARE, DUO_A);
    print_parts(plan, "B, sent", DUO_STEP_SEND, DUO_B);
    print_parts(plan, "C, sent", DUO_STEP_SEND, DUO_C);
    print_parts(plan, "C, multiplied", DUO_STEP_MULTIPLY, DUO_C);
    print_parts(plan, "C, fetched", DUO_STEP_FETCH, DUO_C);
    print_devices(plan);
    print_host(plan);
    const double least = duo_plan_bound(plan);
    printf(
        "\n  predicted %s   by these steps\n  bound     %s   %.0f %% of that: bytes at the link's "
        "rates, the arithmetic of the whole\n",
        duo_text_seconds(plan->seconds, seconds), duo_text_seconds(least, bound),
        100.0 * least / plan->seconds);
    (void)duo_text_time(plan->seconds, seconds);
    (void)duo_text_time(e->table_seconds, bound);
    if (strcmp(seconds, bound) == 0) return;
    snprintf(text, sizeof text,
             "The table's %s differs: it comes from a formula that takes the product as a whole, "
             "and decides where the call runs. The %s here count the steps of the plan.",
             bound, seconds);
    duo_text_wrap("  ", text, stdout);
}

/* ---- Steps as CSV ---- */

const char *duo_steps_name(const duo_step *s, char text[DUO_TEXT])
{
    const bool product = s->kind == DUO_STEP_MULTIPLY || s->kind == DUO_STEP_FETCH;
    const int operand = product ? DUO_C : s->operand;
    int used = 0;
    if (operand == DUO_C)
        used = snprintf(text, DUO_TEXT, "C %" PRId64 " %" PRId64, s->i, s->j);
    else
        used = snprintf(text, DUO_TEXT, "%s%c %" PRId64, s->kind == DUO_STEP_PACK ? "pack " : "",
                        operand == DUO_A ? 'A' : 'B', operand == DUO_A ? s->i : s->j);
    if (s->p > 0 && s->kind != DUO_STEP_FETCH)
        snprintf(text + used, (size_t)(DUO_TEXT - used), " k %" PRId64, s->p);
    return text;
}

void duo_steps_head(FILE *file) { fprintf(file, "device,lane,step,begin_ms,end_ms\n"); }

void duo_steps_line(FILE *file, const duo_step *step, const char *lane, double begin_seconds,
                    double end_seconds)
{
    char name[DUO_TEXT];
    fprintf(file, "%d,%s,%s,%.6f,%.6f\n", step->device, lane, duo_steps_name(step, name),
            1e3 * begin_seconds, 1e3 * end_seconds);
}

void duo_steps_predicted(FILE *file, const duo_plan *plan)
{
    static const char *const lane_of[] = {[DUO_STEP_SEND] = "up",
                                          [DUO_STEP_SHARE] = "peer",
                                          [DUO_STEP_PACK] = "multiply",
                                          [DUO_STEP_MULTIPLY] = "multiply",
                                          [DUO_STEP_FETCH] = "down"};
    duo_steps_head(file);
    for (int i = 0; i < plan->count; i++) {
        const duo_step *const s = &plan->step[i];
        duo_steps_line(file, s, lane_of[s->kind], s->begin, s->end);
    }
}
