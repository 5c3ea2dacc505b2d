/* experiment_list.c - see experiment_list.h */
#include "bench/experiments/experiment_list.h"

#include <string.h>

#include "bench/graphs/graphs.h"

const duo_experiment duo_experiment_overhead = {.name = "--overhead", .kind = DUO_OVERHEAD};
const duo_experiment duo_experiment_accuracy_sgemm = {
    .name = "accuracy sgemm", .kind = DUO_ACCURACY_SGEMM, .shape = true, .transpose = true};

/* The others, by a word. */
static const duo_experiment experiments[] = {
    {.name = "sgemm", .kind = DUO_LADDER, .plot = true, .shape = true, .transpose = true},
    {.name = "sasum", .kind = DUO_LADDER, .plot = true},
    {.name = "ssum", .kind = DUO_LADDER, .plot = true},
    {.name = "sdot", .kind = DUO_LADDER, .plot = true},
    {.name = "introduction", .kind = DUO_INTRODUCTION},
    {.name = "accuracy", .kind = DUO_ACCURACY},
    {.name = "shapes", .kind = DUO_SHAPES_OF_SGEMM, .shape = true, .transpose = true},
    {.name = "mixed", .kind = DUO_MIXED, .shape = true},
    {.name = "adapt", .kind = DUO_ADAPT},
    {.name = "host", .kind = DUO_HOST, .plot = true, .host = true},
    {.name = "large", .kind = DUO_LARGE, .shape = true, .transpose = true, .host = true},
    {.name = "timeline", .kind = DUO_TIMELINE, .plot = true},
    {.name = "graphs", .kind = DUO_GRAPHS, .plot = true},
    {.name = "batched", .kind = DUO_BATCHED},
};

const char duo_experiment_names[] =
    DUO_TOOL_OPERATIONS ", introduction, accuracy, shapes, mixed, adapt, host, large, timeline, "
                        "graphs, batched";

const duo_experiment *duo_experiment_of(const char *word)
{
    for (size_t i = 0; i < sizeof experiments / sizeof experiments[0]; i++)
        if (strcmp(word, experiments[i].name) == 0) return &experiments[i];
    return NULL;
}

error_t duo_experiment_check(const duo_bench_arguments *a, struct argp_state *state)
{
    const duo_bench *const b = a->bench;
    const char *const name = a->what->name;
    const duo_experiment_kind kind = a->what->kind;
    if (kind == DUO_INTRODUCTION && a->sizes + a->shapes > 0)
        return duo_tool_refuse(state, "its sizes are fixed", name);
    if (kind == DUO_MIXED && (a->sizes > 1 || a->shapes > 1))
        return duo_tool_refuse(state, "one length of the reductions and one shape of sgemm are for",
                               name);
    if (kind != DUO_MIXED && b->beside != NULL)
        return duo_tool_refuse(state, "--beside is for mixed, not", name);
    if (kind != DUO_MIXED && kind != DUO_ADAPT && b->neighbours > 0)
        return duo_tool_refuse(state, "--busy is for mixed and adapt, not", name);
    if (kind != DUO_ADAPT && b->profile != NULL)
        return duo_tool_refuse(state, "--profile is for adapt, not", name);
    if (kind == DUO_ADAPT && a->sizes > 0)
        return duo_tool_refuse(state, "its sizes are random", name);
    if (kind == DUO_LARGE && a->sizes + a->shapes != 1)
        return duo_tool_refuse(state, "one shape is for", name);
    if (kind == DUO_TIMELINE && (a->file == NULL || b->plot == NULL))
        return duo_tool_refuse(state, "a CSV of steps and --plot are for", name);
    if (!a->what->host && b->memory >= 0)
        return duo_tool_refuse(state, "--memory is for host and large, not", name);
    if (!a->what->host && kind != DUO_GRAPHS && b->rounds > 0)
        return duo_tool_refuse(state, "--rounds is for host, large and graphs, not", name);
    if (kind != DUO_HOST && b->devices > 0)
        return duo_tool_refuse(state, "--devices is for host, not", name);
    if (kind != DUO_HOST && kind != DUO_GRAPHS && b->max_seconds > 0.0)
        return duo_tool_refuse(state, "--max-seconds is for host and graphs, not", name);
    if (kind != DUO_GRAPHS && (b->parts != 0 || b->stall_child != NULL))
        return duo_tool_refuse(state, "--only is for graphs, not", name);
    if ((kind == DUO_GRAPHS || kind == DUO_BATCHED) && a->sizes > 0)
        return duo_tool_refuse(state, "its sizes are fixed", name);
    if (kind == DUO_GRAPHS && b->plot != NULL && !duo_graphs_draws(b))
        return duo_tool_refuse(state, "--plot draws what overlap does on the GPU, of", name);
    if (kind != DUO_HOST && b->timeline != NULL)
        return duo_tool_refuse(state, "--timeline is for host, not", name);
    if (kind == DUO_HOST && b->plot != NULL && b->timeline == NULL)
        return duo_tool_refuse(state, "--plot draws what --timeline writes, for", name);
    if (a->shapes > 0 && !a->what->shape)
        return duo_tool_refuse(state, "--shape is for sgemm, not", name);
    const bool draws = kind == DUO_SHAPES_OF_SGEMM || kind == DUO_BATCHED;
    if (b->random > 0 && (!draws || a->shapes + a->sizes > 0))
        return duo_tool_refuse(state, "--random is for shapes, without -s or -n, and batched, not",
                               name);
    if (b->random > 0 && a->transpose)
        return duo_tool_refuse(state, "--transpose does not go with", "--random");
    if (b->algorithms && kind != DUO_SHAPES_OF_SGEMM)
        return duo_tool_refuse(state, "--algorithms is for shapes, not", name);
    if (a->transpose && !a->what->transpose)
        return duo_tool_refuse(state, "--transpose is for sgemm, not", name);
    return 0;
}
