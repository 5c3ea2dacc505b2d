/* json.c - all figures and answers, for programs; docs/reference/crossover.md has the keys. */
#include <cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "bench/crossover/crossover.h"
#include "bench/crossover/selection.h"
#include "bench/measure/blas_rivals.h"
#include "bench/tool/output.h"
#include "bench/tool/tool.h"

/* Adds a number; null if it is not known. */
static void add_number(cJSON *to, const char *key, double value, bool known)
{
    if (known && isfinite(value))
        (void)cJSON_AddNumberToObject(to, key, value);
    else
        (void)cJSON_AddNullToObject(to, key);
}

static cJSON *add_object(cJSON *list)
{
    cJSON *const object = cJSON_CreateObject();
    (void)cJSON_AddItemToArray(list, object);
    return object;
}

static void add_tool(cJSON *to)
{
    char date[DUO_TEXT];
    (void)cJSON_AddNumberToObject(to, "format", 1);
    (void)cJSON_AddStringToObject(to, "tool", "duoblas crossover");
    (void)cJSON_AddStringToObject(to, "version", DUO_VERSION_STRING);
    (void)cJSON_AddStringToObject(to, "commit", duo_tool_commit);
    (void)cJSON_AddStringToObject(to, "compiler", DUO_COMPILER);
    (void)cJSON_AddStringToObject(to, "date", duo_text_date(date));
}

static void add_machine(const duo_crossover *x, cJSON *to)
{
    cJSON *const machine = cJSON_AddObjectToObject(to, "machine");
    (void)cJSON_AddStringToObject(machine, "cpu", x->cpu);
    (void)cJSON_AddNumberToObject(machine, "threads", x->threads);
    (void)cJSON_AddStringToObject(machine, "blas", x->cpu_blas);
    (void)cJSON_AddStringToObject(machine, "other_blas", duo_blas_rivals_text());
    cJSON *const gpu = cJSON_AddObjectToObject(machine, "gpu");
    (void)cJSON_AddBoolToObject(gpu, "present", x->gpu);
    (void)cJSON_AddStringToObject(gpu, "name", x->gpu_name);
    (void)cJSON_AddStringToObject(gpu, "driver", x->driver);
    if (!x->gpu) (void)cJSON_AddStringToObject(gpu, "why", x->why != NULL ? x->why : "");
    if (x->assumed != NULL) (void)cJSON_AddStringToObject(gpu, "predicted_by", x->assumed->origin);
}

static void add_options(const duo_crossover *x, cJSON *to)
{
    cJSON *const options = cJSON_AddObjectToObject(to, "options");
    (void)cJSON_AddBoolToObject(options, "quick", x->quick);
    (void)cJSON_AddBoolToObject(options, "cold", x->cold);
    (void)cJSON_AddNumberToObject(options, "max_seconds", x->most_seconds);
    (void)cJSON_AddNumberToObject(options, "seed", (double)x->seed);
    cJSON *const operations = cJSON_AddArrayToObject(options, "operations");
    for (int i = 0; i < DUO_OPERATIONS; i++)
        if (x->wanted[i])
            (void)cJSON_AddItemToArray(operations,
                                       cJSON_CreateString(duo_operation_name((duo_operation)i)));
}

/* ---- Figures ---- */

static void add_figure(void *list, const duo_case *c, const char *residence, duo_side side,
                       const duo_figure *f)
{
    duo_table table = {.form = DUO_AS_JSON, .object = add_object(list)};
    duo_figure_row(&table, c, residence, side, f);
    (void)cJSON_AddBoolToObject(table.object, "predicted", f->predicted);
}

static void add_case(const duo_case *c, cJSON *list)
{
    cJSON *const to = add_object(list);
    (void)cJSON_AddStringToObject(to, "operation", duo_operation_name(c->problem.operation));
    (void)cJSON_AddStringToObject(to, "family", c->family);
    (void)cJSON_AddNumberToObject(to, "n", (double)c->n);
    cJSON *const shape = cJSON_AddArrayToObject(to, "shape");
    for (int i = 0; i < (c->problem.operation == DUO_SGEMM ? 3 : 1); i++)
        (void)cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)c->problem.shape[i]));
    (void)cJSON_AddNumberToObject(to, "flops", duo_problem_flops(&c->problem));
    (void)cJSON_AddNumberToObject(to, "bytes", duo_problem_bytes(&c->problem));
    duo_series_each(c, add_figure, cJSON_AddArrayToObject(to, "figures"));
}

/* ---- Crossings ---- */

static void add_crossing(const duo_crossing *c, cJSON *to)
{
    static const char *const verdicts[] = {[DUO_WINS_NEVER] = "never",
                                           [DUO_WINS_FROM] = "from",
                                           [DUO_WINS_ALWAYS] = "always",
                                           [DUO_WINS_UNKNOWN] = "unknown"};
    const bool wins = c->verdict == DUO_WINS_FROM || c->verdict == DUO_WINS_ALWAYS;
    (void)cJSON_AddStringToObject(to, "verdict", verdicts[c->verdict]);
    add_number(to, "threshold", (double)c->n, wins);
    add_number(to, "meet", c->between, c->verdict == DUO_WINS_FROM);
    add_number(to, "largest", (double)c->largest, c->verdict != DUO_WINS_UNKNOWN);
    (void)cJSON_AddBoolToObject(to, "predicted", c->predicted);
}

/* Adds the crossings of all families, for one way to use the GPU. */
static void add_crossings(const duo_crossover *x, duo_use use, cJSON *list)
{
    for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
        const char *family[DUO_CASES];
        const int families = duo_crossover_families(x, (duo_operation)operation, family);
        for (int i = 0; i < families; i++) {
            cJSON *const to = add_object(list);
            const duo_ends ends = duo_crossover_ends(x, (duo_operation)operation, family[i], use);
            (void)cJSON_AddStringToObject(to, "operation",
                                          duo_operation_name((duo_operation)operation));
            (void)cJSON_AddStringToObject(to, "family", family[i]);
            (void)cJSON_AddStringToObject(to, "residence", duo_place_names[use.place]);
            (void)cJSON_AddNumberToObject(to, "calls", (double)use.calls);
            add_crossing(&ends.crossing, to);
            add_number(to, "meet_low", ends.early.between, ends.early.verdict == DUO_WINS_FROM);
            add_number(to, "meet_high", ends.late.between, ends.late.verdict == DUO_WINS_FROM);
        }
    }
}

static void add_all_crossings(const duo_crossover *x, cJSON *to)
{
    cJSON *const once = cJSON_AddArrayToObject(to, "crossings");
    for (int place = 0; place < DUO_PLACES; place++)
        add_crossings(x, duo_one_call((duo_place)place), once);
    int64_t calls[DUO_CALLS];
    const int count = duo_crossover_calls(x, calls);
    cJSON *const reuse = cJSON_AddArrayToObject(to, "break_even_reuse");
    for (int place = 0; place < DUO_PLACE_DEVICE; place++)
        for (int i = 0; i < count; i++)
            add_crossings(x, (duo_use){(duo_place)place, calls[i], 1.0}, reuse);
}

/* ---- Verdict ---- */

static void add_verdict(const duo_crossover *x, cJSON *to)
{
    duo_sentences sentences;
    char caveat[DUO_SENTENCE];
    duo_crossover_verdict(x, &sentences);
    cJSON *const list = cJSON_AddArrayToObject(to, "verdict");
    for (int i = 0; i < sentences.count; i++)
        (void)cJSON_AddItemToArray(list, cJSON_CreateString(sentences.text[i]));
    (void)cJSON_AddStringToObject(to, "caveat", duo_crossover_caveat(x, caveat));
}

static void add_outlooks(const duo_crossover *x, cJSON *to)
{
    cJSON *const list = cJSON_AddArrayToObject(to, "outlooks");
    for (int i = 0; i < x->outlooks; i++)
        for (int operation = 0; operation < DUO_OPERATIONS; operation++) {
            const duo_outlook *const o = &x->outlook[i];
            if (o->early[operation].verdict == DUO_WINS_UNKNOWN) continue;
            cJSON *const outlook = add_object(list);
            (void)cJSON_AddStringToObject(outlook, "gpu", o->profile->gpu);
            (void)cJSON_AddStringToObject(outlook, "profile", o->profile->origin);
            (void)cJSON_AddStringToObject(outlook, "operation",
                                          duo_operation_name((duo_operation)operation));
            add_crossing(&o->early[operation], cJSON_AddObjectToObject(outlook, "early"));
            add_crossing(&o->late[operation], cJSON_AddObjectToObject(outlook, "late"));
        }
}

/* Adds null if noise was not looked for. */
static void add_noise(const duo_crossover *x, cJSON *to)
{
    const duo_noise *const noise = &x->noise;
    char text[160];
    if (noise->looks == 0) {
        (void)cJSON_AddNullToObject(to, "noise");
        return;
    }
    cJSON *const n = cJSON_AddObjectToObject(to, "noise");
    (void)cJSON_AddBoolToObject(n, "noisy", noise->noisy);
    add_number(n, "error", noise->error, true);
    add_number(n, "processors_of_others", noise->others, true);
    (void)cJSON_AddStringToObject(n, "text", duo_noise_text(noise, text, sizeof text));
    cJSON *const second = cJSON_AddObjectToObject(n, "second_run");
    add_number(second, "host", x->second.cpu, x->second.cpu > 0.0);
    for (int place = 0; place < DUO_PLACES; place++)
        add_number(second, duo_place_names[place], x->second.gpu[place],
                   x->second.gpu[place] > 0.0);
}

char *duo_crossover_json_text(const duo_crossover *x)
{
    cJSON *const root = cJSON_CreateObject();
    add_tool(root);
    add_verdict(x, root);
    add_machine(x, root);
    add_options(x, root);
    add_number(root, "seconds", x->seconds, true);
    add_number(root, "figures_predicted_for_want_of_time", x->skipped, true);
    add_number(root, "figures_kept_from_before", x->kept, true);
    add_noise(x, root);
    add_all_crossings(x, root);
    add_outlooks(x, root);
    cJSON *const cases = cJSON_AddArrayToObject(root, "cases");
    for (int i = 0; i < x->cases; i++) add_case(&x->item[i], cases);
    char *const text = cJSON_Print(root);
    cJSON_Delete(root);
    return text;
}

bool duo_crossover_json(const duo_crossover *x, const char *path)
{
    duo_output output = {.file = stdout};
    char *const text = duo_crossover_json_text(x);
    if (text == NULL) fprintf(stderr, "duoblas: no memory for JSON\n");
    bool good = text != NULL && (path == NULL || duo_output_open(&output, path));
    if (good) fprintf(output.file, "%s\n", text);
    if (good && path != NULL) good = duo_output_close(&output, true);
    free(text);
    return good;
}
